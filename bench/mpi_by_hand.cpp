// Programs of several ranks beside MPI and an adjoint by hand: mpirun -np 2 wengert_mpi [cells] [steps] (bench/run.sh mpi)
//   heat    the gradient of Σ u² after steps of the heat equation on cells × cells, split into rows; "a piece alone": the
//           same on every rank's rows by roll, without a message; "weak": half as many rows on each rank
//   8 B, 1 MB   a ring of messages, beside MPI_Sendrecv
// A line for each: what | ranks | by hand | wengert | more | times. The least of several runs, in turn.
#include "ranks.hpp"

#include <wengert/mpi.hpp>
#include <wengert/native.hpp>
#include <wengert/wengert.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace wg = wengert;
namespace mpi = wengert::mpi;
using D = wg::Tensor<double>;

namespace {

constexpr double c = 0.2;

/// One step by hand, its rows between those of the neighbours. The stencil is symmetric: the adjoint is the step itself.
struct ByHand {
    MPI_Comm comm;
    int lower, upper, rows, columns;
    std::vector<double> a, b;

    void exchange(std::vector<double>& u) const
    {
        double* const first = u.data() + columns;
        MPI_Sendrecv(first, columns, MPI_DOUBLE, lower, 0, first + rows * columns, columns, MPI_DOUBLE, upper,
                     0, comm, MPI_STATUS_IGNORE);
        MPI_Sendrecv(first + (rows - 1) * columns, columns, MPI_DOUBLE, upper, 1, u.data(), columns,
                     MPI_DOUBLE, lower, 1, comm, MPI_STATUS_IGNORE);
    }
    void step()
    {
        exchange(a);
        for (int i = 1; i <= rows; ++i) {
            const double *u = a.data() + i * columns, *up = u - columns, *down = u + columns;
            double* const y = b.data() + i * columns;
            y[0] = u[0] + c * (up[0] + down[0] + u[columns - 1] + u[1] - 4 * u[0]);
            for (int j = 1; j < columns - 1; ++j)
                y[j] = u[j] + c * (up[j] + down[j] + u[j - 1] + u[j + 1] - 4 * u[j]);
            const int e = columns - 1;
            y[e] = u[e] + c * (up[e] + down[e] + u[e - 1] + u[0] - 4 * u[e]);
        }
        std::swap(a, b);
    }
    std::vector<double> gradient(const double* u, int steps)
    {
        const std::size_t n = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns),
                          edge = static_cast<std::size_t>(columns);
        a.assign(n + 2 * edge, 0);
        b.assign(n + 2 * edge, 0);
        std::copy(u, u + n, a.begin() + columns);
        for (int s = 0; s < steps; ++s) step();
        for (double& x : a) x *= 2;
        for (int s = 0; s < steps; ++s) step();
        return {a.begin() + columns, a.begin() + columns + static_cast<std::ptrdiff_t>(n)};
    }
};

void print(const mpi::Comm& w, const std::string& what, double hand, double own, double unit,
           const char* name)
{
    if (w.rank() == 0)
        std::printf("%s | %d | %.3f %s | %.3f %s | %.3f %s | %.2f\n", what.c_str(), w.size(), hand * unit,
                    name, own * unit, name, (own - hand) * unit, name, own / hand);
}

void heat(const mpi::Comm& w, const std::string& what, int rows, int cells, int steps)
{
    const int n = w.size(), r = w.rank();
    const D u =
        sin(reshape(wg::arange<double>(static_cast<double>(rows) * cells), {rows, cells}) * (1.0 + r));
    const auto step = [&](const D& t) {
        const D h = mpi::halo(t, {.axis = 0, .width = 1, .periodic = true}, w);
        return t + c * (view(h, wg::range(0, rows)) + view(h, wg::range(2, rows + 2)) + roll(t, 1, 1) +
                        roll(t, -1, 1) - 4.0 * t);
    };
    const auto alone = [&](const D& t) {
        return t + c * (roll(t, 1, 0) + roll(t, -1, 0) + roll(t, 1, 1) + roll(t, -1, 1) - 4.0 * t);
    };
    const auto loss = [&](const auto& by, const D& t) {
        return sum(
            square(wg::scan([&](const D& s) { return std::pair(by(s), std::tuple<>()); }, t, steps).first));
    };
    const auto across = [&](const D& t) { return loss(step, t); };
    auto tile = wg::freeze(wg::grad(across));
    auto native = wg::freeze(wg::grad(across), {.backend = wg::native});
    auto piece = wg::freeze(wg::grad([&](const D& t) { return loss(alone, t); }), {.backend = wg::native});
    ByHand hand{w.get(), (r + n - 1) % n, (r + 1) % n, rows, cells, {}, {}};
    const std::vector<double> wanted = hand.gradient(u.data(), steps);
    const D same = native(u), alike = tile(u);
    for (std::size_t i = 0; i < wanted.size(); ++i)
        if (std::abs(same.data()[i] - wanted[i]) > 1e-10 || std::abs(alike.data()[i] - wanted[i]) > 1e-10)
            std::printf("other numbers at %zu\n", i), std::exit(1);
    const auto t = least({[&] { static_cast<void>(hand.gradient(u.data(), steps)); },
                          [&] { static_cast<void>(native(u)); }, [&] { static_cast<void>(tile(u)); },
                          [&] { static_cast<void>(piece(u)); }},
                         7, w.get());
    const char* const names[] = {"native", "tiles", "native, a piece alone"};
    for (std::size_t k = 0; k < 3; ++k) print(w, what + ", " + names[k], t[0], t[k + 1], 1e3, "ms");
}

void messages(const mpi::Comm& w, std::int64_t elements, int times)
{
    const int n = w.size(), r = w.rank(), next = (r + 1) % n, before = (r + n - 1) % n;
    const D x = wg::ones<double>({elements});
    std::vector<double> in(static_cast<std::size_t>(elements));
    const int count = static_cast<int>(elements);
    const auto by_hand = [&] {
        for (int i = 0; i < times; ++i)
            MPI_Sendrecv(x.data(), count, MPI_DOUBLE, next, 0, in.data(), count, MPI_DOUBLE, before, 0,
                         w.get(), MPI_STATUS_IGNORE);
    };
    const auto own = [&] {
        for (int i = 0; i < times; ++i) static_cast<void>(mpi::sendrecv(x, next, before, w));
    };
    const auto t = least({by_hand, own}, 7, w.get());
    const std::string what = "a message of " + std::to_string(8 * elements) + " B";
    print(w, what, t[0] / times, t[1] / times, 1e6, "µs");
}

}  // namespace

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    {
        const mpi::Comm world(MPI_COMM_WORLD);
        messages(world, 1, 20000);
        messages(world, 131072, 200);
        const int cells = argc > 1 ? std::atoi(argv[1]) : 1024, steps = argc > 2 ? std::atoi(argv[2]) : 100;
        const std::string size = std::to_string(cells) + "², " + std::to_string(steps) + " steps";
        heat(world, "heat " + size, cells / world.size(), cells, steps);
        heat(world, "weak, heat of half a " + size + " a rank", cells / 2, cells, steps);
    }
    MPI_Finalize();
}
