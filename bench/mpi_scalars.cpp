// Scalar code on several ranks beside CoDiPack with MeDiPack: mpirun -np 2 wengert_mpi_scalars (bench/run.sh mpi)
//   heat       the gradient of Σ u² after explicit steps on a ring of cells, whose ends lie on other ranks
//   exchange   the same of one cell a rank: what two messages of one number take, and their adjoints
// A line for each: what | ranks | CoDiPack and MeDiPack | wengert | times. The least of several runs, in turn.
#if !__has_include(<medi/medi.hpp>) || !__has_include(<codi.hpp>)
int main() {}
#else

#include "ranks.hpp"

#include <medi/medi.hpp>

#include <codi.hpp>
#include <codi/tools/mpi/codiMpiTypes.hpp>
#include <wengert/mpi.hpp>
#include <wengert/scalar.hpp>
#include <wengert/wengert.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace wg = wengert;
namespace mpi = wengert::mpi;
using Peer = codi::RealReverse;
using Own = wg::Real<double>;

namespace {

int rank, ranks, lower, upper;

/// `exchange(first, last)` sends both ends of a piece to its neighbours, and gives theirs: (the lower one's last, the upper one's first).
template <class Number, class Exchange>
Number heat(std::vector<Number> u, int steps, const Exchange& exchange)
{
    const std::size_t n = u.size();
    std::vector<Number> next(n);
    for (int s = 0; s < steps; ++s) {
        const auto [below, above] = exchange(u.front(), u.back());
        for (std::size_t i = 0; i < n; ++i) {
            const Number &left = i > 0 ? u[i - 1] : below, &right = i + 1 < n ? u[i + 1] : above;
            next[i] = u[i] + 0.2 * (left - 2.0 * u[i] + right);
        }
        std::swap(u, next);
    }
    Number total = 0.0;
    for (const Number& x : u) total += x * x;
    return total;
}

std::vector<double> gradient_of_peer(codi::CoDiMpiTypes<Peer>& types, const std::vector<double>& at,
                                     int steps)
{
    auto& tape = Peer::getTape();
    tape.reset();
    tape.setActive();
    std::vector<Peer> u(at.begin(), at.end());
    for (Peer& x : u) tape.registerInput(x);
    Peer y = heat(u, steps, [&](const Peer& first, const Peer& last) {
        Peer below, above, down = first, up = last;
        medi::AMPI_Sendrecv(&up, 1, types.MPI_TYPE, upper, 0, &below, 1, types.MPI_TYPE, lower, 0,
                            AMPI_COMM_WORLD, AMPI_STATUS_IGNORE);
        medi::AMPI_Sendrecv(&down, 1, types.MPI_TYPE, lower, 1, &above, 1, types.MPI_TYPE, upper, 1,
                            AMPI_COMM_WORLD, AMPI_STATUS_IGNORE);
        return std::pair(below, above);
    });
    tape.registerOutput(y);
    y.setGradient(1.0);
    tape.setPassive();
    tape.evaluate();
    std::vector<double> g;
    for (const Peer& x : u) g.push_back(x.getGradient());
    return g;
}

std::vector<double> gradient(const mpi::Comm& world, const std::vector<double>& at, int steps)
{
    const std::vector<Own> u(at.begin(), at.end());
    const auto f = [&](const std::vector<Own>& x) {
        return heat(x, steps, [&](const Own& first, const Own& last) {
            const Own below = mpi::sendrecv(last, upper, lower, world);
            return std::pair(below, mpi::sendrecv(first, lower, upper, world));
        });
    };
    std::vector<double> g;
    for (const Own& x : wg::grad(f)(u)) g.push_back(x.value());
    return g;
}

void row(const char* what, const mpi::Comm& world, codi::CoDiMpiTypes<Peer>& types, std::size_t cells,
         int steps)
{
    std::vector<double> at(cells);
    for (std::size_t i = 0; i < cells; ++i) at[i] = std::sin(0.7 * static_cast<double>(i) + rank);
    const std::vector<double> wanted = gradient_of_peer(types, at, steps), got = gradient(world, at, steps);
    for (std::size_t i = 0; i < cells; ++i)
        if (std::abs(got[i] - wanted[i]) > 1e-12 * (1 + std::abs(wanted[i])))
            std::printf("%s: other numbers at %zu\n", what, i), std::exit(1);
    const auto t = least({[&] { gradient_of_peer(types, at, steps); }, [&] { gradient(world, at, steps); }},
                         9, world.get());
    if (rank == 0)
        std::printf("%s | %d | %.3f ms | %.3f ms | %.2f\n", what, ranks, t[0] * 1e3, t[1] * 1e3, t[1] / t[0]);
}

}  // namespace

int main(int argc, char** argv)
{
    medi::AMPI_Init(&argc, &argv);
    {
        const mpi::Comm world(MPI_COMM_WORLD);
        codi::CoDiMpiTypes<Peer> types;
        rank = world.rank(), ranks = world.size();
        lower = (rank + ranks - 1) % ranks, upper = (rank + 1) % ranks;
        if (rank == 0) std::printf("beside CoDiPack %s and MeDiPack %s\n", CODI_VERSION, MEDI_VERSION);
        row("heat, 1,000 cells a rank, 200 steps", world, types, 1000, 200);
        row("exchange of 2 numbers, 2,000 times", world, types, 1, 2000);
    }
    medi::AMPI_Finalize();
}

#include <medi/medi.cpp>
#endif
