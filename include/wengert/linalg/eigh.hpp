// Eigenvalues and eigenvectors of symmetric matrices.
#pragma once

#include "quotients.hpp"

namespace wengert::linalg {

/// The symmetric part of A = V diag(w) Vᵀ, packed for each matrix: the columns of V one after another, then w, ascending.
struct EighFactor {
    static constexpr std::string_view name = "eigh";
    static constexpr bool flat = true;  // what reads it has the derivative with respect to A

    template <class T> Ref<Block> value(const Ref<Block>& of, const Site& at) const
    {
        detail::demand_finite(name, *of, at);
        const detail::Matrices m(of->shape);
        const std::size_t n = m.rows;
        return detail::packed_factors<T>(of, n * n + n, [&](std::size_t i, const T* x, T* y) {
            kernels::lapack::upper_symmetric(n, x, y);
            if (kernels::lapack::eigh<T>(n, y, y + n * n))
                detail::refuse(name, *of, "did not converge" + detail::which(i, m.count), at);
        });
    }
};

/// V of (packed, A).  With Fᵢⱼ = 1 / (wⱼ − wᵢ) off the diagonal:  V̇ = V (F ∘ Vᵀ Ȧ V);  Ā = the symmetric part of
/// V (F ∘ Vᵀ V̄) Vᵀ.  Giles 2008; Seeger et al. 2017.
struct Eigenvectors {
    static constexpr std::string_view name = "eigenvectors";
    static constexpr unsigned saves = 0b111;
    template <class T> Ref<Block> value(const Ref<Block>& packed, const Ref<Block>& a, const Site&) const
    {
        const auto n = static_cast<std::size_t>(a->shape.back());
        return detail::unpacked(packed, 0, n, n, true);
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>& f, const Tensor<T>& a,
                   const Tensor<T>& v) const;
    template <class T>
    Tensor<T> push(const Tensor<T>&, const Tensor<T>& da, const Tensor<T>& f, const Tensor<T>& a,
                   const Tensor<T>& v) const;
};

/// w of (packed, A).  ẇ = diag(Vᵀ Ȧ V);  Ā = V diag(w̄) Vᵀ.  Giles 2008.
struct Eigenvalues {
    static constexpr std::string_view name = "eigenvalues", values = "of_eigenvalues";
    static constexpr unsigned saves = 0b011;
    template <class T> Ref<Block> value(const Ref<Block>& packed, const Ref<Block>& a, const Site&) const
    {
        const auto n = static_cast<std::size_t>(a->shape.back());
        return detail::unpacked_vectors(packed, n * n, n);
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>& f, const Tensor<T>& a, const Tensor<T>&) const
    {
        const Tensor<T> v = apply<Eigenvectors, T>({}, Site{}, f, a);
        const Tensor<T> back = detail::times(v * detail::as_row(g), detail::transposed(v));
        return apply<OfValues<Eigenvalues>, T>({}, Site{}, back, f, a);
    }
    /// The second derivative has (w̄ⱼ − w̄ᵢ) / (wⱼ − wᵢ) times the element (i, j) of Vᵀ h V.
    template <class T> static Tensor<T> guarded(const Tensor<T>& h, const Tensor<T>& f, const Tensor<T>& a)
    {
        const Tensor<T> v = apply<Eigenvectors, T>({}, Site{}, f, a),
                        w = apply<Eigenvalues, T>({}, Site{}, f, a);
        const Tensor<T> n = detail::times(detail::transposed(v), detail::times(detail::symmetric(h), v));
        return apply<PoleGuard<Divisor::eigenvalues>, T>({}, Site{}, h, n, w);
    }
    template <class T>
    Tensor<T> push(const Tensor<T>&, const Tensor<T>& da, const Tensor<T>& f, const Tensor<T>& a,
                   const Tensor<T>&) const
    {
        const Tensor<T> v = apply<Eigenvectors, T>({}, Site{}, f, a);
        return sum(v * detail::times(detail::symmetric(da), v), Axes{-2}, false, Site{});
    }
};

template <class T>
Tensor<T> Eigenvectors::pull(wrt<1>, const Tensor<T>& g, const Tensor<T>& f, const Tensor<T>& a,
                             const Tensor<T>& v) const
{
    const Tensor<T> w = apply<Eigenvalues, T>({}, Site{}, f, a), vt = detail::transposed(v);
    const Tensor<T> q = apply<Quotients<Divisor::eigenvalues>, T>({}, Site{}, detail::times(vt, g), w);
    return detail::symmetric(detail::times(v, detail::times(q, vt)));
}
template <class T>
Tensor<T> Eigenvectors::push(const Tensor<T>&, const Tensor<T>& da, const Tensor<T>& f, const Tensor<T>& a,
                             const Tensor<T>& v) const
{
    const Tensor<T> w = apply<Eigenvalues, T>({}, Site{}, f, a);
    const Tensor<T> inner = detail::times(detail::transposed(v), detail::times(detail::symmetric(da), v));
    return detail::times(v, apply<Quotients<Divisor::eigenvalues>, T>({}, Site{}, inner, w));
}

/// (w, V) with A V = V diag(w), the eigenvalues ascending, the vectors orthonormal columns, each up to its sign. Of a matrix that
/// is not symmetric those of its symmetric part. Derivatives of vectors throw NumericError where eigenvalues are equal to working
/// precision; those of values do so only from the second on. Throws NumericError where A is not finite.
template <Differentiable T, class D>
std::pair<Tensor<T, D>, Tensor<T, D>> eigh(const Tensor<T, D>& a,
                                           Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_square("eigh", a, at);
    const Tensor<T, D> f = apply<EighFactor, T>({}, at, a);
    return {apply<Eigenvalues, T>({}, at, f, a), apply<Eigenvectors, T>({}, at, f, a)};
}

/// The eigenvalues alone, ascending. Their first derivative exists in forward mode, too, where eigenvalues are equal: of eigh
/// forward mode asks for that of the vectors. Throws NumericError where A is not finite.
template <Differentiable T, class D>
Tensor<T, D> eigvalsh(const Tensor<T, D>& a, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_square("eigvalsh", a, at);
    return apply<Eigenvalues, T>({}, at, apply<EighFactor, T>({}, at, a), a);
}

}  // namespace wengert::linalg
