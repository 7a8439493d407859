// Systems of many matrices of order 2 to 4, each with right sides of its own.
#pragma once

#include "lu_factor.hpp"

namespace wengert::linalg {

/// X = A⁻¹ B, or A⁻ᵀ B, of (A, B). It makes the factors of A again each time: of such small matrices that takes less time than to
/// write and to read them. X and its derivatives have the bits that LuSolve gives them, whose rules these are.
struct SmallSolve {
    static constexpr std::string_view name = "solve";
    static constexpr unsigned saves = 0b101;
    bool transposed;
    Shape a, b;

    /// Is that so for matrices and right sides of these shapes?
    static bool fits(const Shape& a, const Shape& b)
    {
        const Shape batch = wengert::detail::leading(a);
        return kernels::lapack::fits_lanes(static_cast<std::size_t>(a.back())) &&
               broadcast_shapes(name, batch, wengert::detail::leading(b), {}) == batch;
    }
    template <class T> Ref<Block> value(const Ref<Block>& of, const Ref<Block>& right, const Site& at) const
    {
        const Shape batch = wengert::detail::leading(of->shape);
        const Ref<Block> matrices = contiguous(of);
        const auto n = static_cast<std::size_t>(of->shape.back());
        const T* const elements = matrices->template as<T>();
        bool singular = false;
        const auto solve = [&](std::size_t first, std::size_t count, std::size_t columns, const T* from,
                               T* to) {
            kernels::lapack::with_order(n, [&](auto order) {
                singular |= kernels::lapack::solve_by_lanes<order(), false>(
                    transposed, count, columns, elements + first * n * n, from, to);
            });
        };
        Ref<Block> x;
        if (wengert::detail::leading(right->shape) == batch) {
            const Ref<Block> from = contiguous(right);
            x = make_block(dtype_of<T>(), right->shape);
            solve(0, element_count(batch), static_cast<std::size_t>(right->shape.back()),
                  from->template as<T>(), x->template as<T>());
        } else {
            x = detail::solve_batch<T>(batch, right,
                                       [&](std::size_t first, std::size_t count, std::size_t columns, T* to) {
                                           solve(first, count, columns, to, to);
                                       });
        }
        if (singular) LuSolve::refuse_singular(*of, LuFactor{}.value<T>(of, at)->template as<T>(), at);
        return x;
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>& of, const Tensor<T>&, const Tensor<T>&) const
    {
        return sum_to(solved(of, g, !transposed), b);
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& of, const Tensor<T>&,
                   const Tensor<T>& x) const
    {
        return sum_to(detail::cotangent_of_matrix(transposed, solved(of, g, !transposed), x), a);
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& da, const Tensor<T>& db, const Tensor<T>& of, const Tensor<T>&,
                   const Tensor<T>& x) const
    {
        return solved(of, detail::tangent_of_right(transposed, da, db, x), transposed);
    }
    template <class T, class D>
    static Tensor<T, D> solved(const Tensor<T, D>& a, const Tensor<T, D>& b, bool transposed,
                               const Site& at = {})
    {
        return apply<SmallSolve, T>({transposed, a.shape(), b.shape()}, at, a, b);
    }
    std::string parameters() const { return transposed ? "transposed" : ""; }
};

namespace detail {

/// A⁻¹ B of checked operands.
template <class T, class D> Tensor<T, D> solved(const Tensor<T, D>& a, const Tensor<T, D>& b, const Site& at)
{
    if (SmallSolve::fits(a.shape(), b.shape())) return SmallSolve::solved(a, b, false, at);
    return LuSolve::solved(lu_factor(a, at), a, b, false, at);
}

}  // namespace detail
}  // namespace wengert::linalg
