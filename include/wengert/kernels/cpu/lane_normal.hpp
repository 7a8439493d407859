#pragma once

#include "lane.hpp"

#include <numbers>

/// Φ, the distribution function of the normal distribution, accurate relative to itself in its lower tail too:
/// 12 ULP down to x = −8.4 (double), 11 ULP down to −5.6 (float); beyond, where Φ < 2e−17 (1e−8), to 1.4e−4 (7e−4) of it.
namespace wengert {

namespace lane_math {

/// e^(−x²/2) for |x| ≤ 64. What x² loses by rounding would be multiplied by x²/2 in the result, so it is computed
/// (Dekker 1971: the product of x split in two halves, exact without FMA).
template <class T, class A> [[gnu::always_inline]] inline Lane<T, A> exp_half_square(Lane<T, A> x)
{
    using L = Lane<T, A>;
    const L c = x * L(T(sizeof(T) == 8 ? 0x1p27 + 1 : 0x1p12 + 1));
    const L hi = c - (c - x), lo = x - hi;
    const L square = x * x;
    const L lost = ((hi * hi - square) + lit(2) * (hi * lo)) + lo * lo;
    const L y = exp_scaled(lit(-0.5) * square);
    return y - y * (lit(0.5) * lost);
}

}  // namespace lane_math

/// ½ erfc(−x/√2): by erf's two polynomials, the far one continued by q ~ 1/a (1 − c/a²).
template <class T, class A> Lane<T, A> normal_cdf(Lane<T, A> x)
{
    using L = Lane<T, A>;
    const L far(T(sizeof(T) == 8 ? 6 : 4)), limit(T(64));
    const L s = where(abs(x) > limit, copysign(limit, x), x);
    const L z = s * lit(std::numbers::sqrt2 / 2), a = abs(z);
    const L r = where(a > far, far / a, L(T(1)));
    const L beyond = r * (lit(1) + lit(sizeof(T) == 8 ? 0.013525 : 0.02965) * (lit(1) - r * r));
    const L q = lane_math::erfc_factor(where(a > far, far, a)) * beyond;
    const L tail = lit(0.5) * lane_math::exp_half_square(s) * q;
    const L outer = where(x < lit(0), tail, lit(1) - tail);
    return where(a < lit(1), lit(0.5) + lit(0.5) * lane_math::erf_near(z), outer);
}

}  // namespace wengert
