// The rules of functions of probabilities and of their logarithms: each in a form that neither overflows nor cancels.
#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <numbers>

#include "rule.hpp"

namespace wengert {

namespace detail {

template <class V, std::size_t n> V horner(const V& x, const double (&c)[n])
{
    V p = lit(c[0]) * x + lit(c[1]);
    for (std::size_t k = 2; k < n; ++k) p = p * x + lit(c[k]);
    return p;
}

/// erf⁻¹(x)/x by w = −ln(1 − x²) (Giles 2012, "Approximating the erfinv function", table 3): w < 6.25, < 16, and beyond.
template <class V> V erfinv_factor(const V& w)
{
    using std::sqrt;
    constexpr double near[] = {
        -3.6444120640178196996e-21, -1.685059138182016589e-19,  1.2858480715256400167e-18,
        1.115787767802518096e-17,   -1.333171662854620906e-16,  2.0972767875968561637e-17,
        6.6376381343583238325e-15,  -4.0545662729752068639e-14, -8.1519341976054721522e-14,
        2.6335093153082322977e-12,  -1.2975133253453532498e-11, -5.4154120542946279317e-11,
        1.051212273321532285e-09,   -4.1126339803469836976e-09, -2.9070369957882005086e-08,
        4.2347877827932403518e-07,  -1.3654692000834678645e-06, -1.3882523362786468719e-05,
        0.0001867342080340571352,   -0.00074070253416626697512, -0.0060336708714301490533,
        0.24015818242558961693,     1.6536545626831027356};
    constexpr double middle[] = {
        2.2137376921775787049e-09, 9.0756561938885390979e-08, -2.7517406297064545428e-07,
        1.8239629214389227755e-08, 1.5027403968909827627e-06, -4.013867526981545969e-06,
        2.9234449089955446044e-06, 1.2475304481671778723e-05, -4.7318229009055733981e-05,
        6.8284851459573175448e-05, 2.4031110387097893999e-05, -0.0003550375203628474796,
        0.00095328937973738049703, -0.0016882755560235047313, 0.0024914420961078508066,
        -0.0037512085075692412107, 0.005370914553590063617,   1.0052589676941592334,
        3.0838856104922207635};
    constexpr double far[] = {
        -2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09,
        -3.7894654401267369937e-09, 7.6157012080783393804e-09,  -1.4960026627149240478e-08,
        2.9147953450901080826e-08,  -6.7711997758452339498e-08, 2.2900482228026654717e-07,
        -9.9298272942317002539e-07, 4.5260625972231537039e-06,  -1.9681778105531670567e-05,
        7.5995277030017761139e-05,  -0.00021503011930044477347, -0.00013871931833623122026,
        1.0103004648645343977,      4.8499064014085844221};
    const V root = sqrt(w);
    const V tail = where(w < lit(16), horner(V(root - lit(3.25)), middle), horner(V(root - lit(5)), far));
    return where(w < lit(6.25), horner(V(w - lit(3.125)), near), tail);
}

}  // namespace detail

/// y = erf⁻¹ x;  x̄ = ȳ √π/2 e^(y²)
struct Erfinv {
    static constexpr std::string_view name = "erfinv";
    template <class V> static V value(const V& x)
    {
        using std::abs, std::log;
        const V w = -log((lit(1) - x) * (lit(1) + x)), y = x * detail::erfinv_factor(w);
        return where(V(abs(x)) == lit(1), x * lit(std::numeric_limits<double>::infinity()), y);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V&, const V& y)
    {
        using std::exp;
        return g * (lit(0.5 / std::numbers::inv_sqrtpi) * exp(y * y));
    }
};

/// y = −ln(1 + e⁻ˣ) = min(x, 0) − ln(1 + e^(−|x|));  x̄ = ȳ (1 − eʸ)
struct LogSigmoid {
    static constexpr std::string_view name = "log_sigmoid";
    template <class V> static V value(const V& x)
    {
        using std::abs, std::exp, std::log1p;
        return minimum(x, lit(0)) - log1p(exp(-abs(x)));
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V&, const V& y)
    {
        using std::expm1;
        return -(g * expm1(y));
    }
};

/// y = ln(eᵃ + eᵇ) = max(a, b) + ln(1 + e^(−|a − b|));  ā = ȳ sigmoid(a − b),  b̄ = ȳ sigmoid(b − a)
struct LogAddExp {
    static constexpr std::string_view name = "logaddexp";
    template <class V> static V value(const V& a, const V& b)
    {
        using std::abs, std::exp, std::log1p;
        return where(a == b, a + lit(std::numbers::ln2), maximum(a, b) + log1p(exp(-abs(V(a - b)))));
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& a, const V& b, const V&)
    {
        return share(g, a, b);
    }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V& a, const V& b, const V&)
    {
        return share(g, b, a);
    }
    /// Halves where two equal infinities meet.
    template <class V> static constexpr V share(const V& g, const V& a, const V& b)
    {
        const V part = g * sigmoid(V(a - b));
        return where(a == b, where(is_finite(a), part, lit(0.5) * g), part);
    }
};

/// y = a ln b, 0 where a is 0;  ā = ȳ ln b (0 where a is 0 and b ≤ 0),  b̄ = ȳ a/b (0 likewise)
struct Xlogy {
    static constexpr std::string_view name = "xlogy";
    template <class V> static V value(const V& a, const V& b)
    {
        using std::log;
        return where((a == lit(0)) && !is_nan(b), zero_like(a), a * log(b));
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& a, const V& b, const V&)
    {
        using std::log;
        return where((a == lit(0)) && (b <= lit(0)), zero_like(g), g * log(b));
    }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V& a, const V& b, const V&)
    {
        return where((a == lit(0)) && (b <= lit(0)), zero_like(g), g * (a / b));
    }
};

}  // namespace wengert
