// The rules of the functions of <cmath> beside those of math.hpp and trigonometry.hpp: of probability, gamma functions, roots,
// remainders.
#pragma once

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "../error_function.hpp"
#include "../number.hpp"
#include "../polygamma.hpp"
#include "rule.hpp"

namespace wengert {

namespace detail {

/// Σ 1/(x + k)ⁿ⁺¹ for k from 0 on, x > 0: some terms, and the others by the formula of Euler and Maclaurin (Abramowitz & Stegun
/// 1964, 6.4.10 and 6.4.11).
template <class V> V hurwitz_sum(unsigned n, const V& x)
{
    const auto power = [](const V& inverse, unsigned exponent) {
        V p = inverse;
        for (unsigned k = 1; k < exponent; ++k) p = p * inverse;
        return p;
    };
    V sum = power(lit(1) / x, n + 1);
    for (unsigned k = 1; k < 10 + n; ++k) sum = sum + power(lit(1) / (x + lit(k)), n + 1);
    const V w = x + lit(10 + n), inverse = lit(1) / w, u = inverse * inverse;
    double factors[bernoulli.size()], rising = 1;  // (n + 1)(n + 2)…(n + 2k − 1) / (2k)!
    for (unsigned k = 1; k <= bernoulli.size(); ++k) {
        rising *= k == 1 ? (n + 1.0) / 2 : (n + 2.0 * k - 2) * (n + 2.0 * k - 1) / ((2.0 * k - 1) * 2 * k);
        factors[k - 1] = bernoulli[k - 1] * rising;
    }
    V rest = lit(factors[std::size(factors) - 1]) * u;
    for (std::size_t k = std::size(factors) - 1; k-- > 0;) rest = (rest + lit(factors[k])) * u;
    return sum + power(inverse, n) * (lit(1.0 / n) + (lit(0.5) * inverse + rest));
}

/// ψ⁽ⁿ⁾(x) for n ≥ 1, by reflection for x < 0: ψ⁽ⁿ⁾(1 − x) = (−1)ⁿ (ψ⁽ⁿ⁾(x) + dⁿ/dxⁿ π cot πx). NaN at the poles.
template <class V> V polygamma_of(unsigned n, const V& x)
{
    using std::tan;
    const auto plus = x > lit(0);
    double factorial = n % 2 ? 1 : -1;
    for (unsigned k = 2; k <= n; ++k) factorial *= k;
    const V y = lit(factorial) * hurwitz_sum(n, V(where(plus, x, lit(1) - x)));
    const V f = x - round_even(x), cot = lit(1) / tan(lit(std::numbers::pi) * f);
    const std::vector<double> p = functions::cot_derivative(n);
    const double scale = std::pow(std::numbers::pi, n + 1.0);
    V slope = lit(scale * p.back()) * cot;
    for (std::size_t k = p.size() - 1; k-- > 1;) slope = (slope + lit(scale * p[k])) * cot;
    const V turned = lit(n % 2 ? -1 : 1) * y - (slope + lit(scale * p[0]));
    return where(plus, y, turned * (f / f));
}

}  // namespace detail

/// y = 2ˣ;  x̄ = ȳ y ln 2
struct Exp2 {
    static constexpr std::string_view name = "exp2";
    template <class V> static V value(const V& x)
    {
        using std::exp2;
        return exp2(x);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V&, const V& y)
    {
        return g * (y * lit(std::numbers::ln2));
    }
};

/// y = ∛x;  x̄ = ȳ / 3y²
struct Cbrt {
    static constexpr std::string_view name = "cbrt";
    template <class V> static V value(const V& x)
    {
        using std::cbrt;
        return cbrt(x);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V&, const V& y)
    {
        return g / (lit(3) * (y * y));
    }
};

/// y = arsinh x;  x̄ = ȳ / √(x² + 1)
struct Asinh {
    static constexpr std::string_view name = "asinh";
    template <class V> static V value(const V& x)
    {
        using std::asinh;
        return asinh(x);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V&)
    {
        using std::hypot;
        return g / hypot(x, lit(1));
    }
};

/// y = arcosh x;  x̄ = ȳ / (√(x − 1) √(x + 1)): x² − 1 cancels near 1, and overflows
struct Acosh {
    static constexpr std::string_view name = "acosh";
    template <class V> static V value(const V& x)
    {
        using std::acosh;
        return acosh(x);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V&)
    {
        using std::sqrt;
        return g / (sqrt(x - lit(1)) * sqrt(x + lit(1)));
    }
};

/// y = artanh x;  x̄ = ȳ / (1 − x²), as a product
struct Atanh {
    static constexpr std::string_view name = "atanh";
    template <class V> static V value(const V& x)
    {
        using std::atanh;
        return atanh(x);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V&)
    {
        return g / ((lit(1) - x) * (lit(1) + x));
    }
};

/// y = 1 − erf x;  x̄ = −ȳ 2/√π e^(−x²)
struct Erfc {
    static constexpr std::string_view name = "erfc";
    template <class V> static V value(const V& x)
    {
        using std::erfc;
        return erfc(x);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V&)
    {
        using std::exp;
        return g * (lit(-2 * std::numbers::inv_sqrtpi) * exp(-(x * x)));
    }
};

/// y = e^(x²) erfc x;  x̄ = ȳ (2xy − 2/√π). From 28 on that is −(1 − 3u/2 + 15u²/4 − …) u/√π, u = 1/x² (DLMF 7.12.1): the two terms cancel.
struct Erfcx {
    static constexpr std::string_view name = "erfcx";
    template <class V> static V value(const V& x) { return erfcx(x); }
    template <std::floating_point T> static T number(T x) { return detail::functions::of_number<Erfcx>(x); }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V& y)
    {
        constexpr double scale = std::numbers::inv_sqrtpi;
        const V near = lit(2) * (x * y) - lit(2 * scale);
        // where it is not wanted it must not overflow: derivatives of infinity would be NaN
        const V large = where(x > lit(28), x, lit(28)), u = lit(1) / (large * large);
        V far = lit(135135.0 / 64) * u;
        for (const double c : {10395.0 / 32, 945.0 / 16, 105.0 / 8, 15.0 / 4, 3.0 / 2})
            far = (lit(c) - far) * u;
        return g * where(x > lit(28), (far - lit(1)) * (lit(scale) * u), near);
    }
};

