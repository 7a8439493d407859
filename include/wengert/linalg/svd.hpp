// Singular values and vectors, and what is made of them.
#pragma once

#include <tuple>

#include "quotients.hpp"

namespace wengert::linalg {

/// A = U diag(s) Vᵀ with k = min(m, n) columns and rows, packed for each matrix: the rows of U, then s, descending, then the rows
/// of Vᵀ.
struct SvdFactor {
    static constexpr std::string_view name = "svd";
    static constexpr bool flat = true;  // what reads it has the derivative with respect to A

    template <class T> Ref<Block> value(const Ref<Block>& of, const Site& at) const
    {
        detail::demand_finite(name, *of, at);
        const detail::Matrices m(of->shape);
        const std::size_t k = std::min(m.rows, m.columns);
        std::vector<T> work(m.size());
        return detail::packed_factors<T>(
            of, k * (m.rows + 1 + m.columns), [&](std::size_t i, const T* x, T* u) {
                std::copy_n(x, m.size(), work.data());
                T* const s = u + m.rows * k;
                if (kernels::lapack::svd<T>(m.rows, m.columns, work.data(), u, s, s + k))
                    detail::refuse(name, *of, "did not converge" + detail::which(i, m.count), at);
            });
    }
};

/// U, or V where `right`, of (packed, A), m × k or n × k.  V of A is U of Aᵀ. With Fᵢⱼ = 1 / (sⱼ² − sᵢ²) off the diagonal and
/// P = Uᵀ Ȧ V:  U̇ = U (F ∘ (P S + S Pᵀ)) + (I − U Uᵀ) Ȧ V S⁻¹;
/// Ā = U (F ∘ (Uᵀ Ū − Ūᵀ U)) S Vᵀ + (I − U Uᵀ) Ū S⁻¹ Vᵀ; the last term is there where U is not square.
/// Townsend 2016; Seeger et al. 2017.
struct SingularVectors {
    static constexpr std::string_view name = "singular_vectors";
    static constexpr unsigned saves = 0b111;
    bool right;

