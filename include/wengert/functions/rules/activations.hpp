// The rules of the functions that networks are made of. Each is one loop, stable at both ends.
#pragma once

#include <cmath>
#include <concepts>
#include <numbers>

#include "rule.hpp"

namespace wengert {

/// 1/(1 + e⁻ˣ), of numbers and lanes; e^(−|x|) neither overflows nor loses the lower tail.
template <class V> V logistic(const V& x)
{
    using std::abs, std::exp;
    const V e = exp(-abs(x));
    return where(x < lit(0), e, lit(1)) / (lit(1) + e);
}

/// y = 1/(1 + e⁻ˣ);  x̄ = ȳ y (1 − y)
struct Sigmoid {
    static constexpr std::string_view name = "sigmoid";
    static constexpr double divisions = 1;
    template <class V> static V value(const V& x) { return logistic(x); }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V&, const V& y)
    {
        return g * (y * (lit(1) - y));
    }
};

/// y = ln(1 + eˣ) = max(x, 0) + ln(1 + e^(−|x|));  x̄ = ȳ (1 − e⁻ʸ), which is ȳ sigmoid x
struct Softplus {
    static constexpr std::string_view name = "softplus";
    template <class V> static V value(const V& x)
    {
        using std::abs, std::exp, std::log1p;
        return maximum(x, lit(0)) + log1p(exp(-abs(x)));
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V&, const V& y)
    {
        using std::expm1;
        return -(g * expm1(-y));
    }
};

/// y = max(x, 0);  x̄ = ȳ where y > 0, else 0
struct Relu {
    static constexpr std::string_view name = "relu";
    template <class V> static V value(const V& x) { return maximum(x, lit(0)); }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V&, const V& y)
    {
        return where(y > lit(0), g, zero_like(g));
    }
};

/// φ(x) = e^(−x²/2) / √2π
template <class V> constexpr V normal_density(const V& x)
{
    using std::exp;
    return lit(std::numbers::inv_sqrtpi / std::numbers::sqrt2) * exp(lit(-0.5) * (x * x));
}

/// Φ(x) = erfc(−x / √2) / 2
template <class V> V normal_cdf_by_erfc(const V& x)
{
    using std::erfc;
    return V(0.5) * erfc(x * V(-std::numbers::sqrt2 / 2));
}

/// y = Φ(x), the distribution function of the normal distribution;  x̄ = ȳ φ(x)
struct NormalCdf {
    static constexpr std::string_view name = "normal_cdf";
    template <class V> static V value(const V& x) { return normal_cdf(x); }
    template <std::floating_point T> static T number(T x) { return normal_cdf_by_erfc(x); }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V&)
    {
        return g * normal_density(x);
    }
};

/// y = x Φ(x);  x̄ = ȳ (Φ(x) + x φ(x)), φ the density of Φ (Hendrycks & Gimpel 2016, the exact form)
struct Gelu {
    static constexpr std::string_view name = "gelu";
    template <class V> static V value(const V& x) { return x * normal_cdf(x); }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V&)
    {
        return g * (normal_cdf(x) + x * normal_density(x));
    }
};

/// y = x sigmoid x;  x̄ = ȳ s (1 + x (1 − s)), s = sigmoid x
struct Silu {
    static constexpr std::string_view name = "silu";
    template <class V> static V value(const V& x) { return x * logistic(x); }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V&)
    {
        const V s = sigmoid(x);
        return g * (s * (lit(1) + x * (lit(1) - s)));
    }
};

}  // namespace wengert
