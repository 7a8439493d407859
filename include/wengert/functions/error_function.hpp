// erf and the distribution function of the normal distribution. The coefficients interpolate at the Chebyshev nodes (computed
// with mpmath at 60 digits).
#pragma once

#include "logarithm.hpp"

#include <numbers>

namespace wengert::detail::functions {

/// erf x = x p(x²) on |x| < 1.
template <class V> [[gnu::always_inline]] inline V erf_near(V x)
{
    const V z = x * x;
    V p;
    if constexpr (is_double<V>)
        p = poly(z, 1.128379167095512567, -0.3761263890318354044, 0.1128379167094500627,
                 -0.02686617064323777036, 0.005223977607116422732, -0.0008548325975389692081,
                 0.0001205529490483970792, -0.00001492473690741966034, 1.644742470331736241e-6,
                 -1.62084838018717059e-7, 1.37200645467776856e-8, -7.795898827002142242e-10);
    else
        p = poly(z, 1.1283791658F, -0.37612626667F, 0.11283594715F, -0.026854212011F, 0.0051890874234F,
                 -0.00080168642872F, 7.8758750627e-5F);
    return x * p;
}

/// q(t) with erfc a = e^(−a²) q(t), t = (a − 2)/(a + 2), for 1 ≤ a ≤ 6 (double) or 4 (float).
template <class V> [[gnu::always_inline]] inline V erfc_factor(V a)
{
    const V t = (a - lit(2)) / (a + lit(2));
    if constexpr (is_double<V>)
        return poly(t, 0.255395676310505745, -0.427185847413957885, 0.241658194242469857,
                    -0.0789785810158525347, 0.00373289240349223978, 0.00699746174775357363,
                    -0.000847143198076042359, -0.000981977320813102272, 0.0000435542024527058955,
                    0.000174366972329468635, 0.0000275431281856667173, -0.0000276473054436100538,
                    -0.0000140675326945820577, 1.82014319597500905e-6, 3.91705929992538851e-6);
    else
        return poly(t, 0.25539564033F, -0.42718588829F, 0.24166402506F, -0.078971952294F, 0.0035926707007F,
                    0.0068373667876F);
}

/// erf a = 1 − erfc a for a ≥ 1; 1 from `far` on.
template <class V> [[gnu::always_inline]] inline V erf_far(V a)
{
    const V far(NumberOf<V>(is_double<V> ? 6 : 4));
    a = where(a > far, far, a);
    return lit(1) - exp_scaled(-(a * a)) * erfc_factor(a);
}

template <> struct Approximation<Erf> {
    template <class V> [[gnu::always_inline]] static V of(V x)
    {
        const V a = abs(x), near = erf_near(x);
        const auto is_near = a < lit(1);
        if (all(is_near)) return near;
        return where(is_near, near, copysign(erf_far(a), x));
    }
};

/// (1 + 2a) e^(a²) erfc a as a polynomial in t, for ½ ≤ a ≤ 28 (double, t = (a − 3.5)/(a + 3.5)) or 11 (float, 2.5 for 3.5).
template <class V> [[gnu::always_inline]] inline V erfc_tail(V a)
{
    const V middle(either<V>(3.5, 2.5F)), t = (a - middle) / (a + middle);
    if constexpr (is_double<V>)
        return poly(t, 1.24234924487115438, -0.140009180137619396, -0.0105555963322181511,
                    0.0975190951532556251, -0.115089598160200428, 0.0879831538249757044,
                    -0.0488233258276966691, 0.019099330940566693, -0.00421501991038493299,
                    -0.000302267860928498048, 0.000564384437084272075, -0.000121512508708438758,
                    -0.0000427823206222095348, 0.0000242612207164445181, 2.32856256170498844e-6,
                    -3.81499107670057615e-6, -4.46628320517784678e-8, 6.00951725853741011e-7,
                    -7.54505569345448426e-9, -9.36127336514781469e-8, 4.27832983005064325e-10,
                    1.05916223514253991e-8);
    else
        return poly(t, 1.26483818F, -0.122356775F, -0.0990245053F, 0.157630507F, -0.102967841F, 0.0327529344F,
                    0.000938151865F, -0.00433747645F, 0.000471102223F, 0.000519635288F, -6.18182152e-5F);
}

/// 1 − erf x, with the relative accuracy of any other number down to the smallest ones: e^(−x²) of x² as a pair, as what x²
/// loses by rounding would be multiplied by x² in the result.
template <> struct Approximation<Erfc> {
    template <class V> [[gnu::always_inline]] static V of(V x)
    {
        const V a = abs(x), b = at_most(a, V(either<V>(28, 10.5F)));
        const Pair<V> square = product(b, b);
        const Unscaled<V> e = exp_of_pair_unscaled(Pair<V>{-square.hi, -square.lo});
        const V tail = scaled(e.y * (erfc_tail(b) / (lit(1) + (b + b))), e.n);
        return where(a < lit(0.5), lit(1) - erf_near(x), where(x < lit(0), lit(2) - tail, tail));
    }
};

/// e^(a²) erfc a beyond erfc_tail: (1 − u/2 + 3u²/4 − …)/(a √π), u = 1/a² (DLMF 7.12.1). The error is less than the first term that is
/// left out, 6e−18 at 28 and 2e−9 at 10.5.
template <class V> [[gnu::always_inline]] inline V erfcx_far(V a)
{
    const V u = lit(1) / (a * a), root = lit(std::numbers::inv_sqrtpi) / a;
    if constexpr (is_double<V>)
        return root * poly(u, 1, -0.5, 0.75, -1.875, 6.5625, -29.53125, 162.421875);
    else
        return root * poly(u, 1.0F, -0.5F, 0.75F, -1.875F, 6.5625F);
}
/// e^(x²) erfc x: of x < 0 it is 2e^(x²) − e^(x²) erfc(−x). x² is a pair, as in erfc.
template <> struct Approximation<Erfcx> {
    template <class V> [[gnu::always_inline]] static V of(V x)
    {
        const V a = abs(x), last(either<V>(28, 10.5F)), b = at_most(a, last);
        const V e = exp_of_pair(product(b, b));
        const V tail = where(a > last, erfcx_far(a), erfc_tail(b) / (lit(1) + (b + b)));
        const V outer = where(x < lit(0), (e + e) - tail, tail);
        return where(a < lit(0.5), e * (lit(1) - erf_near(x)), outer);
    }
};

/// e^(−x²/2) for |x| ≤ 64. What x² loses by rounding would be multiplied by x²/2 in the result, so it is computed
/// (Dekker 1971: the product of x split in two halves, exact without FMA).
template <class V> [[gnu::always_inline]] inline V exp_half_square(V x)
{
    const V c = x * V(FormatOf<V>::splitter);
    const V hi = c - (c - x), lo = x - hi;
    const V square = x * x;
    const V lost = ((hi * hi - square) + lit(2) * (hi * lo)) + lo * lo;
    const V y = exp_scaled(lit(-0.5) * square);
    return y - y * (lit(0.5) * lost);
}

/// q(t) of erfc_factor for a ≥ 6 (double) or 4 (float): 1/a p(1/a²), where p(0) is 1/√π (DLMF 7.12.1 without its divergence).
template <class V> [[gnu::always_inline]] inline V erfc_factor_far(V a)
{
    const V r = lit(1) / a, u = r * r;
    if constexpr (is_double<V>)
        return r * poly(u, 0.564189583547756233, -0.282094791773488414, 0.423142187194752511,
                        -1.05785525168861198, 3.70244223151878972, -16.6540318917522584, 91.0202754790315016,
                        -562.00400908097196, 3294.96194420645899, -12181.5913755642748);
    else
        return r * poly(u, 0.56418956837F, -0.28208257887F, 0.42152862818F, -0.98029978073F, 2.0427463117F);
}

/// Φ = ½ erfc(−x/√2), by erf's two polynomials and the one beyond: accurate relative to itself in its lower tail, too:
/// 12 ULP, as long as Φ is a normal number.
template <> struct Approximation<NormalCdf> {
    template <class V> [[gnu::always_inline]] static V of(V x)
    {
        using T = NumberOf<V>;
        const V far(T(is_double<V> ? 6 : 4)), limit(T(64));
        const V s = where(abs(x) > limit, copysign(limit, x), x);
        const V z = s * lit(std::numbers::sqrt2 / 2), a = abs(z);
        const auto is_far = a > far;
        V q = erfc_factor(where(is_far, far, a));
        if (!all(!is_far)) q = where(is_far, erfc_factor_far(where(is_far, a, far)), q);
        const V tail = lit(0.5) * exp_half_square(s) * q;
        const V outer = where(x < lit(0), tail, lit(1) - tail);
        return where(a < lit(1), lit(0.5) + lit(0.5) * erf_near(z), outer);
    }
};

}  // namespace wengert::detail::functions
