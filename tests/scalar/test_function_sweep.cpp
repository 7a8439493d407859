// Every function that a Real has, over its domain and its edges: <cmath>, Real, and a kernel eagerly, in tiles, in native code and as
// an emitted header. The executors of a kernel have the same bits; Real has those of <cmath>; between the two are the units in the last
// place of `bounds`, which `test_scalar "[.table]"` prints with what was measured (docs/scalars.md).
#include "catch.hpp"

#include "../graph/emit_programs.hpp"

#include <wengert/graph/native/native.hpp>
#include <wengert/graph/ir/interpret.hpp>
#include <wengert/scalar.hpp>
#include <wengert/transforms/jvp.hpp>

#include <cstdio>
#include <random>

namespace wg = wengert;

namespace {

/// ψ⁽ⁿ⁾, which <cmath> does not have.
template <class N> N psi(unsigned n, const N& x)
{
    if constexpr (std::is_same_v<N, long double>)
        return 0;
    else
        return wg::polygamma(n, x);
}
/// visit(name, value) for each function, of one number and of two. No function branches, so that a kernel goes one way.
template <class N, class Visit> void smooth(const N& x, const N& y, const Visit& visit)
{
    using namespace std;
    visit("sqrt", sqrt(x)), visit("cbrt", cbrt(x)), visit("exp", exp(x)), visit("exp2", exp2(x));
    visit("expm1", expm1(x)), visit("log", log(x)), visit("log2", log2(x)), visit("log10", log10(x));
    visit("log1p", log1p(x)), visit("sin", sin(x)), visit("cos", cos(x)), visit("tan", tan(x));
    visit("asin", asin(x)), visit("acos", acos(x)), visit("atan", atan(x)), visit("sinh", sinh(x));
    visit("cosh", cosh(x)), visit("tanh", tanh(x)), visit("asinh", asinh(x)), visit("acosh", acosh(x));
    visit("atanh", atanh(x)), visit("erf", erf(x)), visit("erfc", erfc(x)), visit("tgamma", tgamma(x));
    visit("lgamma", lgamma(x)), visit("pow", pow(x, y)), visit("atan2", atan2(x, y)),
        visit("hypot", hypot(x, y));
    visit("fmod", fmod(x, y)), visit("remainder", remainder(x, y)), visit("beta", beta(x, y));
    visit("digamma", psi(0, x)), visit("polygamma(1)", psi(1, x));
    visit("polygamma(3)", psi(3, x));
}
/// Those that are exact: roundings, and what chooses or moves a sign.
template <class N, class Visit> void exact(const N& x, const N& y, const Visit& visit)
{
    using namespace std;
    visit("floor", floor(x)), visit("ceil", ceil(x)), visit("trunc", trunc(x)),
        visit("nearbyint", nearbyint(x));
    visit("rint", rint(x)), visit("round", round(x)), visit("abs", abs(x)), visit("fabs", fabs(x));
    visit("fmax", fmax(x, y)), visit("fmin", fmin(x, y)), visit("fdim", fdim(x, y));
    visit("copysign", copysign(x, y)), visit("sqrt", sqrt(x));
}

/// In how many units of the last place a kernel may differ from <cmath>, whose own errors (up to 5 for Γ, 2 elsewhere) are part of it.
struct Bound {
    const char* name;
    double f64, f32;
    const char* reason = "";
};
constexpr Bound bounds[] = {
    {"sqrt", 0, 0, "exact"},
    {"cbrt", 4, 2, "all of it is that of <cmath>; a kernel rounds right"},
    {"exp", 2, 2},
    {"exp2", 2, 2},
    {"expm1", 3, 3},
    {"log", 2, 2},
    {"log2", 3, 3},
    {"log10", 3, 3},
    {"log1p", 2, 2},
    {"sin", 3, 3},
    {"cos", 3, 3},
    {"tan", 4, 4},
    {"asin", 2, 3},
    {"acos", 2, 2},
    {"atan", 3, 3},
    {"sinh", 3, 3},
    {"cosh", 3, 3},
    {"tanh", 4, 4},
    {"asinh", 3, 3},
    {"acosh", 4, 4},
    {"atanh", 3, 3},
    {"erf", 3, 4},
    {"erfc", 6, 6},
    {"tgamma", 10, 10},
    {"lgamma", 8, 8, "x < 0: of its terms ln Γ(1 − x) and ln |sin πx|, which cancel next to its zeros"},
    {"pow", 2, 2},
    {"atan2", 3, 3},
    {"hypot", 2, 2},
    {"fmod", 0, 0, "exact"},
    {"remainder", 0, 0, "exact"},
    {"beta", 10, 10,
     "of e^(ln Γ(x) + ln Γ(y) − ln Γ(x + y)): times the largest of these terms, as <cmath> has it"},
    {"digamma", 32, 32, "of ψ's terms, which cancel next to its zeros"},
    {"polygamma(1)", 32, 32, "Real's sums as many powers"},
    {"polygamma(3)", 32, 32, "Real's sums as many powers"},
};

/// What an error is measured by: the result, or the terms that it is made of.
template <class T> T size_of_terms(std::string_view name, T x, T y, T result)
{
    using std::abs, std::max, std::lgamma, std::log;
    if (name == "lgamma" && x < 0) return max({abs(result), abs(lgamma(1 - x)), T(1)});
    if (name == "digamma") return max({abs(result), T(1), abs(log(abs(x)))});
    if (name == "beta") return result * max({abs(lgamma(x)), abs(lgamma(y)), abs(lgamma(x + y)), T(1)});
    return abs(result);
}
template <class T> double unit(T size)
{
    using limits = std::numeric_limits<T>;
    int e = 0;
    std::frexp(size < limits::max() ? size : limits::max(), &e);
    return std::ldexp(1.0, std::max(e, limits::min_exponent) - limits::digits);
}
template <class T> bool same(T a, T b) { return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b); }
/// How far apart; numbers and infinities apart from NaN are infinitely so, but where the largest number is next.
template <class T> double apart(T a, T b, T size)
{
    if (a == b || (a != a && b != b)) return std::signbit(a) == std::signbit(b) || a != a ? 0 : INFINITY;
    if (a != a || b != b) return INFINITY;
    const T most = std::numeric_limits<T>::max();
    a = std::clamp(a, -most, most), b = std::clamp(b, -most, most);
    return std::abs(static_cast<double>(a) - static_cast<double>(b)) / unit(size);
}

