// Legendre's elliptic integrals, complete and incomplete, of the modulus k and the angle φ as in <cmath>.
//
// With Δ = √(1 − k² sin²φ):  F = ∫ 1/Δ,  E = ∫ Δ,  D = ∫ sin²/Δ = (F − E) / k²  from 0 to φ. Derivatives are written with D, so none
// divides by k where that is 0 (DLMF 19.2.4 to 19.2.6, 19.4.1 to 19.4.6).
#pragma once

#include "call.hpp"

#include <boost/math/special_functions/ellint_1.hpp>
#include <boost/math/special_functions/ellint_2.hpp>
#include <boost/math/special_functions/ellint_d.hpp>

#include <numbers>

namespace wengert {

namespace detail {

/// Below this modulus D' is a sum of powers of k, as the closed form cancels.
inline constexpr double small_modulus = 0.25;
inline constexpr int modulus_powers = 14;  ///< 0.25²⁸ is less than a rounding

/// The (½)ₙ / n! of 1/√(1 − z) = Σ (½)ₙ/n! zⁿ.
constexpr double root_coefficient(int n)
{
    double c = 1;
    for (int i = 1; i <= n; ++i) c *= (i - 0.5) / i;
    return c;
}

/// Δ
template <class V> constexpr V root_of_modulus(const V& k, const V& sine)
{
    using std::sqrt;
    const V z = k * sine;
    return sqrt((lit(1) - z) * (lit(1) + z));
}
template <class V> constexpr V complement(const V& k) { return (lit(1) - k) * (lit(1) + k); }

/// ∂D/∂k of the complete integral, π/2 Σ (½)ₙ/n! 2n k²ⁿ⁻¹ (½)ₙ₊₁/(n + 1)!, or the closed form ((K − D)/k'² − D)/k.
template <class V> constexpr V slope_of_complete_d(const V& k, const V& big_k, const V& d)
{
    const V square = k * k;
    V sum = lit(0) * k;
    for (int n = modulus_powers; n >= 1; --n)
        sum = sum * square + lit(std::numbers::pi * n * root_coefficient(n) * root_coefficient(n + 1)) *
                                 (lit(1) + lit(0) * k);
    const V closed = ((big_k - d) / complement(k) - d) / k;
    return where(square < lit(small_modulus * small_modulus), sum * k, closed);
}

/// ∂D/∂k of the incomplete one, Σ (½)ₙ/n! 2n k²ⁿ⁻¹ s₂ₙ₊₂ with s₂ₘ = ∫ sin²ᵐ = ((2m − 1) s₂ₘ₋₂ − sin²ᵐ⁻¹ cos) / 2m, or the closed form
/// ((F − D − sin cos/Δ)/k'² − D)/k.
template <class V> constexpr V slope_of_d(const V& k, const V& phi, const V& f, const V& d)
{
    using std::cos, std::sin;
    const V s = sin(phi), c = cos(phi), square = k * k;
    V integral = lit(0.5) * (phi - s * c), power = s * s * s, by_k = k, sum = lit(0) * k;
    for (int n = 1; n <= modulus_powers; ++n) {
        const double m = n + 1;
        integral = (lit(2 * m - 1) * integral - power * c) / lit(2 * m);
        sum = sum + lit(2 * n * root_coefficient(n)) * (by_k * integral);
        power = power * (s * s);
        by_k = by_k * square;
    }
    const V closed = ((f - d - s * c / root_of_modulus(k, s)) / complement(k) - d) / k;
    return where(square < lit(small_modulus * small_modulus), sum, closed);
}

template <class T> bool outside(T k) { return !(k >= -1 && k <= 1); }

}  // namespace detail

struct CompleteK;

/// y = D(k) = (K − E) / k²
struct CompleteD : detail::Special<CompleteD> {
    static constexpr std::string_view name = "comp_ellint_d";
    template <class T> static T number(T k)
    {
        if (detail::outside(k)) return detail::nan_of<T>;
        return k * k == 1 ? detail::inf_of<T> : boost::math::ellint_d(k, detail::Quiet());
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& k, const V& y)
    {
        return g * detail::slope_of_complete_d(k, detail::special<CompleteK>(k), y);
    }
};

/// y = K(k);  K' = k (K − D) / (1 − k²)
struct CompleteK : detail::Special<CompleteK> {
    static constexpr std::string_view name = "comp_ellint_1";
    template <class T> static T number(T k)
    {
        if (detail::outside(k)) return detail::nan_of<T>;
        return k * k == 1 ? detail::inf_of<T> : boost::math::ellint_1(k, detail::Quiet());
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& k, const V& y)
    {
        return g * (k * (y - detail::special<CompleteD>(k)) / detail::complement(k));
    }
};

/// y = E(k);  E' = −k D
struct CompleteE : detail::Special<CompleteE> {
    static constexpr std::string_view name = "comp_ellint_2";
    template <class T> static T number(T k)
    {
        return detail::outside(k) ? detail::nan_of<T> : boost::math::ellint_2(k, detail::Quiet());
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& k, const V&)
    {
        return -(g * (k * detail::special<CompleteD>(k)));
    }
};

struct EllipticF;

/// y = D(φ, k);  ∂D/∂φ = sin²φ / Δ
struct EllipticD : detail::Special<EllipticD> {
    static constexpr std::string_view name = "ellint_d";
    template <class T> static T number(T k, T phi)
    {
        if (detail::outside(k) || std::isinf(phi)) return detail::nan_of<T>;
        return boost::math::ellint_d(k, phi, detail::Quiet());
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& k, const V& phi, const V& y)
    {
        return g * detail::slope_of_d(k, phi, detail::special<EllipticF>(k, phi), y);
    }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V& k, const V& phi, const V&)
    {
        using std::sin;
        const V s = sin(phi);
        return g * (s * s / detail::root_of_modulus(k, s));
    }
};

