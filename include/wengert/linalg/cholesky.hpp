// The Cholesky factorization, and systems solved by it.
#pragma once

#include "cholesky_sweep.hpp"
#include "triangular.hpp"

namespace wengert::linalg {

namespace detail {

/// op(L)⁻¹ X op(L)⁻ᵀ
template <class T> Tensor<T> both_sides(const Tensor<T>& l, const Tensor<T>& x, bool transposes)
{
    const auto solved = [&](const Tensor<T>& right) {
        return apply<TriangularSolve, T>({true, transposes, false, 0, l.shape(), right.shape()}, Site{}, l,
                                         right);
    };
    return transposed(solved(transposed(solved(x))));
}
/// Φ(X): the lower triangle, its diagonal halved.
template <class T> Tensor<T> lower_half(const Tensor<T>& x)
{
    return (tril(x, 0, Site{}) + tril(x, -1, Site{})) * T(0.5);
}
/// L Φ(L⁻¹ Ȧ L⁻ᵀ) of the symmetric part of Ȧ: the tangent of L.
template <class T> Tensor<T> cholesky_tangent(const Tensor<T>& l, const Tensor<T>& da)
{
    return times(l, lower_half(both_sides(l, symmetric(da), false)));
}

}  // namespace detail

/// Ā = L⁻ᵀ W L⁻¹ with W the symmetric part of Φ(Lᵀ L̄), of (L, L̄): the cotangent of A, where L Lᵀ = A. Of L̄ the lower
/// triangle is read. It is linear in L̄, and the transpose of that is the tangent of L. With N = Lᵀ Ā L̇, V = L⁻¹ H L⁻ᵀ of the
/// symmetric part H of its cotangent, and L̄ as its lower triangle, its derivative in L is
/// L⁻ᵀ (sym Φ(L̇ᵀ L̄) − N − Nᵀ) L⁻¹, and the transpose of that the lower triangle of L̄ Φ(V)ᵀ − 2 Ā L V.
struct CholeskyCotangent {
    static constexpr std::string_view name = "cholesky_cotangent";
    static constexpr unsigned saves = 0b111;

    template <class T> Ref<Block> value(const Ref<Block>& factor, const Ref<Block>& g, const Site&) const
    {
        const Ref<Block> l = contiguous(factor), from = contiguous(g);
        const detail::Matrices m(l->shape);
        auto a = make_block(dtype_of<T>(), l->shape);
        for (std::size_t i = 0; i < m.count; ++i)
            kernels::lapack::cholesky_cotangent(m.rows, l->template as<T>() + i * m.size(),
                                                from->template as<T>() + i * m.size(),
                                                a->template as<T>() + i * m.size());
        return a;
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& h, const Tensor<T>& l, const Tensor<T>&, const Tensor<T>&) const
    {
        return detail::cholesky_tangent(l, h);
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& h, const Tensor<T>& l, const Tensor<T>& g,
                   const Tensor<T>& a) const
    {
        const Tensor<T> v = detail::both_sides(l, detail::symmetric(h), false);
        const Tensor<T> by_g = detail::times(tril(g, 0, Site{}), detail::transposed(detail::lower_half(v)));
        return tril(by_g - T(2) * detail::times(a, detail::times(l, v)), 0, Site{});
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& dl, const Tensor<T>& dg, const Tensor<T>& l, const Tensor<T>& g,
                   const Tensor<T>& a) const
    {
        const Tensor<T> d = tril(dl, 0, Site{});
        const Tensor<T> n = detail::times(detail::transposed(l), detail::times(a, d));
        const Tensor<T> w =
            detail::mirrored(detail::times(detail::transposed(d), tril(g, 0, Site{}))) * T(0.5);
        return of(l, dg) + detail::both_sides(l, w - n - detail::transposed(n), true);
    }
    template <class T> static Tensor<T> of(const Tensor<T>& l, const Tensor<T>& g)
    {
        return apply<CholeskyCotangent, T>({}, Site{}, l, g);
    }
};

/// L with L Lᵀ = A, of the symmetric part of A.  L̇ = L Φ(L⁻¹ Ȧ L⁻ᵀ), with Φ the lower triangle, its diagonal halved; Ā by
/// CholeskyCotangent.  Smith 1995; Murray 2016.
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
            kernels::lapack::upper_symmetric(m.rows, a->template as<T>() + i * m.size(), y);
            std::size_t minor = static_cast<std::size_t>(kernels::lapack::cholesky_transposed(m.rows, y));
            for (std::size_t k = 0; minor == 0 && k < m.rows; ++k)
                if (std::isnan(y[k * (m.rows + 1)])) minor = k + 1;  // which not every LAPACK sees
            if (minor != 0)
                detail::refuse(name, *a,
                               "the leading minor of order " + std::to_string(minor) +
                                   detail::which(i, m.count) +
                                   " is not positive: a positive definite matrix is expected",
                               at);
            kernels::lapack::transpose_to_lower(m.rows, y);
        }
        return l;
    }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>& l) const
    {
        return CholeskyCotangent::of(l, g);
    }
    template <class T> Tensor<T> push(const Tensor<T>& da, const Tensor<T>&, const Tensor<T>& l) const
    {
        return detail::cholesky_tangent(l, da);
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
