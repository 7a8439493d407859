// What was not selected leaves no NaN behind, in reverse and in forward mode.
#include "catch.hpp"

#include <cmath>
#include <limits>

#include <wengert/ops/arg_reductions.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/matmul.hpp>
#include <wengert/ops/elementwise/pairs.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/transforms/checkpoint.hpp>
#include <wengert/transforms/derivatives.hpp>
#include <wengert/transforms/preaccumulate.hpp>

namespace wg = wengert;
using T = wg::Tensor<double>;

TEST_CASE("an unselected reduction or product of infinities has a zero gradient")
{
    const T x = {1.0, std::numeric_limits<double>::infinity()};
    const auto gradient = [&](auto f) {
        return wg::grad([&](const T& a) { return sum(where(a < 0.0, f(a), 0.0 * a.detach())); })(x);
    };
    for (const T& g :
         {gradient([](const T& a) { return wg::var(a); }), gradient([](const T& a) { return wg::norm(a); }),
          gradient([](const T& a) { return logsumexp(a); }),
          gradient([](const T& a) { return wg::dot(a, a); })}) {
        CHECK(g.data()[0] == 0.0);
        CHECK(g.data()[1] == 0.0);
    }
}

namespace {

const double infinity = std::numeric_limits<double>::infinity();
using F = T (*)(const T&);

/// t at 0 and 2, where an unselected derivative is infinite and where the function is smooth, or unselected too.
constexpr F unselected[] = {
    [](const T& t) { return where(t > 0.0, t * sqrt(t), 0.0 * t); },
    [](const T& t) { return where(t > 0.0, pow(t, 1.5), 0.0 * t); },
    [](const T& t) { return where(t > 0.0, square(t) * log(t), 0.0 * t); },
    [](const T& t) { return where(t > 5.0, dot(t, sqrt(t)), 0.0 * t); },
    [](const T& t) { return where(t > 5.0, prod(sqrt(t)), 0.0 * t); },
    [](const T& t) { return where(t > 5.0, norm(t * sqrt(t)) * sqrt(t), 0.0 * t); },
    [](const T& t) { return square(tanh(t)); },  // g = 0 and ġ = 2: its second derivative is to survive
};
const T x0 = {0.0, 2.0}, v0 = {1.0, 0.5};

bool finite(const T& t) { return all(is_finite(t)).item(); }

}  // namespace

TEST_CASE("forward over reverse is the Hessian through branches that were not selected")
{
    for (const F f : unselected) {
        const auto total = [f](const T& t) { return sum(f(t)); };
        const T want = matmul(wg::hessian(total)(x0), v0);
        CHECK(finite(want));
        CHECK(wg::allclose(wg::hvp(total)(x0, v0), want));
        CHECK(wg::allclose(wg::jvp(wg::grad(total), x0, v0).second, want));
        CHECK(wg::allclose(wg::hvp([&](const T& t) { return wg::checkpoint(total)(t); })(x0, v0), want));
        CHECK(finite(wg::jvp(f, x0, v0).second));
    }
}

TEST_CASE("forwards again, and in reverse over that, what was not selected has no NaN either")
{
    for (const F f : unselected) {
        const auto product = wg::hvp([f](const T& t) { return sum(f(t)); });
        const auto along = [&](const T& t) { return product(t, v0); };
        const T third = wg::jvp(along, x0, v0).second;
        CHECK(finite(third));
        CHECK(wg::allclose(wg::grad([&](const T& t) { return dot(along(t), v0); })(x0), third));
        const auto twice = [&](const T& t) { return wg::jvp(f, t, v0).second; };
        CHECK(finite(wg::jvp(twice, x0, v0).second));
    }
}

TEST_CASE("AllowNaN holds forwards, and a cotangent that is not 0 keeps its infinities")
{
    const auto f = [](const T& t) { return sum(unselected[0](t)); };
    CHECK(wg::hvp([](const T& t) { return sum(t * sqrt(t)); })(x0, v0).data()[0] == infinity);
    CHECK(wg::jvp([](const T& t) { return sqrt(t); }, x0, v0).second.data()[0] == infinity);
    const wg::AllowNaN off;
    CHECK(std::isnan(wg::hvp(f)(x0, v0).data()[0]));
}

TEST_CASE("preaccumulate: a row of the Jacobian that is not finite, with a cotangent of 0")
{
    const auto selected = [](const T& t) {
        return sum(where(t > 0.0, wg::preaccumulate([](const T& x) { return log(x); })(t), 0.0 * t));
    };
    CHECK(wg::allclose(wg::grad(selected)(T{0.0, 2.0}), T{0.0, 0.5}, 0.0));
    const auto one = [](const T& t) { return wg::preaccumulate([](const T& x) { return sqrt(x); })(t)(1); };
    CHECK(wg::allclose(wg::grad(one)(T{0.0, 1.0}), T{0.0, 0.5}, 0.0));
    CHECK(std::isinf(wg::grad(one)(T{1.0, 0.0})(1).item()));
    const wg::AllowNaN quiet;
    CHECK(std::isnan(wg::grad(one)(T{0.0, 1.0})(0).item()));
}
