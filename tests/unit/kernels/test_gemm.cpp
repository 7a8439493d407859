#include "catch.hpp"

#include <wengert/kernels/about.hpp>
#include <wengert/kernels/cpu/impl/gemm.ipp>

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
    check_all<T>({{60, 33, 80}, {2048 / sizeof(T) + 3, 40, 17}, {11, 100, 257}, {129, 16, 31}}, blocked);
}

TEMPLATE_TEST_CASE("the choice between BLAS and own loops changes no result and takes both", "[gemm]", float,
                   double)
{
    using T = TestType;
    namespace detail = wengert::kernels::detail;
    using A = xsimd::default_arch;
    check_all<T>({{24, 32, 20}, {4, 130, 40}, {3, 700, 500}, {32, 32, 32}, {70, 10, 90}},
                 [](auto... x) { wengert::kernels::gemm<T>(x...); });
    check_all<T>({{5, 3, 2}, {17, 18, 19}, {64, 10, 30}},
                 [](auto... x) { wengert::kernels::own_gemm<T>(x...); });
    constexpr std::size_t own = sizeof(wengert::Lane<double, A>);
    for (const std::size_t blas : {16U, 32U})
        CHECK(detail::own_is_faster<A>(blas, false, 64, 512, 784) == (own > blas));
    CHECK_FALSE(detail::own_is_faster<A>(64, false, 64, 512, 784));
    CHECK(detail::own_is_faster<A>(64, true, 64, 512, 10) == (own == 64));
#if defined(WENGERT_HAS_BLAS)
    CHECK(detail::blas_register("Prescott") == 16);
    CHECK(detail::blas_register("Zen") == 32);
    CHECK(detail::blas_register("HASWELL") == 32);
    for (const char* core : {"", "SkylakeX", "Cooperlake", "Sapphirerapids", "ZenX"}) {
        CAPTURE(core);
        CHECK(detail::blas_register(core) == 64);
    }
#endif
    CHECK_FALSE(wengert::kernels::about_products().empty());

    // the same call, the same bits, wherever the operands lie
    const std::size_t m = 37, n = 45, k = 29;
    const auto a = numbers<T>(m * k + 7, 1), b = numbers<T>(k * n + 7, 2);
    std::vector<T> first(m * n);
    wengert::kernels::gemm<T>(false, true, m, n, k, T(1), a.data(), k, b.data(), k, T(0), first.data(), n);
    for (std::size_t offset = 1; offset < 5; ++offset) {
        std::vector<T> x(a.size() + offset), y(b.size() + offset), c(m * n + offset);
        std::copy(a.begin(), a.end(), x.begin() + static_cast<std::ptrdiff_t>(offset));
        std::copy(b.begin(), b.end(), y.begin() + static_cast<std::ptrdiff_t>(offset));
        wengert::kernels::own_gemm<T>(false, true, m, n, k, T(1), a.data(), k, b.data(), k, T(0),
                                      first.data(), n);
        wengert::kernels::own_gemm<T>(false, true, m, n, k, T(1), x.data() + offset, k, y.data() + offset, k,
                                      T(0), c.data() + offset, n);
        CHECK(std::equal(first.begin(), first.end(), c.begin() + static_cast<std::ptrdiff_t>(offset)));
    }
}

TEMPLATE_TEST_CASE("gemm_batch has gemm's bits", "[gemm]", float, double)
{
    using T = TestType;
    const std::size_t n = GENERATE(1, 2, 3, 4, 5, 17), count = 6;
    const unsigned flags = GENERATE(0U, 1U, 2U, 3U);
    const T beta = GENERATE(T(0), T(1));
    const bool ta = flags & 1, tb = flags & 2;
    const std::size_t ld = n + 1, size = n * ld;
    const auto a = numbers<T>(count * size, 1), b = numbers<T>(count * size, 2);
    for (const auto step : {std::ptrdiff_t(size), std::ptrdiff_t(0), -std::ptrdiff_t(size)}) {
        CAPTURE(n, flags, beta, step);
        auto together = numbers<T>(count * n * n, 3), alone = together;
        const T* const first = a.data() + (step < 0 ? (count - 1) * size : 0);
        wengert::kernels::gemm_batch<T>(count, ta, tb, n, n, n, first, ld, step, b.data(), ld,
                                        std::ptrdiff_t(size), beta, together.data());
        for (std::size_t i = 0; i < count; ++i)
            wengert::kernels::gemm<T>(ta, tb, n, n, n, T(1), first + std::ptrdiff_t(i) * step, ld,
                                      b.data() + i * size, ld, beta, alone.data() + i * n * n, n);
        CHECK(together == alone);
    }
}
