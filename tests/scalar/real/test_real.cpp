// Real as a number: values, functions and their derivatives, conversions, what the standard library asks of it.
#include "catch.hpp"

#include <wengert/scalar.hpp>

#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <sstream>
#include <unordered_map>

namespace wg = wengert;
using R = wg::Real<double>;
using F = wg::Real<float>;

static_assert(std::is_trivially_copyable_v<R> && sizeof(R) == 16 && sizeof(F) <= 16);
// Boost.odeint and others go down a chain of value_types to find a container's number.
template <class X>
concept HasValueType = requires { typename X::value_type; };
static_assert(!HasValueType<R> && std::is_same_v<R::plain_type, double>);
static_assert(!std::is_convertible_v<R, double> && std::is_convertible_v<double, R> &&
              std::is_convertible_v<int, R>);
static_assert(std::is_convertible_v<F, R> && !std::is_convertible_v<R, F>);
static_assert(std::numeric_limits<R>::epsilon().plain() == std::numeric_limits<double>::epsilon());
static_assert(wg::is_real_number<R> && wg::is_real_number<float> && !wg::is_real_number<int>);
static_assert(sizeof(wg::ScalarEntry) <= 24);

namespace {

/// The same function of a double and of a Real: values are equal, derivatives agree with differences to order 2.
template <class Function> void agrees(const char* name, const Function& f, double at)
{
    INFO(name);
    CHECK(f(R(at)).value() == f(at));
    const auto report = wg::check_grads([&](const R& x) { return f(x); }, R(at), {.order = 2});
    INFO(report.message);
    CHECK(report.ok);
}
template <class Function> void both_agree(const char* name, const Function& f, double a, double b)
{
    INFO(name);
    CHECK(f(R(a), R(b)).value() == f(a, b));
    const auto report = wg::check_grads([&](const R& x, const R& y) { return f(x, y); },
                                        std::tuple(R(a), R(b)), {.order = 2});
    INFO(report.message);
    CHECK(report.ok);
    agrees(
        name, [&](auto x) { return f(x, decltype(x)(b)); }, a);
    agrees(
        name, [&](auto x) { return f(decltype(x)(a), x); }, b);
}

}  // namespace

TEST_CASE("Functions of one number")
{
#define FUNCTION(name, at)                                                                                   \
    agrees(                                                                                                  \
        #name,                                                                                               \
        [](auto x) {                                                                                         \
            using std::name;                                                                                 \
            return name(x);                                                                                  \
        },                                                                                                   \
        at)
    FUNCTION(sqrt, 1.7), FUNCTION(cbrt, 1.7), FUNCTION(exp, 0.3), FUNCTION(exp2, 0.3), FUNCTION(expm1, 0.3);
    FUNCTION(log, 1.7), FUNCTION(log2, 1.7), FUNCTION(log10, 1.7), FUNCTION(log1p, 0.3), FUNCTION(sin, 0.3);
    FUNCTION(cos, 0.3), FUNCTION(tan, 0.3), FUNCTION(asin, 0.3), FUNCTION(acos, 0.3), FUNCTION(atan, 0.3);
    FUNCTION(sinh, 0.3), FUNCTION(cosh, 0.3), FUNCTION(tanh, 0.3), FUNCTION(asinh, 0.3), FUNCTION(acosh, 1.7);
    FUNCTION(atanh, 0.3), FUNCTION(erf, 0.3), FUNCTION(erfc, 0.3), FUNCTION(abs, -0.3), FUNCTION(fabs, 0.3);
    FUNCTION(floor, 1.7), FUNCTION(ceil, 1.7), FUNCTION(trunc, -1.7), FUNCTION(round, -1.7),
        FUNCTION(rint, 1.7);
#undef FUNCTION
    agrees(
        "negative", [](auto x) { return -x; }, 0.3);
    agrees(
        "reciprocal", [](auto x) { return 1.0 / x; }, 0.3);
    agrees(
        "from a constant", [](auto x) { return 1.0 - x; }, 0.3);
    agrees(
        "compound",
        [](auto x) {
            auto y = x;
            y += x;
            y *= x;
            y -= 1.0;
            y /= x;
            return y;
        },
        0.3);
    agrees(
        "steps",
        [](auto x) {
            auto y = x++;
            ++x;
            const auto z = x * y;
            return z - --y;
        },
        0.3);
    agrees(
        "ldexp",
        [](auto x) {
            using std::ldexp;
            return ldexp(x, 3) * x;
        },
        0.3);
}