template <class T> struct Points {
    std::vector<T> x, y;
};
/// Where functions change: zeros, poles, branches, ends of the format, halves, and what is next to them.
template <class T> std::vector<T> edges()
{
    using limits = std::numeric_limits<T>;
    std::vector<T> out{T(0),          limits::denorm_min(), limits::min(),
                       limits::max(), limits::infinity(),   limits::quiet_NaN()};
    for (const double v : {0.1,
                           0.3125,
                           0.5,
                           1.0,
                           1.25,
                           1.5,
                           2.0,
                           2.5,
                           3.0,
                           7.0,
                           10.0,
                           12.0,
                           26.5,
                           27.3,
                           35.0,
                           88.7,
                           103.9,
                           170.5,
                           171.6,
                           709.7,
                           745.1,
                           1023.5,
                           1074.5,
                           1.5707963267948966,
                           3.141592653589793,
                           4503599627370495.5,
                           9007199254740991.0,
                           8388607.5,
                           1e9,
                           5.3e17,
                           1e22,
                           1e200}) {
        const T near = static_cast<T>(v);
        for (const T e : {near, std::nextafter(near, T(0)), std::nextafter(near, limits::infinity())})
            out.push_back(e);
    }
    const std::size_t n = out.size();
    for (std::size_t i = 0; i < n; ++i) out.push_back(-out[i]);
    return out;
}
template <class T> Points<T> points(std::size_t random)
{
    Points<T> p;
    const std::vector<T> edge = edges<T>();
    for (std::size_t i = 0; i < edge.size(); ++i)
        for (const std::size_t step : {0, 1, 7, 60})
            p.x.push_back(edge[i]), p.y.push_back(edge[(i + step) % edge.size()]);
    std::mt19937_64 bits(19);
    const auto uniform = [&](double a, double b) {
        return a + (b - a) * std::ldexp(static_cast<double>(bits() >> 11), -53);
    };
    const auto sign = [&] { return bits() % 2 ? 1.0 : -1.0; };
    const auto any = [&] {
        T v;
        const std::uint64_t b = bits();
        std::memcpy(&v, &b, sizeof v);
        return v == v ? v : std::numeric_limits<T>::quiet_NaN();  // C says nothing of NaNs that signal
    };
    for (std::size_t i = 0; i < random; ++i) {
        const double whole = std::floor(uniform(-180, 180)), tiny = std::exp(uniform(-40, 0));
        const double xs[] = {uniform(-4, 4),     sign() * std::exp(uniform(-80, 8)),
                             1 + sign() * tiny,  whole + sign() * tiny * 0.5,
                             uniform(-800, 800), uniform(0, 30)};
        const double ys[] = {uniform(-4, 4), sign() * std::exp(uniform(-80, 8)), uniform(0, 30),
                             uniform(-3, 3)};
        p.x.push_back(static_cast<T>(xs[i % 6])), p.y.push_back(static_cast<T>(ys[bits() % 4]));
        p.x.push_back(any()), p.y.push_back(any());
        p.x.push_back(p.y.back() * static_cast<T>(std::floor(uniform(-99, 99)) / 2)),
            p.y.push_back(p.y.back());
    }
    return p;
}

