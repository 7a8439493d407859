// One description, one set of bits: every function of numbers and every fold, value and derivatives in both modes, as eager,
// node by node, in tiles and compiled.
#include "../catch.hpp"

#include <cstring>
#include <limits>

#include <wengert/graph/emit/native.hpp>
#include <wengert/wengert.hpp>

namespace wg = wengert;
using wg::Tensor;

namespace {

template <class T> struct Function {
    const char* name;
    Tensor<T> (*of)(const Tensor<T>& x, const Tensor<T>& a);
};

template <class T> std::vector<Function<T>> functions()
{
    using X = const Tensor<T>&;
    return {{"exp", [](X x, X) { return exp(x); }},
            {"expm1", [](X x, X) { return expm1(x); }},
            {"log", [](X x, X) { return log(x); }},
            {"log1p", [](X x, X) { return log1p(x); }},
            {"log2", [](X x, X) { return log2(x); }},
            {"log10", [](X x, X) { return log10(x); }},
            {"sin", [](X x, X) { return sin(x); }},
            {"cos", [](X x, X) { return cos(x); }},
            {"tan", [](X x, X) { return tan(x); }},
            {"asin", [](X x, X) { return asin(x); }},
            {"acos", [](X x, X) { return acos(x); }},
            {"atan", [](X x, X) { return atan(x); }},
            {"sinh", [](X x, X) { return sinh(x); }},
            {"cosh", [](X x, X) { return cosh(x); }},
            {"tanh", [](X x, X) { return tanh(x); }},
            {"erf", [](X x, X) { return erf(x); }},
            {"sigmoid", [](X x, X) { return sigmoid(x); }},
            {"softplus", [](X x, X) { return softplus(x); }},
            {"gelu", [](X x, X) { return gelu(x); }},
            {"silu", [](X x, X) { return silu(x); }},
            {"sqrt", [](X x, X) { return sqrt(x); }},
            {"reciprocal", [](X x, X) { return reciprocal(x); }},
            {"abs", [](X x, X) { return abs(x); }},
            {"floor", [](X x, X) { return floor(x) + ceil(x) + round(x) + sign(x); }},
            {"pow", [](X x, X a) { return pow(x, a); }},
            {"atan2", [](X x, X a) { return atan2(x, a); }},
            {"hypot", [](X x, X a) { return hypot(x, a); }},
            {"maximum", [](X x, X a) { return maximum(x, a) - minimum(x, a); }},
            {"where", [](X x, X a) { return where(x < a, x / a, x * a + T(1)); }}};
}

template <class T> std::vector<Function<T>> folds()
{
    using X = const Tensor<T>&;
    return {{"sum of rows", [](X x, X) { return sum(x, {1}); }},
            {"sum of columns", [](X x, X) { return sum(x, {0}); }},
            {"mean", [](X x, X a) { return mean(x * a, {1}); }},
            {"var", [](X x, X) { return var(x, {1}); }},
            {"var of columns", [](X x, X) { return var(x, {0}); }},
            {"norm", [](X x, X) { return norm(x, {1}); }},
            {"amax", [](X x, X) { return amax(x, {1}) + amin(x, {1}); }},
            {"logsumexp", [](X x, X) { return logsumexp(x, {1}); }},
            {"logsumexp of columns", [](X x, X) { return logsumexp(x, {0}); }},
            {"softmax", [](X x, X) { return softmax(x, 1); }},
            {"softmax of columns", [](X x, X) { return softmax(x, 0); }},
            {"log_softmax", [](X x, X) { return log_softmax(x, 1); }},
            {"log_softmax of columns", [](X x, X) { return log_softmax(x, 0); }}};
}

/// Of each function: its value, its derivative along (x, a), its cotangents.
template <class T>
std::vector<Tensor<T>> all_of(const std::vector<Function<T>>& list, const Tensor<T>& x, const Tensor<T>& a)
{
    std::vector<Tensor<T>> out;
    for (const Function<T>& f : list) {
        const auto [y, back] = wg::vjp(f.of, x, a);
        const auto [gx, ga] = back(wg::ones_like(y) * T(0.75));
        const auto forward = wg::jvp([&](const Tensor<T>& v, const Tensor<T>& w) { return f.of(v, w); },
                                     std::tuple(x, a), std::tuple(a, x));
        out.insert(out.end(), {y, gx, ga, forward.second});
    }
    return out;
}

/// How many elements differ in their bits; a NaN is a NaN.
template <class T> std::size_t different(const Tensor<T>& a, const Tensor<T>& b)
{
    REQUIRE(a.shape() == b.shape());
    const Tensor<T> x = copy(a), y = copy(b);
    std::size_t n = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const T p = x.data()[i], q = y.data()[i];
        n += std::memcmp(&p, &q, sizeof p) != 0 && (p == p || q == q);
    }
    return n;
}

