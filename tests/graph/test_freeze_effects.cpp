// What a frozen function does beside its result, under derivatives too: live tensors that it updates, rules that read
// values, errors. Each test has the function itself beside it.
#include "frozen_beside.hpp"

#include <vector>

namespace {

using D = Tensor<double>;

}  // namespace

TEST_CASE("the derivative of a frozen function whose rule reads a value")
{
    const auto rule = wg::custom_vjp(
        [](const D& x) { return x * x; },
        [](const D& g, const D&, const D& x) { return x.item() > 2.0 ? g * 10.0 * x : g * 2.0 * x; });
    const auto frozen = wg::freeze([rule](const D& x) { return rule(x * 1.0) + 0.0; });
    const std::vector<double> x{1.0, 3.0, 1.5, 4.0, 2.5}, slope{2.0, 30.0, 3.0, 40.0, 25.0};
    for (std::size_t k = 0; k < x.size(); ++k) CHECK(wg::grad(frozen)(D(x[k])).item() == slope[k]);
}

TEST_CASE("a pullback made while saved values go to disk")
{
    const auto f = [](const D& x) { return sum(sin(x) * x * exp(x)); };
    auto frozen = wg::freeze(f, unchecked());
    for (int k = 0; k < 4; ++k) {
        D v = wg::linspace<double>(0.1, 1.0 + k, 300);
        const D expected = wg::grad(f)(v);
        v.requires_grad(true);
        const D y = frozen(v);
        if (k == 0) {
            const wg::SavedTensorHooks hooks(wg::save_on_disk("."));
            backward(y);
        } else {
            backward(y);
        }
        CHECK(sum(abs(v.grad() - expected)).item() < 1e-9 * sum(abs(expected)).item());
    }
}
