// The factors of elimination with pivots.
#pragma once

#include <tuple>

#include "../ops/along.hpp"
#include "../ops/take.hpp"
#include "lu_factor.hpp"
#include "triangular.hpp"

namespace wengert::linalg {

/// Which row of A each row of L U is, as numbers, of the packed factors of Aᵀ.
struct LuRows {
    static constexpr std::string_view name = "lu_rows";
    static constexpr bool flat = true;
    std::int64_t rows, columns;  ///< of A
    template <class T> Ref<Block> value(const Ref<Block>& of, const Site&) const
    {
        const Ref<Block> packed = contiguous(of);
        const auto n = static_cast<std::size_t>(rows), k = static_cast<std::size_t>(std::min(rows, columns)),
                   length = static_cast<std::size_t>(packed->shape.back());
        Shape shape = packed->shape;
        shape.back() = rows;
        auto y = make_block(dtype_of<T>(), shape);
        for (std::size_t i = 0; i * n < y->count; ++i) {
            T* const row = y->template as<T>() + i * n;
            const T* const pivots = packed->template as<T>() + (i + 1) * length - k;
            for (std::size_t r = 0; r < n; ++r) row[r] = static_cast<T>(r);
            for (std::size_t p = 0; p < k; ++p)
                std::swap(row[p], row[static_cast<std::size_t>(std::abs(pivots[p])) - 1]);
        }
        return y;
    }
};

/// L − I + U of (packed factors of Aᵀ, B), B = L U the first k rows and columns of A with its rows exchanged.
/// With F = L⁻¹ Ḃ U⁻¹: Ẏ = L F₋ + F₊ U, F₋ what is below F's diagonal, F₊ the rest;
/// B̄ = L⁻ᵀ ((Lᵀ Ȳ₋)₋ + (Ȳ₊ Uᵀ)₊) U⁻ᵀ.  Seeger et al. 2017 for the like of it; de Hoog, Anderssen & Lukas 2011.
struct LuFactors {
    static constexpr std::string_view name = "lu";
    static constexpr unsigned saves = 0b100;
    std::int64_t rows;  ///< of A
    template <class T> Ref<Block> value(const Ref<Block>& of, const Ref<Block>& b, const Site&) const
    {
        const Ref<Block> packed = contiguous(of);
        const auto n = static_cast<std::size_t>(rows), k = static_cast<std::size_t>(b->shape.back()),
                   length = static_cast<std::size_t>(packed->shape.back());
        auto y = make_block(dtype_of<T>(), b->shape);
        for (std::size_t i = 0; i < y->count; ++i) {
            const std::size_t r = i / k % k, c = i % k;
            y->template as<T>()[i] = packed->template as<T>()[i / (k * k) * length + c * n + r];
        }
        return y;
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&, const Tensor<T>& y) const
    {
        const Tensor<T> l = tril(y, -1, Site{}) + detail::unit_beside(y), u = triu(y, 0, Site{});
        const Tensor<T> below = tril(detail::times(detail::transposed(l), tril(g, -1, Site{})), -1, Site{});
        const Tensor<T> above = triu(detail::times(triu(g, 0, Site{}), detail::transposed(u)), 0, Site{});
        return between(y, below + above, true);
    }
    template <class T>
    Tensor<T> push(const Tensor<T>&, const Tensor<T>& db, const Tensor<T>&, const Tensor<T>&,
                   const Tensor<T>& y) const
    {
        const Tensor<T> l = tril(y, -1, Site{}) + detail::unit_beside(y), u = triu(y, 0, Site{});
        const Tensor<T> f = between(y, db, false);
        return detail::times(l, tril(f, -1, Site{})) + detail::times(triu(f, 0, Site{}), u);
    }

private:
    /// op(L)⁻¹ X op(U)⁻¹
    template <class T> static Tensor<T> between(const Tensor<T>& y, const Tensor<T>& x, bool transposed)
    {
        const Tensor<T> left =
            apply<TriangularSolve, T>({true, transposed, true, 0, y.shape(), x.shape()}, Site{}, y, x);
        return detail::transposed(apply<TriangularSolve, T>(
            {false, !transposed, false, 0, y.shape(), x.shape()}, Site{}, y, detail::transposed(left)));
    }
};

/// (P, L, U) with A = P L U: P a permutation, L with a diagonal of ones, m × k and k × n with k = min(m, n). Derivatives throw
/// NumericError where one of the first k pivots is 0, and so do the values of a matrix with more rows than columns.
template <Differentiable T, class D>
std::tuple<Tensor<T, D>, Tensor<T, D>, Tensor<T, D>> lu(const Tensor<T, D>& a,
                                                        Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_matrices("lu", a, at);
    const ComposedAt line(at);
    const std::int64_t m = a.shape()[a.dimension() - 2], n = a.shape().back(), k = std::min(m, n);
    const Tensor<T, D> f = detail::lu_factor(detail::transposed(a, at), at);
    const auto order = cast<std::int64_t>(apply<LuRows, T>({m, n}, at, f), at);
    const auto places = broadcast_to(expand_dims(order, -1, at), a.shape(), at);
    const Tensor<T, D> b = take_along_axis(a, places, -2, at), top = detail::part(b, -2, 0, k, at);
    const Tensor<T, D> y = apply<LuFactors, T>({m}, at, f, detail::part(top, -1, 0, k, at));
    Tensor<T, D> l = tril(y, -1, at) + detail::unit_beside(y, at), u = triu(y, 0, at);
    if (m > n) {
        const Tensor<T, D> below = detail::transposed(detail::part(b, -2, k, m - k, at), at);
        const Tensor<T, D> rest =
            detail::triangular_solved(u, below, {.lower = false, .transposed = true}, 0, at);
        l = concatenate({l, detail::transposed(rest, at)}, -2, at);
    } else if (m < n) {
        const Tensor<T, D> rest =
            detail::triangular_solved(l, detail::part(top, -1, k, n - k, at), {.unit = true}, 0, at);
        u = concatenate({u, rest}, -1, at);
    }
    return {detail::transposed(one_hot<T>(order, m, at), at), l, u};
}

}  // namespace wengert::linalg
