// sin, cos, tan for arguments of any size, and their inverses.
#pragma once

#include "format.hpp"

#include <array>

namespace wengert::detail::functions {

/// π/2 in four parts, the first three short enough that n · part is exact without FMA too, up to `limit`; and 2/π in digits
/// to the base 2^digit_bits, behind a zero, for what is larger.
template <class T> struct Angle;
template <> struct Angle<double> {
    static constexpr double limit = 1.0e9;
    static constexpr double part[4] = {0x1.921fb4p+0, 0x1.4442dp-24, 0x1.8469880p-48, 0x1.8cc51701b839ap-72};
    static constexpr int digit_bits = 26;
    static constexpr double digits[] = {
        0,        42722829, 48555073, 21659401, 56087029, 13858563, 28715353, 38736100, 4324945,  26128250,
        62674459, 29957006, 37899730, 58726692, 49193117, 6588223,  35515164, 46442140, 65964067, 24988590,
        54822121, 41009306, 54917092, 5137525,  37323603, 15192690, 4585659,  58608142, 52426903, 67074070,
        25231090, 63202006, 34237727, 28629499, 15891632, 40752081, 37709470, 25143477, 55737260, 33225084,
        24853767, 15195689, 19476134, 50255852, 18845021, 2185228,  50622407};
    static constexpr double half_pi = 0x1.921fb54442d18p+0, half_pi_rest = 0x1.1a62633145c07p-54;
};
template <> struct Angle<float> {
    static constexpr float limit = 1.0e4F;
    static constexpr float part[4] = {0x1.92p+0F, 0x1.fb4p-12F, 0x1.444p-24F, 0x1.68c234p-39F};
    static constexpr int digit_bits = 12;
    static constexpr float digits[] = {0,    2607, 2435, 1764, 3652, 338,  2556, 629, 2001,
                                       3923, 1245, 3085, 2914, 2393, 2364, 1081, 65,  4069};
    static constexpr float half_pi = 0x1.921fb6p+0F, half_pi_rest = -0x1.777a5cp-25F;
};
template <class V> using AngleOf = Angle<NumberOf<V>>;

/// x = n π/2 + r, |r| ≤ π/4: what decides about signs and places, and r.
template <class V> struct Turned {
    using Mask = typename V::Mask;
    V r;
    Mask swap;      ///< odd n: sine and cosine change places
    Mask sin_down;  ///< n mod 4 is 2 or 3
    Mask cos_down;  ///< n mod 4 is 1 or 2

    /// `shifted`: n + Format::rounder.
    [[gnu::always_inline]] Turned(V rest, V shifted) : r(rest)
    {
        using Integer = typename V::Integer;
        const Integer quadrant = shifted.bits();
        // The wanted bit goes to the sign of a float: a test that every instruction set has.
        constexpr int top = is_double<V> ? 63 : 31;
        swap = negative(shift_left(quadrant, top));
        sin_down = negative(shift_left(quadrant, top - 1));
        cos_down = negative(shift_left(quadrant + Integer(1), top - 1));
    }
    [[gnu::always_inline]] static Mask negative(typename V::Integer bits)
    {
        const V one(NumberOf<V>(1));
        return copysign(one, V::from_bits(bits)) < lit(0);
    }
};

/// Cody & Waite (1980), for |x| ≤ Angle::limit.
template <class V> [[gnu::always_inline]] inline Turned<V> turn_back(V x)
{
    const V rounder(FormatOf<V>::rounder), shifted = fma(x, V(NumberOf<V>(0.63661977236758134308)), rounder);
    const V n = shifted - rounder;
    V r = x;
    for (const auto part : AngleOf<V>::part) r = fma(n, V(-part), r);
    return Turned<V>(r, shifted);
}

/// p modulo 4, in [−2, 2].
template <class V> [[gnu::always_inline]] inline V modulo_4(V p)
{
    return p - lit(4) * round_even(lit(0.25) * p);
}

/// Payne & Hanek (1983), for larger ones: x · 2/π modulo 4 from eight digits of 2/π, from the first one of which a multiple of
/// 1/x's last place comes short of 4. Products of a half of x and a digit are exact.
template <class V> [[gnu::always_inline]] inline Turned<V> turn_back_far(V x)
{
    using F = FormatOf<V>;
    using A = AngleOf<V>;
    using T = NumberOf<V>;
    using Integer = typename V::Integer;
    constexpr T base = static_cast<T>(std::int64_t(1) << A::digit_bits);
    const V field = V::from_bits(shift_right(abs(x).bits(), F::mantissa_bits) |
                                 Integer(std::bit_cast<typename F::Int>(F::exponent_magic)));
    const V exponent = field - V(F::exponent_magic + F::bias);
    // how many digits are multiples of 4: ⌊(exponent − mantissa_bits − 2)/digit_bits⌋
    const V places = exponent - lit(F::mantissa_bits + 2 + A::digit_bits / 2);
    const V skip =
        at_least(round_even(fma(places, V(T(1) / A::digit_bits), V(T(0.5) / A::digit_bits))), V(T(-1)));
    const V power = V(F::rounder + F::bias) - skip * lit(A::digit_bits);
    V head = x * V::from_bits(shift_left(power.bits(), F::mantissa_bits));
    const V c = head * V(F::splitter);
    V hi = c - (c - head), lo = head - hi;
    Pair<V> turns{V(T(0)), V(T(0))};
    V n = turns.hi;
    for (int k = 0; k < 8; ++k) {
        hi = hi * V(1 / base);
        lo = lo * V(1 / base);
        const V digit = two_over_pi(skip + lit(1 + k));
        for (const V part : {hi * digit, lo * digit}) {
            const Pair<V> sum = exact_sum(turns.hi, k < 3 ? modulo_4(part) : part);
            turns = {sum.hi, turns.lo + sum.lo};
        }
        if (k != 3) continue;
        n = round_even(turns.hi);  // what comes now is small, and may be all that is left
        turns = exact_sum(turns.hi - n, turns.lo);
    }
    turns = exact_sum(turns.hi, turns.lo);
    const Pair<V> r = product(turns.hi, V(A::half_pi));
    const V rest = r.lo + (turns.hi * V(A::half_pi_rest) + turns.lo * V(A::half_pi));
    return Turned<V>(r.hi + rest, n + V(F::rounder));
}

/// sin r on |r| ≤ π/4 (fdlibm k_sin.c; Cephes sinf.c).
template <class V> [[gnu::always_inline]] inline V sin_kernel(V r)
{
    const V z = r * r;
    V p;
    if constexpr (is_double<V>)
        p = poly(z, -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
                 2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10);
    else
        p = poly(z, -1.6666654611e-1F, 8.3321608736e-3F, -1.9515295891e-4F);
    return fma(z * r, p, r);
}

/// cos r on |r| ≤ π/4 (fdlibm k_cos.c; Cephes sinf.c): 1 − z/2 first, with what its rounding lost.
template <class V> [[gnu::always_inline]] inline V cos_kernel(V r)
{
    const V z = r * r;
    V p;
    if constexpr (is_double<V>)
        p = poly(z, 4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
                 -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11);
    else
        p = poly(z, 4.166664568298827e-2F, -1.388731625493765e-3F, 2.443315711809948e-5F);
    const V half = lit(0.5) * z, w = lit(1) - half;
    return w + fma(z * z, p, (lit(1) - w) - half);
}

/// The function of large arguments.
template <class F> struct Far {
    template <class... V> [[gnu::always_inline]] static auto of(V... x)
    {
        return Approximation<F>::far(x...);
    }
};
/// By `turned`, of x turned back.
template <class F> struct Circular {
    template <class V> [[gnu::always_inline]] static V of(V x)
    {
        using A = Approximation<F>;
        return seldom(abs(x) > V(AngleOf<V>::limit), A::turned(x, turn_back(x)), Far<F>(), x);
    }
    template <class V> [[gnu::always_inline]] static V far(V x)
    {
        return Approximation<F>::turned(x, turn_back_far(x));
    }
};
template <> struct Approximation<Sin> : Circular<Sin> {
    template <class V> [[gnu::always_inline]] static V turned(V x, const Turned<V>& at)
    {
        const V s = sin_kernel(at.r), c = cos_kernel(at.r), v = where(at.swap, c, s);
        return where(x == lit(0), x, where(at.sin_down, -v, v));
    }
};
template <> struct Approximation<Cos> : Circular<Cos> {
    template <class V> [[gnu::always_inline]] static V turned(V, const Turned<V>& at)
    {
        const V s = sin_kernel(at.r), c = cos_kernel(at.r), v = where(at.swap, s, c);
        return where(at.cos_down, -v, v);
    }
};
template <> struct Approximation<Tan> : Circular<Tan> {
    template <class V> [[gnu::always_inline]] static V turned(V x, const Turned<V>& at)
    {
        const V s = sin_kernel(at.r), c = cos_kernel(at.r);
        return where(x == lit(0), x, where(at.swap, -c, s) / where(at.swap, s, c));
    }
};

/// atan a for a ≥ 0 (Cephes atan.c, atanf.c; Moshier 1989): of a, (a − 1)/(a + 1) or −1/a.
template <class V> [[gnu::always_inline]] inline V atan_kernel(V a)
{
    using A = AngleOf<V>;
    using T = NumberOf<V>;
    const V one(T(1)), zero(T(0)), half_pi(A::half_pi), rest(A::half_pi_rest);
    const auto near = a < V(either<V>(0x1.3504f333f9de6p+1, 0x1.3504f4p+1F));  // tan 3π/8
    const auto middle = near & (a >= V(either<V>(0x1.a827999fcef31p-2, 0x1.a8279ap-2F)));
    const V x =
        where(middle, a - one, where(near, a, V(T(-1)))) / where(middle, a + one, where(near, one, a));
    const V z = x * x;
    V y;
    if constexpr (is_double<V>)
        y = z *
            poly(z, -0x1.03669fd28ec8ep+6, -0x1.eb8bf2d05ba25p+6, -0x1.2c08c36880273p+6,
                 -0x1.028545b6b807ap+4, -0x1.c007fa1f72594p-1) /
            monic(z, 0x1.8519efbbd62ecp+7, 0x1.e563f13b049eap+8, 0x1.b0e18d2e2be3bp+8, 0x1.4a0dd43b8fa25p+7,
                  0x1.8dbc45b14603cp+4);
    else
        y = z * poly(z, -0x1.555454p-2F, 0x1.9924bep-3F, -0x1.1c370ap-3F, 0x1.49e1a2p-4F);
    y = fma(x, y, x) + where(middle, lit(0.5) * rest, where(near, zero, rest));
    return where(middle, lit(0.5) * half_pi, where(near, zero, half_pi)) + y;
}
template <> struct Approximation<Atan> {
    template <class V> [[gnu::always_inline]] static V of(V x) { return copysign(atan_kernel(abs(x)), x); }
};

template <> struct Approximation<Atan2> {
    template <class V> [[gnu::always_inline]] static V of(V y, V x)
    {
        using T = NumberOf<V>;
        // 0/0 and inf/inf: ±1 in the place of both (of x at the origin) has the same angle
        const V inf(std::numeric_limits<T>::infinity()), one(T(1)), pi(2 * AngleOf<V>::half_pi);
        const auto both_infinite = (abs(x) == inf) & (abs(y) == inf), origin = (x == lit(0)) & (y == lit(0));
        const V x_like = where(both_infinite | origin, copysign(one, x), x);
        const V y_like = where(both_infinite, copysign(one, y), y);
        const V a = atan_kernel(abs(y_like / x_like));
        return copysign(where(x_like > lit(0), a, pi - a), y);
    }
};

/// asin a for 0 ≤ a ≤ 1, NaN beyond (Cephes asin.c, asinf.c).
template <class V> [[gnu::always_inline]] inline V asin_kernel(V a)
{
    using A = AngleOf<V>;
    if constexpr (is_double<V>) {
        const V quarter_pi(A::half_pi / 2), far = lit(1) - a;
        const V tail = far *
                       poly(far, 0x1.c896240f3081dp+4, -0x1.991aaac01ab68p+4, 0x1.bdff5baf33e6ap+2,
                            -0x1.2079259f9290fp-1, 0x1.84fc3988e9f08p-9) /
                       monic(far, 0x1.56709b0b644bep+8, -0x1.7fe08959063eep+8, 0x1.26219af6a7f42p+7,
                             -0x1.5f2a2b6bf5d8cp+4);
        const V root = sqrt(far + far);
        const V upper = ((quarter_pi - root) - fma(root, tail, V(-A::half_pi_rest))) + quarter_pi;
        const V z = a * a;
        const V lower = z *
                        poly(z, -0x1.0656c06ceafd5p+3, 0x1.39007da779259p+4, -0x1.04331de27907bp+4,
                             0x1.5c74b178a2dd9p+2, -0x1.34341333e5c16p-1, 0x1.16b9b0bd48ad3p-8) /
                        monic(z, -0x1.898220a3607acp+5, 0x1.1705684ffbf9dp+7, -0x1.265bb6d3576d7p+7,
                              0x1.19fc025fe9054p+6, -0x1.d7b590b5e0eabp+3);
        return where(a > lit(0.625), upper, fma(a, lower, a));
    } else {
        const auto beyond = a > lit(0.5);
        const V z = where(beyond, lit(0.5) * (lit(1) - a), a * a), x = where(beyond, sqrt(z), a);
        const V p = poly(z, 0x1.5555c8p-3F, 0x1.3301ecp-4F, 0x1.747d8ep-5F, 0x1.8c2fc6p-6F, 0x1.5966a4p-5F);
        const V y = fma(p, z * x, x);
        return where(beyond, V(A::half_pi) - (y + y), y);
    }
}
template <> struct Approximation<Asin> {
    template <class V> [[gnu::always_inline]] static V of(V x) { return copysign(asin_kernel(abs(x)), x); }
};

/// 2 asin √((1 − |x|)/2), from π for negative x, beyond ½; π/2 − asin x elsewhere.
template <> struct Approximation<Acos> {
    template <class V> [[gnu::always_inline]] static V of(V x)
    {
        using A = AngleOf<V>;
        const V a = abs(x);
        const auto beyond = a > lit(0.5);
        const V s = asin_kernel(where(beyond, sqrt(fma(V(NumberOf<V>(-0.5)), a, V(NumberOf<V>(0.5)))), a));
        const V twice = s + s, end = where(x < lit(0), V(2 * A::half_pi) - twice, twice);
        return where(beyond, end, V(A::half_pi) - copysign(s, x));
    }
};

template <> struct Approximation<Hypot> {
    template <class V> [[gnu::always_inline]] static V of(V x, V y)
    {
        using T = NumberOf<V>;
        const V inf(std::numeric_limits<T>::infinity()), one(T(1));
        const V far(either<V>(0x1p500, 0x1p60F)), near(either<V>(0x1p-500, 0x1p-60F));
        const V up(either<V>(0x1p600, 0x1p80F)), down(either<V>(0x1p-600, 0x1p-80F));
        const V a = abs(x), b = abs(y), m = where(a > b, a, b);
        const V scale = where(m > far, down, where(m < near, up, one));
        const V back = where(m > far, up, where(m < near, down, one));
        const V big = m * scale, small = where(a > b, b, a) * scale;
        const V r = sqrt(fma(big, big, small * small)) * back;
        return where((a == inf) | (b == inf), inf, r);
    }
};

}  // namespace wengert::detail::functions
