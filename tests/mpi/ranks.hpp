// Tests on several ranks: checks that count, a main that runs them, and a verdict that all ranks have had their part in.
#pragma once

#include <mpi.h>
#include <wengert/mpi.hpp>
#include <wengert/wengert.hpp>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace wg = wengert;
namespace mpi = wengert::mpi;
using wg::Tensor;
using D = Tensor<double>;

inline int checks = 0, failures = 0;

inline void check_that(bool holds, const char* text, const char* file, int line)
{
    ++checks;
    if (holds) return;
    ++failures;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::printf("rank %d: %s:%d: %s\n", rank, file, line, text);
}
#define CHECK(...) check_that(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)

/// The text of the E that f throws; a failed check where it throws none.
template <class E, class F> std::string thrown(const F& f)
{
    try {
        f();
    } catch (const E& e) {
        return e.what();
    } catch (const std::exception& e) {
        check_that(false, e.what(), __FILE__, __LINE__);
        return e.what();
    }
    check_that(false, "no exception", __FILE__, __LINE__);
    return {};
}
inline bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

using Test = void (*)(const mpi::Comm& world);

/// Runs the tests on all ranks; the status is rank 0's and counts everybody's failures.
inline int run_tests(int argc, char** argv, const std::vector<Test>& tests)
{
    MPI_Init(&argc, &argv);
    int all[2] = {};
    {
        const mpi::Comm world(MPI_COMM_WORLD);
        try {
            for (const Test test : tests) test(world);
        } catch (const std::exception& e) {
            std::printf("rank %d: %s\n", world.rank(), e.what());
            std::fflush(stdout);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        const int mine[] = {checks, failures};
        MPI_Allreduce(mine, all, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (world.rank() == 0)
            std::printf("%d checks on %d ranks, %d failed\n", all[0], world.size(), all[1]);
    }
    MPI_Finalize();
    return all[0] > 0 && all[1] == 0 ? 0 : 1;
}

/// The piece of whole's first axis that is this rank's.
inline D piece(const D& whole, const mpi::Comm& world)
{
    const std::int64_t n = whole.shape()[0] / world.size();
    return view(whole, wg::range(n * world.rank(), n * (world.rank() + 1)));
}
