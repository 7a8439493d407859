// The Cholesky factorization, and systems solved by it.
#pragma once

#include "triangular.hpp"

namespace wengert::linalg {

/// L with L Lᵀ = A, of the symmetric part of A.  With Φ the lower triangle, its diagonal halved:
/// L̇ = L Φ(L⁻¹ Ȧ L⁻ᵀ);  Ā = the symmetric part of L⁻ᵀ Φ(Lᵀ L̄) L⁻¹, taken in the middle.  Smith 1995; Murray 2016.
struct Cholesky {
    static constexpr std::string_view name = "cholesky";
    static constexpr unsigned saves = 0b10;

    template <class T> Ref<Block> value(const Ref<Block>& of, const Site& at) const
    {
        const Ref<Block> a = contiguous(of);
        const detail::Matrices m(a->shape);
        auto l = make_block(dtype_of<T>(), a->shape);
        for (std::size_t i = 0; i < m.count; ++i) {
            T* const y = l->template as<T>() + i * m.size();
            kernels::lapack::lower_symmetric(m.rows, a->template as<T>() + i * m.size(), y);
            std::size_t minor = static_cast<std::size_t>(kernels::lapack::cholesky(m.rows, y));
            for (std::size_t k = 0; minor == 0 && k < m.rows; ++k)
                if (std::isnan(y[k * (m.rows + 1)])) minor = k + 1;  // which not every LAPACK sees
            if (minor != 0)
                detail::refuse(name, *a,
                               "the leading minor of order " + std::to_string(minor) +
                                   detail::which(i, m.count) +
                                   " is not positive: a positive definite matrix is expected",
                               at);
        }
        return l;
    }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>& l) const
    {
        const Tensor<T> x = detail::times(detail::transposed(l), tril(g, 0, Site{}));
        return both_sides(l, detail::mirrored(x) * T(0.5), true);
    }
    template <class T> Tensor<T> push(const Tensor<T>& da, const Tensor<T>&, const Tensor<T>& l) const
    {
        return detail::times(l, phi(both_sides(l, detail::symmetric(da), false)));
    }

private:
    template <class T> static Tensor<T> phi(const Tensor<T>& x)
    {
        return (tril(x, 0, Site{}) + tril(x, -1, Site{})) * T(0.5);
    }
    /// op(L)⁻¹ X op(L)⁻ᵀ
    template <class T> static Tensor<T> both_sides(const Tensor<T>& l, const Tensor<T>& x, bool transposed)
    {
        const auto solved = [&](const Tensor<T>& right) {
            return apply<TriangularSolve, T>({true, transposed, false, 0, l.shape(), right.shape()}, Site{},
                                             l, right);
        };
        return detail::transposed(solved(detail::transposed(solved(x))));
    }
};

/// The lower triangular L with L Lᵀ = A, for symmetric positive definite A. Of a matrix that is not symmetric it is that of its
/// symmetric part (A + Aᵀ) / 2. Throws NumericError where A is not positive definite.
template <Differentiable T, class D>
Tensor<T, D> cholesky(const Tensor<T, D>& a, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_square("cholesky", a, at);
    return apply<Cholesky, T>({}, at, a);
}

/// X with L Lᵀ X = B, for L = cholesky(a): two triangular systems. b of rank 1 is a vector. Throws as solve_triangular.
template <Differentiable T, class D>
Tensor<T, D> cho_solve(const Tensor<T, D>& l, const std::type_identity_t<Tensor<T, D>>& b,
                       Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_square("cho_solve", l, at);
    detail::demand_right_side("cho_solve", l, l.shape().back(), b, at);
    return detail::with_columns(b, at, [&](const Tensor<T, D>& x) {
        const Tensor<T, D> y = detail::triangular_solved(l, x, {}, 0, at);
        return detail::triangular_solved(l, y, {.transposed = true}, 0, at);
    });
}

}  // namespace wengert::linalg
