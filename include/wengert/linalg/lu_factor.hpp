// The factorization behind solve, inv, det, slogdet and lu.
#pragma once

#include "lu_lanes.hpp"
#include "matrices.hpp"

namespace wengert::linalg {

/// Aᵀ = P L U by elimination with the largest pivots of each column, packed for each matrix: the elements of (L U)ᵀ, then the rows
/// that changed places, counted from 1. One is negative where its pivot is nothing but rounding: |uₖₖ| ≤ n ε Σⱼ |lₖⱼ| |uⱼₖ|, the
/// sum from whose terms it is left (Higham 2002, 9.3). That depends on no scaling of rows or columns. Who judges a solution by itself
/// has no pivot `judged`: none is negative, and a pivot 0 makes elements that are not finite.
struct LuFactor {
    static constexpr std::string_view name = "lu_factor";
    static constexpr bool flat = true;  // what reads it has the derivative with respect to A
    bool judged = true;

    template <class T> Ref<Block> value(const Ref<Block>& of, const Site&) const
    {
        const detail::Matrices m(of->shape);
        if (m.rows == m.columns && kernels::lapack::fits_lanes(m.rows)) return by_lanes<T>(of, m);
        const std::size_t k = std::min(m.rows, m.columns);
        std::vector<int> pivots(k);
        return detail::packed_factors<T>(of, m.size() + k, [&](std::size_t, const T* x, T* y) {
            std::copy_n(x, m.size(), y);
            kernels::lapack::lu<T>(m.rows, m.columns, y, pivots.data());
            for (std::size_t p = 0; p < k; ++p)
                y[m.size() + p] =
                    static_cast<T>(judged && is_rounding(y, m.columns, k, p) ? -pivots[p] : pivots[p]);
        });
    }
    /// The position of the first pivot that is only rounding, of the packed factors of an n × n matrix; n where there is none.
    template <class T> static std::size_t singular_at(std::size_t n, const T* packed)
    {
        const T* const pivots = packed + n * n;
        return static_cast<std::size_t>(std::find_if(pivots, pivots + n, [](T p) { return p < 0; }) - pivots);
    }

private:
    template <class T> Ref<Block> by_lanes(const Ref<Block>& of, const detail::Matrices& m) const
    {
        const Ref<Block> a = contiguous(of);
        auto packed = make_block(dtype_of<T>(), detail::vectors_like(a->shape, m.size() + m.rows));
        kernels::lapack::with_order(m.rows, [&](auto order) {
            kernels::lapack::lu_by_lanes<order()>(m.count, a->template as<T>(), packed->template as<T>(),
                                                  judged);
        });
        return packed;
    }
    /// lₖⱼ and uⱼₖ are elements (j, k) and (k, j) of what is stored. As |lₖⱼ| ≤ 1, a row's sum nearly always answers.
    template <class T> static bool is_rounding(const T* y, std::size_t columns, std::size_t n, std::size_t p)
    {
        const T pivot = std::abs(y[p * columns + p]);
        T most = pivot, sum = pivot;
        for (std::size_t j = 0; j < p; ++j) most += std::abs(y[p * columns + j]);
        if (!kernels::lapack::is_rounding<T>(pivot, most, n)) return false;
        for (std::size_t j = 0; j < p; ++j)
            sum += std::abs(y[j * columns + p]) * std::abs(y[p * columns + j]);
        return kernels::lapack::is_rounding<T>(pivot, sum, n);
    }
};

namespace detail {
/// The packed factors of a; nothing of a's derivative.
template <class T, class D> Tensor<T, D> lu_factor(const Tensor<T, D>& a, const Site& at, bool judged = true)
{
    return apply<LuFactor, T>({judged}, at, a);
}
}  // namespace detail

/// X = A⁻¹ B, or A⁻ᵀ B, of (packed factors of A, A, B).  B̄ = A⁻ᵀ X̄,  Ā = −B̄ Xᵀ;  Ẋ = A⁻¹ (Ḃ − Ȧ X).  Giles 2008.
struct LuSolve {
    static constexpr std::string_view name = "solve";
    static constexpr unsigned saves = 0b1011;
    bool transposed;
    Shape a, b;

    template <class T>
    Ref<Block> value(const Ref<Block>& factors_of, const Ref<Block>& of, const Ref<Block>& right,
                     const Site& at) const
    {
        const Ref<Block> packed = contiguous(factors_of);
        const detail::Matrices m(of->shape);
        const std::size_t n = m.rows, length = n * n + n;
        const T* const factors = packed->template as<T>();
        bool singular = false;
        const Ref<Block> x =
            detail::solve_batch<T>(wengert::detail::leading(of->shape), right,
                                   [&](std::size_t first, std::size_t count, std::size_t columns, T* to) {
                                       singular |=
                                           solve_each(n, count, columns, factors + first * length, to);
                                   });
        if (singular) refuse_singular(*of, factors, at);
        return x;
    }
    template <class T>
    Tensor<T> pull(wrt<2>, const Tensor<T>& g, const Tensor<T>& f, const Tensor<T>& of, const Tensor<T>&,
                   const Tensor<T>&) const
    {
        return sum_to(solved(f, of, g, !transposed), b);
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>& f, const Tensor<T>& of, const Tensor<T>&,
                   const Tensor<T>& x) const
    {
        return sum_to(detail::cotangent_of_matrix(transposed, solved(f, of, g, !transposed), x), a);
    }
    template <class T>
    Tensor<T> push(const Tensor<T>&, const Tensor<T>& da, const Tensor<T>& db, const Tensor<T>& f,
                   const Tensor<T>& of, const Tensor<T>&, const Tensor<T>& x) const
    {
        return solved(f, of, detail::tangent_of_right(transposed, da, db, x), transposed);
    }
    template <class T, class D>
    static Tensor<T, D> solved(const Tensor<T, D>& f, const Tensor<T, D>& a, const Tensor<T, D>& b,
                               bool transposed, const Site& at = {})
    {
        return apply<LuSolve, T>({transposed, a.shape(), b.shape()}, at, f, a, b);
    }
    std::string parameters() const { return transposed ? "transposed" : ""; }
    template <class T> static void refuse_singular(const Block& of, const T* factors, const Site& at)
    {
        const detail::Matrices m(of.shape);
        const std::size_t n = m.rows;
        std::size_t i = 0, k = 0;
        while ((k = LuFactor::singular_at(n, factors)) == n) ++i, factors += n * n + n;
        detail::refuse(
            name, of,
            "singular to working precision: pivot " + std::to_string(k) + detail::which(i, m.count) + " is " +
                detail::digits(static_cast<double>(factors[k * (n + 1)])) + ", a regular matrix is expected",
            at);
    }

private:
    /// True where one of the matrices is singular.
    template <class T>
    bool solve_each(std::size_t n, std::size_t count, std::size_t columns, const T* factors, T* x) const
    {
        bool singular = false;
        if (kernels::lapack::fits_lanes(n)) {
            kernels::lapack::with_order(n, [&](auto order) {
                singular =
                    kernels::lapack::solve_by_lanes<order(), true>(transposed, count, columns, factors, x, x);
            });
            return singular;
        }
        for (; count > 0; --count, factors += n * n + n, x += n * columns) {
            singular = singular || LuFactor::singular_at(n, factors) < n;
            kernels::lapack::solve_by_lu<T>(transposed, n, columns, factors, factors + n * n, x);
        }
        return singular;
    }
};

}  // namespace wengert::linalg
