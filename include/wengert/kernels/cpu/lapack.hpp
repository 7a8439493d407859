// LAPACK and the triangular solves of BLAS, on matrices stored row by row. LAPACK reads columns, so what it is given is the
// transpose: each function says which factorization of A that makes.
#pragma once

#include <algorithm>
#include <climits>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "blas.hpp"
#include "transpose.hpp"

#if !defined(WENGERT_HAS_BLAS) || !__has_include(<lapacke.h>)
#error                                                                                                       \
    "wengert/linalg.hpp needs BLAS and LAPACK: cblas.h and lapacke.h (Debian: libopenblas-dev liblapacke-dev)"
#endif
#include <lapacke.h>

namespace wengert::kernels::lapack {

template <class T>
concept Number = std::same_as<T, float> || std::same_as<T, double>;

inline int as_int(std::size_t n) { return static_cast<int>(n); }
/// A leading dimension: BLAS wants at least 1.
inline int leading(std::size_t n) { return std::max(as_int(n), 1); }

/// f(top, left, rows, columns) for the blocks on and above the diagonal.
template <class F> void each_upper_block(std::size_t n, std::size_t edge, const F& f)
{
    for (std::size_t top = 0; top < n; top += edge)
        for (std::size_t left = top; left < n; left += edge)
            f(top, left, std::min(edge, n - top), std::min(edge, n - left));
}

/// The transpose of a block of a matrix, in memory of its own.
template <class T, class A> struct TransposedBlock {
    static constexpr std::size_t edge = 128 / sizeof(T);
    T at[edge][edge];

    /// `rows` and `columns` are the result's.
    void read(std::size_t rows, std::size_t columns, const T* from, std::size_t step)
    {
        detail::transpose<sizeof(T), A>(
            static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns),
            reinterpret_cast<const std::byte*>(from), static_cast<std::int64_t>(step * sizeof(T)),
            reinterpret_cast<std::byte*>(at), static_cast<std::int64_t>(sizeof at[0]));
    }
};

/// Y = (A + Aᵀ) / 2 on and above the diagonal; the rest of Y is not written.
template <Number T, class A = xsimd::default_arch> void upper_symmetric(std::size_t n, const T* a, T* y)
{
    using Block = TransposedBlock<T, A>;
    Block below;
    each_upper_block(n, Block::edge,
                     [&](std::size_t top, std::size_t left, std::size_t rows, std::size_t columns) {
                         below.read(rows, columns, a + left * n + top, n);
                         for (std::size_t r = 0; r < rows; ++r) {
                             const std::size_t row = (top + r) * n + left;
                             for (std::size_t c = left == top ? r + 1 : 0; c < columns; ++c)
                                 y[row + c] = T(0.5) * a[row + c] + T(0.5) * below.at[r][c];
                             if (left == top) y[row + r] = a[row + r];
                         }
                     });
}

/// A = L Lᵀ: reads A on and above the diagonal, and overwrites that with Lᵀ. LAPACK, which reads columns, computes L; OpenBLAS
/// is faster at that than at Lᵀ. Not 0: the order of the leading minor that is not positive.
template <Number T> int cholesky_transposed(std::size_t n, T* a)
{
    if constexpr (std::same_as<T, float>)
        return LAPACKE_spotrf_work(LAPACK_COL_MAJOR, 'L', as_int(n), a, leading(n));
    else
        return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', as_int(n), a, leading(n));
}

/// Transposes an upper triangular matrix in place: zeros lie above the diagonal then.
template <Number T, class A = xsimd::default_arch> void transpose_to_lower(std::size_t n, T* a)
{
    using Block = TransposedBlock<T, A>;
    Block block;
    each_upper_block(n, Block::edge,
                     [&](std::size_t top, std::size_t left, std::size_t rows, std::size_t columns) {
                         block.read(columns, rows, a + top * n + left, n);
                         for (std::size_t c = 0; c < columns; ++c)
                             std::copy_n(block.at[c], left == top ? c + 1 : rows, a + (left + c) * n + top);
                         for (std::size_t r = 0; r < rows; ++r) {
                             T* const row = a + (top + r) * n + left;
                             std::fill(row + (left == top ? r + 1 : 0), row + columns, T(0));
                         }
                     });
}

/// Aᵀ = P L U: in place, (L U)ᵀ on and below the diagonal Uᵀ, above it Lᵀ, whose diagonal is 1. In step k row k of Aᵀ and row
/// pivots[k] − 1 changed places. A zero pivot does no harm here.
template <Number T> void lu(std::size_t rows, std::size_t columns, T* a, int* pivots)
{
    const int m = as_int(columns), n = as_int(rows);
    if constexpr (std::same_as<T, float>)
        LAPACKE_sgetrf_work(LAPACK_COL_MAJOR, m, n, a, leading(columns), pivots);
    else
        LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, m, n, a, leading(columns), pivots);
}

/// Which triangle of a stored matrix is meant, whether its transpose, and whether its diagonal is 1.
struct Triangle {
    bool lower, transposed, unit;
};

