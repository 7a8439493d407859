// The beta function, its logarithm, and the incomplete one.
#pragma once

#include "call.hpp"

#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/gamma.hpp>

#include <algorithm>

namespace wengert {

namespace detail {

/// ln Γ(x) − ((x − ½) ln x − x + ½ ln 2π) for x ≥ 10 (DLMF 5.11.1).
inline long double stirling_rest(long double x)
{
    constexpr long double c[] = {1.0L / 12,    -1.0L / 360,       1.0L / 1260,
                                 -1.0L / 1680, 1.0L / 1188,       -691.0L / 360360,
                                 1.0L / 156,   -3617.0L / 122400, 43867.0L / 244188};
    long double sum = 0;
    for (std::size_t k = std::size(c); k-- > 0;) sum = sum / (x * x) + c[k];
    return sum / x;
}
/// ln B(a, b) of 0 < a ≤ b: by Γ(b)/Γ(a + b) where a is small, else with the large parts of ln Γ taken apart (Didonato & Morris 1992).
inline long double log_beta(long double a, long double b)
{
    if (a < 10) {
        const long double ratio = boost::math::tgamma_delta_ratio(b, a, Quiet());
        return std::lgamma(a) + std::log(ratio);
    }
    const long double h = a / b, rest = stirling_rest(a) + stirling_rest(b) - stirling_rest(a + b);
    const long double half_log_tau = 0.918938533204672741780329736405617639861L;
    return -0.5L * std::log(b) + half_log_tau + rest + (a - 0.5L) * std::log(h / (1 + h)) - b * std::log1p(h);
}

}  // namespace detail

/// y = ψ⁽ⁿ⁾(x), of an order that is a constant;  x̄ = ȳ ψ⁽ⁿ⁺¹⁾(x)
struct PolygammaOfOrder : detail::Special<PolygammaOfOrder> {
    static constexpr std::string_view name = "polygamma";
    template <class T> static T number(T n, T x)
    {
        return static_cast<T>(polygamma(static_cast<unsigned>(n), static_cast<double>(x)));
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& n, const V&, const V&)
    {
        return detail::unknown_derivative<PolygammaOfOrder>("n", g, n);
    }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V& n, const V& x, const V&)
    {
        return g * detail::special<PolygammaOfOrder>(n + lit(1), x);
    }
};

/// y = ψ⁽ⁿ⁾(a) − ψ⁽ⁿ⁾(a + b) of a, b ≥ 0, of which the difference of both would leave no digit where a is much larger than b.
/// ā = ȳ (ψ⁽ⁿ⁺¹⁾(a) − ψ⁽ⁿ⁺¹⁾(a + b)),  b̄ = −ȳ ψ⁽ⁿ⁺¹⁾(a + b)
struct PolygammaDrop : detail::Special<PolygammaDrop> {
    static constexpr std::string_view name = "polygamma_drop";
    template <class T> static T number(T n, T a, T b)
    {
        if (a < 0 || b < 0) return detail::nan_of<T>;
        return static_cast<T>(
            detail::polygamma_drop(static_cast<unsigned>(n), static_cast<double>(a), static_cast<double>(b)));
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& n, const V&, const V&, const V&)
    {
        return detail::unknown_derivative<PolygammaDrop>("n", g, n);
    }
    template <class V>
    static constexpr V pull(wrt<1>, const V& g, const V& n, const V& a, const V& b, const V&)
    {
        return g * detail::special<PolygammaDrop>(n + lit(1), a, b);
    }
    template <class V>
    static constexpr V pull(wrt<2>, const V& g, const V& n, const V& a, const V& b, const V&)
    {
        return -(g * detail::special<PolygammaOfOrder>(n + lit(1), a + b));
    }
};

namespace detail {
/// ψ(a) − ψ(a + b)
template <class V> constexpr V digamma_drop(const V& a, const V& b)
{
    return special<PolygammaDrop>(zero_like(a), a, b);
}
}  // namespace detail

/// y = B(a, b) = Γ(a) Γ(b) / Γ(a + b);  ā = ȳ y (ψ(a) − ψ(a + b))  (DLMF 5.12.1, 5.2.2)
struct Beta : detail::Special<Beta> {
    static constexpr std::string_view name = "beta";
    template <class T> static T number(T a, T b)
    {
        if (a < 0 || b < 0) return detail::nan_of<T>;
        if (std::isinf(a) || std::isinf(b)) return a == 0 || b == 0 ? detail::nan_of<T> : T(0);
        return a == 0 || b == 0 ? detail::inf_of<T> : boost::math::beta(a, b, detail::Quiet());
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& a, const V& b, const V& y)
    {
        return g * (y * detail::digamma_drop(a, b));
    }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V& a, const V& b, const V& y)
    {
        return g * (y * detail::digamma_drop(b, a));
    }
};