template <class T> Tensor<T> tensor_of(const std::vector<T>& v)
{
    auto b = make_block(dtype_of<T>(), Shape{static_cast<std::int64_t>(v.size())});
    std::copy(v.begin(), v.end(), b->template as<T>());
    return Tensor<T>(AnyTensor{b, {}});
}

constexpr auto smooth_cell = [](auto x, auto y) {
    std::vector<decltype(x)> out;
    smooth(x, y, [&](const char*, const auto& v) { out.push_back(v); });
    return out;
};
constexpr auto exact_cell = [](auto x, auto y) {
    std::vector<decltype(x)> out;
    exact(x, y, [&](const char*, const auto& v) { out.push_back(v); });
    return out;
};
std::vector<std::string> names_of_smooth()
{
    std::vector<std::string> names;
    smooth(0.5, 0.5, [&](const char* name, double) { names.emplace_back(name); });
    return names;
}
std::vector<std::string> names_of_exact()
{
    std::vector<std::string> names;
    exact(0.5, 0.5, [&](const char* name, double) { names.emplace_back(name); });
    return names;
}

/// Both results of each function are the same numbers.
template <class T>
void compare_bits(const char* who, const std::vector<std::string>& names, const std::vector<Ref<Block>>& want,
                  const std::vector<Ref<Block>>& got, const Points<T>& p)
{
    REQUIRE(want.size() == got.size());
    for (std::size_t f = 0; f < names.size(); ++f) {
        const T *a = want[f]->template as<T>(), *b = got[f]->template as<T>();
        std::size_t wrong = 0, first = 0;
        for (std::size_t i = 0; i < p.x.size(); ++i)
            if (!same(a[i], b[i]) && wrong++ == 0) first = i;
        INFO(who << " " << names[f] << " of " << p.x[first] << ", " << p.y[first] << ": " << a[first]
                 << " and " << b[first]);
        CHECK(wrong == 0);
    }
}