/// B = op(A)⁻¹ B; B has n rows and k columns.
template <Number T>
void solve_triangular(const Triangle& t, std::size_t n, std::size_t k, const T* a, std::size_t lda, T* b)
{
    const auto uplo = t.lower ? CblasLower : CblasUpper;
    const auto op = t.transposed ? CblasTrans : CblasNoTrans;
    const auto diagonal = t.unit ? CblasUnit : CblasNonUnit;
    const int order = as_int(n), ld = leading(lda);
    if (n == 0 || k == 0) return;
    if constexpr (std::same_as<T, float>) {
        if (k == 1) return cblas_strsv(CblasRowMajor, uplo, op, diagonal, order, a, ld, b, 1);
        cblas_strsm(CblasRowMajor, CblasLeft, uplo, op, diagonal, order, as_int(k), 1, a, ld, b, leading(k));
    } else {
        if (k == 1) return cblas_dtrsv(CblasRowMajor, uplo, op, diagonal, order, a, ld, b, 1);
        cblas_dtrsm(CblasRowMajor, CblasLeft, uplo, op, diagonal, order, as_int(k), 1, a, ld, b, leading(k));
    }
}

/// B = A⁻¹ B, or A⁻ᵀ B, by the factors that lu() gave of a square A. The pivots are of any type.
template <Number T, class Pivot>
void solve_by_lu(bool transposed, std::size_t n, std::size_t k, const T* factors, const Pivot* pivots, T* b)
{
    const auto exchange = [&](std::size_t i) {
        const auto other = static_cast<std::size_t>(pivots[i] < 0 ? -pivots[i] : pivots[i]) - 1;
        if (other != i) std::swap_ranges(b + i * k, b + (i + 1) * k, b + other * k);
    };
    if (transposed) {
        for (std::size_t i = 0; i < n; ++i) exchange(i);
        solve_triangular<T>({false, true, true}, n, k, factors, n, b);
        solve_triangular<T>({true, true, false}, n, k, factors, n, b);
    } else {
        solve_triangular<T>({true, false, false}, n, k, factors, n, b);
        solve_triangular<T>({false, false, true}, n, k, factors, n, b);
        for (std::size_t i = n; i-- > 0;) exchange(i);
    }
}

/// A = Q R of m ≥ n: A becomes Q, r has the n rows of R.
template <Number T> void qr(std::size_t m, std::size_t n, T* a, T* r)
{
    std::vector<T> tau(n);
    const int rows = as_int(n), columns = as_int(m);
    if constexpr (std::same_as<T, float>)
        LAPACKE_sgelqf(LAPACK_COL_MAJOR, rows, columns, a, leading(n), tau.data());
    else
        LAPACKE_dgelqf(LAPACK_COL_MAJOR, rows, columns, a, leading(n), tau.data());
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) r[i * n + j] = i <= j ? a[i * n + j] : T(0);
    if constexpr (std::same_as<T, float>)
        LAPACKE_sorglq(LAPACK_COL_MAJOR, rows, columns, rows, a, leading(n), tau.data());
    else
        LAPACKE_dorglq(LAPACK_COL_MAJOR, rows, columns, rows, a, leading(n), tau.data());
}

/// A = Σ wᵢ vᵢ vᵢᵀ of a symmetric A, which is read on and above the diagonal: its row i becomes vᵢ, the wᵢ ascend. Not 0: it did not converge.
template <Number T> int eigh(std::size_t n, T* a, T* w)
{
    if constexpr (std::same_as<T, float>)
        return LAPACKE_ssyevd(LAPACK_COL_MAJOR, 'V', 'L', as_int(n), a, leading(n), w);
    else
        return LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', as_int(n), a, leading(n), w);
}

/// A = U diag(s) Vᵀ, thin: with k = min(m, n), U has k columns, Vᵀ has k rows, s descends. A is overwritten. Not 0: it did not
/// converge.
template <Number T> int svd(std::size_t m, std::size_t n, T* a, T* u, T* s, T* vt)
{
    const int rows = as_int(n), columns = as_int(m), k = leading(std::min(m, n));
    if constexpr (std::same_as<T, float>)
        return LAPACKE_sgesdd(LAPACK_COL_MAJOR, 'S', rows, columns, a, leading(n), s, vt, leading(n), u, k);
    else
        return LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'S', rows, columns, a, leading(n), s, vt, leading(n), u, k);
}

/// A V = V diag(w), Wᴴ A = diag(w) Wᴴ of a general A, columns of V and W of length 1; all by columns, A is overwritten. Real w and
/// vectors come as LAPACK gives them: w in two halves. Not 0: it did not converge.
template <Number T> int eig(std::size_t n, T* a, T* w, T* left, T* right)
{
    const int order = as_int(n), ld = leading(n);
    if constexpr (std::same_as<T, float>)
        return LAPACKE_sgeev(LAPACK_COL_MAJOR, 'V', 'V', order, a, ld, w, w + n, left, ld, right, ld);
    else
        return LAPACKE_dgeev(LAPACK_COL_MAJOR, 'V', 'V', order, a, ld, w, w + n, left, ld, right, ld);
}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"  // C's complex numbers
/// The same of complex numbers, each by its parts.
template <Number T> int complex_eig(std::size_t n, T* a, T* w, T* left, T* right)
{
    const int order = as_int(n), ld = leading(n);
    const auto as = [](T* x) {
        if constexpr (std::same_as<T, float>)
            return reinterpret_cast<lapack_complex_float*>(x);
        else
            return reinterpret_cast<lapack_complex_double*>(x);
    };
    if constexpr (std::same_as<T, float>)
        return LAPACKE_cgeev(LAPACK_COL_MAJOR, 'V', 'V', order, as(a), ld, as(w), as(left), ld, as(right),
                             ld);
    else
        return LAPACKE_zgeev(LAPACK_COL_MAJOR, 'V', 'V', order, as(a), ld, as(w), as(left), ld, as(right),
                             ld);
}
#pragma GCC diagnostic pop

}  // namespace wengert::kernels::lapack
