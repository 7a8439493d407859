// The rules of functions of two numbers and more: powers, angles, selection by size.
#pragma once

#include <cmath>
#include <concepts>

#include "rule.hpp"

namespace wengert {

/// aᵇ of integers, wrapping; what 1/a^|b| leaves of a whole number for negative b (0 for 0).
template <std::integral T> constexpr T pow_whole(T a, T b)
{
    if (b < 0) return static_cast<T>(a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0);
    using U = std::make_unsigned_t<T>;
    U y = 1;
    for (U base = static_cast<U>(a), rest = static_cast<U>(b); rest; rest >>= 1, base *= base)
        if (rest & 1) y *= base;
    return static_cast<T>(y);
}

/// y = aᵇ with std::pow's values;  ā = ȳ b aᵇ⁻¹ (0 for b = 0, but with the derivative 1/a with respect to b),  b̄ = ȳ y ln a (0 for a = 0 and b ≥ 0, NaN for a < 0)
struct Pow {
    static constexpr std::string_view name = "pow";
    static constexpr double transcendentals = 2;
    template <class V> static V value(const V& a, const V& b)
    {
        using std::pow;
        if constexpr (std::integral<V>)
            return pow_whole(a, b);
        else
            return pow(a, b);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& a, const V& b, const V&)
    {
        using std::pow;
        const V slope = pow(a, b - lit(1)), r = g * (b * slope);
        return where(b == lit(0), where(is_finite(slope), r, zero_like(g)), r);
    }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V& a, const V& b, const V& y)
    {
        using std::log;
        return where((a == lit(0)) && (b >= lit(0)), zero_like(g), g * (y * log(a)));
    }
};

/// y = the angle of (b, a);  ā = ȳ b/r²,  b̄ = −ȳ a/r², r² = a² + b²; 0 at the origin
struct Atan2 {
    static constexpr std::string_view name = "atan2";
    template <class V> static V value(const V& a, const V& b)
    {
        using std::atan2;
        return atan2(a, b);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& a, const V& b, const V&)
    {
        return turned(g, b, a, b);
    }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V& a, const V& b, const V&)
    {
        return turned(-g, a, a, b);
    }
    /// g p/r², without overflow of r².
    template <class V> static constexpr V turned(const V& g, const V& p, const V& a, const V& b)
    {
        using std::hypot;
        const V r = hypot(a, b);
        return where(r == lit(0), zero_like(g), g * (p / r / r));
    }
};

/// y = √(a² + b²);  ā = ȳ a/y,  b̄ = ȳ b/y; 0 at the origin
struct Hypot {
    static constexpr std::string_view name = "hypot";
    static constexpr bool brief = true;
    template <class V> static V value(const V& a, const V& b)
    {
        using std::hypot;
        return hypot(a, b);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& a, const V&, const V& y)
    {
        return where(y == lit(0), zero_like(g), g * (a / y));
    }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V&, const V& b, const V& y)
    {
        return where(y == lit(0), zero_like(g), g * (b / y));
    }
};

/// y = max(a, b);  the cotangent goes to the larger one, half to each of two equal ones
struct Maximum {
    static constexpr std::string_view name = "maximum";
    template <class V> static V value(const V& a, const V& b) { return maximum(a, b); }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& a, const V& b, const V&)
    {
        return where(a > b, g, half(g, a, b));
    }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V& a, const V& b, const V&)
    {
        return where(b > a, g, half(g, a, b));
    }
    template <class V> static constexpr V half(const V& g, const V& a, const V& b)
    {
        return where(a == b, lit(0.5) * g, zero_like(g));
    }
};

/// y = min(a, b);  as maximum
struct Minimum {
    static constexpr std::string_view name = "minimum";
    template <class V> static V value(const V& a, const V& b) { return minimum(a, b); }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& a, const V& b, const V&)
    {
        return where(a < b, g, Maximum::half(g, a, b));
    }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V& a, const V& b, const V&)
    {
        return where(b < a, g, Maximum::half(g, a, b));
    }
};

/// y = min(max(x, l), h);  x̄ = ȳ for l ≤ x ≤ h,  l̄ = ȳ for x < l ≤ h,  h̄ = ȳ where x or l is above h
struct Clip {
    static constexpr std::string_view name = "clip";
    template <class V> static V value(const V& x, const V& l, const V& h)
    {
        return minimum(maximum(x, l), h);
    }
    template <class V>
    static constexpr V pull(wrt<0>, const V& g, const V& x, const V& l, const V& h, const V&)
    {
        return where((x >= l) && (x <= h), g, zero_like(g));
    }
    template <class V>
    static constexpr V pull(wrt<1>, const V& g, const V& x, const V& l, const V& h, const V&)
    {
        return where((x < l) && (l <= h), g, zero_like(g));
    }
    template <class V>
    static constexpr V pull(wrt<2>, const V& g, const V& x, const V& l, const V& h, const V&)
    {
        return where((x > h) || (l > h), g, zero_like(g));
    }
};

}  // namespace wengert
