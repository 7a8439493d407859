// The zero-cotangent rule in frozen functions of reals: what was traced where it applies is right there alone.
#include "catch.hpp"

#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/graph/native/native.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/scalar.hpp>

#include <algorithm>
#include <cmath>

namespace wg = wengert;
using R = wg::Real<double>;
using D = wg::Tensor<double>;
using Reals = std::vector<R>;

namespace {

std::vector<double> numbers(const Reals& x)
{
    std::vector<double> out;
    for (const R& r : x) out.push_back(r.value());
    return out;
}
std::vector<double> numbers(const D& x)
{
    const D c = copy(x);
    return {c.data(), c.data() + c.size()};
}
/// But for the last bits: Jacobians in lanes round each partial derivative first. By columns an infinite tangent meets a factor 0 and is NaN.
bool near(const std::vector<double>& a, const std::vector<double>& b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double p, double q) {
        return std::abs(p - q) <= 1e-14 * std::abs(q) || (p != p && q != q);
    });
}
/// Traced twice at `zero`, where a cotangent of 0 meets an infinite derivative, and then called at others.
template <class F> void agrees(const F& f, const Reals& zero, const std::vector<Reals>& others)
{
    for (const bool check : {true, false})
        for (const auto& frozen :
             {wg::freeze(f, {.check = check}), wg::freeze(f, {.backend = wg::native, .check = check})}) {
            CHECK(near(numbers(frozen(zero)), numbers(f(zero))));
            CHECK(near(numbers(frozen(zero)), numbers(f(zero))));
            for (const Reals& x : others) CHECK(near(numbers(frozen(x)), numbers(f(x))));
        }
}
/// Gradient, tangent and Jacobian of f; tangents are what is behind the arguments.
template <class F> void derivatives_agree(const F& f, const Reals& zero, const std::vector<Reals>& others)
{
    agrees([&](const Reals& x) { return wg::grad(f)(x); }, zero, others);
    agrees([&](const Reals& x) { return Reals{wg::jvp(f, x, Reals{R(0.0), R(1.0)}).second}; }, zero, others);
    agrees(
        [&](const Reals& x) {
            return wg::jacobian([&](const Reals& z) { return Reals{f(z), z[1] * z[0], z[0]}; })(x);
        },
        zero, others);
    agrees([&](const Reals& x) { return Reals{wg::jvp(f, x, Reals{x[1], x[1]}).second}; }, zero, others);
}

}  // namespace

TEST_CASE("A frozen derivative that was traced at a cotangent of 0 is traced again elsewhere")
{
    const auto rooted = [](const Reals& x) { return sqrt(x[0]) * x[1]; };
    derivatives_agree(rooted, {0.0, 0.0}, {{1.0, 1.0}, {2.0, 3.0}});
    const auto arc = [](const Reals& x) { return asin(x[0]) * x[1]; };
    derivatives_agree(arc, {1.0, 0.0}, {{0.5, 2.0}, {-0.25, 1.0}});
}

TEST_CASE("In a kernel a derivative of 0 in one cell is not that of the others")
{
    const auto slope = [](auto x, auto y) { return wg::grad([&](const auto& z) { return sqrt(z) * y; })(x); };
    const auto k = wg::kernel(slope);
    const D x = {0.0, 1.0, 0.25, 0.0}, y = {0.0, 1.0, 2.0, 0.0};
    CHECK(numbers(k(x, y)) == std::vector<double>{0.0, 0.5, 2.0, 0.0});
}