/// y = ln B(a, b);  ā = ȳ (ψ(a) − ψ(a + b))
struct BetaLn : detail::Special<BetaLn> {
    static constexpr std::string_view name = "betaln";
    template <class T> static T number(T a, T b)
    {
        if (a < 0 || b < 0) return detail::nan_of<T>;
        if (std::isinf(a) || std::isinf(b)) return a == 0 || b == 0 ? detail::nan_of<T> : -detail::inf_of<T>;
        if (a == 0 || b == 0) return detail::inf_of<T>;
        return static_cast<T>(detail::log_beta(std::min(a, b), std::max(a, b)));
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& a, const V& b, const V&)
    {
        return g * detail::digamma_drop(a, b);
    }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V& a, const V& b, const V&)
    {
        return g * detail::digamma_drop(b, a);
    }
};

/// y = xᵃ⁻¹ (1 − x)ᵇ⁻¹ / B(a, b);  ā = ȳ y (ln x − ψ(a) + ψ(a + b)),  b̄ = ȳ y (ln(1 − x) − ψ(b) + ψ(a + b)),
/// x̄ = ȳ (a + b − 1) (f_{a−1,b}(x) − f_{a,b−1}(x)), which holds at 0 and 1, too; for a ≤ 1 the first term is ȳ y (a − 1) / x, for
/// b ≤ 1 the second one ȳ y (b − 1) / (1 − x).
struct BetaDensity : detail::Special<BetaDensity> {
    static constexpr std::string_view name = "beta_density";
    template <class T> static T number(T a, T b, T x)
    {
        if (!(a > 0) || !(b > 0) || std::isinf(a) || std::isinf(b) || !(x >= 0 && x <= 1))
            return detail::nan_of<T>;
        if (x == 0 || x == 1) {
            const T order = x == 0 ? a : b;
            return order < 1 ? detail::inf_of<T> : order > 1 ? T(0) : x == 0 ? b : a;
        }
        return boost::math::ibeta_derivative(a, b, x, detail::Quiet());
    }
    template <class V>
    static constexpr V pull(wrt<0>, const V& g, const V& a, const V& b, const V& x, const V& y)
    {
        using std::log;
        return g * (y * (log(x) - detail::digamma_drop(a, b)));
    }
    template <class V>
    static constexpr V pull(wrt<1>, const V& g, const V& a, const V& b, const V& x, const V& y)
    {
        using std::log1p;
        return g * (y * (log1p(-x) - detail::digamma_drop(b, a)));
    }
    template <class V>
    static constexpr V pull(wrt<2>, const V& g, const V& a, const V& b, const V& x, const V& y)
    {
        const V less_a = a - lit(1), less_b = b - lit(1), order = a + less_b;
        const V at_0 = where(less_a == lit(0), zero_like(y), y * (less_a / x));
        const V at_1 = where(less_b == lit(0), zero_like(y), y * (less_b / (lit(1) - x)));
        return g * (where(less_a > lit(0), order * detail::special<BetaDensity>(less_a, b, x), at_0) -
                    where(less_b > lit(0), order * detail::special<BetaDensity>(a, less_b, x), at_1));
    }
};

/// y = Iₓ(a, b);  x̄ = ȳ xᵃ⁻¹ (1 − x)ᵇ⁻¹ / B(a, b)  (DLMF 8.17.1, 8.17.2)
struct BetaPart : detail::Special<BetaPart> {
    static constexpr std::string_view name = "betainc";
    template <class T> static T number(T a, T b, T x)
    {
        if (!(a > 0) || !(b > 0) || std::isinf(a) || std::isinf(b) || !(x >= 0 && x <= 1))
            return detail::nan_of<T>;
        if (std::min(a, b) > T(1e12)) return detail::nan_of<T>;  // Boost has few digits there, or no end
        return boost::math::ibeta(a, b, x, detail::Quiet());
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& a, const V&, const V&, const V&)
    {
        return detail::unknown_derivative<BetaPart>("a", g, a);
    }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V&, const V& b, const V&, const V&)
    {
        return detail::unknown_derivative<BetaPart>("b", g, b);
    }
    template <class V>
    static constexpr V pull(wrt<2>, const V& g, const V& a, const V& b, const V& x, const V&)
    {
        return g * detail::special<BetaDensity>(a, b, x);
    }
};

/// B(a, b) = Γ(a) Γ(b) / Γ(a + b) for a, b ≥ 0; NaN elsewhere.
template <class A, class B>
    requires detail::SpecialTensors<A, B>
auto beta(const A& a, const B& b, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::special_call<Beta>(at, a, b);
}

/// ln B(a, b) for a, b ≥ 0, also where B(a, b) is too small or too large; NaN elsewhere.
template <class A, class B>
    requires detail::SpecialArguments<A, B>
auto betaln(const A& a, const B& b, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::special_call<BetaLn>(at, a, b);
}

/// Iₓ(a, b), the regularized incomplete beta function, a, b > 0, 0 ≤ x ≤ 1; NaN elsewhere. Its derivative in x has any order, those in
/// a and b are not here: they throw TapeError.
template <class A, class B, class X>
    requires detail::SpecialArguments<A, B, X>
auto betainc(const A& a, const B& b, const X& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::special_call<BetaPart>(at, a, b, x);
}

}  // namespace wengert
