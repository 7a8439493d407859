#pragma once

#include "../../functions/circular.hpp"
#include "../../functions/error_function.hpp"
#include "../../functions/gamma.hpp"
#include "../../functions/remainders.hpp"
#include "../../functions/roots.hpp"
#include "../../functions/rules/pairs.hpp"
#include "lane_type.hpp"

/// The functions of functions/ on lanes.
///
/// Largest error seen, in units of the last place (below the largest binade) against libquadmath, over 700,000 arguments: all bit patterns at random,
/// uniform ranges from ±10⁻³ to ±10³⁰, multiples of π/2, and the edges (±0, ±inf, NaN, denormals, overflow thresholds), for which
/// results are those of C's Annex F. The worse of AVX-512 and SSE2. Time: ns an element, AVX-512 (AVX2) at -O2, 1,024 elements
/// in L1.
///
///             double  float    ns double     ns float
///   exp        1.09    1.05   0.32 (1.05)   0.10 (0.39)
///   expm1      1.77    1.60   0.39 (0.90)   0.13 (0.33)
///   log        0.77    0.77   0.58 (1.18)   0.25 (0.50)
///   log1p      0.77    0.77   0.79 (1.55)   0.34 (0.67)
///   log2       1.60    1.63   0.60 (1.24)   0.26 (0.52)
///   log10      1.71    1.85   0.66 (1.33)   0.27 (0.57)
///   sin        2.13    2.08   0.62 (1.22)   0.25 (0.50)   beyond |x| = 1e9 (double), 1e4 (float) by Payne & Hanek
///   cos        2.11    1.93   0.62 (1.19)   0.26 (0.51)   likewise
///   tan        3.17    3.38   0.64 (1.26)   0.27 (0.50)   likewise
///   asin       1.12    2.24   0.52 (1.03)   0.10 (0.27)
///   acos       1.19    1.23   0.95 (1.95)   0.24 (0.56)
///   atan       1.84    2.19   0.56 (0.99)   0.16 (0.33)
///   sinh       1.55    1.58   0.64 (1.68)   0.19 (0.60)
///   cosh       1.53    1.46   0.42 (1.24)   0.14 (0.48)
///   tanh       2.31    2.23   0.48 (0.99)   0.15 (0.34)
///   erf        1.79    2.53   0.24 (0.48)   0.09 (0.17)   where all |x| < 1; 1.07 and 0.32 elsewhere
///   hypot      1.13    1.16   0.28 (0.55)   0.13 (0.25)
///   pow        1.16    1.26   3.54 (7.10)   1.49 (3.00)   x² in plain arithmetic
///   atan2      2.50    2.39   0.86 (1.86)   0.29 (0.66)
///   exp2       0.99    1.00                             from here on over 60,000 to 200,000 arguments
///   cbrt       0.50    0.50
///   asinh      1.46    1.60
///   acosh      2.01    2.17
///   atanh      1.34    1.57
///   erfc       2.55    2.96
///   tgamma     4.28    4.19
///   lgamma     4.30    4.04                             for x > 0; below, in units of ln Γ(1 − x) and ln |sin πx|, which cancel
///   digamma   11.9    19.4                              in units of the larger of 1 and |ψ|
///   fmod       0       0                                exact, as is remainder
///
/// Of xsimd 8.1's own, these were wrong or worse than 4: exp and expm1 (overflow early, no denormal results),
/// log of denormals, double sin, cos and tan near multiples of π/2 (25,000), double erf (68; NaN from 1e108
/// on), pow, hypot, atan2 of (0, 0) and (inf, inf), floor(−0) on SSE2; and its != is false for NaN, its ^ of
/// AVX-512 masks is |, its fma of AVX-512 is a product and a sum, fused or not as the compiler likes.
namespace wengert {

namespace detail {

template <class F, class T, class A> Lane<T, A> approximated(Lane<T, A> x, Lane<T, A> y)
{
    return functions::Approximation<F>::of(x, y);
}
/// Not inlined, so that the quick way is.
template <class F, class T, class A>
    requires requires(Lane<T, A> x) { functions::Approximation<F>::is_quick(x, x); }
[[gnu::noinline]] Lane<T, A> approximated(Lane<T, A> x, Lane<T, A> y)
{
    return functions::Approximation<F>::of(x, y);
}

}  // namespace detail

template <class T, class A> template <class F> Lane<T, A> Lane<T, A>::call(Lane x, const Site&)
{
    if constexpr (detail::is_in<F, detail::ApproximatedOfOne>)
        return detail::functions::Approximation<F>::of(x);
    else
        return F::value(x);
}
template <class T, class A>
template <class F>
[[gnu::always_inline]] inline Lane<T, A> Lane<T, A>::call(Lane x, Lane y, const Site&)
{
    using Function = detail::functions::Approximation<F>;
    if constexpr (!detail::is_in<F, detail::ApproximatedOfTwo>)
        return F::value(x, y);
    else if constexpr (requires { Function::is_quick(x, y); })
        return Function::is_quick(x, y) ? Function::quick(x, y) : detail::approximated<F>(x, y);
    else if constexpr (requires { F::brief; })
        return Function::of(x, y);
    else
        return detail::approximated<F>(x, y);
}

/// The digits of 2/π at whole i.
template <class T, class A> Lane<T, A> two_over_pi(Lane<T, A> i)
{
    T v[Lane<T, A>::width];
    i.store(v);
    for (T& x : v) x = detail::functions::Angle<T>::digits[static_cast<std::size_t>(x)];
    return Lane<T, A>::load(v);
}

}  // namespace wengert