/// The program of a kernel, with what it gives in tiles.
template <class T, class Cell> Program of_kernel(const char* name, const Cell& cell, const Points<T>& p)
{
    const auto k = wg::kernel(cell);
    return program<T>(name, {tensor_of(p.x), tensor_of(p.y)},
                      [&](const std::vector<Tensor<T>>& in, const auto& out) {
                          for (const Tensor<T>& r : k(in[0], in[1])) out(r);
                      });
}
/// The executors of a kernel beside its tiles: node by node, native code, and a header.
template <class T>
void compare_executors(const std::vector<const Program*>& programs, const Compiled& header,
                       const std::vector<std::vector<std::string>>& names, const Points<T>& p)
{
    for (std::size_t k = 0; k < programs.size(); ++k) {
        const Program& f = *programs[k];
        const std::vector<Ref<Block>> values = interpret(f.graph, f.inputs);
        std::vector<Ref<Block>> in = f.inputs, out;
        for (const ValueId v : f.graph.outputs()) out.push_back(readable(values[v]));
        compare_bits("eager", names[k], f.expected, out, p);
        const auto native = compile_native(f.graph, {});
        if (native->note.empty()) {
            native->run(in, out);
            compare_bits("native", names[k], f.expected, out, p);
        }
        if (!header.object) continue;
        REQUIRE(header(f, f.inputs, &out) == 0);
        compare_bits("header", names[k], f.expected, out, p);
    }
}

/// The largest distance of each function from <cmath>.
template <class T> std::vector<double> measured(const Program& kernel, const Points<T>& p)
{
    std::vector<double> worst(std::size(bounds), 0);
    for (std::size_t i = 0; i < p.x.size(); ++i) {
        std::size_t f = 0;
        smooth(p.x[i], p.y[i], [&](const char* name, T want) {
            const T got = kernel.expected[f]->template as<T>()[i], x = p.x[i], y = p.y[i];
            const bool outside =
                std::string_view(name) == "beta" &&
                !(x > 0 && y > 0 &&
                  want < std::numeric_limits<T>::max() / 1000);  // <cmath> has e^(ln …) for all
            const double d = outside ? 0 : apart(want, got, size_of_terms<T>(name, x, y, want));
            if (d > worst[f] && d > (sizeof(T) == 8 ? bounds[f].f64 : bounds[f].f32))
                UNSCOPED_INFO(name << " of " << x << ", " << y << ": " << want << " by <cmath>, " << got
                                   << ", " << d << " apart");
            worst[f] = std::max(worst[f], d);
            ++f;
        });
    }
    return worst;
}

}  // namespace

TEST_CASE("The functions of a kernel have the same bits in all executors, and are near <cmath>")
{
    const Points<double> p = points<double>(1500);
    const Points<float> q = points<float>(1500);
    const std::vector<std::vector<std::string>> names{names_of_smooth(), names_of_exact()};
    const std::vector<Program> list{of_kernel("smooth", smooth_cell, p), of_kernel("exact", exact_cell, p),
                                    of_kernel("smooth_f", smooth_cell, q),
                                    of_kernel("exact_f", exact_cell, q)};
    const Compiled header(list, true);
    compare_executors<double>({&list[0], &list[1]}, header, names, p);
    compare_executors<float>({&list[2], &list[3]}, header, names, q);

    const std::vector<double> f64 = measured(list[0], p), f32 = measured(list[2], q);
    for (std::size_t f = 0; f < std::size(bounds); ++f) {
        REQUIRE(names[0][f] == bounds[f].name);
        CAPTURE(bounds[f].name);
        CHECK(f64[f] <= bounds[f].f64);
        CHECK(f32[f] <= bounds[f].f32);
    }
    for (std::size_t i = 0; i < p.x.size(); ++i) {
        std::size_t f = 0;
        exact(p.x[i], p.y[i], [&](const char* name, double want) {
            const double got = list[1].expected[f++]->as<double>()[i];
            INFO(name << " of " << p.x[i] << ", " << p.y[i]);
            const bool either_zero = f <= 10 && std::string_view(name).starts_with("fm");  // of fmax(0, −0)
            const bool unsigned_nan = std::string_view(name) == "copysign" && p.y[i] != p.y[i];
            if (!same(got, want) && !(either_zero && got == want) && !unsigned_nan) CHECK(got == want);
        });
    }
}

