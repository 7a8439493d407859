#include "catch.hpp"

#include <wengert/kernels/cpu/gemm.hpp>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace {

template <class T> struct Case {
    bool ta, tb;
    std::size_t m, n, k, extra;  ///< extra: how much longer stored rows are than they need to be
    T alpha, beta;

    std::size_t lda() const { return (ta ? m : k) + extra; }
    std::size_t ldb() const { return (tb ? k : n) + extra; }
    std::size_t ldc() const { return n + extra; }
};

template <class T> std::vector<T> numbers(std::size_t count, unsigned seed)
{
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<T> x(count);
    for (T& v : x) v = static_cast<T>(uniform(generator));
    return x;
}

/// Largest error in units of eps · Σ|a||b|; elements between the rows of c must not change.
template <class T, class Gemm> double error(const Case<T>& s, const Gemm& gemm)
{
    const auto a = numbers<T>((s.ta ? s.k : s.m) * s.lda(), 1),
               b = numbers<T>((s.tb ? s.n : s.k) * s.ldb(), 2);
    const auto before = numbers<T>(s.m * s.ldc(), 3);
    auto c = before;
    const T nan = std::numeric_limits<T>::quiet_NaN();
    if (s.beta == 0)
        for (std::size_t i = 0; i < s.m; ++i)
            std::fill_n(c.begin() + static_cast<std::ptrdiff_t>(i * s.ldc()), s.n, nan);
    gemm(s.ta, s.tb, s.m, s.n, s.k, s.alpha, a.data(), s.lda(), b.data(), s.ldb(), s.beta, c.data(), s.ldc());
    double worst = 0;
    for (std::size_t i = 0; i < s.m; ++i)
        for (std::size_t j = 0; j < s.ldc(); ++j) {
            const long double old = before[i * s.ldc() + j];
            long double want = old, scale = 1;
            if (j < s.n) {
                want = s.beta == 0 ? 0 : s.beta * old;
                for (std::size_t p = 0; p < s.k; ++p) {
                    const long double left = s.ta ? a[p * s.lda() + i] : a[i * s.lda() + p];
                    const long double term = left * (s.tb ? b[j * s.ldb() + p] : b[p * s.ldb() + j]);
                    want += s.alpha * term, scale += std::abs(term);
                }
            }
            const double off = static_cast<double>(std::abs(c[i * s.ldc() + j] - want) / scale);
            worst = off <= worst ? worst : off;  // NaN counts
        }
    return worst / std::numeric_limits<T>::epsilon();
}

template <class T, class Gemm>
void check_all(const std::vector<std::array<std::size_t, 3>>& sizes, const Gemm& gemm)
{
    for (const auto& [m, n, k] : sizes)
        for (unsigned flags = 0; flags < 16; ++flags) {
            Case<T> s{(flags & 1) != 0, (flags & 2) != 0, m, n, k, flags & 4 ? 3U : 0U, T(1), T(0)};
            if (flags & 8) s.alpha = T(-0.5), s.beta = T(0.75);
            CAPTURE(m, n, k, flags);
            CHECK(error(s, gemm) < 4);
        }
}

}  // namespace

TEMPLATE_TEST_CASE("gemm agrees with long double", "[gemm]", float, double)
{
    std::vector<std::array<std::size_t, 3>> sizes = {
        {1, 1, 1},   {1, 7, 1},   {7, 1, 1},    {5, 9, 1},  {1, 1, 50}, {1, 100, 30},  {100, 1, 30},
        {1, 3, 200}, {3, 1, 200}, {40, 50, 60}, {17, 3, 2}, {2, 2, 0},  {33, 1, 1000}, {1, 300, 2}};
    for (const std::size_t n : {2U, 3U, 4U, 5U, 7U, 8U, 11U, 15U, 16U})
        sizes.push_back({n, n, n}), sizes.push_back({16, n, 3});
    check_all<TestType>(sizes, [](auto... x) { wengert::kernels::gemm<TestType>(x...); });
}

TEMPLATE_TEST_CASE("the blocked loops agree with long double", "[gemm]", float, double)
{
    using T = TestType;
    using wengert::kernels::detail::Operand;
    const auto blocked = [](bool ta, bool tb, std::size_t m, std::size_t n, std::size_t k, T alpha,
                            const T* a, std::size_t lda, const T* b, std::size_t ldb, T beta, T* c,
                            std::size_t ldc) {
        const Operand<T> left = ta ? Operand<T>{a, 1, lda} : Operand<T>{a, lda, 1};
        const Operand<T> right = tb ? Operand<T>{b, 1, ldb} : Operand<T>{b, ldb, 1};
        wengert::kernels::detail::blocked_gemm<T, xsimd::default_arch>(m, n, k, left, right,
                                                                       {c, ldc, alpha, beta});
    };
    check_all<T>({{1, 1, 1}, {3, 40, 5}, {130, 35, 20}, {9, 530, 7}, {20, 20, 300}, {137, 70, 259}}, blocked);
}
