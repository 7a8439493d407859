// A hydrodynamics code of scalars whose cells lie on several ranks (../hydro/lagrange.hpp has the code on one). To differentiate
// it, `double` became `Real`, and the calls of MPI became those of wengert. How does the kinetic energy of a shock tube depend on
// the energy of every cell at its beginning? All ranks together give the gradient that one rank gives.
//   mpirun -np 4 hydro_across_ranks [FOLDER_FOR_THE_PLOT]
#include <mpi.h>
#include <wengert/mpi.hpp>
#include <wengert/scalar.hpp>
#include <wengert/wengert.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

#include "../hydro/lagrange.hpp"
#include "../plot.hpp"

namespace wg = wengert;
namespace mpi = wengert::mpi;
using Number = wg::Real<double>;

constexpr std::size_t n = 96;
constexpr int steps = 60;

/// Cells [first, first + count) of the tube.
Tube<Number> piece(const std::vector<Number>& energy, std::size_t first)
{
    const std::size_t count = energy.size();
    std::vector<Number> all(n, Number(1.0));
    for (std::size_t i = 0; i < count; ++i) all[first + i] = energy[i];
    const Tube<Number> whole = sod(all);
    const auto cells = [&](const auto& x, std::size_t more = 0) {
        using Cells = std::remove_cvref_t<decltype(x)>;
        const auto from = x.begin() + static_cast<std::ptrdiff_t>(first);
        return Cells(from, from + static_cast<std::ptrdiff_t>(count + more));
    };
    return {cells(whole.x, 1), cells(whole.u, 1), cells(whole.rho), cells(whole.e),
            cells(whole.p),    cells(whole.q),    cells(whole.mass)};
}

/// Each rank moves its cells and all their nodes; the node between two ranks is moved on both.
void step(Tube<Number>& t, const mpi::Comm& comm)
{
    const std::size_t m = t.e.size();
    const int r = comm.rank(), k = comm.size(), lower = (r + k - 1) % k, upper = (r + 1) % k;
    const Number dt = mpi::allreduce(courant_step(t), mpi::min, comm);
    // of the cells beside this piece: pressure and viscosity, mass
    const auto edge = [&](std::size_t i) { return std::vector<Number>{t.p[i] + t.q[i], Number(t.mass[i])}; };
    const std::vector<Number> below = mpi::sendrecv(edge(m - 1), upper, lower, comm),
                              above = mpi::sendrecv(edge(0), lower, upper, comm);
    const auto push = [&](std::size_t i, const std::vector<Number>& left, const std::vector<Number>& right) {
        t.u[i] -= dt * (right[0] - left[0]) / (0.5 * (right[1] + left[1]));
    };
    if (r > 0) push(0, below, edge(0));
    for (std::size_t i = 1; i < m; ++i) push(i, edge(i - 1), edge(i));
    if (r + 1 < k) push(m, edge(m - 1), above);
    move(t, dt);
}

/// A rank's part of the kinetic energy: that of its nodes but the last, which belongs to the next rank.
Number kinetic_energy(const std::vector<Number>& energy, const mpi::Comm& comm, std::vector<double>* density)
{
    Tube<Number> t = piece(energy, static_cast<std::size_t>(comm.rank()) * energy.size());
    for (int s = 0; s < steps; ++s) step(t, comm);
    const int k = comm.size();
    const Number below =
        mpi::sendrecv(Number(t.mass.back()), (comm.rank() + 1) % k, (comm.rank() + k - 1) % k, comm);
    Number total = comm.rank() == 0 ? Number(0.0) : 0.25 * (t.mass[0] + below) * t.u[0] * t.u[0];
    for (std::size_t i = 1; i < t.e.size(); ++i)
        total += 0.25 * (t.mass[i] + t.mass[i - 1]) * t.u[i] * t.u[i];
    if (density)
        for (const Number& rho : t.rho) density->push_back(rho.value());
    return total;
}

std::vector<double> gradient(const std::vector<double>& energy, const mpi::Comm& comm,
                             std::vector<double>* density = nullptr)
{
    const std::vector<Number> e(energy.begin(), energy.end());
    const auto f = [&](const std::vector<Number>& x) { return kinetic_energy(x, comm, density); };
    std::vector<double> g;
    for (const Number& x : wg::grad(f)(e)) g.push_back(x.value());
    return g;
}

int compare(const mpi::Comm& world, const char* folder)
{
    std::vector<double> energy(n);
    for (std::size_t i = 0; i < n; ++i)
        energy[i] = (i < n / 2 ? 2.5 : 2.0) + 0.02 * std::sin(0.7 * static_cast<double>(i));
    const mpi::Comm alone(MPI_COMM_SELF);
    std::vector<double> density;
    const std::vector<double> whole = gradient(energy, alone, &density);
    const std::size_t count = n / static_cast<std::size_t>(world.size()),
                      first = static_cast<std::size_t>(world.rank()) * count;
    const auto from = energy.begin() + static_cast<std::ptrdiff_t>(first);
    const std::vector<double> mine =
        gradient(std::vector<double>(from, from + static_cast<std::ptrdiff_t>(count)), world);
    double worst = 0, largest = 0, all = 0;
    for (std::size_t i = 0; i < count; ++i) worst = std::max(worst, std::abs(mine[i] - whole[first + i]));
    for (const double g : whole) largest = std::max(largest, std::abs(g));
    MPI_Allreduce(&worst, &all, 1, MPI_DOUBLE, MPI_MAX, world.get());
    if (world.rank() == 0) {
        std::printf("%d ranks, %zu cells, %d steps: the gradient is off by %.1e of its largest element\n",
                    world.size(), n, steps, all / largest);
        if (folder) {
            Plot plot(folder, "hydro_across_ranks", 900, 420);
            std::vector<double> rows;
            for (std::size_t i = 0; i < n; ++i) rows.insert(rows.end(), {density[i], whole[i]});
            plot.data("tube", wg::Tensor<double>({n, std::size_t{2}}, rows));
            plot.script
                << "set multiplot layout 1,2\nset xlabel 'cell'\nset title 'density at the end'\n"
                   "plot $tube using 0:1 with steps notitle\nset title '∂ kinetic energy / ∂ energy'\n"
                   "plot $tube using 0:2 with steps notitle\nunset multiplot\n";
            plot.show();
        }
    }
    return all < 1e-12 * largest ? 0 : 1;
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    int status = 0;
    {
        const mpi::Comm world(MPI_COMM_WORLD);
        status = n % static_cast<std::size_t>(world.size()) == 0
                     ? compare(world, argc > 1 ? argv[1] : nullptr)
                     : 1;
    }
    MPI_Finalize();
    return status;
}
