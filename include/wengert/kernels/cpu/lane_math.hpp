#pragma once

#include "lane_exp.hpp"
#include "lane_trig.hpp"

namespace wengert {

namespace lane_math {

/// The powers that need no logarithm, in plain arithmetic; everything else is the C library's.
template <class T>
inline T scalar_pow(T x, T y) {
    if (y == T(2)) return x * x;
    if (y == T(1)) return x;
    if (y == T(-1)) return T(1) / x;
    return std::pow(x, y);
}

template <class T, class A>
Lane<T, A> pow(Lane<T, A> x, Lane<T, A> y) {
    if (all(y == Lane<T, A>(T(2)))) return x * x;
    return by_lane([](T a, T b) { return scalar_pow(a, b); }, x, y);
}

/// erf x = x p(x²) on |x| < 1.
template <class T, class A>
[[gnu::always_inline]] inline Lane<T, A> erf_near(Lane<T, A> x) {
    const Lane<T, A> z = x * x;
    Lane<T, A> p;
    if constexpr (sizeof(T) == 8) {
        p = poly(z, 1.128379167095512567, -0.3761263890318354044, 0.1128379167094500627, -0.02686617064323777036,
                 0.005223977607116422732, -0.0008548325975389692081, 0.0001205529490483970792,
                 -0.00001492473690741966034, 1.644742470331736241e-6, -1.62084838018717059e-7,
                 1.37200645467776856e-8, -7.795898827002142242e-10);
    } else {
        p = poly(z, 1.1283791658F, -0.37612626667F, 0.11283594715F, -0.026854212011F, 0.0051890874234F,
                 -0.00080168642872F, 7.8758750627e-5F);
    }
    return x * p;
}

/// erf a = 1 − e^(−a²) q(t), t = (a − 2)/(a + 2), for a ≥ 1; 1 from `far` on.
template <class T, class A>
[[gnu::always_inline]] inline Lane<T, A> erf_far(Lane<T, A> a) {
    using L = Lane<T, A>;
    const L far(T(sizeof(T) == 8 ? 6 : 4));
    a = where(a > far, far, a);
    const L t = (a - lit(2)) / (a + lit(2));
    L q;
    if constexpr (sizeof(T) == 8) {
        q = poly(t, 0.255395676310505745, -0.427185847413957885, 0.241658194242469857, -0.0789785810158525347,
                 0.00373289240349223978, 0.00699746174775357363, -0.000847143198076042359,
                 -0.000981977320813102272, 0.0000435542024527058955, 0.000174366972329468635,
                 0.0000275431281856667173, -0.0000276473054436100538, -0.0000140675326945820577,
                 1.82014319597500905e-6, 3.91705929992538851e-6);
    } else {
        q = poly(t, 0.25539564033F, -0.42718588829F, 0.24166402506F, -0.078971952294F, 0.0035926707007F,
                 0.0068373667876F);
    }
    return lit(1) - exp_scaled(-(a * a)) * q;
}

}  // namespace lane_math

/// The coefficients interpolate at the Chebyshev nodes (computed with mpmath at 60 digits).
template <class T, class A>
Lane<T, A> erf(Lane<T, A> x) {
    const Lane<T, A> a = abs(x), near = lane_math::erf_near(x);
    const auto is_near = a < lit(1);
    if (all(is_near)) return near;
    return where(is_near, near, copysign(lane_math::erf_far(a), x));
}

}  // namespace wengert
