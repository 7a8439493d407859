// Tangents<T, N>: every function against Real's forward mode, and derivatives of tangents.
#include "catch.hpp"

#include <wengert/scalar.hpp>

#include <sstream>
#include <thread>

namespace wg = wengert;
using R = wg::Real<double>;
template <std::size_t N> using Tan = wg::Tangents<double, N>;

static_assert(std::is_trivially_copyable_v<Tan<3>> && sizeof(Tan<3>) == 4 * sizeof(double));
static_assert(wg::is_real_number<Tan<2>>);

namespace {

/// f at x and z, by tangents and by Real's forward mode.
template <class F> void same(const char* name, const F& f, double x, double z)
{
    INFO(name);
    const auto y = f(Tan<2>::variable(x, 0), Tan<2>::variable(z, 1));
    const auto of_pair = [&](const std::pair<R, R>& p) { return f(p.first, p.second); };
    const std::pair<R, R> at{x, z};
    const auto [value, by_x] = wg::jvp(of_pair, at, std::pair<R, R>{1.0, 0.0});
    const R by_z = wg::jvp(of_pair, at, std::pair<R, R>{0.0, 1.0}).second;
    CHECK(y.value() == value.value());
    CHECK(y.tangent(0) == Approx(by_x.value()).epsilon(1e-13).margin(1e-15));
    CHECK(y.tangent(1) == Approx(by_z.value()).epsilon(1e-13).margin(1e-15));
}

const auto rosenbrock = [](const auto& x, const auto& y) {
    const auto a = 1.0 - x, b = y - x * x;
    return a * a + 100.0 * b * b;
};

}  // namespace

TEST_CASE("Operators of tangents")
{
    same(
        "+", [](auto x, auto z) { return x + z * 2.0 + 3; }, 0.7, 0.2);
    same(
        "-", [](auto x, auto z) { return 2 - x - z - -x; }, 0.7, 0.2);
    same(
        "*", [](auto x, auto z) { return x * z * x; }, 0.7, 0.2);
    same(
        "/", [](auto x, auto z) { return x / z + 1.0 / x - z / 4.0; }, 0.7, 0.2);
    same(
        "+=",
        [](auto x, auto z) {
            x += z, x *= z, x -= 2.0, x /= z;
            return ++x;
        },
        0.7, 0.2);
    same(
        "branches", [](auto x, auto z) { return x > z && x >= 0.5 && z != x ? x * z : z; }, 0.7, 0.2);
}

TEST_CASE("Functions of tangents")
{
    // clang-format off
    same("sqrt", [](auto x, auto) { return sqrt(x); }, 0.7, 0.2);
    same("cbrt", [](auto x, auto) { return cbrt(x); }, 0.7, 0.2);
    same("exp", [](auto x, auto z) { return exp(x) + exp2(z) + expm1(x * z); }, 0.7, 0.2);
    same("log", [](auto x, auto z) { return log(x) + log2(z) + log10(x * z) + log1p(z); }, 0.7, 0.2);
    same("sin", [](auto x, auto z) { return sin(x) * cos(z) + tan(x * z); }, 0.7, 0.2);
    same("asin", [](auto x, auto z) { return asin(x) * acos(z) + atan(x * z); }, 0.7, 0.2);
    same("sinh", [](auto x, auto z) { return sinh(x) * cosh(z) + tanh(x * z); }, 0.7, 0.2);
    same("asinh", [](auto x, auto z) { return asinh(x) * acosh(1.0 + z) + atanh(x * z); }, 0.7, 0.2);
    same("erf", [](auto x, auto z) { return erf(x) + erfc(z); }, 0.7, 0.2);
    same("pow", [](auto x, auto z) { return pow(x, z) + pow(x, 3) + pow(2.0, z); }, 0.7, 0.2);
    same("atan2", [](auto x, auto z) { return atan2(x, z) + hypot(x, z) + fmod(x, z); }, 0.7, 0.2);
    same("floor", [](auto x, auto z) { return floor(x) + ceil(z) + trunc(x) + round(z) + x; }, 1.7, 0.2);
    same("fmax", [](auto x, auto z) { return fmax(x, z) * fmin(x, z) + fdim(x, z) + maximum(x, z) * minimum(x, 2.0); }, 0.7, 0.2);
    same("abs", [](auto x, auto z) { return abs(x) + fabs(z) + copysign(x, z) + square(x); }, -0.7, 0.2);
    same("fma", [](auto x, auto z) { return fma(x, z, x) + ldexp(x, 3); }, 0.7, 0.2);
    // clang-format on
    CHECK((isnan(Tan<1>(NAN)) && isinf(Tan<1>(-INFINITY)) && isfinite(Tan<1>(1.0)) && signbit(Tan<1>(-1.0))));
    CHECK(lround(Tan<1>(2.6)) == 3);
    CHECK(std::numeric_limits<Tan<2>>::max().value() == std::numeric_limits<double>::max());
    std::ostringstream out;
    out << Tan<2>(1.5);
    CHECK(out.str() == "1.5");
    CHECK(static_cast<int>(Tan<2>(2.5)) == 2);
}