TEST_CASE("Functions of two numbers")
{
#define FUNCTION(name, a, b)                                                                                 \
    both_agree(                                                                                              \
        #name,                                                                                               \
        [](auto x, auto y) {                                                                                 \
            using std::name;                                                                                 \
            return name(x, y);                                                                               \
        },                                                                                                   \
        a, b)
    FUNCTION(pow, 1.3, 2.1), FUNCTION(atan2, 0.3, -1.2), FUNCTION(hypot, 0.3, -1.2), FUNCTION(fmod, 5.3, 1.2);
    FUNCTION(fmax, 0.3, 1.2), FUNCTION(fmin, 0.3, 1.2), FUNCTION(fdim, 1.3, 1.2),
        FUNCTION(copysign, 0.3, -1.2);
#undef FUNCTION
    both_agree(
        "plus", [](auto x, auto y) { return x + y * x; }, 0.3, 1.2);
    both_agree(
        "minus", [](auto x, auto y) { return x * x - y; }, 0.3, 1.2);
    both_agree(
        "times", [](auto x, auto y) { return x * y * y; }, 0.3, 1.2);
    both_agree(
        "by", [](auto x, auto y) { return x / y; }, 0.3, 1.2);
    both_agree(
        "fma",
        [](auto x, auto y) {
            using std::fma;
            return fma(x, y, x);
        },
        0.3, 1.2);
    CHECK(wg::grad([](R x) { return pow(x, 2); })(R(0.0)).value() == 0);
    CHECK(wg::grad([](R x) { return pow(x, 0.0); })(R(0.0)).value() == 0);
    CHECK(wg::grad([](R x) { return hypot(x, x); })(R(0.0)).value() == 0);
    CHECK(wg::grad([](R x) { return abs(x); })(R(0.0)).value() == 0);
    CHECK(wg::grad([](R x) { return wg::maximum(x, 1.0); })(R(1.0)).value() == 0.5);
    const double least = std::numeric_limits<double>::denorm_min(),
                 inf = std::numeric_limits<double>::infinity();
    for (const double x : {least, 3 * least, -least, inf, -inf, 1e308, 0.0, -0.0}) {
        CHECK(wg::maximum(R(x), R(x)).value() == x);
        CHECK(wg::minimum(R(x), R(x)).value() == x);
        CHECK(std::signbit(wg::maximum(R(x), R(x)).value()) == std::signbit(x));
    }
    CHECK(wg::grad([](R x) { return wg::maximum(x, x * 1.0); })(R(3 * least)).value() == 1.0);
    both_agree(
        "midpoint",
        [](auto x, auto y) {
            using std::midpoint;
            return midpoint(x, y) * midpoint(x, x);
        },
        0.3, 1.2);
    CHECK(midpoint(R(1.5e308), R(1.7e308)).value() == std::midpoint(1.5e308, 1.7e308));
    const std::unordered_map<R, int> by_value{{R(1.5), 7}};
    CHECK(by_value.at(R(1.5)) == 7);
    for (const double x : {-1.0, -0.0, 0.0, 2.0, -2.75, inf, -inf}) {
        double whole = 0;
        R real_whole;
        const double part = std::modf(x, &whole);
        const R real_part = modf(R(x), &real_whole);
        CHECK((real_part.value() == part && std::signbit(real_part.value()) == std::signbit(part)));
        CHECK((real_whole.value() == whole && std::signbit(real_whole.value()) == std::signbit(whole)));
    }
    const auto fraction = [](R x) {
        R whole;
        return modf(x, &whole);
    };
    CHECK(wg::grad(fraction)(R(-1.0)).value() == 1.0);
}

namespace {

/// A function of one number for both types, checked by one instantiation for all.
struct Case {
    template <class Function>
    Case(const char* n, Function f, std::vector<double> points)
        : name(n), on_reals([f](const R& x) { return R(f(x)); }),
          plain([f](double x) { return double(f(x)); }), at(std::move(points))
    {}
    std::string name;
    std::function<R(const R&)> on_reals;
    std::function<double(double)> plain;
    std::vector<double> at;
};
void check(const Case& c, double within)
{
    for (const double x : c.at) {
        INFO(c.name << " at " << x);
        CHECK(std::abs(c.on_reals(R(x)).value() - c.plain(x)) <= within * std::abs(c.plain(x)));
        const auto report = wg::check_grads(c.on_reals, R(x), {.order = 2});
        INFO(report.message);
        CHECK(report.ok);
    }
}

}  // namespace

