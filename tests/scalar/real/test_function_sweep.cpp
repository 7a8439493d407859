// Every function that a Real has, over its domain and its edges: <cmath>, Real, and a kernel eagerly, in tiles, in native code and as
// an emitted header. The executors of a kernel have the same bits; Real has those of <cmath>; between the two are the units in the last
// place of `bounds`, which `test_scalar_installation "[.table]"` prints with what was measured (docs/scalars.md).
#include "catch.hpp"

#include "graph/c/emit_programs.hpp"
#include "real/function_sweep.hpp"

#include <wengert/graph/native/native.hpp>
#include <wengert/graph/ir/interpret.hpp>
#include <wengert/scalar.hpp>

#include <cstdio>
#include <numbers>

namespace wg = wengert;
using namespace function_sweep;

namespace {

/// In how many units of the last place a kernel may differ from <cmath>, whose own errors (up to 5 for Γ, 2 elsewhere) are part of it.
/// What is not named may by 4.
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
    {"erfcx", 4, 4, "`<cmath>` has none: a Real computes the same"},
    {"erfinv", 6, 6},
    {"logaddexp", 4, 4, "of its terms max(x, y) and ln 2, which cancel next to its zeros"},
    {"tgamma", 10, 10},
    {"lgamma", 8, 8, "x < 0: of its terms ln Γ(1 − x) and ln |sin πx|, which cancel next to its zeros"},
    {"pow", 2, 2},
    {"atan2", 3, 3},
    {"hypot", 2, 2},
    {"fmod", 0, 0, "exact"},
    {"remainder", 0, 0, "exact"},
    {"beta", 10, 10, "times the largest of ln Γ(x), ln Γ(y) and ln Γ(x + y): `<cmath>` takes e to their sum"},
    {"digamma", 32, 32, "of ψ's terms, which cancel next to its zeros"},
    {"polygamma(1)", 32, 32, "Real's sums as many powers"},
    {"polygamma(3)", 32, 32, "Real's sums as many powers"},
};

Bound bound_of(std::string_view name)
{
    for (const Bound& b : bounds)
        if (name == b.name) return b;
    return {name.data(), 4, 4};
}

