// Every function that a Real has, over its domain and its edges: <cmath>, Real, and a kernel eagerly, in tiles, in native code and as
// an emitted header. The executors of a kernel have the same bits; Real has those of <cmath>; between the two are the units in the last
// place of `bounds`, which `test_scalar "[.table]"` prints with what was measured (docs/scalars.md).
#include "catch.hpp"

#include "graph/c/emit_programs.hpp"
#include "real/function_sweep.hpp"

#include <wengert/graph/native/native.hpp>
#include <wengert/graph/ir/interpret.hpp>
#include <wengert/scalar.hpp>

#include <cstdio>

namespace wg = wengert;
using namespace function_sweep;

namespace {

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
    REQUIRE(f64.size() == std::size(bounds));
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