TEST_CASE("How far kernels are from <cmath>", "[.table]")
{
    const Points<double> p = points<double>(40000);
    const Points<float> q = points<float>(40000);
    const std::vector<double> f64 = measured(of_kernel("smooth", smooth_cell, p), p),
                              f32 = measured(of_kernel("smooth_f", smooth_cell, q), q);
    std::printf("| | double | float | of |\n|---|---|---|---|\n");
    for (std::size_t f = 0; f < std::size(bounds); ++f)
        std::printf("| `%s` | %.2g | %.2g | %s |\n", bounds[f].name, f64[f], f32[f], bounds[f].reason);
}

TEMPLATE_TEST_CASE("A Real has the values of <cmath>, recorded or not", "", double, float)
{
    using T = TestType;
    using X = wg::Real<T>;
    const Points<T> p = points<T>(200);
    std::size_t wrong = 0;
    const auto compare = [&](T x, T y, const X& a, const X& b, const auto& all) {
        std::vector<T> want;
        all(x, y, [&](const char*, T v) { want.push_back(v); });
        std::size_t f = 0;
        all(a, b, [&](const char* name, const X& v) {
            const T got = v.value();
            if (same(got, want[f]) || (got == 0 && std::string_view(name).starts_with("fm")))
                return void(++f);  // fmax(0, −0): either
            INFO(name << " of " << x << ", " << y << ": " << got << " for " << want[f]);
            CHECK(wrong++ == 0);
            ++f;
        });
    };
    for (std::size_t i = 0; i < p.x.size(); ++i) {
        X x = p.x[i], y = p.y[i];
        for (const bool recorded : {false, true}) {
            if (recorded) x.requires_grad(), y.requires_grad();
            compare(p.x[i], p.y[i], x, y,
                    [](const auto& a, const auto& b, const auto& v) { smooth(a, b, v); });
            compare(p.x[i], p.y[i], x, y,
                    [](const auto& a, const auto& b, const auto& v) { exact(a, b, v); });
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("Derivatives of a kernel and of Real beside differences in long double")
{
    // inside of all domains: 0 < x < 1 for most, above 1 for arcosh
    const std::vector<double> xs{0.13, 0.45, 0.71, 0.93, 1.2, 2.6, 5.3},
        ys{0.7, 1.3, 2.1, 0.33, 3.3, 0.9, 1.7};
    const auto k = wg::kernel(smooth_cell);
    const Tensor<double> x = tensor_of(xs), y = tensor_of(ys), one = ones_like(x), none = zeros_like(x);
    const auto names = names_of_smooth();
    const auto difference = [&](std::size_t f, long double a, long double b, bool second) {
        constexpr long double weights[] = {4.0L / 5, -1.0L / 5, 4.0L / 105, -1.0L / 280}, h = 1e-3L;
        long double sum = 0;
        for (int s = 1; s <= 4; ++s)
            for (const int side : {1, -1}) {
                const long double d = side * s * h * (second ? b : a);
                std::size_t g = 0;
                const auto pick = [&](const char*, long double v) {
                    sum += g++ == f ? side * weights[s - 1] * v : 0;
                };
                smooth(second ? a : a + d, second ? b + d : b, pick);
            }
        return static_cast<double>(sum / (h * (second ? b : a)));
    };
    for (const bool second : {false, true}) {
        const auto tangents =
            wg::jvp([&](const Tensor<double>& a, const Tensor<double>& b) { return k(a, b); },
                    std::tuple(x, y), second ? std::tuple(none, one) : std::tuple(one, none))
                .second;
        for (std::size_t f = 0; f < names.size(); ++f)
            for (std::size_t i = 0; i < xs.size(); ++i) {
                const std::string& name = names[f];
                using R2 = wg::Tangents<double, 2>;
                double real = 0;
                std::size_t g = 0;
                smooth(R2::variable(xs[i], 0), R2::variable(ys[i], 1),
                       [&](const char*, const R2& v) { real = g++ == f ? v.tangent(second) : real; });
                const double got = tangents[f](static_cast<int>(i)).item();
                INFO((second ? "by y: " : "by x: ") << name << " of " << xs[i] << ", " << ys[i]);
                if (std::isnan(real)) {
                    CHECK(std::isnan(got));
                    continue;
                }
                CHECK(got == Approx(real).epsilon(3e-14).margin(3e-15));
                const double slope = difference(f, xs[i], ys[i], second);
                if (name.find("gamma(") == name.npos && name != "digamma" && slope == slope)
                    CHECK(real == Approx(slope).epsilon(2e-12).margin(1e-13));
            }
    }
}

TEST_CASE("Derivatives keep their digits next to the ends of domains, and where squares overflow")
{
    const auto slope = [](auto f, double at) {
        return f(wg::Tangents<double, 1>::variable(at, 0)).tangent(0);
    };
    const auto by_kernel = [](auto f, double at) {
        return wg::jvp([k = wg::kernel(f)](const Tensor<double>& x) { return k(x); },
                       Tensor<double>{at, 0.5 * at}, Tensor<double>{1.0, 1.0})
            .second(0)
            .item();
    };
    const auto near = [&](const char* name, auto f, long double want, double at) {
        CAPTURE(name, at, want);
        CHECK(slope(f, at) == Approx(static_cast<double>(want)).epsilon(2e-15));
        CHECK(by_kernel(f, at) == Approx(static_cast<double>(want)).epsilon(2e-15));
    };
    for (const double less : {1e-4, 1e-9, 1.1102230246251565e-16}) {
        const long double x = 1 - less, w = (1 - x) * (1 + x);
        near(
            "asin", [](const auto& v) { return asin(v); }, 1 / std::sqrt(w), 1 - less);
        near(
            "acos", [](const auto& v) { return acos(v); }, -1 / std::sqrt(w), 1 - less);
        near(
            "atanh", [](const auto& v) { return atanh(v); }, 1 / w, 1 - less);
        const long double z = 1 + 2 * less;
        near(
            "acosh", [](const auto& v) { return acosh(v); }, 1 / std::sqrt((z - 1) * (z + 1)),
            static_cast<double>(z));
        near(
            "log1p", [](const auto& v) { return log1p(v); }, 1 / (1 - x), -static_cast<double>(x));
    }
    near(
        "asinh", [](const auto& v) { return asinh(v); }, 1e-200L, 1e200);
    near(
        "acosh", [](const auto& v) { return acosh(v); }, 1e-200L, 1e200);
    near(
        "atan2", [](const auto& v) { return atan2(v, 1e-200); }, 0.5e200L, 1e-200);
    near(
        "hypot", [](const auto& v) { return hypot(v, 1e200); }, std::sqrt(0.5L), 1e200);
    // e^x, of which eˣ − 1 + 1 keeps no digit; tensors keep y alone and have the absolute accuracy of 1
    CHECK(slope([](const auto& v) { return expm1(v); }, -30.0) == Approx(std::exp(-30.0)).epsilon(1e-15));
    CHECK(slope([](const auto& v) { return pow(0.0, v); }, 2.0) == 0.0);
}

TEST_CASE("A power has the same mixed second derivative in either order, also where the exponent is 0")
{
    using Reals = std::vector<wg::Real<double>>;
    const auto mixed = [](std::size_t first, double x, double z) {
        const auto slope = [first](const Reals& v) {
            return wg::grad([](const Reals& w) { return pow(w[0], w[1]); })(v)[first];
        };
        return wg::grad(slope)(Reals{x, z})[1 - first].value();
    };
    for (const double z : {0.0, 1.0, 2.5}) {  // x^(z − 1) (1 + z ln x)
        const double want = std::pow(2.0, z - 1) * (1 + z * std::log(2.0));
        CHECK(mixed(0, 2.0, z) == Approx(want).epsilon(1e-15));
        CHECK(mixed(1, 2.0, z) == Approx(want).epsilon(1e-15));
    }
    CHECK(mixed(0, 0.0, 2.0) == 0.0);
    CHECK(mixed(1, 0.0, 2.0) == 0.0);
}

TEST_CASE("The digits that kernels had lost")
{
    const auto of = [](auto f, double x, double y) {
        return wg::kernel(f)(Tensor<double>{x, x}, Tensor<double>{y, y})(0).item();
    };
    CHECK(of([](auto x, auto y) { return fmod(x, y); }, 1.0, 0.1) == std::fmod(1.0, 0.1));
    CHECK(of([](auto x, auto y) { return fmod(x, y); }, 5.3e17, 7.0) == 2.0);
    CHECK(of([](auto x, auto y) { return fmod(x, y); }, 1e308, 3e-308) == std::fmod(1e308, 3e-308));
    CHECK(of([](auto x, auto y) { return remainder(x, y); }, 1e17, 3.0) == 1.0);
    CHECK(of([](auto x, auto y) { return erfc(x) + 0.0 * y; }, 10.0, 0.0) ==
          Approx(2.0884875837625449e-45).epsilon(1e-15));
    CHECK(of([](auto x, auto y) { return acosh(x) + 0.0 * y; }, 1 + 1e-12, 0.0) ==
          Approx(std::acosh(1 + 1e-12)).epsilon(1e-15));
    CHECK(of([](auto x, auto y) { return lgamma(x) + 0.0 * y; }, 2.0000001, 0.0) ==
          Approx(std::lgamma(2.0000001)).epsilon(1e-15));
    CHECK(of([](auto x, auto y) { return tgamma(x) + 0.0 * y; }, 150.5, 0.0) ==
          Approx(std::tgamma(150.5)).epsilon(2e-15));
    CHECK(of([](auto x, auto y) { return round(x) + 0.0 * y; }, 0.49999999999999994, 0.0) == 0.0);
    CHECK(of([](auto x, auto y) { return round(x) + 0.0 * y; }, 4503599627370497.0, 0.0) ==
          4503599627370497.0);
}

TEST_CASE("What has no form on arrays is refused by its name")
{
    const auto refused = [](const char* name, auto f) {
        const auto k = wg::kernel(f);
        CHECK_THROWS_WITH(k(Tensor<double>{0.5, 0.6}), contains(name) && contains("no form on arrays"));
    };
    refused("expint", [](auto x) { return expint(x); });
    refused("comp_ellint_1", [](auto x) { return comp_ellint_1(x); });
    refused("comp_ellint_2", [](auto x) { return comp_ellint_2(x); });
    refused("ellint_1", [](auto x) { return ellint_1(x, x); });
    refused("ellint_2", [](auto x) { return ellint_2(x, x); });
    refused("cyl_bessel_j", [](auto x) { return cyl_bessel_j(1.0, x); });
    refused("cyl_neumann", [](auto x) { return cyl_neumann(1.0, x); });
    refused("cyl_bessel_i", [](auto x) { return cyl_bessel_i(1.0, x); });
    refused("cyl_bessel_k", [](auto x) { return cyl_bessel_k(1.0, x); });
    refused("sph_bessel", [](auto x) { return sph_bessel(1, x); });
    refused("sph_neumann", [](auto x) { return sph_neumann(1, x); });
}