/// A formula in x, at some places.
#define FORMULA(name, ...)                                                                                   \
    check({#name,                                                                                            \
           [](auto x) {                                                                                      \
               using namespace std;                                                                          \
               return name;                                                                                  \
           },                                                                                                \
           {__VA_ARGS__}},                                                                                   \
          1e-13)

TEST_CASE("What else <cmath> has")
{
    FORMULA(hypot(x, 2.0 * x, 1.0), 0.3), FORMULA(hypot(1.0, 2.0, x), 0.3), FORMULA(fma(x, 2.0, x), 0.3);
    FORMULA(lerp(x, 3.0 * x, 0.4), 0.3), FORMULA(lerp(0.5, 2.0, x), 0.3, 1.0, 1.7),
        FORMULA(lerp(-x, x, x), 0.3);
    FORMULA(remainder(x, 1.2) * x, 5.3, 0.3), FORMULA(remainder(5.3, x) * x, 1.2);
    FORMULA(scalbn(x, ilogb(x)) + logb(x) + scalbln(x, 3L) * x, 5.3), FORMULA(nextafter(x, 1.0) * x, 1.2);
    FORMULA(nexttoward(x, 9.0L) * x, 1.2);
    FORMULA(tgamma(x), 0.3, 2.7, -1.4, 25.5), FORMULA(lgamma(x), 0.3, 2.7, -1.4, 25.5);
    const auto parts = [](auto x) {
        using std::frexp, std::modf, std::remquo;
        int e = 0, q = 0;
        decltype(x) whole;
        const auto m = frexp(x, &e), fraction = modf(x, &whole), rest = remquo(x, decltype(x)(2.0), &q);
        return m * m * e + fraction * whole + rest * rest * q;
    };
    check({"frexp, modf, remquo", parts, {5.3, -0.7}}, 0.0);
    const R x = 2.5, inf = std::numeric_limits<R>::infinity();
    CHECK((isnormal(x) && fpclassify(inf) == FP_INFINITE && isless(x, 3.0) && !isgreater(x, 3.0)));
    CHECK((isunordered(x, NAN) && llrint(x) == 2 && max(x, 3.0).value() == 3 && min(1, x).value() == 1));
    const double infinite = std::numeric_limits<double>::infinity();
    for (const double v : {0.0, -0.0, 5e-324, 4e-320, 1e-300, 0.75, 3e200, 1.7e308, infinite, -infinite})
        for (const int e :
             {-5000, -2100, -1100, -1030, -1022, -140, -3, 0, 1, 60, 1000, 1022, 1060, 2090, 5000}) {
            CAPTURE(v, e);
            CHECK(ldexp(R(v), e).value() == std::ldexp(v, e));
            const auto single = static_cast<float>(v);
            CHECK(ldexp(F(single), e).value() == std::ldexp(single, e));
        }
    for (const float v : {1e-45F, 1e-42F, 0.3F, 3e38F}) {
        int of_real = 0, of_number = 0;
        CHECK(frexp(F(v), &of_real).value() == std::frexp(v, &of_number));
        CHECK(of_real == of_number);
    }
    const auto between = [](const std::array<R, 2>& ends) { return R(lerp(ends[0], ends[1], 0.25)); };
    for (const double b : {3.0, 3.0 + 4e-16}) {
        const auto slope = wg::grad(between)(std::array<R, 2>{R(3.0), R(b)});
        CHECK((slope[0].value() == 0.75 && slope[1].value() == 0.25));
    }
    CHECK((wg::digamma(1.0) == Approx(-0.5772156649015329).epsilon(1e-14)));
    CHECK((wg::polygamma(1, 1.0) == Approx(std::numbers::pi * std::numbers::pi / 6).epsilon(1e-14)));
    CHECK((wg::polygamma(2, 1.0) == Approx(-2.4041138063191886).epsilon(1e-14)));
    CHECK(std::isnan(wg::digamma(-2.0)));
    CHECK(wg::grad([](F v) { return lgamma(v); })(F(2.5f)).value() == Approx(0.7031566406));
}

