// Determinants.
#pragma once

#include "lu_factor.hpp"

namespace wengert::linalg {

namespace detail {

/// A number for each matrix of a, of the diagonal of its factors, by of(sign of the permutation, first element of the packed
/// factors, n).
template <class T, class F> Ref<Block> of_diagonals(const Ref<Block>& factors, const F& of)
{
    const Ref<Block> packed = contiguous(factors);
    const auto length = static_cast<std::size_t>(packed->shape.back());
    const auto n = static_cast<std::size_t>(std::sqrt(static_cast<double>(length)));  // of n² + n
    auto y = make_block(dtype_of<T>(), Shape(packed->shape.data(), packed->shape.size() - 1));
    for (std::size_t i = 0; i < y->count; ++i) {
        const T* const f = packed->template as<T>() + i * length;
        T sign = 1;
        for (std::size_t k = 0; k < n; ++k)
            if (std::abs(f[n * n + k]) != static_cast<T>(k + 1)) sign = -sign;
        y->template as<T>()[i] = of(sign, f, n);
    }
    return y;
}

}  // namespace detail

/// The sign of det A, 0 where a pivot is 0, of the packed factors of A.
struct DeterminantSign {
    static constexpr std::string_view name = "determinant_sign";
    static constexpr bool flat = true;
    template <class T> Ref<Block> value(const Ref<Block>& factors, const Site&) const
    {
        return detail::of_diagonals<T>(factors, [](T sign, const T* f, std::size_t n) {
            for (std::size_t k = 0; k < n; ++k) {
                const T u = f[k * (n + 1)];
                sign = u > 0 ? sign : u < 0 ? -sign : u * sign;  // NaN stays
            }
            return sign;
        });
    }
};

namespace detail {

/// m 2ᵉ, ½ ≤ |m| < 1: the product of a sign and the pivots, which may be too large or too small for T, or be so on the way.
template <class T> struct PivotProduct {
    T mantissa;
    long exponent = 0;

    PivotProduct(T sign, const T* f, std::size_t n) : mantissa(sign)
    {
        for (std::size_t k = 0; k < n; ++k) {
            int e = 0, shift = 0;
            mantissa = std::frexp(mantissa * std::frexp(f[k * (n + 1)], &e), &shift);
            exponent += e + shift;
        }
    }
    T times(T x) const
    {
        const long most = 4L * std::numeric_limits<T>::max_exponent;
        return std::ldexp(mantissa * x, static_cast<int>(std::clamp(exponent, -most, most)));
    }
};

}  // namespace detail

/// y = ln |det A| of (packed factors, A), −∞ where a pivot is 0.  Ā = ȳ A⁻ᵀ;  ẏ = tr(A⁻¹ Ȧ).  Giles 2008.
struct LogDeterminant {
    static constexpr std::string_view name = "slogdet";
    static constexpr unsigned saves = 0b011;
    template <class T> Ref<Block> value(const Ref<Block>& factors, const Ref<Block>&, const Site&) const
    {
        return detail::of_diagonals<T>(factors, [](T, const T* f, std::size_t n) {
            T sum = 0;
            for (std::size_t k = 0; k < n; ++k) sum += std::log(std::abs(f[k * (n + 1)]));
            return sum;
        });
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>& f, const Tensor<T>& a, const Tensor<T>&) const
    {
        return LuSolve::solved(f, a, detail::unit_beside(a), true) * detail::as_matrix(g);
    }
    template <class T>
    Tensor<T> push(const Tensor<T>&, const Tensor<T>& da, const Tensor<T>& f, const Tensor<T>& a,
                   const Tensor<T>&) const
    {
        return sum(diagonal(LuSolve::solved(f, a, da, false), 0, Site{}), -1, false, Site{});
    }
};

/// The matrix of cofactors C = det(A) A⁻ᵀ of (packed factors, A), also where A is singular: from the singular value decomposition
/// A = U S Vᵀ it is det(U) det(V) U diag(Πₖ≠ᵢ sₖ) Vᵀ (Stewart 1998).
/// Ċ = tr(A⁻¹ Ȧ) C − C Ȧᵀ A⁻ᵀ, which A⁻¹ is needed for: a NumericError where A is singular.
struct Cofactors {
    static constexpr std::string_view name = "cofactors";
    static constexpr unsigned saves = 0b111;