    template <class T> Ref<Block> value(const Ref<Block>& packed, const Ref<Block>& a, const Site&) const
    {
        const detail::Matrices m(a->shape);
        const std::size_t k = std::min(m.rows, m.columns);
        if (right) return detail::unpacked(packed, k * (m.rows + 1), k, m.columns, true);
        return detail::unpacked(packed, 0, m.rows, k);
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>& f, const Tensor<T>& a,
                   const Tensor<T>& u) const;
    template <class T>
    Tensor<T> push(const Tensor<T>&, const Tensor<T>& da, const Tensor<T>& f, const Tensor<T>& a,
                   const Tensor<T>& u) const;

private:
    template <class T> Tensor<T> others(const Tensor<T>& f, const Tensor<T>& a) const
    {
        return apply<SingularVectors, T>({!right}, Site{}, f, a);
    }
    /// (I − U Uᵀ) X S⁻¹
    template <class T> static Tensor<T> outside(const Tensor<T>& u, const Tensor<T>& x, const Tensor<T>& s)
    {
        const Tensor<T> rest = x - detail::times(u, detail::times(detail::transposed(u), x));
        return apply<Quotients<Divisor::singular_values>, T>({}, Site{}, rest, s);
    }
    template <class T> static bool is_square(const Tensor<T>& u)
    {
        return u.shape().back() == u.shape()[u.dimension() - 2];
    }
    template <class T> static Tensor<T> by_squares(const Tensor<T>& x, const Tensor<T>& s)
    {
        return apply<Quotients<Divisor::squares>, T>({}, Site{}, x, s);
    }
};

/// s of (packed, A).  ṡ = diag(Uᵀ Ȧ V);  Ā = U diag(s̄) Vᵀ.  Giles 2008.
struct SingularValues {
    static constexpr std::string_view name = "singular_values", values = "of_singular_values";
    static constexpr unsigned saves = 0b011;
    template <class T> Ref<Block> value(const Ref<Block>& packed, const Ref<Block>& a, const Site&) const
    {
        const detail::Matrices m(a->shape);
        const std::size_t k = std::min(m.rows, m.columns);
        return detail::unpacked_vectors(packed, m.rows * k, k);
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>& f, const Tensor<T>& a, const Tensor<T>&) const
    {
        const Tensor<T> u = apply<SingularVectors, T>({false}, Site{}, f, a),
                        v = apply<SingularVectors, T>({true}, Site{}, f, a);
        const Tensor<T> back = detail::times(u * detail::as_row(g), detail::transposed(v));
        return apply<OfValues<SingularValues>, T>({}, Site{}, back, f, a);
    }
    /// The second derivative divides elements of P = Uᵀ h V by differences of squares, and what is outside of U and V by s.
    template <class T> static Tensor<T> guarded(const Tensor<T>& h, const Tensor<T>& f, const Tensor<T>& a)
    {
        const Tensor<T> s = apply<SingularValues, T>({}, Site{}, f, a),
                        u = apply<SingularVectors, T>({false}, Site{}, f, a),
                        v = apply<SingularVectors, T>({true}, Site{}, f, a);
        const Tensor<T> hv = detail::times(h, v), hu = detail::times(detail::transposed(h), u);
        const Tensor<T> p = detail::times(detail::transposed(u), hv);
        Tensor<T> y =
            apply<PoleGuard<Divisor::squares>, T>({}, Site{}, h, abs(p) + abs(detail::transposed(p)), s);
        if (a.shape().back() == a.shape()[a.dimension() - 2]) return y;
        const Tensor<T> beyond_u = hv - detail::times(u, p),
                        beyond_v = hu - detail::times(v, detail::transposed(p));
        y = apply<PoleGuard<Divisor::singular_values>, T>({}, Site{}, y, beyond_u, s);
        return apply<PoleGuard<Divisor::singular_values>, T>({}, Site{}, y, beyond_v, s);
    }
    template <class T>
    Tensor<T> push(const Tensor<T>&, const Tensor<T>& da, const Tensor<T>& f, const Tensor<T>& a,
                   const Tensor<T>&) const
    {
        const Tensor<T> u = apply<SingularVectors, T>({false}, Site{}, f, a),
                        v = apply<SingularVectors, T>({true}, Site{}, f, a);
        return sum(u * detail::times(da, v), Axes{-2}, false, Site{});
    }
};

template <class T>
Tensor<T> SingularVectors::pull(wrt<1>, const Tensor<T>& g, const Tensor<T>& f, const Tensor<T>& a,
                                const Tensor<T>& u) const
{
    const Tensor<T> s = apply<SingularValues, T>({}, Site{}, f, a), v = others(f, a);
    const Tensor<T> inner = detail::times(detail::transposed(u), g);
    const Tensor<T> q = by_squares(inner, s);  // F ∘ X + (F ∘ X)ᵀ: no pole is hidden by X − Xᵀ = 0
    Tensor<T> left = detail::times(u, (q + detail::transposed(q)) * detail::as_row(s));
    if (!is_square(u)) left = left + outside(u, g, s);
    return right ? detail::times(v, detail::transposed(left)) : detail::times(left, detail::transposed(v));
}
template <class T>
Tensor<T> SingularVectors::push(const Tensor<T>&, const Tensor<T>& da, const Tensor<T>& f, const Tensor<T>& a,
                                const Tensor<T>& u) const
{
    const Tensor<T> s = apply<SingularValues, T>({}, Site{}, f, a);
    const Tensor<T> along = detail::times(right ? detail::transposed(da) : da, others(f, a));
    const Tensor<T> p = detail::times(detail::transposed(u), along) * detail::as_row(s);
    const Tensor<T> q = by_squares(p, s);
    const Tensor<T> inside = detail::times(u, q - detail::transposed(q));
    return is_square(u) ? inside : inside + outside(u, along, s);
}

/// A⁺ by the singular values of A that are larger than `least` times the largest.
/// With M = I − A A⁺ and N = I − A⁺ A:  Ȧ⁺ = −A⁺ Ȧ A⁺ + A⁺ A⁺ᵀ Ȧᵀ M + N Ȧᵀ A⁺ᵀ A⁺;
/// Ā = −A⁺ᵀ Ȳ A⁺ᵀ + M Ȳᵀ A⁺ A⁺ᵀ + A⁺ᵀ A⁺ Ȳᵀ N: as long as the rank is constant (Golub & Pereyra 1973).
struct PseudoInverse {
    static constexpr std::string_view name = "pinv";
    static constexpr unsigned saves = 0b11;
    double least;