TEST_CASE("Functions of networks have the values and derivatives of tensors")
{
    using D = wg::Tensor<double>;
    const auto f = [](const auto& x) {
        return sigmoid(x) + normal_cdf(x) * softplus(x) + log_sigmoid(x) + relu(x) + silu(x) + gelu(x);
    };
    const auto on_reals = [&](const R& x) { return f(x); };
    const auto on_tensors = [&](const D& x) { return f(x); };
    for (const double v : {0.3, 0.0, -2.0, 40.0, -40.0, 800.0, -800.0}) {
        CAPTURE(v);
        CHECK(f(R(v)).value() == Approx(f(D(v)).item()).epsilon(1e-14));
        CHECK(wg::grad(on_reals)(R(v)).value() == Approx(wg::grad(on_tensors)(D(v)).item()).epsilon(1e-14));
        if (v == 0) continue;  // relu is not smooth there
        const double second = wg::grad(wg::grad(on_tensors))(D(v)).item();
        CHECK(wg::grad(wg::grad(on_reals))(R(v)).value() == Approx(second).epsilon(1e-13).margin(1e-15));
    }
    CHECK(std::isnan(relu(R(NAN)).value()));
    const auto cells = wg::kernel(f);
    CHECK(allclose(cells(D{0.3, -2.0}), f(D{0.3, -2.0}), 1e-14));
}

TEST_CASE("Functions that choose have one value and one derivative for numbers, reals, tensors and kernels, "
          "NaN too")
{
    using D = wg::Tensor<double>;
    const auto check = [](auto f) {
        const auto on_reals = [&](const R& x) { return f(x); };
        const auto on_tensors = [&](const D& x) { return f(x); };
        const auto cells = wg::kernel(f);
        const auto of_cells = wg::grad([&](const D& x) { return sum(cells(x)); });
        const auto of_tensors = wg::grad([&](const D& x) { return sum(f(x)); });
        for (const double v : {0.3, 0.5, 1.5, 2.0, 0.0, -2.0, 40.0, double(NAN)}) {
            CAPTURE(v);
            const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
            const double value = f(D(v)).item(), slope = of_tensors(D(v)).item();
            CHECK(same(f(v), value));
            CHECK(same(f(R(v)).value(), value));
            CHECK(same(cells(D{v})(0).item(), value));
            CHECK(same(wg::grad(on_reals)(R(v)).value(), slope));
            CHECK(same(of_cells(D{v})(0).item(), slope));
            CHECK(same(wg::jvp(on_reals, R(v), R(1.0)).second.value(),
                       wg::jvp(on_tensors, D(v), D(1.0)).second.item()));
        }
    };
    using wg::clip, wg::maximum, wg::minimum, wg::relu, wg::sign, wg::where;
    using std::abs;
    check([](const auto& x) { return 3.0 * abs(x); });
    check([](const auto& x) { return 3.0 * relu(x); });
    check([](const auto& x) { return 3.0 * sign(x) + x; });
    check([](const auto& x) { return maximum(x, 0.5) + 2.0 * minimum(x, 1.5); });
    check([](const auto& x) { return 2.0 * clip(x, 0.5, 2.0) + clip(x, 1.5, 0.3); });
}

#ifdef __STDCPP_MATH_SPEC_FUNCS__
TEST_CASE("Special functions")
{
    FORMULA(expint(x), 0.7, -0.7), FORMULA(comp_ellint_1(x), 0.4, 1e-4), FORMULA(comp_ellint_2(x), -0.3);
    FORMULA(ellint_1(x, 0.9), 0.4, 1e-4), FORMULA(ellint_1(0.4, x), 0.9);
    FORMULA(ellint_2(x, x), 0.4), FORMULA(beta(x, 2.7), 1.2), FORMULA(beta(2.7, x), 1.2);
    FORMULA(cyl_bessel_j(0, x), 1.3), FORMULA(cyl_bessel_j(0.5, x), 1.3), FORMULA(cyl_bessel_j(2, x), 1.3);
    FORMULA(cyl_neumann(0, x), 1.3), FORMULA(cyl_neumann(1.5, x), 1.3);
    FORMULA(cyl_bessel_i(0, x), 1.3), FORMULA(cyl_bessel_i(0.3, x), 1.3), FORMULA(cyl_bessel_k(1.5, x), 1.3);
    FORMULA(sph_bessel(0, x), 1.3), FORMULA(sph_bessel(3, x), 1.3), FORMULA(sph_neumann(2, x), 1.3);
    FORMULA(legendre(0, x) * x, 0.3), FORMULA(legendre(5, x), 0.3), FORMULA(laguerre(4, x), 0.3);
    FORMULA(hermite(5, x), 0.3), FORMULA(assoc_laguerre(4, 2, x), 0.3);
    FORMULA(assoc_legendre(4, 0, x), 0.3), FORMULA(assoc_legendre(4, 2, x), 0.3),
        FORMULA(assoc_legendre(5, 3, x), -0.4);
    FORMULA(sph_legendre(4, 0, x), 0.3), FORMULA(sph_legendre(4, 3, x), 0.9),
        FORMULA(sph_legendre(3, 2, x), 2.0);
}

