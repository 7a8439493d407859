#pragma once

#include "lane_exp.hpp"
#include "lane_trig.hpp"

/// Largest error seen, in units of the last place against 80-bit long double, over 300,000 arguments: all bit
/// patterns at random, uniform ranges from ±1 to ±10⁹, multiples of π/2, and the edges (±0, ±inf, NaN,
/// denormals, overflow thresholds), for which results are those of C's Annex F. The worst of AVX-512,
/// AVX2+FMA and SSE2, g++ 12 and clang 16. Time: ns an element, AVX-512 (AVX2) at -O2, 1,024 elements in L1.
///
///             double  float    ns double     ns float
///   exp        1.09    1.05   0.76 (1.28)   0.29 (0.48)
///   expm1      1.77    1.60   0.59 (1.24)   0.23 (0.45)
///   log        0.77    0.77   0.88 (1.67)   0.39 (0.69)
///   log1p      0.77    0.77   1.22 (2.36)   0.53 (0.99)
///   log2       1.60    1.63   0.92 (1.74)   0.40 (0.73)
///   log10      1.71    1.85   0.96 (1.82)   0.41 (0.79)
///   sin        2.13    1.63   0.86 (1.81)   0.38 (0.68)   C library beyond |x| = 1e9 (double), 1e4 (float)
///   cos        2.11    1.80   0.89 (1.72)   0.39 (0.67)   likewise
///   tan        3.17    3.04   0.97 (1.68)   0.41 (0.69)   likewise
///   asin       1.12    2.24   1.85 (1.68)   0.22 (0.35)   xsimd's
///   acos       1.19    1.22   2.55 (2.72)   0.42 (0.79)   xsimd's
///   atan       1.84    2.19   1.61 (1.52)   0.35 (0.57)   xsimd's
///   sinh       1.55    1.58   1.39 (2.06)   0.51 (0.77)
///   cosh       1.53    1.43   1.00 (1.52)   0.39 (0.57)
///   tanh       2.31    2.23   0.81 (1.29)   0.30 (0.49)
///   erf        1.79    2.53   0.35 (0.60)   0.12 (0.22)   where all |x| < 1; 1.30 and 0.50 elsewhere
///   hypot      1.13    1.16   0.77 (1.08)   0.25 (0.51)
///   pow        0.50    0.68   12.3          5.7           C library by element; x² in plain arithmetic
///   atan2      2.50    2.38   2.14 (-)      0.53 (-)      xsimd's, but for 0/0 and inf/inf
///
/// Of xsimd 8.1's own, these were wrong or worse than 4: exp and expm1 (overflow early, no denormal results),
/// log of denormals, double sin, cos and tan near multiples of π/2 (25,000), double erf (68; NaN from 1e108
/// on), pow, hypot, atan2 of (0, 0) and (inf, inf), floor(−0) on SSE2; and its != is false for NaN, its ^ of
/// AVX-512 masks is |.
namespace wengert {

namespace lane_math {

/// The powers that need no logarithm, in plain arithmetic; everything else is the C library's.
template <class T, class A> inline T scalar_pow(T x, T y)
{
    if (y == T(2)) return x * x;
    if (y == T(1)) return x;
    if (y == T(-1)) return T(1) / x;
    return std::pow(x, y);
}

template <class T, class A> Lane<T, A> pow(Lane<T, A> x, Lane<T, A> y)
{
    if (all(y == Lane<T, A>(T(2)))) return x * x;
    return by_lane([](T a, T b) { return scalar_pow<T, A>(a, b); }, x, y);
}

/// erf x = x p(x²) on |x| < 1.
template <class T, class A> [[gnu::always_inline]] inline Lane<T, A> erf_near(Lane<T, A> x)
{
    const Lane<T, A> z = x * x;
    Lane<T, A> p;
    if constexpr (sizeof(T) == 8) {
        p = poly(z, 1.128379167095512567, -0.3761263890318354044, 0.1128379167094500627,
                 -0.02686617064323777036, 0.005223977607116422732, -0.0008548325975389692081,
                 0.0001205529490483970792, -0.00001492473690741966034, 1.644742470331736241e-6,
                 -1.62084838018717059e-7, 1.37200645467776856e-8, -7.795898827002142242e-10);
    } else {
        p = poly(z, 1.1283791658F, -0.37612626667F, 0.11283594715F, -0.026854212011F, 0.0051890874234F,
                 -0.00080168642872F, 7.8758750627e-5F);
    }
    return x * p;
}

/// q(t) with erfc a = e^(−a²) q(t), t = (a − 2)/(a + 2), for 1 ≤ a ≤ 6 (double) or 4 (float).
template <class T, class A> [[gnu::always_inline]] inline Lane<T, A> erfc_factor(Lane<T, A> a)
{
    const Lane<T, A> t = (a - lit(2)) / (a + lit(2));
    if constexpr (sizeof(T) == 8) {
        return poly(t, 0.255395676310505745, -0.427185847413957885, 0.241658194242469857,
                    -0.0789785810158525347, 0.00373289240349223978, 0.00699746174775357363,
                    -0.000847143198076042359, -0.000981977320813102272, 0.0000435542024527058955,
                    0.000174366972329468635, 0.0000275431281856667173, -0.0000276473054436100538,
                    -0.0000140675326945820577, 1.82014319597500905e-6, 3.91705929992538851e-6);
    } else {
        return poly(t, 0.25539564033F, -0.42718588829F, 0.24166402506F, -0.078971952294F, 0.0035926707007F,
                    0.0068373667876F);
    }
}

/// erf a = 1 − erfc a for a ≥ 1; 1 from `far` on.
template <class T, class A> [[gnu::always_inline]] inline Lane<T, A> erf_far(Lane<T, A> a)
{
    const Lane<T, A> far(T(sizeof(T) == 8 ? 6 : 4));
    a = where(a > far, far, a);
    return lit(1) - exp_scaled(-(a * a)) * erfc_factor(a);
}

}  // namespace lane_math

/// The coefficients interpolate at the Chebyshev nodes (computed with mpmath at 60 digits).
template <class T, class A> Lane<T, A> erf(Lane<T, A> x)
{
    const Lane<T, A> a = abs(x), near = lane_math::erf_near(x);
    const auto is_near = a < lit(1);
    if (all(is_near)) return near;
    return where(is_near, near, copysign(lane_math::erf_far(a), x));
}

}  // namespace wengert
