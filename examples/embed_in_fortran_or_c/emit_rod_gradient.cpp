// Writes a header with a loss and its gradient, for simulation.c and simulation.f90 beside this file, which know nothing of
// wengert. The model: a rod of 24 cells, hot at its left end and cold at its right one; 40 explicit steps of heat
// conduction with one conductivity for each face between two cells; the loss is the mismatch with temperatures observed.
//   emit_rod_gradient [HEADER]

#include <wengert/emit.hpp>
#include <wengert/wengert.hpp>

#include <cstdio>
#include <fstream>

namespace wg = wengert;
using Field = wg::Tensor<double>;
using wg::range;
using wg::placeholders::_;

constexpr std::size_t cells = 24;
constexpr int steps = 40;

/// ∂u/∂t = ∂/∂x (κ ∂u/∂x), κ in units of Δx²/Δt.
Field temperatures(const Field& kappa)
{
    Field u = wg::zeros<double>({cells});
    view(u, 0) = 1.0;
    for (int s = 0; s < steps; ++s) {
        const Field flux = kappa * (view(u, range(1, _)) - view(u, range(_, -1)));
        view(u, range(1, -1)) += view(flux, range(1, _)) - view(flux, range(_, -1));
    }
    return u;
}

Field loss(const Field& kappa, const Field& observed) { return sum(square(temperatures(kappa) - observed)); }

int main(int argc, char** argv)
{
    const Field kappa = wg::full<double>({cells - 1}, 0.2), observed = wg::zeros<double>({cells});
    const auto frozen = wg::freeze(wg::value_and_grad(loss));
    const std::string header = wg::emit_cpp(frozen.graph(kappa, observed), "rod");
    std::printf("%zu cells, %d steps: a graph of %zu values, a header of %zu kB\n", cells, steps,
                frozen.graph(kappa, observed).size(), header.size() / 1024);
    if (argc > 1) std::ofstream(argv[1]) << header;
    return header.find("rod_workspace") == std::string::npos;
}
