#pragma once

#include "lane_exp.hpp"

namespace wengert {

namespace lane_math {

/// x = n π/2 + r, |r| ≤ π/4: Cody & Waite (1980) with π/2 in four parts, the first three short enough that
/// n · part is exact without FMA too. Beyond `limit` the C library takes over.
template <class T> struct HalfPi;
template <> struct HalfPi<double> {
    static constexpr double limit = 1.0e9;
    static constexpr double part[4] = {0x1.921fb4p+0, 0x1.4442dp-24, 0x1.8469880p-48, 0x1.8cc51701b839ap-72};
};
template <> struct HalfPi<float> {
    static constexpr float limit = 1.0e4F;
    static constexpr float part[4] = {0x1.92p+0F, 0x1.fb4p-12F, 0x1.444p-24F, 0x1.68c234p-39F};
};

template <class T, class A> struct TrigReduced {
    Lane<T, A> r;
    LaneMask<T, A> swap;      ///< odd n: sine and cosine change places
    LaneMask<T, A> sin_down;  ///< n mod 4 is 2 or 3
    LaneMask<T, A> cos_down;  ///< n mod 4 is 1 or 2
    [[gnu::always_inline]] explicit TrigReduced(Lane<T, A> x)
    {
        using L = Lane<T, A>;
        using IntBatch = typename L::IntBatch;
        const L shifted = x * lit(0.63661977236758134308) + L(FloatFormat<T>::rounder);
        const L n = shifted - L(FloatFormat<T>::rounder);
        r = x;
        for (const T part : HalfPi<T>::part) r = fma(n, L(-part), r);
        const IntBatch quadrant = shifted.bits();
        // The wanted bit goes to the sign of a float: a test that every instruction set has.
        constexpr int top = FloatFormat<T>::mantissa_bits == 52 ? 63 : 31;
        swap = negative(L::from_bits(quadrant << top));
        sin_down = negative(L::from_bits((quadrant >> 1) << top));
        cos_down = negative(L::from_bits(((quadrant + IntBatch(1)) >> 1) << top));
    }
    [[gnu::always_inline]] static LaneMask<T, A> negative(Lane<T, A> v)
    {
        return copysign(Lane<T, A>(T(1)), v) < Lane<T, A>(T(0));
    }
};

/// sin r on |r| ≤ π/4 (fdlibm k_sin.c; Cephes sinf.c).
template <class T, class A> [[gnu::always_inline]] inline Lane<T, A> sin_kernel(Lane<T, A> r)
{
    const Lane<T, A> z = r * r;
    Lane<T, A> p;
    if constexpr (sizeof(T) == 8) {
        p = poly(z, -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
                 2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10);
    } else {
        p = poly(z, -1.6666654611e-1F, 8.3321608736e-3F, -1.9515295891e-4F);
    }
    return fma(z * r, p, r);
}

/// cos r on |r| ≤ π/4 (fdlibm k_cos.c; Cephes sinf.c): 1 − z/2 first, with what its rounding lost.
template <class T, class A> [[gnu::always_inline]] inline Lane<T, A> cos_kernel(Lane<T, A> r)
{
    using L = Lane<T, A>;
    const L z = r * r;
    L p;
    if constexpr (sizeof(T) == 8) {
        p = poly(z, 4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
                 -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11);
    } else {
        p = poly(z, 4.166664568298827e-2F, -1.388731625493765e-3F, 2.443315711809948e-5F);
    }
    const L half = lit(0.5) * z, w = lit(1) - half;
    return w + fma(z * z, p, (lit(1) - w) - half);
}

/// `vector` where |x| ≤ limit or NaN; the C library's value elsewhere.
template <class F, class T, class A>
[[gnu::noinline, gnu::cold]] Lane<T, A> patch_huge(F f, Lane<T, A> x, Lane<T, A> vector)
{
    return where(abs(x) > Lane<T, A>(HalfPi<T>::limit), by_lane(f, x), vector);
}
template <class T, class A> [[gnu::always_inline]] inline bool any_huge(Lane<T, A> x)
{
    return any(abs(x) > Lane<T, A>(HalfPi<T>::limit));
}

template <class T, class A> Lane<T, A> hypot(Lane<T, A> x, Lane<T, A> y)
{
    using L = Lane<T, A>;
    constexpr T inf = std::numeric_limits<T>::infinity();
    constexpr T far = sizeof(T) == 8 ? T(0x1p500) : T(0x1p60), near = T(1) / far;
    constexpr T up = sizeof(T) == 8 ? T(0x1p600) : T(0x1p80);
    const L a = abs(x), b = abs(y), m = where(a > b, a, b);
    const L scale = where(m > L(far), L(T(1) / up), where(m < L(near), L(up), L(T(1))));
    const L back = where(m > L(far), L(up), where(m < L(near), L(T(1) / up), L(T(1))));
    const L big = m * scale, small = where(a > b, b, a) * scale;
    const L r = sqrt(fma(big, big, small * small)) * back;
    return where((a == L(inf)) | (b == L(inf)), L(inf), r);
}

template <class T, class A> Lane<T, A> atan2(Lane<T, A> y, Lane<T, A> x)
{
    using L = Lane<T, A>;
    // xsimd divides 0 by 0 and inf by inf there; ±1 in the place of both (of x at the origin) has the same
    // angle.
    const auto both_infinite = (abs(x) == L(std::numeric_limits<T>::infinity())) & (abs(x) == abs(y));
    const auto origin = (x == lit(0)) & (y == lit(0));
    const L x_like = where(both_infinite | origin, copysign(L(T(1)), x), x);
    const L y_like = where(both_infinite, copysign(L(T(1)), y), y);
    return xsimd::atan2(y_like.batch, x_like.batch);
}

}  // namespace lane_math

template <class T, class A> Lane<T, A> sin(Lane<T, A> x)
{
    const lane_math::TrigReduced<T, A> reduced(x);
    const Lane<T, A> s = lane_math::sin_kernel(reduced.r), c = lane_math::cos_kernel(reduced.r);
    const Lane<T, A> v = where(reduced.swap, c, s);
    const Lane<T, A> y = where(x == lit(0), x, where(reduced.sin_down, -v, v));
    if (lane_math::any_huge(x)) [[unlikely]]
        return lane_math::patch_huge([](T v1) { return std::sin(v1); }, x, y);
    return y;
}

template <class T, class A> Lane<T, A> cos(Lane<T, A> x)
{
    const lane_math::TrigReduced<T, A> reduced(x);
    const Lane<T, A> s = lane_math::sin_kernel(reduced.r), c = lane_math::cos_kernel(reduced.r);
    const Lane<T, A> v = where(reduced.swap, s, c);
    const Lane<T, A> y = where(reduced.cos_down, -v, v);
    if (lane_math::any_huge(x)) [[unlikely]]
        return lane_math::patch_huge([](T v1) { return std::cos(v1); }, x, y);
    return y;
}

template <class T, class A> Lane<T, A> tan(Lane<T, A> x)
{
    const lane_math::TrigReduced<T, A> reduced(x);
    const Lane<T, A> s = lane_math::sin_kernel(reduced.r), c = lane_math::cos_kernel(reduced.r);
    const Lane<T, A> v = where(reduced.swap, -c, s) / where(reduced.swap, s, c);
    const Lane<T, A> y = where(x == lit(0), x, v);
    if (lane_math::any_huge(x)) [[unlikely]]
        return lane_math::patch_huge([](T v1) { return std::tan(v1); }, x, y);
    return y;
}

template <class T, class A> Lane<T, A> asin(Lane<T, A> x) { return xsimd::asin(x.batch); }
template <class T, class A> Lane<T, A> acos(Lane<T, A> x) { return xsimd::acos(x.batch); }
template <class T, class A> Lane<T, A> atan(Lane<T, A> x) { return xsimd::atan(x.batch); }

}  // namespace wengert