    template <class T> Ref<Block> value(const Ref<Block>& of, const Site& at) const
    {
        const Ref<Block> a = contiguous(of);
        const detail::Matrices m(a->shape);
        const std::size_t k = std::min(m.rows, m.columns), length = k * (m.rows + 1 + m.columns);
        detail::demand_finite(name, *a, at);
        const Ref<Block> packed = SvdFactor{}.value<T>(a, at);
        auto y = zeros_block(dtype_of<T>(),
                             detail::matrices_like(a->shape, a->shape.back(), a->shape[a->shape.size() - 2]));
        for (std::size_t i = 0; i < m.count && k > 0; ++i) {
            T *const u = packed->template as<T>() + i * length, *const s = u + m.rows * k, *const vt = s + k;
            for (std::size_t j = 0; j < k; ++j) {
                const T factor = s[j] > static_cast<T>(least) * s[0] ? T(1) / s[j] : T(0);
                for (std::size_t c = 0; c < m.columns; ++c) vt[j * m.columns + c] *= factor;
            }
            kernels::gemm<T>(true, true, m.columns, m.rows, k, T(1), vt, m.columns, u, k, T(0),
                             y->template as<T>() + i * m.size(), m.rows);
        }
        return y;
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& a, const Tensor<T>& p) const
    {
        const Tensor<T> pt = detail::transposed(p), gt = detail::transposed(g);
        const Tensor<T> left = detail::times(gt, detail::times(p, pt)),
                        right = detail::times(pt, detail::times(p, gt));
        return left - detail::times(a, detail::times(p, left)) + right -
               detail::times(detail::times(right, p), a) - detail::times(pt, detail::times(g, pt));
    }
    template <class T> Tensor<T> push(const Tensor<T>& da, const Tensor<T>& a, const Tensor<T>& p) const
    {
        const Tensor<T> pt = detail::transposed(p), dt = detail::transposed(da);
        const Tensor<T> left = detail::times(p, detail::times(pt, dt)),
                        right = detail::times(detail::times(dt, pt), p);
        return left - detail::times(detail::times(left, a), p) + right -
               detail::times(p, detail::times(a, right)) - detail::times(p, detail::times(da, p));
    }
};

/// (U, s, Vᵀ) with A = U diag(s) Vᵀ and k = min(m, n) singular values, descending; the pairs of vectors are given up to their sign.
/// Derivatives of vectors throw NumericError where singular values are equal to working precision, or, unless A is square, 0.
/// Throws NumericError where A is not finite.
template <Differentiable T, class D>
std::tuple<Tensor<T, D>, Tensor<T, D>, Tensor<T, D>> svd(const Tensor<T, D>& a,
                                                         Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_matrices("svd", a, at);
    const Tensor<T, D> f = apply<SvdFactor, T>({}, at, a);
    return {apply<SingularVectors, T>({false}, at, f, a), apply<SingularValues, T>({}, at, f, a),
            detail::transposed(apply<SingularVectors, T>({true}, at, f, a), at)};
}

/// The singular values alone, descending. Their first derivative exists in forward mode, too, where some of them are equal. Throws
/// NumericError where A is not finite.
template <Differentiable T, class D>
Tensor<T, D> svdvals(const Tensor<T, D>& a, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_matrices("svdvals", a, at);
    return apply<SingularValues, T>({}, at, apply<SvdFactor, T>({}, at, a), a);
}

/// The pseudo-inverse of Moore and Penrose. Singular values up to `least` times the largest count as 0; by default that is
/// max(m, n) ε. The derivative is that of matrices of the same rank. Throws NumericError where A is not finite,
/// OptionError where `least` is NaN.
template <Differentiable T, class D>
Tensor<T, D> pinv(const Tensor<T, D>& a, double least = -1, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_matrices("pinv", a, at);
    if (std::isnan(least)) fail<OptionError>("pinv", "least = NaN, where a number is expected", at);
    return apply<PseudoInverse, T>({least < 0 ? detail::rounding(a) : least}, at, a);
}

}  // namespace wengert::linalg
