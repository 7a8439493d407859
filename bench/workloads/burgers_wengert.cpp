#include "burgers_problem.hpp"
#include "frozen_common.hpp"

namespace bench {
namespace {

using D = wengert::Tensor<double>;
using wengert::range;

auto problem()
{
    constexpr std::size_t n = Burgers::n;
    const auto loss = [](const std::vector<D>& w) {
        const auto inner = range(1, n - 1), before = range(0, n - 2), after = range(2, n);
        D u = w[0];
        for (std::size_t s = 0; s < Burgers::steps; ++s) {
            const D here = view(u, inner, inner), north = view(u, before, inner),
                    west = view(u, inner, before);
            const D around = north + west + view(u, after, inner) + view(u, inner, after);
            const D moved = here * (2.0 * here - north - west) * (Burgers::speed / Burgers::dx);
            const D spread = w[1] * ((around - 4.0 * here) * (1 / (Burgers::dx * Burgers::dx)));
            view(u, inner, inner) += Burgers::dt * (spread - moved);
        }
        return sum(u * u);
    };
    const Burgers p;
    return std::pair(std::vector<D>{D({n, n}, p.u), D(p.nu)}, loss);
}

const bool added = add_wengert<double>({"burgers", "100 steps", {}, {}, 1e-9}, problem);

}  // namespace
}  // namespace bench