    template <class T> Ref<Block> value(const Ref<Block>& factors, const Ref<Block>& of, const Site& at) const
    {
        const Ref<Block> packed = contiguous(factors), a = contiguous(of);
        const detail::Matrices m(a->shape);
        const std::size_t n = m.rows;
        auto c = make_block(dtype_of<T>(), a->shape);
        for (std::size_t i = 0; i < m.count && n > 0; ++i) {
            const T* const f = packed->template as<T>() + i * (n * n + n);
            T* const y = c->template as<T>() + i * n * n;
            if (LuFactor::singular_at(n, f) < n)
                of_singular(n, a->template as<T>() + i * n * n, y, *a, at);
            else
                of_regular(n, f, y);
        }
        return c;
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>& f, const Tensor<T>& a,
                   const Tensor<T>& c) const
    {
        const Tensor<T> inverse = LuSolve::solved(f, a, detail::unit_beside(a), true);  // A⁻ᵀ
        const Tensor<T> both = sum(g * c, Axes{-2, -1}, true, Site{});
        return inverse * both - detail::times(inverse, detail::times(detail::transposed(g), c));
    }
    template <class T>
    Tensor<T> push(const Tensor<T>&, const Tensor<T>& da, const Tensor<T>& f, const Tensor<T>& a,
                   const Tensor<T>& c) const
    {
        const Tensor<T> h = LuSolve::solved(f, a, da, false);  // A⁻¹ Ȧ
        return c * detail::as_matrix(sum(diagonal(h, 0, Site{}), -1, false, Site{})) -
               detail::times(c, detail::transposed(h));
    }

private:
    template <class T> static void of_regular(std::size_t n, const T* f, T* y)
    {
        T sign = 1, det = 1;
        for (std::size_t k = 0; k < n; ++k) {
            if (f[n * n + k] != static_cast<T>(k + 1)) sign = -sign;
            det *= f[k * (n + 1)];
        }
        const bool usual = std::isnormal(det);
        std::fill_n(y, n * n, T(0));
        for (std::size_t k = 0; k < n; ++k) y[k * (n + 1)] = usual ? sign * det : T(1);
        kernels::lapack::solve_by_lu<T>(true, n, n, f, f + n * n, y);
        if (usual) return;
        const detail::PivotProduct<T> product(sign, f, n);
        for (std::size_t i = 0; i < n * n; ++i) y[i] = product.times(y[i]);
    }
    template <class T>
    static void of_singular(std::size_t n, const T* a, T* y, const Block& whole, const Site& at)
    {
        detail::demand_finite(name, whole, at);
        std::vector<T> work(a, a + n * n), u(n * n), s(n), vt(n * n);
        if (kernels::lapack::svd<T>(n, n, work.data(), u.data(), s.data(), vt.data()))
            detail::refuse(name, whole, "the singular value decomposition did not converge", at);
        const T sign = orientation(n, u) * orientation(n, vt);
        for (std::size_t k = 0; k < n; ++k) {
            T product = sign;
            for (std::size_t j = 0; j < n; ++j) product *= j == k ? T(1) : s[j];
            for (std::size_t r = 0; r < n; ++r) work[r * n + k] = u[r * n + k] * product;
        }
        kernels::gemm<T>(false, false, n, n, n, T(1), work.data(), n, vt.data(), n, T(0), y, n);
    }
    /// The determinant of an orthogonal matrix: 1 or −1.
    template <class T> static T orientation(std::size_t n, std::vector<T> q)
    {
        std::vector<int> pivots(n);
        kernels::lapack::lu<T>(n, n, q.data(), pivots.data());
        T sign = 1;
        for (std::size_t k = 0; k < n; ++k)
            if ((q[k * (n + 1)] < 0) != (pivots[k] != static_cast<int>(k) + 1)) sign = -sign;
        return sign;
    }
};

/// y = det A of (packed factors, A).  Ā = ȳ C;  ẏ = Σ C Ȧ, with the cofactors C: also where A is singular.  Giles 2008.
struct Determinant {
    static constexpr std::string_view name = "det";
    static constexpr unsigned saves = 0b011;
    template <class T> Ref<Block> value(const Ref<Block>& factors, const Ref<Block>&, const Site&) const
    {
        return detail::of_diagonals<T>(factors, [](T product, const T* f, std::size_t n) {
            T det = product;
            for (std::size_t k = 0; k < n; ++k) det *= f[k * (n + 1)];
            return std::isnormal(det) ? det : detail::PivotProduct<T>(product, f, n).times(T(1));
        });
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>& f, const Tensor<T>& a, const Tensor<T>&) const
    {
        return apply<Cofactors, T>({}, Site{}, f, a) * detail::as_matrix(g);
    }
    template <class T>
    Tensor<T> push(const Tensor<T>&, const Tensor<T>& da, const Tensor<T>& f, const Tensor<T>& a,
                   const Tensor<T>&) const
    {
        return sum(apply<Cofactors, T>({}, Site{}, f, a) * da, Axes{-2, -1}, false, Site{});
    }
};

/// The determinant of each matrix. Its first derivative is that of a polynomial, also where A is singular; where it is, the second one throws NumericError.
template <Differentiable T, class D>
Tensor<T, D> det(const Tensor<T, D>& a, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_square("det", a, at);
    return apply<Determinant, T>({}, at, detail::lu_factor(a, at), a);
}

/// (sign, ln |det A|); of a singular A it is (0, −∞), or what rounding leaves of that. The sign has no derivative. The derivative of
/// the logarithm throws NumericError where A is singular to working precision.
template <Differentiable T, class D>
std::pair<Tensor<T, D>, Tensor<T, D>> slogdet(const Tensor<T, D>& a,
                                              Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_square("slogdet", a, at);
    const Tensor<T, D> f = detail::lu_factor(a, at);
    return {apply<DeterminantSign, T>({}, at, f), apply<LogDeterminant, T>({}, at, f, a)};
}

}  // namespace wengert::linalg
