// The incomplete gamma functions.
#pragma once

#include "call.hpp"

#include <boost/math/special_functions/gamma.hpp>

namespace wengert {

/// y = f_a(x) = xᵃ⁻¹ e⁻ˣ / Γ(a);  ā = ȳ y (ln x − ψ(a)),  x̄ = ȳ (f_{a−1}(x) − y), which holds at 0, too; for a ≤ 1 that is
/// ȳ y ((a − 1) / x − 1).
struct GammaDensity : detail::Special<GammaDensity> {
    static constexpr std::string_view name = "gamma_density";
    template <class T> static T number(T a, T x)
    {
        if (!(a > 0) || !(x >= 0)) return detail::nan_of<T>;
        if (std::isinf(a) || std::isinf(x)) return T(0);
        if (x == 0) return a < 1 ? detail::inf_of<T> : a == 1 ? T(1) : T(0);
        return boost::math::gamma_p_derivative(a, x, detail::Quiet());
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& a, const V& x, const V& y)
    {
        using std::log;
        return g * (y * (log(x) - digamma(a)));
    }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V& a, const V& x, const V& y)
    {
        const V below = a - lit(1);
        const V first = where(below == lit(0), zero_like(y), y * (below / x));
        return g * (where(below > lit(0), detail::special<GammaDensity>(below, x), first) - y);
    }
};

/// y = P(a, x), or Q(a, x) = 1 − P(a, x);  x̄ = ± ȳ xᵃ⁻¹ e⁻ˣ / Γ(a)  (DLMF 8.8.13, 8.8.14)
template <bool upper> struct GammaPart : detail::Special<GammaPart<upper>> {
    static constexpr std::string_view name = upper ? "gammaincc" : "gammainc";
    template <class T> static T number(T a, T x)
    {
        if (!(a >= 0) || !(x >= 0) || (std::isinf(a) && std::isinf(x)) || (a == 0 && x == 0))
            return detail::nan_of<T>;
        if (std::isinf(x) || a == 0) return T(upper ? 0 : 1);
        if (x == 0 || std::isinf(a)) return T(upper ? 1 : 0);
        return upper ? boost::math::gamma_q(a, x, detail::Quiet())
                     : boost::math::gamma_p(a, x, detail::Quiet());
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& a, const V&, const V&)
    {
        return detail::unknown_derivative<GammaPart>("a", g, a);
    }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V& a, const V& x, const V&)
    {
        const V slope = g * detail::special<GammaDensity>(a, x);
        if constexpr (upper)
            return -slope;
        else
            return slope;
    }
};

/// P(a, x), the regularized lower incomplete gamma function, a ≥ 0, x ≥ 0; NaN elsewhere. Its derivative in x has any order, that in
/// a is not here: it throws TapeError.
template <class A, class X>
    requires detail::SpecialArguments<A, X>
auto gammainc(const A& a, const X& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::special_call<GammaPart<false>>(at, a, x);
}

/// Q(a, x) = 1 − P(a, x) without cancellation. Its derivative in a throws TapeError.
template <class A, class X>
    requires detail::SpecialArguments<A, X>
auto gammaincc(const A& a, const X& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::special_call<GammaPart<true>>(at, a, x);
}

}  // namespace wengert