/// What an error is measured by: the result, or the terms that it is made of.
template <class T> T size_of_terms(std::string_view name, T x, T y, T result)
{
    using std::abs, std::max, std::lgamma, std::log;
    if (name == "lgamma" && x < 0) return max({abs(result), abs(lgamma(1 - x)), T(1)});
    if (name == "logaddexp") return max({abs(result), max(x, y), T(1)});
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
    std::vector<double> worst(kernel.expected.size(), 0);
    for (std::size_t i = 0; i < p.x.size(); ++i) {
        std::size_t f = 0;
        smooth(p.x[i], p.y[i], [&](const char* name, T want) {
            const T got = kernel.expected[f]->template as<T>()[i], x = p.x[i], y = p.y[i];
            const bool outside =
                std::string_view(name) == "beta" &&
                !(x > 0 && y > 0 &&
                  want < std::numeric_limits<T>::max() / 1000);  // <cmath> has e^(ln …) for all
            const double d = outside ? 0 : apart(want, got, size_of_terms<T>(name, x, y, want));
            if (const Bound b = bound_of(name); d > worst[f] && d > (sizeof(T) == 8 ? b.f64 : b.f32))
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
    for (const auto& b : bounds) {
        CAPTURE(b.name);
        CHECK(std::count(names[0].begin(), names[0].end(), b.name) == 1);
    }
    for (std::size_t f = 0; f < names[0].size(); ++f) {
        const auto b = bound_of(names[0][f]);
        CAPTURE(b.name);
        CHECK(f64[f] <= b.f64);
        CHECK(f32[f] <= b.f32);
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
    const std::vector<std::string> names = names_of_smooth();
    REQUIRE(f64.size() == names.size());
    std::printf("| | double | float | of |\n|---|---|---|---|\n");
    for (std::size_t f = 0; f < names.size(); ++f)
        std::printf("| `%s` | %.2g | %.2g | %s |\n", names[f].c_str(), f64[f], f32[f],
                    bound_of(names[f]).reason);
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

namespace {

/// e^(x²) erfc x and its derivative, from 3 on by the continued fraction 1/(√π (x + f)) (Abramowitz & Stegun 1964, 7.1.14).
std::pair<long double, long double> scaled_erfc(long double x)
{
    constexpr long double root = std::numbers::inv_sqrtpi_v<long double>;
    if (x < 3) {
        const long double y = std::exp(x * x) * std::erfc(x);
        return {y, 2 * (x * y - root)};
    }
    long double f = 0;
    for (int k = 300; k > 0; --k) f = 0.5L * static_cast<long double>(k) / (x + f);
    return {root / (x + f), -2 * root * f / (x + f)};
}

}  // namespace

TEMPLATE_TEST_CASE("erfcx beside its continued fraction in long double", "", double, float)
{
    using T = TestType;
    const Points<T> p = points<T>(2000);
    const Tensor<T> all = erfcx(tensor_of(p.x));
    std::size_t compared = 0, wrong = 0;
    for (std::size_t i = 0; i < p.x.size(); ++i) {
        const auto want = static_cast<T>(scaled_erfc(p.x[i]).first);
        const T number = wg::erfcx(p.x[i]), real = erfcx(wg::Real<T>(p.x[i])).value(), lane = all.data()[i];
        INFO("erfcx of " << p.x[i] << ": " << want << ", " << number << ", " << lane);
        const bool near =
            apart(want, number, want) <= 4 && apart(want, lane, want) <= 4 && same(number, real);
        if (!near) CHECK(wrong++ == 0);
        compared += want > 0 && want < std::numeric_limits<T>::max();
    }
    CHECK(compared > 2000);
    for (const double at : {-5.0, -1.0, -0.2, 0.3, 1.0, 4.0, 9.0, 27.9, 28.1, 40.0, 1e3}) {
        const auto [y, want] = scaled_erfc(static_cast<T>(at));
        const auto slope =
            wg::grad([](const Tensor<T>& t) { return sum(erfcx(t)); })(tensor_of<T>({static_cast<T>(at)}));
        // of the terms, which cancel where x is large: but not from 28 on
        const double size = at > 28 ? 0.6 / (at * at) : 2 * std::abs(at) * static_cast<double>(y) + 1;
        INFO("derivative at " << at);
        CHECK(std::abs(slope(0).item() - static_cast<double>(want)) <
              8 * std::numeric_limits<T>::epsilon() * size);
    }
}

TEMPLATE_TEST_CASE("derivatives of erfcx to the third order, where the tail's series would overflow", "",
                   double, float)
{
    using T = TestType;
    const auto slope = [](const auto& f) {
        return [f](const Tensor<T>& t) { return wg::grad([f](const Tensor<T>& u) { return sum(f(u)); })(t); };
    };
    const auto y = [](const Tensor<T>& t) { return erfcx(t); };
    const auto second = slope(slope(y));
    const auto third = slope(second);
    for (const double at : {-1e-3, 0.0, 1e-30, 1e-20, 1e-10, 1e-6, 1e-4, 1e-3, 0.01, 0.1, 1.0, 2.0}) {
        const Tensor<T> x = tensor_of<T>({static_cast<T>(at)});
        // y' = 2 x y − 2/√π, y'' = 2 y + 2 x y', y''' = 4 y' + 2 x y''
        const double v = static_cast<double>(scaled_erfc(static_cast<T>(at)).first);
        const double v1 = 2 * at * v - 2 / std::sqrt(std::numbers::pi), v2 = 2 * v + 2 * at * v1,
                     v3 = 4 * v1 + 2 * at * v2;
        INFO("at " << at);
        const double most = 200 * static_cast<double>(std::numeric_limits<T>::epsilon());
        CHECK(std::abs(static_cast<double>(second(x)(0).item()) - v2) < most);
        CHECK(std::abs(static_cast<double>(third(x)(0).item()) - v3) < most);
    }
}
