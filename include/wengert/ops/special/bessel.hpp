// Bessel functions of real order.
#pragma once

#include "call.hpp"

#include <boost/math/special_functions/bessel.hpp>

namespace wengert {

enum class BesselKind { j, y, i, k };

/// J, Y, I or K of order ν.  J' = (J_{ν−1} − J_{ν+1}) / 2, Y likewise;  I' = (I_{ν−1} + I_{ν+1}) / 2,  K' = −(K_{ν−1} + K_{ν+1}) / 2
/// (DLMF 10.6.1, 10.29.1).
template <BesselKind kind> struct Bessel : detail::Special<Bessel<kind>> {
    static constexpr std::string_view name = kind == BesselKind::j   ? "cyl_bessel_j"
                                             : kind == BesselKind::y ? "cyl_neumann"
                                             : kind == BesselKind::i ? "cyl_bessel_i"
                                                                     : "cyl_bessel_k";
    template <class T> static T number(T nu, T x)
    {
        constexpr bool singular = kind == BesselKind::y || kind == BesselKind::k;
        if (std::isinf(nu) || (x < 0 && (singular || nu != std::floor(nu)))) return detail::nan_of<T>;
        if (kind == BesselKind::y && nu < 0 && nu == std::floor(nu))  // Y₋ₙ = (−1)ⁿ Yₙ
            return std::fmod(nu, T(2)) != 0 ? -number(-nu, x) : number(-nu, x);
        if (singular && x == 0) return kind == BesselKind::y ? -detail::inf_of<T> : detail::inf_of<T>;
        if (std::isinf(x)) return far(nu, x);
        if (std::abs(nu) > 2500 && std::abs(x) < std::abs(nu) / 2 && (nu > 0 || nu == std::floor(nu)))
            return of_large_order<T>();
        if (std::abs(nu) > T(1e9)) return detail::nan_of<T>;  // Boost has no end, or no result
        if (nu < 0 && !singular && x == 0 && nu != std::floor(nu))
            return std::copysign(detail::inf_of<T>, std::tgamma(nu + 1));  // (x/2)^ν / Γ(ν + 1)
        if constexpr (kind == BesselKind::j) return boost::math::cyl_bessel_j(nu, x, detail::Quiet());
        if constexpr (kind == BesselKind::y) return boost::math::cyl_neumann(nu, x, detail::Quiet());
        if constexpr (kind == BesselKind::i) return boost::math::cyl_bessel_i(nu, x, detail::Quiet());
        if constexpr (kind == BesselKind::k) return boost::math::cyl_bessel_k(nu, x, detail::Quiet());
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& nu, const V&, const V&)
    {
        return detail::unknown_derivative<Bessel>("nu", g, nu);
    }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V& nu, const V& x, const V&)
    {
        const V below = detail::special<Bessel>(nu - lit(1), x),
                above = detail::special<Bessel>(nu + lit(1), x);
        if constexpr (kind == BesselKind::i)
            return g * (lit(0.5) * (below + above));
        else if constexpr (kind == BesselKind::k)
            return g * (lit(-0.5) * (below + above));
        else
            return g * (lit(0.5) * (below - above));
    }

private:
    /// Below the least double or above the greatest one, as x < ν / 2: e^{∓ν/3} for ν > 2500 (DLMF 10.41.3, 10.41.4).
    template <class T> static T of_large_order()
    {
        if (kind == BesselKind::y) return -detail::inf_of<T>;
        return kind == BesselKind::k ? detail::inf_of<T> : T(0);
    }
    template <class T> static T far(T nu, T x)
    {
        if (kind != BesselKind::i) return T(0);
        return x < 0 && std::fmod(nu, T(2)) != 0 ? x : detail::inf_of<T>;
    }
};

// clang-format off
/// J_ν(x), of a real order, which is a constant: its derivative in ν throws TapeError. NaN for x < 0 where ν is not whole.
template <class N, class X> requires detail::SpecialTensors<N, X> auto cyl_bessel_j(const N& nu, const X& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::special_call<Bessel<BesselKind::j>>(at, nu, x); }
/// Y_ν(x), likewise; −∞ at 0, NaN for x < 0.
template <class N, class X> requires detail::SpecialTensors<N, X> auto cyl_neumann(const N& nu, const X& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::special_call<Bessel<BesselKind::y>>(at, nu, x); }
/// I_ν(x), likewise; NaN for x < 0 where ν is not whole.
template <class N, class X> requires detail::SpecialTensors<N, X> auto cyl_bessel_i(const N& nu, const X& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::special_call<Bessel<BesselKind::i>>(at, nu, x); }
/// K_ν(x), likewise; ∞ at 0, NaN for x < 0.
template <class N, class X> requires detail::SpecialTensors<N, X> auto cyl_bessel_k(const N& nu, const X& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::special_call<Bessel<BesselKind::k>>(at, nu, x); }
// clang-format on

}  // namespace wengert
