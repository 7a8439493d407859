// The reverse sweep through a Cholesky factorization, in halves: 5 n³ / 6 operations, nearly all of them in products. Triangular solves
// with the whole factor would take 3 n³ (Murray 2016, arXiv:1602.07527, section 3).
#pragma once

#include <vector>

#include "../kernels/cpu/gemm.hpp"
#include "../kernels/cpu/lapack.hpp"

namespace wengert::kernels::lapack {

/// Up to this order loops are faster than products of halves.
inline constexpr std::size_t cholesky_leaf = 16;

/// Where a matrix is cut in two: a multiple of a line of the cache.
inline std::size_t first_part(std::size_t n) { return (n / 2 + 7) / 8 * 8; }

/// X = X L⁻¹, X of `rows` rows, in halves: X₂ = X₂ L₂₂⁻¹, X₁ = (X₁ − X₂ L₂₁) L₁₁⁻¹.
template <Number T> void solve_from_right(std::size_t rows, std::size_t n, const T* l, T* x, std::size_t step)
{
    if (n > cholesky_leaf) {
        const std::size_t a = first_part(n);
        solve_from_right(rows, n - a, l + a * step + a, x + a, step);
        gemm<T>(false, false, rows, a, n - a, T(-1), x + a, step, l + a * step, step, T(1), x, step);
        return solve_from_right(rows, a, l, x, step);
    }
    for (T* const end = x + rows * step; x != end; x += step)
        for (std::size_t j = n; j-- > 0;) {
            const T* const row = l + j * step;
            const T y = x[j] /= row[j];
            for (std::size_t k = 0; k < j; ++k) x[k] -= y * row[k];
        }
}

/// sweep_cholesky() of a small matrix, a column after the other from the last. With the row r = l[j, <j], the column c = l[>j, j] and
/// the block B = l[>j, <j]:  c̄ = c̄ / d,  d̄ = (d̄ − cᵀ c̄) / d,  r̄ −= d̄ r + c̄ᵀ B,  B̄ −= c̄ r,  and at last d̄ / 2.
template <Number T> void sweep_small_cholesky(std::size_t n, const T* l, T* g, std::size_t step)
{
    for (std::size_t j = n; j-- > 0;) {
        const T* const r = l + j * step;
        T* const dr = g + j * step;
        T dd = dr[j];
        for (std::size_t i = j + 1; i < n; ++i) dd -= l[i * step + j] * (g[i * step + j] /= r[j]);
        dd /= r[j];
        for (std::size_t k = 0; k < j; ++k) dr[k] -= dd * r[k];
        for (std::size_t i = j + 1; i < n; ++i) {
            const T* const b = l + i * step;
            T* const db = g + i * step;
            const T dc = db[j];
            for (std::size_t k = 0; k < j; ++k) {
                dr[k] -= dc * b[k];
                db[k] -= dc * r[k];
            }
        }
        dr[j] = dd / 2;
    }
}

/// On and below the diagonal L̄ becomes the cotangent of the elements of A = L Lᵀ that are there; what is above is not read. L₂₁ is
/// A₂₁ L₁₁⁻ᵀ, and L₂₂ is that of A₂₂ − L₂₁ L₂₁ᵀ, so from the last to the first:
/// Ā₂₂ from L̄₂₂,  L̄₂₁ −= (Ā₂₂ + Ā₂₂ᵀ) L₂₁,  Ā₂₁ = L̄₂₁ L₁₁⁻¹,  L̄₁₁ −= Ā₂₁ᵀ L₂₁,  Ā₁₁ from L̄₁₁.  `both` is memory for n² elements.
template <Number T> void sweep_cholesky(std::size_t n, const T* l, T* g, std::size_t step, T* both)
{
    if (n <= cholesky_leaf) return sweep_small_cholesky(n, l, g, step);
    const std::size_t a = first_part(n), b = n - a;
    const T* const l21 = l + a * step;
    T *const g21 = g + a * step, *const g22 = g21 + a;
    sweep_cholesky(b, l21 + a, g22, step, both);
    for (std::size_t r = 0; r < b; ++r)
        for (std::size_t c = 0; c <= r; ++c)
            both[r * b + c] = both[c * b + r] = r == c ? 2 * g22[r * step + r] : g22[r * step + c];
    gemm<T>(false, false, b, a, b, T(-1), both, b, l21, step, T(1), g21, step);
    solve_from_right(b, a, l, g21, step);
    gemm<T>(true, false, a, a, b, T(-1), g21, step, l21, step, T(1), g, step);
    sweep_cholesky(a, l, g, step, both);
}

/// Ā, symmetric, of the cotangent G of L, whose lower triangle is read.
template <Number T> void cholesky_cotangent(std::size_t n, const T* l, const T* g, T* a)
{
    for (std::size_t r = 0; r < n; ++r) {
        std::copy_n(g + r * n, r + 1, a + r * n);
        std::fill(a + r * n + r + 1, a + (r + 1) * n, T(0));
    }
    std::vector<T> both(n > cholesky_leaf ? n * n : 0);
    sweep_cholesky(n, l, a, n, both.data());
    for (std::size_t r = 0; r < n; ++r)
        for (std::size_t c = 0; c < r; ++c) a[r * n + c] = a[c * n + r] = T(0.5) * a[r * n + c];
}

}  // namespace wengert::kernels::lapack
