// Both rules of every function of linalg::, to the second order, over batches, views and both types.
#include "linalg/linalg_cases.hpp"

using namespace linalg_cases;

namespace {

/// A view whose last two axes are exchanged, with the elements of x.
template <class T> Tensor<T> exchanged(const Tensor<T>& x)
{
    return wg::swapaxes(copy(wg::swapaxes(x, -1, -2)), -1, -2);
}

template <class T> wg::CheckOptions options(int order)
{
    const bool single = std::numeric_limits<T>::digits <= 24;
    return {.order = order, .eps = single ? 2e-2 : 0.0, .tolerance = single ? 2e-2 : 2e-6};
}

template <class T> void check(const Case<T>& c, const Tensor<T>& x, int order)
{
    INFO(c.name << " of shape " << to_string(x.shape()));
    const wg::CheckReport report = wg::check_grads(c.f, x, options<T>(order));
    INFO(report.message);
    CHECK(report.ok);
}

}  // namespace

TEMPLATE_TEST_CASE("linalg: derivatives of the first and the second order", "", float, double)
{
    using T = TestType;
    for (const auto& c : all<T>())
        for (const auto& [m, n] : c.extents) check(c, matrices<T>({}, m, n), 2);
}

TEMPLATE_TEST_CASE("linalg: derivatives over batches, and of views", "", float, double)
{
    using T = TestType;
    for (const auto& c : all<T>())
        for (const auto& [m, n] : c.extents) {
            check(c, matrices<T>({2, 1, 2}, m, n, 3), 1);
            check(c, exchanged(matrices<T>({2}, m, n, 4)), 1);
        }
}

TEMPLATE_TEST_CASE("linalg: empty batches", "", float, double)
{
    using T = TestType;
    for (const auto& c : all<T>())
        for (const auto& [m, n] : c.extents) {
            INFO(c.name << " of " << m << " by " << n);
            const auto x = matrices<T>({0}, m, n);
            const auto g = wg::grad([&](const Tensor<T>& t) { return sum(c.f(t)); })(x);
            CHECK(g.shape() == x.shape());
        }
}