/// y = ψ(x);  x̄ = ȳ ψ'(x)
struct Digamma {
    static constexpr std::string_view name = "digamma";
    template <class V> static V value(const V& x) { return digamma(x); }
    template <std::floating_point T> [[gnu::noinline]] static T number(T x) { return polygamma(0U, x); }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V&)
    {
        if constexpr (std::is_same_v<V, Uses>)
            return g * x;
        else
            return g * detail::polygamma_of(1, x);
    }
};

/// y = ln |Γ(x)|;  x̄ = ȳ ψ(x)
struct Lgamma {
    static constexpr std::string_view name = "lgamma";
    template <class V> static V value(const V& x)
    {
        using std::lgamma;
        return lgamma(x);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V&)
    {
        return g * digamma(x);
    }
};

/// y = Γ(x);  x̄ = ȳ y ψ(x)
struct Tgamma {
    static constexpr std::string_view name = "tgamma";
    template <class V> static V value(const V& x)
    {
        using std::tgamma;
        return tgamma(x);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V& y)
    {
        return g * (y * digamma(x));
    }
};

/// y = a − b n with n = trunc(a/b);  ā = ȳ,  b̄ = −ȳ n
struct Fmod {
    static constexpr std::string_view name = "fmod";
    static constexpr bool linear = true;  ///< in pieces, as far as derivatives go
    template <class V> static V value(const V& a, const V& b)
    {
        using std::fmod;
        return fmod(a, b);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V&, const V&, const V&) { return g; }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V& a, const V& b, const V& y)
    {
        return -(g * round_even((a - y) / b));
    }
};

/// y = a − b n, n next to a/b;  ā = ȳ,  b̄ = −ȳ n
struct Remainder {
    static constexpr std::string_view name = "remainder";
    static constexpr bool linear = true;  ///< in pieces, as far as derivatives go
    template <class V> static V value(const V& a, const V& b)
    {
        using std::remainder;
        return remainder(a, b);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V&, const V&, const V&) { return g; }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V& a, const V& b, const V& y)
    {
        return -(g * round_even((a - y) / b));
    }
};

}  // namespace wengert
