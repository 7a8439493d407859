#include "catch.hpp"

#include <wengert/ops/arg_reductions.hpp>
#include <wengert/ops/softmax.hpp>

#include <random>
#include <vector>

namespace k = wengert::kernels;

namespace {

struct Shape {
    std::size_t outer, n, inner;
};
constexpr Shape shapes[] = {
    {1, 1, 1},   {1, 2, 1},   {2, 3, 1},    {3, 4, 1},     {2, 5, 1},   {1, 8, 1},    {2, 17, 1},
    {1, 33, 1},  {3, 100, 1}, {1, 5000, 1}, {1, 20001, 1}, {2, 3, 4},   {1, 7, 3},    {2, 50, 3},
    {1, 100, 2}, {1, 999, 5}, {2, 10, 17},  {1, 300, 40},  {1, 3, 300}, {2, 5, 1000}, {1, 600, 300}};

template <class T> std::vector<T> numbers(std::size_t count, unsigned seed = 1)
{
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> uniform(-2, 2);
    std::vector<T> x(count);
    for (T& v : x) v = static_cast<T>(uniform(generator));
    return x;
}

/// Calls check(out index, row as long doubles) for each row along the middle axis.
template <class T, class Check> void each_row(const Shape& s, const std::vector<T>& x, const Check& check)
{
    for (std::size_t o = 0; o < s.outer; ++o)
        for (std::size_t j = 0; j < s.inner; ++j) {
            std::vector<long double> row;
            for (std::size_t i = 0; i < s.n; ++i) row.push_back(x[(o * s.n + i) * s.inner + j]);
            check(o * s.inner + j, row);
        }
}

bool near(double got, long double want, double eps, long double scale = 1)
{
    return std::abs(static_cast<long double>(got) - want) <= eps * (std::abs(want) + scale);
}

template <class Op, class Out, class... X> void folded(const Shape& s, double number, Out* out, const X*... x)
{
    wengert::detail::fold_elements<Op>(s.outer, s.n, s.inner, number, out, x...);
}

}  // namespace

TEMPLATE_TEST_CASE("reductions agree with long double", "[reduce]", float, double)
{
    using T = TestType;
    const double eps = 8 * std::numeric_limits<T>::epsilon();
    for (const Shape& s : shapes) {
        CAPTURE(s.outer, s.n, s.inner);
        const auto x = numbers<T>(s.outer * s.n * s.inner);
        std::vector<T> add(s.outer * s.inner), top(add), low(add), variance(add), lse(add), norm(add);
        std::vector<std::int64_t> arg(add.size());
        k::sum(x.data(), s.outer, s.n, s.inner, add.data());
        k::amax(x.data(), s.outer, s.n, s.inner, top.data());
        k::amin(x.data(), s.outer, s.n, s.inner, low.data());
        k::argmax(x.data(), s.outer, s.n, s.inner, arg.data());
        folded<wengert::Var>(s, static_cast<double>(s.n), variance.data(), x.data());
        folded<wengert::LogSumExp>(s, 0, lse.data(), x.data());
        folded<wengert::Norm>(s, 0, norm.data(), x.data());
        bool good = true;
        each_row(s, x, [&](std::size_t i, const std::vector<long double>& row) {
            long double total = 0, squares = 0, exps = 0, spread = 0;
            for (long double v : row) total += v, squares += v * v, exps += std::exp(v);
            for (long double v : row) spread += (v - total / row.size()) * (v - total / row.size());
            const auto largest = std::max_element(row.begin(), row.end());
            good = good && near(add[i], total, eps, 2 * std::sqrt(static_cast<long double>(s.n)));
            good = good && top[i] == *largest && low[i] == *std::min_element(row.begin(), row.end());
            good = good && arg[i] == largest - row.begin();
            good = good && near(variance[i], spread / row.size(), eps);
            good = good && near(lse[i], std::log(exps), eps) && near(norm[i], std::sqrt(squares), eps);
        });
        CHECK(good);
    }
}

TEMPLATE_TEST_CASE("softmax and its backward agree with long double", "[reduce]", float, double)
{
    using T = TestType;
    const double eps = 16 * std::numeric_limits<T>::epsilon();
    for (const Shape& s : shapes) {
        CAPTURE(s.outer, s.n, s.inner);
        const std::size_t size = s.outer * s.n * s.inner;
        const auto x = numbers<T>(size), g = numbers<T>(size, 2);
        std::vector<T> y(size), log_y(size), dx(size), log_dx(size);
        folded<wengert::Softmax>(s, 0, y.data(), x.data());
        folded<wengert::LogSoftmax>(s, 0, log_y.data(), x.data());
        folded<wengert::SoftmaxPull>(s, 0, dx.data(), g.data(), y.data());
        folded<wengert::LogSoftmaxPull>(s, 0, log_dx.data(), g.data(), log_y.data());
        bool good = true;
        each_row(s, x, [&](std::size_t i, const std::vector<long double>& row) {
            const auto at = [&](std::size_t r) { return ((i / s.inner) * s.n + r) * s.inner + i % s.inner; };
            long double sum = 0, gy = 0, gs = 0;
            for (long double v : row) sum += std::exp(v);
            for (std::size_t r = 0; r < s.n; ++r) gy += g[at(r)] * std::exp(row[r]) / sum, gs += g[at(r)];
            for (std::size_t r = 0; r < s.n; ++r) {
                const long double p = std::exp(row[r]) / sum;
                good = good && near(y[at(r)], p, eps, 0) && near(log_y[at(r)], std::log(p), eps);
                good = good && near(dx[at(r)], p * (g[at(r)] - gy), eps, p);
                good = good && near(log_dx[at(r)], g[at(r)] - p * gs, eps, 2);
            }
        });
        CHECK(good);
    }
}