TEST_CASE("Associated Legendre functions at the ends of their interval")
{
    using wg::assoc_legendre;
    const auto slope = [](unsigned l, unsigned m, double x) {
        const auto f = [&](const R& t) { return assoc_legendre(l, m, t); };
        const double by_sweep = wg::grad(f)(R(x)).value(), forward = wg::jvp(f, R(x), R(1.0)).second.value();
        CHECK((by_sweep == forward || std::abs(by_sweep - forward) < 1e-14));
        return by_sweep;
    };
    CHECK(slope(2, 2, 1.0) == -6.0);  // 3 (1 − x²)
    CHECK(slope(2, 2, -1.0) == 6.0);
    CHECK(slope(3, 2, 1.0) == -30.0);  // 15 x (1 − x²)
    CHECK(slope(3, 3, 1.0) == 0.0);    // 15 √(1 − x²)³
    CHECK(slope(4, 4, -1.0) == 0.0);   // 105 (1 − x²)²
    CHECK(std::isinf(wg::grad([](const R& t) { return assoc_legendre(1, 1, t); })(R(1.0)).value()));
    const auto second = [](unsigned m) {
        const auto f = [=](const R& t) { return assoc_legendre(m, m, t); };
        return wg::grad(wg::grad(f))(R(1.0)).value();
    };
    CHECK(second(2) == -6.0);
    CHECK(second(4) == 840.0);
}
#endif

TEST_CASE("Single precision computes in single precision")
{
    const F a = 0.1f, b = 3.0f;
    CHECK((a * b + sin(a)).value() == 0.1f * 3.0f + std::sin(0.1f));
    CHECK(wg::check_grads([](const F& x) { return x * sin(x) / (1.0 + x); }, F(0.7f), {.order = 2}).ok);
    const auto mixed = [](F x) {
        const R wide = R(x) * 2.0;
        return F(wide * wide) + x;
    };
    CHECK(wg::grad(mixed)(F(3.0f)).value() == 25.0f);
}

TEST_CASE("Bytes are all there is to a Real")
{
    R zeros[3];
    std::memset(static_cast<void*>(zeros), 0, sizeof zeros);
    CHECK((zeros[1].value() == 0 && !zeros[1].is_active() && R().value() == 0));
    const auto g = wg::grad([](R x) {
        R copy, y = x * x;
        std::memcpy(static_cast<void*>(&copy), &y, sizeof y);
        std::swap(copy, y);
        return copy * y;
    })(R(2.0));
    CHECK(g.value() == 32);
}

TEST_CASE("Comparisons, streams, classification")
{
    const R x = 2.5, nan = std::numeric_limits<R>::quiet_NaN();
    CHECK((x > 2 && x >= 2.5 && x < R(3) && x <= 3.0 && x == 2.5 && x != 2.0 && !(nan == nan) && !(nan < x)));
    CHECK((isnan(nan) && isfinite(x) && isinf(std::numeric_limits<R>::infinity()) && !isfinite(nan)));
    std::stringstream text("1.25 x");
    R read;
    text >> read;
    CHECK(read.value() == 1.25);
    text >> read;
    CHECK((text.fail() && read.value() == 1.25));
    std::ostringstream out;
    out << R(0.5);
    CHECK(out.str() == "0.5");
    CHECK((static_cast<double>(x) == 2.5 && static_cast<int>(x) == 2));
}

TEST_CASE("Passive arithmetic records nothing and reaches no tape")
{
    const auto before = wg::Tape::current().size();
    R a = 2.0, b = 3.0;
    a *= b;
    a += sin(b) + pow(a, 2) - exp(-b) + atan2(a, b);
    CHECK(std::abs(a.value() - (6 + std::sin(3.0) + 36 - std::exp(-3.0) + std::atan2(6.0, 3.0))) < 1e-13);
    CHECK((wg::Tape::current().size() == before && !a.is_active()));
}
