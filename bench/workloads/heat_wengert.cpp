#include "frozen_common.hpp"
#include "problems.hpp"

namespace bench {
namespace {

using F = wengert::Tensor<float>;
using wengert::range;

auto problem()
{
    constexpr std::size_t n = Heat::n;
    const auto loss = [](const std::vector<F>& w) {
        const auto inner = range(1, n - 1), before = range(0, n - 2), after = range(2, n);
        F u = w[0];
        for (int s = 0; s < Heat::steps; ++s) {
            const F around = view(u, before, inner) + view(u, after, inner) + view(u, inner, before) +
                             view(u, inner, after);
            view(u, inner, inner) += Heat::k * (around - 4.0f * view(u, inner, inner));
        }
        return sum(u * u);
    };
    return std::pair(std::vector<F>{F({n, n}, Heat().u)}, loss);
}

const bool added = add_wengert<float>({"heat", "256x256", {}, {}, 1e-4}, problem);

}  // namespace
}  // namespace bench
