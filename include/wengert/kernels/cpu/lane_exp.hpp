#pragma once

#include "lane_type.hpp"

#include <limits>

/// exp, log and their relatives. The steps are those of fdlibm (Sun, 1993) and musl, without branches:
/// every element takes the same path, so that an element's result does not depend on its neighbours.
namespace wengert {

namespace lane_math {

/// c₀ + x (c₁ + x (c₂ + …)).
template <class T, class A, class... C>
[[gnu::always_inline]] inline Lane<T, A> poly(Lane<T, A> x, T c0, C... more)
{
    if constexpr (sizeof...(more) == 0)
        return c0;
    else
        return fma(poly(x, static_cast<T>(more)...), x, Lane<T, A>(c0));
}

template <class T> struct FloatFormat;
template <> struct FloatFormat<double> {
    static constexpr int mantissa_bits = 52;
    static constexpr double bias = 1023;
    static constexpr double rounder = 0x1.8p52;        ///< adding it rounds to an integer in the low bits
    static constexpr double ln2_hi = 0x1.62e42feep-1;  ///< 32 bits: k · ln2_hi is exact
    static constexpr double ln2_lo = 0x1.a39ef35793c76p-33;
    static constexpr double exp_max = 710, exp_min = -745.14;  ///< below exp_min eˣ rounds to 0
    static constexpr double expm1_min = -38;
    static constexpr double denormal_scale = 0x1p54, denormal_exponent = 54;
    static constexpr double exponent_magic = 0x1p52;
};
template <> struct FloatFormat<float> {
    static constexpr int mantissa_bits = 23;
    static constexpr float bias = 127;
    static constexpr float rounder = 0x1.8p23F;
    static constexpr float ln2_hi = 0x1.62e4p-1F;
    static constexpr float ln2_lo = 0x1.7f7d1cp-20F;
    static constexpr float exp_max = 89, exp_min = -103.98F;
    static constexpr float expm1_min = -18;
    static constexpr float denormal_scale = 0x1p25F, denormal_exponent = 25;
    static constexpr float exponent_magic = 0x1p23F;
};

/// 2ⁿ for whole n within the normal exponents.
template <class T, class A> [[gnu::always_inline]] inline Lane<T, A> pow2(Lane<T, A> n)
{
    using F = FloatFormat<T>;
    return Lane<T, A>::from_bits((n + Lane<T, A>(F::rounder + F::bias)).bits() << F::mantissa_bits);
}

template <class T, class A> [[gnu::always_inline]] inline Lane<T, A> round_small(Lane<T, A> x)
{
    const Lane<T, A> rounder(FloatFormat<T>::rounder);
    return (x + rounder) - rounder;
}

/// x = n ln 2 + r with whole n and |r| ≤ ln 2 / 2.
template <class T, class A> struct ExpReduced {
    Lane<T, A> n, r;
    [[gnu::always_inline]] explicit ExpReduced(Lane<T, A> x)
    {
        using F = FloatFormat<T>;
        n = round_small(x * lit(1.44269504088896340736));
        r = fma(n, Lane<T, A>(-F::ln2_lo), fma(n, Lane<T, A>(-F::ln2_hi), x));
    }
    /// eʳ − 1 = r + r² p(r); p interpolates at the Chebyshev nodes.
    [[gnu::always_inline]] Lane<T, A> expm1() const
    {
        Lane<T, A> p;
        if constexpr (sizeof(T) == 8) {
            p = poly(r, 0.5, 0.166666666666666675, 0.0416666666666241279, 0.00833333333333006183,
                     0.00138888889172137169, 0.000198412698630536169, 0.0000248015212959543751,
                     2.75572684599970648e-6, 2.76200884454097482e-7, 2.51003854955103191e-8);
        } else {
            p = poly(r, 0.5F, 0.166665769896987757F, 0.0416665546172045742F, 0.00836317905272257737F,
                     0.00139261835877134945F);
        }
        return fma(r * r, p, r);
    }
};

#if defined(__AVX512F__)
/// x 2ⁿ for whole n, rounded once.
template <class T, class A> [[gnu::always_inline]] inline Lane<T, A> times_pow2(Lane<T, A> x, Lane<T, A> n)
{
    using Batch = typename Lane<T, A>::Batch;
    if constexpr (sizeof(T) == 4)
        return Batch(_mm512_scalef_ps(x.reg(), n.reg()));
    else
        return Batch(_mm512_scalef_pd(x.reg(), n.reg()));
}
#endif

/// eˣ 2ˢ, without overflow on the way. What rounds to 0 (a masked logit of −inf, say) is not computed: a
/// product that underflows costs over a hundred cycles.
template <class T, class A> [[gnu::always_inline]] inline Lane<T, A> exp_scaled(Lane<T, A> x, T s = 0)
{
    using F = FloatFormat<T>;
    const Lane<T, A> hi(F::exp_max + T(0.7) * -s), lo(F::exp_min);
#if defined(__AVX512F__)
    if constexpr (sizeof(typename Lane<T, A>::Register) == 64) {
        // one instruction for y 2ⁿ, rounded once as the two products below are; it has denormals and 0 at full speed
        const ExpReduced<T, A> reduced(at_least(at_most(x, hi), lo + lo));
        return times_pow2(lit(1) + reduced.expm1(), s == T(0) ? reduced.n : reduced.n + Lane<T, A>(s));
    }
#endif
    const auto vanishes = x < lo;
    const ExpReduced<T, A> reduced(where(x > hi, hi, where(vanishes, Lane<T, A>(T(0)), x)));
    const Lane<T, A> n = reduced.n + Lane<T, A>(s);
    const Lane<T, A> half = round_small(n * Lane<T, A>(T(0.5)));
    const Lane<T, A> y = (lit(1) + reduced.expm1()) * pow2(half) * pow2(n - half);
    return where(vanishes, Lane<T, A>(T(0)), y);
}

/// ln(1 + f) + k ln 2 + c for √½ ≤ 1 + f < √2 (fdlibm e_log.c).
template <class T, class A>
[[gnu::always_inline]] inline Lane<T, A> log_kernel(Lane<T, A> f, Lane<T, A> k, Lane<T, A> c)
{
    using F = FloatFormat<T>;
    using L = Lane<T, A>;
    const L s = f / (lit(2) + f), z = s * s;
    L p;
    if constexpr (sizeof(T) == 8) {
        p = poly(z, 6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
                 2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
                 1.479819860511658591e-01);
    } else {
        p = poly(z, 0.66666662693F, 0.40000972152F, 0.28498786688F, 0.24279078841F);
    }
    const L half_square = lit(0.5) * f * f;
    const L tail = fma(k, L(F::ln2_lo), c);
    return fma(k, L(F::ln2_hi), f - (half_square - fma(s, half_square + z * p, tail)));
}

/// x = 2ᵏ (1 + f), for positive normal and denormal x.
template <class T, class A> struct LogReduced {
    Lane<T, A> k, f;
    [[gnu::always_inline]] explicit LogReduced(Lane<T, A> x)
    {
        using F = FloatFormat<T>;
        using L = Lane<T, A>;
        using Int = typename L::Int;
        using Unsigned = std::make_unsigned_t<Int>;
        const auto denormal = x < L(std::numeric_limits<T>::min());
        x = where(denormal, x * L(F::denormal_scale), x);
        constexpr Int one = std::bit_cast<Int>(T(1));
        constexpr Int root_half = sizeof(T) == 8 ? Int(0x3fe6a09e00000000LL) : Int(0x3f3504f3);
        constexpr Int mantissa = (Int(1) << F::mantissa_bits) - 1;
        using IntBatch = typename L::IntBatch;
        using UnsignedBatch = xsimd::batch<Unsigned, A>;
        const IntBatch shifted = x.bits() + IntBatch(one - root_half);
        const UnsignedBatch exponent = UnsignedBatch(std::bit_cast<typename UnsignedBatch::register_type>(
                                           static_cast<typename IntBatch::register_type>(shifted))) >>
                                       F::mantissa_bits;
        const IntBatch signed_exponent(std::bit_cast<typename IntBatch::register_type>(
            static_cast<typename UnsignedBatch::register_type>(exponent)));
        k = L::from_bits(signed_exponent | L(F::exponent_magic).bits()) - L(F::exponent_magic + F::bias);
        k = k - where(denormal, L(F::denormal_exponent), L(T(0)));
        f = L::from_bits((shifted & IntBatch(mantissa)) + IntBatch(root_half)) - lit(1);
    }
};

/// The values of a logarithm where the formula does not hold: NaN below `origin`, −inf at it.
template <class T, class A>
[[gnu::always_inline]] inline Lane<T, A> log_edges(Lane<T, A> x, Lane<T, A> origin, Lane<T, A> inside)
{
    constexpr T inf = std::numeric_limits<T>::infinity();
    const Lane<T, A> nan(std::numeric_limits<T>::quiet_NaN());
    const Lane<T, A> upper = where(x == Lane<T, A>(inf), x, inside);
    return where(x > origin, upper, where(x == origin, Lane<T, A>(-inf), nan));
}

}  // namespace lane_math

template <class T, class A> Lane<T, A> exp(Lane<T, A> x) { return lane_math::exp_scaled(x); }

/// 2ᵏ (eʳ − 1) + (2ᵏ − 1), halved on the way so that k = 1024 does not overflow.
template <class T, class A> Lane<T, A> expm1(Lane<T, A> x)
{
    using F = lane_math::FloatFormat<T>;
    const Lane<T, A> hi(F::exp_max), lo(F::expm1_min);
    const lane_math::ExpReduced<T, A> reduced(at_least(at_most(x, hi), lo));
    const Lane<T, A> scale = lane_math::pow2(reduced.n - lit(1));
    const Lane<T, A> y = lit(2) * fma(reduced.expm1(), scale, scale - lit(0.5));
    return where(x == lit(0), x, y);
}

template <class T, class A> Lane<T, A> log(Lane<T, A> x)
{
    const lane_math::LogReduced<T, A> reduced(x);
    return lane_math::log_edges(x, Lane<T, A>(T(0)),
                                lane_math::log_kernel(reduced.f, reduced.k, Lane<T, A>(T(0))));
}

/// With u = 1 + x rounded and c = (1 + x − u)/u: ln u + c. Near 0, u is not needed: f = x.
template <class T, class A> Lane<T, A> log1p(Lane<T, A> x)
{
    using L = Lane<T, A>;
    const L u = lit(1) + x;
    const lane_math::LogReduced<T, A> reduced(u);
    const auto near = reduced.k == lit(0);
    const L lost = where(x > lit(1), lit(1) - (u - x), x - (u - lit(1)));
    const L f = where(near, x, reduced.f);
    const L c = where(near, L(T(0)), lost / u);
    const L y = lane_math::log_edges(x, L(T(-1)), lane_math::log_kernel(f, reduced.k, c));
    return where(x == lit(0), x, y);
}

template <class T, class A> Lane<T, A> log2(Lane<T, A> x)
{
    using L = Lane<T, A>;
    const lane_math::LogReduced<T, A> reduced(x);
    const L m = lane_math::log_kernel(reduced.f, L(T(0)), L(T(0)));
    return lane_math::log_edges(x, L(T(0)), fma(m, L(T(1.44269504088896340736)), reduced.k));
}

template <class T, class A> Lane<T, A> log10(Lane<T, A> x)
{
    using L = Lane<T, A>;
    const lane_math::LogReduced<T, A> reduced(x);
    const L m = lane_math::log_kernel(reduced.f, L(T(0)), L(T(0)));
    constexpr T hi = sizeof(T) == 8 ? T(0x1.34413508p-2) : T(0x1.344p-2);  // k · hi is exact
    constexpr T lo = sizeof(T) == 8 ? T(0x1.f79fef311f12bp-34) : T(0x1.3509f8p-18);
    const L y = fma(reduced.k, L(hi), fma(m, L(T(0.43429448190325182765)), reduced.k * L(lo)));
    return lane_math::log_edges(x, L(T(0)), y);
}

/// t/(t + 2) with t = e²ˣ − 1.
template <class T, class A> Lane<T, A> tanh(Lane<T, A> x)
{
    using L = Lane<T, A>;
    const L big(T(sizeof(T) == 8 ? 20 : 10)), a = abs(x);
    const lane_math::ExpReduced<T, A> reduced(at_most(a, big) * lit(2));
    const L scale = lane_math::pow2(reduced.n);
    const L t = fma(reduced.expm1(), scale, scale - lit(1));
    return copysign(t / (t + lit(2)), x);
}

/// Odd Taylor polynomial below 1, (eˣ − e⁻ˣ)/2 above.
template <class T, class A> Lane<T, A> sinh(Lane<T, A> x)
{
    using L = Lane<T, A>;
    const L a = abs(x), e = lane_math::exp_scaled(a, T(-1)), z = x * x;
    L p;
    if constexpr (sizeof(T) == 8) {
        p = lane_math::poly(z, 1.0 / 6, 1.0 / 120, 1.0 / 5040, 1.0 / 362880, 1.0 / 39916800,
                            1.0 / 6227020800.0, 1.0 / 1307674368000.0, 1.0 / 355687428096000.0);
    } else {
        p = lane_math::poly(z, 1.0F / 6, 1.0F / 120, 1.0F / 5040, 1.0F / 362880);
    }
    return where(a < lit(1), fma(x * z, p, x), copysign(e - lit(0.25) / e, x));
}

template <class T, class A> Lane<T, A> cosh(Lane<T, A> x)
{
    const Lane<T, A> e = lane_math::exp_scaled(abs(x), T(-1));
    return e + lit(0.25) / e;
}

}  // namespace wengert
