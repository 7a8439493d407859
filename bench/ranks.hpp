// Times of several ranks.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <functional>
#include <vector>

/// The least time of several runs of each, in turn. A run takes what the slowest rank takes.
inline std::vector<double> least(const std::vector<std::function<void()>>& ways, int runs, MPI_Comm comm)
{
    std::vector<double> best(ways.size(), 1e9);
    for (int r = 0; r < runs; ++r)
        for (std::size_t k = 0; k < ways.size(); ++k) {
            MPI_Barrier(comm);
            const double start = MPI_Wtime();
            ways[k]();
            double took = MPI_Wtime() - start, slowest = 0;
            MPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, comm);
            best[k] = std::min(best[k], slowest);
        }
    return best;
}
