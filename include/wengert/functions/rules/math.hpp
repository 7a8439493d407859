// The rules of functions of one number: powers, exponentials, logarithms, rounding. ops/elementwise/math.hpp applies them to tensors.
//
// A rule saves what it reads and no more: of exp, sqrt, tanh and their like that is the result y alone.
#pragma once

#include <cmath>
#include <cstdlib>
#include <numbers>

#include "rule.hpp"

namespace wengert {

/// y = x²;  x̄ = 2 ȳ x
struct Square {
    static constexpr std::string_view name = "square";
    template <class V> static V value(const V& x) { return wrapping_multiply(x, x); }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V&)
    {
        return g * (lit(2) * x);
    }
};

/// y = √x;  x̄ = ȳ (½ / y): the division need not wait for ȳ
struct Sqrt {
    static constexpr std::string_view name = "sqrt";
    template <class V> static V value(const V& x)
    {
        using std::sqrt;
        return sqrt(x);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V&, const V& y)
    {
        return g * (lit(0.5) / y);
    }
};

/// y = 1/x;  x̄ = −ȳ y²
struct Reciprocal {
    static constexpr std::string_view name = "reciprocal";
    template <class V> static V value(const V& x) { return lit(1) / x; }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V&, const V& y)
    {
        return -(g * y * y);
    }
};

/// y = eˣ;  x̄ = ȳ y
struct Exp {
    static constexpr std::string_view name = "exp";
    template <class V> static V value(const V& x)
    {
        using std::exp;
        return exp(x);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V&, const V& y) { return g * y; }
};

/// y = eˣ − 1;  x̄ = ȳ eˣ. Where that is small, nothing is left of it in y + 1.
struct Expm1 {
    static constexpr std::string_view name = "expm1";
    template <class V> static V value(const V& x)
    {
        using std::expm1;
        return expm1(x);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V&)
    {
        using std::exp;
        return g * exp(x);
    }
};

/// y = ln x;  x̄ = ȳ / x
struct Log {
    static constexpr std::string_view name = "log";
    template <class V> static V value(const V& x)
    {
        using std::log;
        return log(x);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V&) { return g / x; }
};

/// y = ln(1 + x);  x̄ = ȳ / (1 + x)
struct Log1p {
    static constexpr std::string_view name = "log1p";
    template <class V> static V value(const V& x)
    {
        using std::log1p;
        return log1p(x);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V&)
    {
        return g / (lit(1) + x);
    }
};

/// y = log₂ x;  x̄ = ȳ / (x ln 2)
struct Log2 {
    static constexpr std::string_view name = "log2";
    template <class V> static V value(const V& x)
    {
        using std::log2;
        return log2(x);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V&)
    {
        return g / (x * lit(std::numbers::ln2));
    }
};

/// y = log₁₀ x;  x̄ = ȳ / (x ln 10)
struct Log10 {
    static constexpr std::string_view name = "log10";
    template <class V> static V value(const V& x)
    {
        using std::log10;
        return log10(x);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V&)
    {
        return g / (x * lit(std::numbers::ln10));
    }
};

/// y = erf x;  x̄ = ȳ 2/√π e^(−x²)
struct Erf {
    static constexpr std::string_view name = "erf";
    template <class V> static V value(const V& x)
    {
        using std::erf;
        return erf(x);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V&)
    {
        using std::exp;
        return g * (lit(2 * std::numbers::inv_sqrtpi) * exp(-(x * x)));
    }
};

/// y = |x|;  x̄ = ȳ sign x, which is 0 at 0
struct Abs {
    static constexpr std::string_view name = "abs";
    template <class V> static V value(const V& x)
    {
        using std::abs;
        if constexpr (Wrapping<V>)
            return x < 0 ? wrapping_negate(x) : x;  // the least integer has no |x|: it stays
        else
            return abs(x);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V&)
    {
        return g * sign(x);
    }
};

/// −1, 0 or 1, NaN for NaN; flat: no gradient, as all that follow.
struct Sign {
    static constexpr std::string_view name = "sign";
    template <class V> static V value(const V& x) { return sign(x); }
};
struct Floor {
    static constexpr std::string_view name = "floor";
    template <class V> static V value(const V& x)
    {
        using std::floor;
        return floor(x);
    }
};
struct Ceil {
    static constexpr std::string_view name = "ceil";
    template <class V> static V value(const V& x)
    {
        using std::ceil;
        return ceil(x);
    }
};
/// The whole number next to x towards 0.
struct Trunc {
    static constexpr std::string_view name = "trunc";
    template <class V> static V value(const V& x)
    {
        using std::ceil, std::floor;
        return where(x < lit(0), V(ceil(x)), V(floor(x)));
    }
};
struct Round {
    static constexpr std::string_view name = "round";
    template <class V> static V value(const V& x) { return round_even(x); }
};

}  // namespace wengert