TEST_CASE("a row's sum does not depend on where it lies, and pairwise sums stay exact", "[reduce]")
{
    const auto x = numbers<float>(5 * 1003);
    std::vector<float> together(5), alone(5);
    k::sum(x.data(), 5, 1003, 1, together.data());
    for (std::size_t i = 0; i < 5; ++i) k::sum(x.data() + i * 1003, 1, 1003, 1, &alone[i]);
    CHECK(together == alone);

    std::vector<float> tenths(10'000'000, 0.1F);
    float total = 0;
    k::sum(tenths.data(), 1, tenths.size(), 1, &total);
    const double exact = 1e7 * static_cast<double>(0.1F);
    CHECK(std::abs(static_cast<double>(total) - exact) < 2);  // one by one: 87937 off
}

TEST_CASE("NaN, infinities and empty axes", "[reduce]")
{
    const double nan = std::numeric_limits<double>::quiet_NaN(),
                 inf = std::numeric_limits<double>::infinity();
    double out = 0;
    std::int64_t at = -1;
    for (std::size_t place = 0; place < 40; ++place) {
        std::vector<double> x(40, 1.0);
        x[place] = nan;
        k::amax(x.data(), 1, 40, 1, &out);
        CHECK(out != out);
        k::argmin(x.data(), 1, 40, 1, &at);
        CHECK(at == static_cast<std::int64_t>(place));
        std::int64_t columns[4];
        k::argmax(x.data(), 1, 10, 4, columns);
        CHECK(columns[place % 4] == static_cast<std::int64_t>(place / 4));
    }
    const double* none = nullptr;
    k::sum(none, 1, 0, 1, &out);
    CHECK(out == 0);
    folded<wengert::Prod>({1, 0, 1}, 0, &out, none);
    CHECK(out == 1);
    folded<wengert::LogSumExp>({1, 0, 1}, 0, &out, none);
    CHECK(out == -inf);
    const double low[] = {-inf, -inf, -inf};
    folded<wengert::LogSumExp>({1, 3, 1}, 0, &out, low);
    CHECK(out == -inf);
    const double high[] = {1, inf, 2};
    folded<wengert::LogSumExp>({1, 3, 1}, 0, &out, high);
    CHECK(out == inf);
    const double big[] = {1000, 1000};
    folded<wengert::LogSumExp>({1, 2, 1}, 0, &out, big);
    CHECK(out == 1000 + std::log(2.0));
    const double huge[] = {3e300, 4e300}, tiny[] = {3e-300, 4e-300};
    folded<wengert::Norm>({1, 2, 1}, 0, &out, huge);
    CHECK(std::abs(out / 5e300 - 1) < 1e-15);
    folded<wengert::Norm>({1, 2, 1}, 0, &out, tiny);
    CHECK(std::abs(out / 5e-300 - 1) < 1e-15);
}

TEST_CASE("integers and bools", "[reduce]")
{
    const std::int32_t x[] = {3, -1, 4, 1, -5, 9};
    std::int32_t narrow[3];
    std::int64_t wide = 0, at[3];
    k::sum(x, 1, 6, 1, &wide);
    CHECK(wide == 11);
    folded<wengert::Prod>({1, 2, 3}, 0, narrow, x);
    CHECK((narrow[0] == 3 && narrow[1] == 5 && narrow[2] == 36));
    folded<wengert::Extremum<false>>({1, 2, 3}, 0, narrow, x);
    CHECK((narrow[0] == 1 && narrow[1] == -5 && narrow[2] == 4));
    k::argmax(x, 1, 2, 3, at);
    CHECK((at[0] == 0 && at[1] == 0 && at[2] == 1));
    k::argmin(x, 1, 6, 1, at);
    CHECK(at[0] == 4);
    const bool flags[] = {true, false, true, true};
    bool every[2], some = false;
    folded<wengert::Quantifier<true>>({1, 2, 2}, 0, every, flags);
    CHECK((every[0] && !every[1]));
    folded<wengert::Quantifier<false>>({1, 4, 1}, 0, &some, flags);
    CHECK(some);
    k::sum(flags, 1, 4, 1, &wide);
    CHECK(wide == 3);
}
