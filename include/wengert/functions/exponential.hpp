// exp and what is made of it. The steps are those of fdlibm (Sun, 1993) and musl, without branches.
#pragma once

#include "format.hpp"

#include <numbers>

namespace wengert::detail::functions {

/// 2ⁿ for whole n within the normal exponents.
template <class V> [[gnu::always_inline]] inline V pow2(V n)
{
    using F = FormatOf<V>;
    return V::from_bits(shift_left((n + V(F::rounder + F::bias)).bits(), F::mantissa_bits));
}
/// 2ⁿ, of n + F::rounder + F::bias.
template <class V> [[gnu::always_inline]] inline V pow2_of_shifted(V shifted)
{
    return V::from_bits(shift_left(shifted.bits(), FormatOf<V>::mantissa_bits));
}
template <class V> [[gnu::always_inline]] inline V round_small(V x)
{
    const V rounder(FormatOf<V>::rounder);
    return (x + rounder) - rounder;
}

/// x = n ln 2 + r with whole n and |r| ≤ ln 2 / 2, and a bit.
template <class V> struct ExpReduced {
    V shifted, n, r;
    [[gnu::always_inline]] explicit ExpReduced(V x, NumberOf<V> shift = FormatOf<V>::rounder)
    {
        using F = FormatOf<V>;
        shifted = fma(x, V(NumberOf<V>(1.44269504088896340736)), V(shift));
        n = shifted - V(shift);
        r = fma(n, V(-F::ln2_lo), fma(n, V(-F::ln2_hi), x));
    }
};

/// eʳ − 1 = r + r² p(r); p interpolates at the Chebyshev nodes.
template <class V> [[gnu::always_inline]] inline V exp_rest(V r)
{
    if constexpr (is_double<V>)
        return poly(r, 0.5, 0.166666666666666675, 0.0416666666666241279, 0.00833333333333006183,
                    0.00138888889172137169, 0.000198412698630536169, 0.0000248015212959543751,
                    2.75572684599970648e-6, 2.76200884454097482e-7, 2.51003854955103191e-8);
    else
        return poly(r, 0.5F, 0.166665769896987757F, 0.0416665546172045742F, 0.00836317905272257737F,
                    0.00139261835877134945F);
}
template <class V> [[gnu::always_inline]] inline V expm1_kernel(V r) { return fma(r * r, exp_rest(r), r); }

/// y 2ⁿ for whole n beyond the normal exponents, rounded once: the first product is exact.
template <class V> [[gnu::always_inline]] inline V scaled(V y, V n)
{
    const V half = round_small(n * lit(0.5));
    return y * pow2(half) * pow2(n - half);
}

/// eˣ 2ˢ, without overflow on the way. What rounds to 0 (a masked logit of −inf, say) is not computed: a
/// product that underflows costs over a hundred cycles.
template <class V> [[gnu::always_inline]] inline V exp_scaled(V x, NumberOf<V> s = 0)
{
    using F = FormatOf<V>;
    using T = NumberOf<V>;
    const V hi(F::exp_max + T(0.7) * -s), lo(F::exp_min);
    if constexpr (V::may_scale)
        if (V::scales()) {
            // one instruction for y 2ⁿ, rounded once as the two products are; it has denormals and 0 at full speed
            const ExpReduced<V> reduced(at_least(at_most(x, hi), V(F::exp_min + F::exp_min)));
            return times_pow2(lit(1) + expm1_kernel(reduced.r), s == 0 ? reduced.n : reduced.n + V(s));
        }
    const auto vanishes = x < lo;
    const ExpReduced<V> reduced(where(x > hi, hi, where(vanishes, V(T(0)), x)));
    const V y = scaled(lit(1) + expm1_kernel(reduced.r), s == 0 ? reduced.n : reduced.n + V(s));
    return where(vanishes, V(T(0)), y);
}
template <> struct Approximation<Exp> {
    template <class V> [[gnu::always_inline]] static V of(V x) { return exp_scaled(x); }
};

/// 2ˣ = 2ⁿ e^(r ln 2), n the nearest whole number; exact where x is whole.
template <> struct Approximation<Exp2> {
    template <class V> [[gnu::always_inline]] static V of(V x)
    {
        using T = NumberOf<V>;
        const V hi(either<V>(1025, 129)), lo(either<V>(-1080, -155));
        const V c = at_least(at_most(x, hi), lo), n = round_even(c);
        return scaled(lit(1) + expm1_kernel((c - n) * V(T(std::numbers::ln2))), n);
    }
};

/// 2ᵏ (eʳ − 1) + (2ᵏ − 1), halved on the way so that k = 1024 does not overflow.
template <> struct Approximation<Expm1> {
    template <class V> [[gnu::always_inline]] static V of(V x)
    {
        using F = FormatOf<V>;
        const ExpReduced<V> reduced(at_least(at_most(x, V(F::exp_max)), V(F::expm1_min)));
        const V scale = pow2(reduced.n - lit(1));
        const V y = lit(2) * fma(expm1_kernel(reduced.r), scale, scale - lit(0.5));
        return where(x == lit(0), x, y);
    }
};

/// t/(t + 2) with t = e²ˣ − 1.
template <> struct Approximation<Tanh> {
    template <class V> [[gnu::always_inline]] static V of(V x)
    {
        using F = FormatOf<V>;
        const V big(NumberOf<V>(is_double<V> ? 20 : 10)), a = at_most(abs(x), big);
        const ExpReduced<V> reduced(a + a, F::rounder + F::bias);
        const V scale = pow2_of_shifted(reduced.shifted);
        const V t = fma(expm1_kernel(reduced.r), scale, scale - lit(1));
        return copysign(t / (t + lit(2)), x);
    }
};

/// Odd Taylor polynomial below 1, (eˣ − e⁻ˣ)/2 above.
template <> struct Approximation<Sinh> {
    template <class V> [[gnu::always_inline]] static V of(V x)
    {
        const V a = abs(x), e = exp_scaled(a, -1), z = x * x;
        V p;
        if constexpr (is_double<V>)
            p = poly(z, 1.0 / 6, 1.0 / 120, 1.0 / 5040, 1.0 / 362880, 1.0 / 39916800, 1.0 / 6227020800.0,
                     1.0 / 1307674368000.0, 1.0 / 355687428096000.0);
        else
            p = poly(z, 1.0F / 6, 1.0F / 120, 1.0F / 5040, 1.0F / 362880);
        return where(a < lit(1), fma(x * z, p, x), copysign(e - lit(0.25) / e, x));
    }
};
template <> struct Approximation<Cosh> {
    template <class V> [[gnu::always_inline]] static V of(V x)
    {
        const V e = exp_scaled(abs(x), -1);
        return e + lit(0.25) / e;
    }
};

/// 1/(1 + e⁻ˣ); e^(−|x|) neither overflows nor loses the lower tail.
template <> struct Approximation<Sigmoid> {
    template <class V> [[gnu::always_inline]] static V of(V x)
    {
        const V e = exp_scaled(-abs(x));
        return where(x < lit(0), e, lit(1)) / (lit(1) + e);
    }
};

}  // namespace wengert::detail::functions
