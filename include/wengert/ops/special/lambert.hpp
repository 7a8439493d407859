// Lambert's W, and Riemann's ζ.
#pragma once

#include "call.hpp"

#include <boost/math/special_functions/lambert_w.hpp>
#include <boost/math/special_functions/zeta.hpp>

namespace wengert {

/// y with y eʸ = x, y ≥ −1;  x̄ = ȳ / (eʸ (1 + y))  (DLMF 4.13.4)
struct LambertW : detail::Special<LambertW> {
    static constexpr std::string_view name = "lambert_w";
    template <class T> static T number(T x)
    {
        if (x == detail::inf_of<T>) return x;
        // −1/e lies between two numbers: at the nearest one W is −1, where Boost refuses it
        constexpr T branch = static_cast<T>(-0.36787944117144232159552377016146086745L);
        if (x == branch) return T(-1);
        return x < branch ? detail::nan_of<T> : boost::math::lambert_w0(x, detail::Quiet());
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V&, const V& y)
    {
        using std::exp;
        return g / (exp(y) * (lit(1) + y));
    }
};

/// y = ζ(x) = Σ n⁻ˣ, continued (DLMF 25.2.1); no closed form is known of ζ'.
struct Zeta : detail::Special<Zeta> {
    static constexpr std::string_view name = "riemann_zeta";
    template <class T> static T number(T x)
    {
        if (x == T(1)) return detail::inf_of<T>;
        if (std::isinf(x)) return x > 0 ? T(1) : detail::nan_of<T>;
        return boost::math::zeta(x, detail::Quiet());
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V&)
    {
        return detail::unknown_derivative<Zeta>("x", g, x);
    }
};

/// Lambert's W₀(x), the y ≥ −1 with y eʸ = x; NaN for x < −1/e, where the derivative is infinite. y' = 1 / (eʸ (1 + y)).
template <detail::SpecialArguments X>
auto lambert_w(const X& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::special_call<LambertW>(at, x);
}

/// Riemann's ζ(x), of any real x; ∞ at 1. Its derivative is not here: it throws TapeError.
template <detail::SpecialTensors X>
auto riemann_zeta(const X& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::special_call<Zeta>(at, x);
}

}  // namespace wengert
