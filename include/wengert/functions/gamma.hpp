// The gamma function, its logarithm and the derivative of that. Approximations were computed with mpmath at 50 digits, at the Chebyshev
// nodes of their ranges.
#pragma once

#include "logarithm.hpp"

#include <vector>

namespace wengert::detail::functions {

/// dⁿ/dxⁿ cot x as the coefficients of a polynomial in cot x: each derivative is −p'(c) (1 + c²).
inline std::vector<double> cot_derivative(unsigned n)
{
    std::vector<double> p{0, 1};
    for (unsigned k = 0; k < n; ++k) {
        std::vector<double> q(p.size() + 1);
        for (std::size_t i = 1; i < p.size(); ++i) {
            q[i - 1] -= static_cast<double>(i) * p[i];
            q[i + 1] -= static_cast<double>(i) * p[i];
        }
        p = std::move(q);
    }
    return p;
}

/// sin πf for |f| ≤ ½.
template <class V> [[gnu::always_inline]] inline V sin_pi(V f)
{
    const V z = f * f;
    if constexpr (is_double<V>)
        return f * poly(z, 3.14159265358979324, -5.16771278004996961, 2.55016403987730047,
                        -0.599264529318944681, 0.082145886573102895, -0.00737043050591693944,
                        0.000466299816189839333, -0.0000219034970746259105, 7.6978267682231864e-7);
    else
        return f * poly(z, 3.14159264F, -5.16771008F, 2.55007739F, -0.598290411F, 0.0776559123F);
}

/// ln Γ(1 + w) / (w (w − 1)) for 0 ≤ w ≤ 2; no coefficient is negative, so nothing cancels.
template <class V> [[gnu::always_inline]] inline V log_gamma_factor(V w)
{
    if constexpr (is_double<V>)
        return poly(w, 0.577215664901532858, 1.79587901899792793, 2.18653344189370549, 1.32268836812280773,
                    0.417525368104857566, 0.0662065241437298086, 0.00463021254704602723,
                    0.000103189367868462415, 1.54621296801623994e-7) /
               poly(w, 1.0, 3.53616596297452141, 5.02125790066125084, 3.67222175521075026,
                    1.47710045229590447, 0.323976917346057596, 0.0361388444712140058, 0.00174636810064529041,
                    0.0000247018522190908336);
    else
        return poly(w, 0.577215664F, 0.81179875F, 0.317245026F, 0.0319169754F, 0.000214915718F) /
               poly(w, 1.0F, 1.83129137F, 1.05842293F, 0.211346269F, 0.0107079833F);
}
/// 1/Γ(2 + t) for 0 ≤ t < 1; 1 for t = 0.
template <class V> [[gnu::always_inline]] inline V reciprocal_gamma(V t)
{
    V p;
    if constexpr (is_double<V>)
        p = poly(t, -0.422784335098467141, -0.233093736421786128, 0.191091101387650306,
                 -0.0245524900042827718, -0.0176452445663397537, 0.00802327316624488959,
                 -0.000804330624560432214, -0.000360834334237242286, 0.000145585917593581482,
                 -0.0000175240267752818267, -2.6230633207283595e-6, 1.37713145754302584e-6,
                 -2.36739960926336714e-7, 1.72767840871959874e-8);
    else
        p = poly(t, -0.422784334F, -0.233093793F, 0.19109122F, -0.024543651F, -0.0177204478F, 0.0082748498F,
                 -0.00122385154F);
    return fma(t, p, V(NumberOf<V>(1)));
}
/// What Stirling's formula lacks: 1/(12x) − 1/(360x³) + …, for x ≥ 10 (Abramowitz & Stegun 1964, 6.1.41).
template <class V> [[gnu::always_inline]] inline V stirling_rest(V x)
{
    const V inverse = lit(1) / x, u = inverse * inverse;
    if constexpr (is_double<V>)
        return inverse *
               poly(u, 1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360, 1.0 / 156);
    else
        return inverse * poly(u, 1.0F / 12, -1.0F / 360, 1.0F / 1260);
}

/// ln Γ(x) for x > 0: of x + 1 below 1, of x − n below 10, and by Stirling's formula.
template <class V> [[gnu::always_inline]] inline V log_gamma_of_positive(V x)
{
    using T = NumberOf<V>;
    const V one(T(1));
    const auto small = x < lit(1), far = x >= lit(10);
    V z = x, powers = one;
    for (int k = 0; k < 7; ++k) {
        const auto above = z >= lit(3);
        z = where(above, z - one, z);
        powers = where(above, powers * z, powers);
    }
    const V w = where(small, x, z - one), less = where(small, x - one, z - lit(2));
    const V l = log(where(small | far, x, powers));
    const V near = fma(w * less, log_gamma_factor(w), where(small, -l, l));
    const V stirling = (x - lit(0.5)) * (l - one) + (lit(0.41893853320467274178) + stirling_rest(x));
    return where(far, stirling, near);
}

/// x = n + f with whole n and |f| ≤ ½; f is 0 at the poles, which are all whole x ≤ 0.
template <class V> struct FromPole {
    V f;
    typename V::Mask odd;
    [[gnu::always_inline]] explicit FromPole(V x)
    {
        const V n = round_even(x), half = lit(0.5) * n;
        f = x - n;
        odd = round_even(half) != half;
    }
};

/// ln |Γ(x)|; ln π − ln |sin πx| − ln Γ(1 − x) for x < 0, −ln |x| next to 0.
template <> struct Approximation<Lgamma> {
    template <class V> [[gnu::always_inline]] static V of(V x)
    {
        using T = NumberOf<V>;
        const V inf(std::numeric_limits<T>::infinity());
        const auto minus = x < lit(0);
        const V y = log_gamma_of_positive(where(minus, lit(1) - x, x));
        const V f = FromPole<V>(x).f;
        const auto beside = abs(x) < V(either<V>(0x1p-100, 0x1p-50F));
        const V ln_pi = where(beside, V(T(0)), V(T(1.1447298858494001741)));
        const V turned = (ln_pi - log(abs(where(beside, x, sin_pi(f))))) - y;
        return where(minus, where((f == lit(0)) | (x == -inf), inf, turned), y);
    }
};

/// (x − ½) ln x − x + ½ ln 2π and Stirling's rest, as a pair: ln Γ(x) for x ≥ 12.
template <class V> [[gnu::always_inline]] inline Pair<V> log_gamma_pair(V x)
{
    const Pair<V> l = log_pair(x);
    const V m = x - lit(0.5);
    const Pair<V> p = product(m, l.hi), less = exact_sum(p.hi, -x);
    const Pair<V> sum = exact_sum(less.hi, V(either<V>(0x1.d67f1c864beb5p-1, 0x1.d67f1cp-1F)));
    const V low(either<V>(-0x1.65b5a1b7ff5dfp-55, 0x1.0c97d6p-26F));
    return ordered_sum(sum.hi, sum.lo + (less.lo + (fma(m, l.lo, p.lo) + (low + stirling_rest(x)))));
}

/// Γ(a + 1) for 0 ≤ a < 2, Γ(a) for 2 ≤ a < 12: the product (a − 1)(a − 2)… down to 2 as a pair, by Γ in [2, 3).
template <class V> [[gnu::always_inline]] inline V gamma_near(V a)
{
    using T = NumberOf<V>;
    const V one(T(1)), zero(T(0));
    V z = a;
    Pair<V> factors{one, zero};
    for (int k = 0; k < 9; ++k) {
        const auto above = z >= lit(3);
        const V next = z - one;
        const Pair<V> p = product(factors.hi, next);
        z = where(above, next, z);
        factors = {where(above, p.hi, factors.hi), where(above, fma(factors.lo, next, p.lo), factors.lo)};
    }
    const auto first = a < lit(1);
    const V t = where(first, a, where(a < lit(2), a - one, z - lit(2)));
    return (factors.hi + factors.lo) / (reciprocal_gamma(t) * where(first, a + one, one));
}

/// Γ(x); −π/(a sin πa Γ(a)) for x = −a < 0.
template <> struct Approximation<Tgamma> {
    template <class V> [[gnu::always_inline]] static V of(V x)
    {
        using T = NumberOf<V>;
        const V nan(std::numeric_limits<T>::quiet_NaN()), one(T(1)), a = abs(x);
        const auto minus = x < lit(0), near = a < lit(12);
        const V base = gamma_near(where(near, a, one));
        const auto beside = a < lit(2);  // base is a Γ(a)
        const FromPole<V> at(a);
        const V sine = sin_pi(where(at.odd, -at.f, at.f));
        const V near_value = where(minus, V(T(-std::numbers::pi)) / (sine * where(beside, base, a * base)),
                                   where(beside, base / x, base));
        // beyond all finite results; its exponent is rounded to the result's after the division by the sine, which may be tiny
        const V b = at_most(a, V(either<V>(200, 60)));
        const Pair<V> l = log_gamma_pair(where(near, V(T(12)), b));
        const Unscaled<V> e =
            exp_of_pair_unscaled(Pair<V>{where(minus, -l.hi, l.hi), where(minus, -l.lo, l.lo)});
        const V far_value = scaled(e.y * where(minus, V(T(-std::numbers::pi)) / (a * sine), one), e.n);
        const V y = where(near, near_value, far_value);
        return where((minus & (at.f == lit(0))) | (x != x), nan, y);
    }
};

/// ψ(x) for x > 0 by its asymptotic series (6.3.18), of x + 10 below 16.
template <class V> [[gnu::always_inline]] inline V digamma_of_positive(V x)
{
    using T = NumberOf<V>;
    const auto near = x < lit(16);
    V sum = lit(1) / x;
    for (int k = 1; k < 10; ++k) sum = sum + lit(1) / (x + lit(k));
    const V w = where(near, x + lit(10), x), inverse = lit(1) / w, u = inverse * inverse;
    const V series = u * poly(u, either<V>(1.0 / 12, 1.0F / 12), either<V>(-1.0 / 120, -1.0F / 120),
                              either<V>(1.0 / 252, 1.0F / 252), either<V>(-1.0 / 240, -1.0F / 240),
                              either<V>(1.0 / 132, 1.0F / 132), either<V>(-691.0 / 32760, -691.0F / 32760),
                              either<V>(1.0 / 12, 1.0F / 12));
    return (log(w) - (lit(0.5) * inverse + series)) - where(near, sum, V(T(0)));
}
/// ψ(x), for x < 0 ψ(1 − x) − π cot πx.
template <> struct Approximation<Digamma> {
    template <class V> [[gnu::always_inline]] static V of(V x)
    {
        using T = NumberOf<V>;
        const auto minus = x < lit(0);
        const V y = digamma_of_positive(where(minus, lit(1) - x, x));
        const V f = FromPole<V>(x).f;
        const V cot = copysign(sin_pi(lit(0.5) - abs(f)), f) / abs(sin_pi(f));
        const V nan(std::numeric_limits<T>::quiet_NaN());
        const V turned = where(f == lit(0), nan, y - V(T(std::numbers::pi)) * cot);
        return where(x == lit(0), nan, where(minus, turned, y));
    }
};

}  // namespace wengert::detail::functions
