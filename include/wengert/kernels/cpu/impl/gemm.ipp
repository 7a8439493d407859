// The bodies of gemm.hpp: which loops a product runs. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../blas.hpp"
#include "../gemm.hpp"
#include "../gemm_small.hpp"
#include "../gemv.hpp"
#include "../outer_product.hpp"

namespace wengert::kernels {

namespace detail {

template <class T, class A>
inline void scale_rows(std::size_t m, std::size_t n, T beta, T* c, std::size_t ldc)
{
    for (std::size_t i = 0; i < m; ++i, c += ldc)
        for (std::size_t j = 0; j < n; ++j) c[j] = beta == T(0) ? T(0) : beta * c[j];
}

/// Products with a size of 1; false where none of the loops fits the layout.
template <class T, class A>
inline bool gemv(std::size_t m, std::size_t n, std::size_t k, const Operand<T>& a, const Operand<T>& b,
                 const Target<T>& c)
{
    // Short rows of C that are updated in place would load beside what the row before has just stored in part: slow.
    constexpr std::size_t width = Lane<T, A>::width;
    const bool long_rows = n >= (c.beta == T(0) ? 1 : 4) * width || n % width == 0 || m == 1;
    if (k == 1 && b.column == 1 && long_rows) {
        outer_product<T, A>(m, n, a.data, a.row, b.data, c.data, c.row, c.alpha, c.beta);
    } else if (k == 1 && b.column == 1 && c.row == n && n < Lane<T, A>::width && n > 1 && m > 1) {
        short_outer_product<T, A>(m, n, a.data, a.row, b.data, c.data, c.alpha, c.beta);
    } else if (m == 1 && n == 1) {
        const T sum = c.alpha * dot<T, A>(k, a.data, a.column, b.data, b.row);
        *c.data = c.beta == T(0) ? sum : sum + c.beta * *c.data;
    } else if (m == 1 && b.column == 1) {
        vector_times_rows<T, A>(n, k, a.data, a.column, b.data, b.row, c.data, c.alpha, c.beta);
    } else if (m == 1 && a.column == 1) {
        rows_times_vector<T, A>(n, k, a.data, b.data, b.column, c.data, 1, c.alpha, c.beta);
    } else if (n == 1 && b.row == 1 && a.column == 1) {
        rows_times_vector<T, A>(m, k, b.data, a.data, a.row, c.data, c.row, c.alpha, c.beta);
    } else if (n == 1 && c.row == 1 && a.row == 1) {
        vector_times_rows<T, A>(m, k, b.data, b.row, a.data, a.column, c.data, c.alpha, c.beta);
    } else {
        return false;
    }
    return true;
}

}  // namespace detail

template <class T, class A>
    requires std::same_as<T, float> || std::same_as<T, double>
void own_gemm(bool ta, bool tb, std::size_t m, std::size_t n, std::size_t k, T alpha, const T* a,
              std::size_t lda, const T* b, std::size_t ldb, T beta, T* c, std::size_t ldc)
{
    using namespace detail;
    const detail::Operand<T> left{a, ta ? 1 : lda, ta ? lda : 1}, right{b, tb ? 1 : ldb, tb ? ldb : 1};
    if (std::max({m, n, k}) <= small_edge)
        small_gemm<T, A>(m, n, k, alpha, a, left.row, left.column, b, right.row, right.column, beta, c, ldc);
    else
        blocked_gemm<T, A>(m, n, k, left, right, Target<T>{c, ldc, alpha, beta});
}

template <class T, class A>
    requires std::same_as<T, float> || std::same_as<T, double>
void gemm(bool ta, bool tb, std::size_t m, std::size_t n, std::size_t k, T alpha, const T* a, std::size_t lda,
          const T* b, std::size_t ldb, T beta, T* c, std::size_t ldc)
{
    using namespace detail;
    if (m == 0 || n == 0) return;
    if (k == 0) return scale_rows<T, A>(m, n, beta, c, ldc);
    const std::size_t a_row = ta ? 1 : lda, a_column = ta ? lda : 1, b_row = tb ? 1 : ldb,
                      b_column = tb ? ldb : 1;
    const bool vector = m == 1 || n == 1 || k == 1;
    if (!vector && std::max({m, n, k}) <= small_edge)
        return small_gemm<T, A>(m, n, k, alpha, a, a_row, a_column, b, b_row, b_column, beta, c, ldc);
    const detail::Operand<T> left{a, a_row, a_column}, right{b, b_row, b_column};
    const detail::Target<T> target{c, ldc, alpha, beta};
    if (vector && detail::gemv<T, A>(m, n, k, left, right, target)) return;
#if defined(WENGERT_HAS_BLAS)
    const bool fits = std::max({m, n, k, lda, ldb, ldc}) <= INT_MAX;  // BLAS's int
    if (fits && !own_is_chosen<A>(tb, m, n, k))
        return blas_gemm<A>(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
#endif
    blocked_gemm<T, A>(m, n, k, left, right, target);
}

template <class T, class A>
    requires std::same_as<T, float> || std::same_as<T, double>
void gemm_batch(std::size_t count, bool ta, bool tb, std::size_t m, std::size_t n, std::size_t k, const T* a,
                std::size_t lda, std::ptrdiff_t step_a, const T* b, std::size_t ldb, std::ptrdiff_t step_b,
                T beta, T* c)
{
    const std::size_t a_row = ta ? 1 : lda, a_column = ta ? lda : 1, b_row = tb ? 1 : ldb,
                      b_column = tb ? ldb : 1;
    const auto of_order = [&]<std::size_t N>() {
        detail::small_gemm_batch<N, T, A>(count, a, a_row, a_column, step_a, b, b_row, b_column, step_b, beta,
                                          c);
    };
    const bool square = m == n && n == k;
    if (square && n == 2) return of_order.template operator()<2>();
    if (square && n == 3) return of_order.template operator()<3>();
    if (square && n == 4) return of_order.template operator()<4>();
    for (; count > 0; --count, a += step_a, b += step_b, c += m * n)
        gemm<T, A>(ta, tb, m, n, k, T(1), a, lda, b, ldb, beta, c, std::max<std::size_t>(n, 1));
}

}  // namespace wengert::kernels
