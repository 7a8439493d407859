// heat_inverse on a grid of ranks: where was the heat that is seen, with noise, 60 steps later? Each rank has a piece of the plate.
//   mpirun -np 4 heat_across_ranks [FOLDER_FOR_THE_PLOT]
#include <mpi.h>
#include <wengert/mpi.hpp>
#include <wengert/wengert.hpp>

#include <cmath>
#include <cstdio>

#include "../plot.hpp"

namespace wg = wengert;
namespace mpi = wengert::mpi;
using Field = wg::Tensor<double>;
using wg::range;

constexpr std::int64_t n = 48;  // cells along each side
constexpr int steps = 60, iterations = 150;
constexpr double diffusion = 0.1, noise = 0.005;

/// Steps of ∂u/∂t = κ ∇²u on this rank's piece; around the plate u = 0, as is the margin there.
Field later(const Field& start, const mpi::Grid& grid)
{
    const auto step = [&](const Field& u) {
        const std::int64_t rows = u.shape()[0], columns = u.shape()[1];
        const Field h = mpi::halo(u, {{.axis = 0}, {.axis = 1}}, grid);
        const auto part = [&](std::int64_t i, std::int64_t j) {
            return view(h, range(i, i + rows), range(j, j + columns));
        };
        return u + diffusion * (part(0, 1) + part(2, 1) + part(1, 0) + part(1, 2) - 4.0 * u);
    };
    return wg::checkpoint_loop(step, start, {.steps = steps, .snapshots = 8});
}

/// A rank's part of the cost; heat = softplus(θ) is never below zero.
Field cost(const Field& theta, const Field& observed, const mpi::Grid& grid)
{
    return 0.5 * sum(square((later(softplus(theta), grid) - observed) / noise));
}

Field spot(double row, double column, double height, double width)
{
    const Field at = wg::arange<double>(n);
    const Field down = reshape(square((at - row) / width), {n, 1}), across = square((at - column) / width);
    return height * exp(-0.5 * (down + across));
}

/// The rows and columns of a field that are this rank's.
Field mine(const Field& whole, const mpi::Grid& grid)
{
    const std::int64_t rows = n / grid.extents()[0], columns = n / grid.extents()[1];
    const std::int64_t i = rows * grid.position(0), j = columns * grid.position(1);
    return view(whole, range(i, i + rows), range(j, j + columns));
}
/// The pieces of all ranks as one field, on rank 0.
Field whole_of(const Field& piece, const mpi::Grid& grid)
{
    const std::int64_t p = grid.extents()[0], q = grid.extents()[1];
    const Field all = mpi::gather(piece, 0, grid.comm());
    return grid.comm().rank() ? all
                              : reshape(transpose(reshape(all, {p, q, n / p, n / q}), {0, 2, 1, 3}), {n, n});
}

int solve(const mpi::Comm& world, int ranks_down, int ranks_across, const char* folder)
{
    const mpi::Grid grid(world, {ranks_down, ranks_across});
    const mpi::Grid alone(mpi::Comm(MPI_COMM_SELF), {1, 1});
    const Field truth = spot(14, 15, 1.0, 3.0) + spot(31, 34, 0.7, 4.0);
    const Field seen = later(truth, alone) + noise * wg::normal<double>(wg::Key(1), {n, n});
    const Field observed = mine(seen, grid);

    const auto loss = [&](const Field& t) { return cost(t, observed, grid); };
    auto value_and_slope = wg::freeze(wg::value_and_grad(loss));
    const auto total = [&](const Field& x) { return mpi::allreduce(x, mpi::sum, world).item(); };

    // the gradient of the pieces is that of the whole plate on one rank
    const Field guess = wg::full<double>({n, n}, -2.0) + 0.1 * wg::normal<double>(wg::Key(2), {n, n});
    const Field slope = wg::grad([&](const Field& t) { return cost(t, seen, alone); })(guess);
    const Field error = mine(slope, grid) - value_and_slope(mine(guess, grid)).second;
    const double worst = mpi::allreduce(amax(abs(error)), mpi::max, world).item() / amax(abs(slope)).item();

    Field theta = wg::full<double>(observed.shape(), -3.0), m = zeros_like(theta), v = zeros_like(theta);
    double first = 0, last = 0;
    for (int t = 1; t <= iterations; ++t) {  // Adam (Kingma & Ba 2015)
        const auto [y, g] = value_and_slope(theta);
        last = total(y);
        if (t == 1) first = last;
        m = 0.9 * m + 0.1 * g;
        v = 0.999 * v + 0.001 * square(g);
        theta = theta - 0.15 * (m / (1 - std::pow(0.9, t))) / (sqrt(v / (1 - std::pow(0.999, t))) + 1e-8);
    }
    const Field found = whole_of(softplus(theta), grid);
    if (world.rank()) return 0;
    std::printf("%d × %d ranks: gradient off by %.1e, cost %.3g at first, %.3g in the end\n", ranks_down,
                ranks_across, worst, first, last);
    const double off = std::sqrt(mean(square(found - truth)).item());
    std::printf("the field found is off by %.3f, where the hottest spot had 1\n", off);
    if (folder) {
        Plot plot(folder, "heat_across_ranks", 900, 420);
        plot.data("truth", truth);
        plot.data("found", found);
        plot.script
            << "set multiplot layout 1,2\nunset key\nset size square\nset autoscale fix\nset cbrange [0:1]\n"
            << "set title 'heat at first'\nplot $truth matrix with image\n"
            << "set title 'found by " << world.size()
            << " ranks'\nplot $found matrix with image\nunset multiplot\n";
        plot.show();
    }
    return worst < 1e-11 && last < 0.05 * first && off < 0.1 ? 0 : 1;
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    int status = 0;
    {
        const mpi::Comm world(MPI_COMM_WORLD);
        int dims[2] = {};
        MPI_Dims_create(world.size(), 2, dims);
        if (n % dims[0] || n % dims[1]) {
            if (world.rank() == 0)
                std::printf("%d × %d ranks do not divide a plate of %d cells\n", dims[0], dims[1],
                            static_cast<int>(n));
            status = 1;
        } else {
            status = solve(world, dims[0], dims[1], argc > 1 ? argv[1] : nullptr);
        }
    }
    MPI_Finalize();
    return status;
}