/// y = F(φ, k);  ∂F/∂k = k (F − D − sin φ cos φ / Δ) / (1 − k²),  ∂F/∂φ = 1 / Δ
struct EllipticF : detail::Special<EllipticF> {
    static constexpr std::string_view name = "ellint_1";
    template <class T> static T number(T k, T phi)
    {
        if (detail::outside(k) || std::isinf(phi)) return detail::nan_of<T>;
        return boost::math::ellint_1(k, phi, detail::Quiet());
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& k, const V& phi, const V& y)
    {
        using std::cos, std::sin;
        const V s = sin(phi);
        const V rest = y - detail::special<EllipticD>(k, phi) - s * cos(phi) / detail::root_of_modulus(k, s);
        return g * (k * rest / detail::complement(k));
    }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V& k, const V& phi, const V&)
    {
        using std::sin;
        return g / detail::root_of_modulus(k, V(sin(phi)));
    }
};

/// y = E(φ, k);  ∂E/∂k = −k D,  ∂E/∂φ = Δ
struct EllipticE : detail::Special<EllipticE> {
    static constexpr std::string_view name = "ellint_2";
    template <class T> static T number(T k, T phi)
    {
        if (detail::outside(k) || std::isinf(phi)) return detail::nan_of<T>;
        if (std::abs(k) == 1) return of_modulus_1(phi);  // Boost has sin φ beyond π / 2, too
        return boost::math::ellint_2(k, phi, detail::Quiet());
    }
    /// ∫ |cos θ| dθ = 2 n + (−1)ⁿ sin φ, n half waves from 0
    template <class T> static T of_modulus_1(T phi)
    {
        const T n = std::round(phi / std::numbers::pi_v<T>);
        return 2 * n + (std::fmod(n, T(2)) != 0 ? -std::sin(phi) : std::sin(phi));
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& k, const V& phi, const V&)
    {
        return -(g * (k * detail::special<EllipticD>(k, phi)));
    }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V& k, const V& phi, const V&)
    {
        using std::sin;
        return g * detail::root_of_modulus(k, V(sin(phi)));
    }
};

// clang-format off
/// K(k), the complete elliptic integral of the first kind, of the modulus k in [−1, 1] as in <cmath>, not of m = k² as in SciPy.
template <detail::SpecialTensors K> auto comp_ellint_1(const K& k, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::special_call<CompleteK>(at, k); }
/// E(k), the complete one of the second kind.
template <detail::SpecialTensors K> auto comp_ellint_2(const K& k, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::special_call<CompleteE>(at, k); }
/// F(φ, k), the incomplete elliptic integral of the first kind; the modulus comes first, as in <cmath>.
template <class K, class P> requires detail::SpecialTensors<K, P> auto ellint_1(const K& k, const P& phi, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::special_call<EllipticF>(at, k, phi); }
/// E(φ, k), the incomplete one of the second kind.
template <class K, class P> requires detail::SpecialTensors<K, P> auto ellint_2(const K& k, const P& phi, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::special_call<EllipticE>(at, k, phi); }
// clang-format on

}  // namespace wengert
