// Orthogonal factors, and least squares by them.
#pragma once

#include "triangular.hpp"

namespace wengert::linalg {

/// A = Q R of m ≥ n by reflections, packed for each matrix: the rows of Q, m × n, then those of R, n × n.
struct QrFactor {
    static constexpr std::string_view name = "qr";
    static constexpr bool flat = true;  // what reads it has the derivative with respect to A

    template <class T> Ref<Block> value(const Ref<Block>& of, const Site&) const
    {
        const detail::Matrices m(of->shape);
        return detail::packed_factors<T>(of, m.size() + m.columns * m.columns,
                                         [&](std::size_t, const T* x, T* y) {
                                             std::copy_n(x, m.size(), y);
                                             kernels::lapack::qr<T>(m.rows, m.columns, y, y + m.size());
                                         });
    }
};

/// Q, or R where `upper`, of (packed, A).  With Z = Ȧ R⁻¹, M = Qᵀ Z and Ω = M's lower triangle minus its transpose, without
/// diagonals:  Q̇ = Q Ω + Z − Q M,  Ṙ = (M − Ω) R.  With S(X) the symmetric matrix of the lower triangle of X:
/// Ā = (Q̄ − Q S(Q̄ᵀ Q)) R⁻ᵀ from Q, and Q S(R R̄ᵀ) R⁻ᵀ from R.  Walter & Lehmann 2012; Seeger et al. 2017.
struct QrPart {
    static constexpr std::string_view name = "qr_part";
    static constexpr unsigned saves = 0b0111;
    bool upper;

    template <class T> Ref<Block> value(const Ref<Block>& packed, const Ref<Block>& a, const Site&) const
    {
        const detail::Matrices m(a->shape);
        if (upper) return detail::unpacked(packed, m.size(), m.columns, m.columns);
        return detail::unpacked(packed, 0, m.rows, m.columns);
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>& f, const Tensor<T>& a,
                   const Tensor<T>& y) const
    {
        const Tensor<T> q = upper ? other(f, a) : y, r = upper ? y : other(f, a);
        if (upper)
            return divided(detail::times(q, detail::mirrored(detail::times(r, detail::transposed(g)))), r,
                           true);
        return divided(g - detail::times(q, detail::mirrored(detail::times(detail::transposed(g), q))), r,
                       true);
    }
    template <class T>
    Tensor<T> push(const Tensor<T>&, const Tensor<T>& da, const Tensor<T>& f, const Tensor<T>& a,
                   const Tensor<T>& y) const
    {
        const Tensor<T> q = upper ? other(f, a) : y, r = upper ? y : other(f, a);
        const Tensor<T> z = divided(da, r, false), m = detail::times(detail::transposed(q), z);
        const Tensor<T> below = tril(m, -1, Site{}), turn = below - detail::transposed(below);
        if (upper) return detail::times(m - turn, r);
        return z + detail::times(q, turn - m);
    }
    std::string parameters() const { return upper ? "R" : "Q"; }

private:
    template <class T> Tensor<T> other(const Tensor<T>& f, const Tensor<T>& a) const
    {
        return apply<QrPart, T>({!upper}, Site{}, f, a);
    }
    /// X R⁻¹, or X R⁻ᵀ
    template <class T> static Tensor<T> divided(const Tensor<T>& x, const Tensor<T>& r, bool transposed)
    {
        const Tensor<T> right = detail::transposed(x);
        return detail::transposed(apply<TriangularSolve, T>(
            {false, !transposed, false, detail::rounding(x), r.shape(), right.shape()}, Site{}, r, right));
    }
};

namespace detail {
/// (Q, R) of matrices with at least as many rows as columns.
template <class T, class D>
std::pair<Tensor<T, D>, Tensor<T, D>> tall_qr(const Tensor<T, D>& a, const Site& at)
{
    const Tensor<T, D> f = apply<QrFactor, T>({}, at, a);
    return {apply<QrPart, T>({false}, at, f, a), apply<QrPart, T>({true}, at, f, a)};
}
}  // namespace detail

/// (Q, R), thin: with k = min(m, n), the k columns of Q are orthonormal and R is upper triangular, k × n. Derivatives throw
/// NumericError where one of the first k columns depends on those before it.
template <Differentiable T, class D>
std::pair<Tensor<T, D>, Tensor<T, D>> qr(const Tensor<T, D>& a,
                                         Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_matrices("qr", a, at);
    const std::int64_t m = a.shape()[a.dimension() - 2], n = a.shape().back();
    if (m >= n) return detail::tall_qr(a, at);
    const auto [q, r] = detail::tall_qr(detail::part(a, -1, 0, m, at), at);
    const Tensor<T, D> rest = matmul(detail::transposed(q, at), detail::part(a, -1, m, n - m, at), at);
    return {q, concatenate({r, rest}, -1, at)};
}

/// The X that makes ‖A X − B‖ least, R⁻¹ Qᵀ B; where A has fewer rows than columns the shortest one of A X = B, Q R⁻ᵀ B with
/// Q R = Aᵀ. b of rank 1 is a vector; batches are broadcast. Throws ShapeError where the shapes do not fit, NumericError where A has
/// not full rank: pinv(a) has an answer then.
template <Differentiable T, class D>
Tensor<T, D> lstsq(const Tensor<T, D>& a, const std::type_identity_t<Tensor<T, D>>& b,
                   Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_matrices("lstsq", a, at);
    const std::int64_t m = a.shape()[a.dimension() - 2], n = a.shape().back();
    detail::demand_right_side("lstsq", a, m, b, at);
    const ComposedAt line(at, "lstsq");
    const bool wide = m < n;
    const auto [q, r] = detail::tall_qr(wide ? detail::transposed(a, at) : a, at);
    const double least = detail::rounding(a);
    return detail::with_columns(b, at, [&, &q = q, &r = r](const Tensor<T, D>& x) {
        if (wide)
            return matmul(q, detail::triangular_solved(r, x, {.lower = false, .transposed = true}, least, at),
                          at);
        return detail::triangular_solved(r, matmul(detail::transposed(q, at), x, at), {.lower = false}, least,
                                         at);
    });
}

}  // namespace wengert::linalg