template <class T>
void same_everywhere(const std::vector<Function<T>>& list,
                     const std::vector<std::pair<Tensor<T>, Tensor<T>>>& arguments)
{
    const auto f = [&list](const Tensor<T>& v, const Tensor<T>& w) { return all_of(list, v, w); };
    const wg::Backend backends[] = {wg::interpret, wg::tile, wg::native};
    for (const wg::Backend& backend : backends) {
        auto frozen = wg::freeze(f, {.backend = backend, .check = false});
        frozen(arguments[0].first, arguments[0].second);
        for (const auto& [x, a] : arguments) {
            const std::vector<Tensor<T>> eager = f(x, a), got = frozen(x, a);
            REQUIRE(got.size() == eager.size());
            for (std::size_t k = 0; k < got.size(); ++k) {
                INFO(list[k / 4].name << ", result " << k % 4 << " of " << backend.name);
                CHECK(different(eager[k], got[k]) == 0);
            }
        }
    }
}

/// Edges, neighbours of the points where a formula gives way to another one, and numbers of every size.
template <class T> Tensor<T> numbers(std::size_t rows, std::size_t columns, std::size_t step)
{
    using L = std::numeric_limits<T>;
    std::vector<T> v = {T(0),          T(-0.0),        L::denorm_min(), -L::denorm_min(),
                        L::min(),      -L::min(),      L::max(),        L::lowest(),
                        L::infinity(), -L::infinity(), L::quiet_NaN(),  L::epsilon()};
    for (const double at : {0.5,
                            0.625,
                            1.0,
                            1.5707963267948966,
                            2.0,
                            2.414213562373095,
                            0.41421356237309503,
                            4.0,
                            6.0,
                            10.0,
                            20.0,
                            38.0,
                            88.722,
                            103.97,
                            709.78,
                            745.13,
                            1e4,
                            1e9,
                            0.7071067811865476,
                            1.4142135}) {
        const T x = static_cast<T>(at);
        for (const T n : {x, std::nextafter(x, T(0)), std::nextafter(x, L::infinity())})
            v.insert(v.end(), {n, -n});
    }
    for (int e = L::min_exponent + 1; e < L::max_exponent; e += L::max_exponent / 25)
        v.insert(v.end(), {std::ldexp(T(1.2345678), e), std::ldexp(T(-1.7654321), e)});
    std::vector<T> values(rows * columns);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = v[(i * step + i / v.size() * 7) % v.size()];
    return Tensor<T>(wg::Shape{rows, columns}, values);
}

}  // namespace

TEMPLATE_TEST_CASE("every function of numbers has the same bits on every executor", "[native]", float, double)
{
    using T = TestType;
    same_everywhere<T>(functions<T>(),
                       {{numbers<T>(31, 33, 1), numbers<T>(31, 33, 5)},
                        {wg::normal<T>(wg::Key(1), {31, 33}) * T(5), wg::normal<T>(wg::Key(2), {31, 33})}});
}

TEMPLATE_TEST_CASE("every fold has the same bits on every executor", "[native]", float, double)
{
    using T = TestType;
    for (const std::int64_t n : {1, 3, 5, 8, 16, 70}) {
        INFO("rows of " << n);
        const Tensor<T> x = wg::normal<T>(wg::Key(3), {19, n}) * T(9), zeros = wg::full<T>({19, n}, T(-0.0));
        same_everywhere<T>(folds<T>(), {{x, x + T(1)}, {zeros, zeros}});
    }
}

TEST_CASE("a sum of negative zeros has one sign, whatever the width of a register", "[native]")
{
    for (const std::int64_t n : {2, 3, 4, 5, 8, 9, 16, 17, 64, 5000}) {
        INFO(n);
        const Tensor<float> x = wg::full<float>({3, n}, -0.0F);
        CHECK(!std::signbit(sum(x, {1})(0).item()));
        CHECK(!std::signbit(amax(x, {1})(0).item()));
        CHECK(!std::signbit(sum(wg::full<double>({n, 3}, -0.0), {0})(0).item()));
    }
    CHECK(std::signbit(sum(wg::full<double>({3, 1}, -0.0), {1})(0).item()));  // one element is that element
}