TEST_CASE("Tangents on any thread, in float, and of zero beside an infinite derivative")
{
    wg::Tangents<float, 3> y;
    std::thread([&] { y = sqrt(wg::Tangents<float, 3>::variable(4.0f, 2)); }).join();
    CHECK((y.value() == 2.0f && y.tangent(2) == 0.25f && y.tangent(0) == 0.0f));
    const auto root = sqrt(Tan<2>::variable(0.0, 1));
    CHECK((root.tangent(0) == 0 && std::isinf(root.tangent(1))));
    CHECK(wg::Tape::current().size() == 0);
}

TEST_CASE("Derivatives of tangents: tangents of tangents, and gradients of them")
{
    using Twice = wg::Tangents<Tan<2>, 2>;
    Twice x = Twice::variable(Tan<2>::variable(1.2, 0), 0), z = Twice::variable(Tan<2>::variable(0.5, 1), 1);
    const Twice y = rosenbrock(x, z);
    CHECK(y.tangent(0).tangent(0) == Approx(2 - 400 * (0.5 - 3 * 1.44)));
    CHECK(y.tangent(0).tangent(1) == Approx(-400 * 1.2));
    CHECK(y.tangent(1).tangent(1) == Approx(200));
    const auto slope = [](const std::vector<R>& v) {
        using Number = wg::Tangents<R, 1>;
        Number a(v[0]);
        a.tangent(0) = 1.0;
        return rosenbrock(a, Number(v[1]) + sin(Number(v[0])) * 0.0).tangent(0);
    };
    const auto g = wg::grad(slope)(std::vector<R>{1.2, 0.5});
    CHECK(g[0].value() == Approx(y.tangent(0).tangent(0)));
    CHECK(g[1].value() == Approx(y.tangent(0).tangent(1)));
}

TEST_CASE("Functions of tangents of tangents")
{
    using Inner = wg::Tangents<double, 1>;
    using Nested = wg::Tangents<Inner, 1>;
    const auto curvature = [](const auto& f, double x) {
        const Nested y = f(Nested::variable(Inner::variable(x, 0), 0));
        return y.tangent(0).tangent(0);
    };
    const auto by_reals = [](const auto& f, double x) {
        return wg::grad(wg::grad([&](const R& t) { return f(t); }))(R(x)).value();
    };
    const auto agree = [&](const char* name, const auto& f, double x) {
        INFO(name);
        CHECK(curvature(f, x) == Approx(by_reals(f, x)).epsilon(1e-13).margin(1e-15));
    };
    agree(
        "sigmoid", [](auto x) { return sigmoid(x); }, 0.7);
    agree(
        "silu", [](auto x) { return silu(x); }, 0.7);
    agree(
        "xlogy", [](auto x) { return xlogy(x, x * 2.0); }, 0.7);
    agree(
        "logaddexp", [](auto x) { return logaddexp(x, x * x); }, 0.7);
    agree(
        "erf", [](auto x) { return erf(x) * lgamma(x); }, 0.7);
    agree(
        "pow", [](auto x) { return pow(x, x); }, 0.7);
    agree(
        "tanh", [](auto x) { return tanh(x) + atan2(x, x * x) + hypot(x, 2.0); }, 0.7);
    agree(
        "gelu", [](auto x) { return gelu(x) + log_sigmoid(x) + softplus(x); }, 0.7);
    agree(
        "sqrt", [](auto x) { return sqrt(x) * cbrt(x) + expm1(x) * log1p(x); }, 0.7);
}
