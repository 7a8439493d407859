// Logarithms and powers. The steps are those of fdlibm (Sun, 1993) and musl, without branches.
#pragma once

#include "exponential.hpp"

namespace wengert::detail::functions {

/// ln(1 + f) + k ln 2 + c for √½ ≤ 1 + f < √2 (fdlibm e_log.c).
template <class V> [[gnu::always_inline]] inline V log_kernel(V f, V k, V c)
{
    using F = FormatOf<V>;
    const V s = f / (lit(2) + f), z = s * s;
    V p;
    if constexpr (is_double<V>)
        p = poly(z, 6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
                 2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
                 1.479819860511658591e-01);
    else
        p = poly(z, 0.66666662693F, 0.40000972152F, 0.28498786688F, 0.24279078841F);
    const V half_square = lit(0.5) * f * f;
    const V tail = fma(k, V(F::ln2_lo), c);
    return fma(k, V(F::ln2_hi), f - (half_square - fma(s, half_square + z * p, tail)));
}

/// x = 2ᵏ (1 + f), for positive normal and denormal x.
template <class V> struct LogReduced {
    V k, f;
    [[gnu::always_inline]] explicit LogReduced(V x)
    {
        using F = FormatOf<V>;
        using T = NumberOf<V>;
        using Int = typename F::Int;
        using Integer = typename V::Integer;
        const auto denormal = x < V(std::numeric_limits<T>::min());
        x = where(denormal, x * V(F::denormal_scale), x);
        constexpr Int one = std::bit_cast<Int>(T(1)), magic = std::bit_cast<Int>(F::exponent_magic);
        constexpr Int mantissa = (Int(1) << F::mantissa_bits) - 1;
        const Integer shifted = x.bits() + Integer(one - F::root_half);
        k = V::from_bits(shift_right(shifted, F::mantissa_bits) | Integer(magic)) -
            V(F::exponent_magic + F::bias);
        k = k - where(denormal, V(F::denormal_exponent), V(T(0)));
        f = V::from_bits((shifted & Integer(mantissa)) + Integer(F::root_half)) - lit(1);
    }
};

/// The values of a logarithm where the formula does not hold: NaN below `origin`, −inf at it.
template <class V> [[gnu::always_inline]] inline V log_edges(V x, V origin, V inside)
{
    using T = NumberOf<V>;
    constexpr T inf = std::numeric_limits<T>::infinity();
    const V nan(std::numeric_limits<T>::quiet_NaN());
    const V upper = where(x == V(inf), x, inside);
    return where(x > origin, upper, where(x == origin, V(-inf), nan));
}

template <> struct Approximation<Log> {
    template <class V> [[gnu::always_inline]] static V of(V x)
    {
        const V zero(NumberOf<V>(0));
        const LogReduced<V> reduced(x);
        return log_edges(x, zero, log_kernel(reduced.f, reduced.k, zero));
    }
};

/// With u = 1 + x rounded and c = (1 + x − u)/u: ln u + c. Near 0, u is not needed: f = x.
template <> struct Approximation<Log1p> {
    template <class V> [[gnu::always_inline]] static V of(V x)
    {
        using T = NumberOf<V>;
        const V u = lit(1) + x;
        const LogReduced<V> reduced(u);
        const auto near = reduced.k == lit(0);
        const V lost = where(x > lit(1), lit(1) - (u - x), x - (u - lit(1)));
        const V f = where(near, x, reduced.f);
        const V c = where(near, V(T(0)), lost / u);
        const V y = log_edges(x, V(T(-1)), log_kernel(f, reduced.k, c));
        return where(x == lit(0), x, y);
    }
};

template <> struct Approximation<Log2> {
    template <class V> [[gnu::always_inline]] static V of(V x)
    {
        const V zero(NumberOf<V>(0));
        const LogReduced<V> reduced(x);
        const V m = log_kernel(reduced.f, zero, zero);
        return log_edges(x, zero, fma(m, V(NumberOf<V>(1.44269504088896340736)), reduced.k));
    }
};

template <> struct Approximation<Log10> {
    template <class V> [[gnu::always_inline]] static V of(V x)
    {
        const V zero(NumberOf<V>(0));
        const LogReduced<V> reduced(x);
        const V m = log_kernel(reduced.f, zero, zero);
        const V hi(either<V>(0x1.34413508p-2, 0x1.344p-2F));  // k · hi is exact
        const V lo(either<V>(0x1.f79fef311f12bp-34, 0x1.3509f8p-18F));
        const V y = fma(reduced.k, hi, fma(m, V(NumberOf<V>(0.43429448190325182765)), reduced.k * lo));
        return log_edges(x, zero, y);
    }
};

/// ln x with some 12 bits more than V has, for positive x: 2 artanh s, s = f/(2 + f), s and s³ as pairs.
template <class V> [[gnu::always_inline]] inline Pair<V> log_pair(V x)
{
    using F = FormatOf<V>;
    const LogReduced<V> reduced(x);
    const V f = reduced.f, two_f = lit(2) + f, lost = f - (two_f - lit(2)), inverse = lit(1) / two_f;
    const V near = f * inverse;
    const Pair<V> back = product(near, two_f);
    const Pair<V> quotient = ordered_sum(near, (((f - back.hi) - back.lo) - near * lost) * inverse);
    const V s = quotient.hi, s_lo = quotient.lo;
    const Pair<V> z = product(s, s);
    const Pair<V> cube = product(z.hi, s);
    const V cube_lo = cube.lo + (z.hi * s_lo + (z.lo + (s + s) * s_lo) * s);
    const Pair<V> third = product(cube.hi, V(either<V>(2.0 / 3, 2.0F / 3)));
    const V third_lo = third.lo + (cube.hi * V(either<V>(0x1.5555555555555p-55, -0x1.555556p-27F)) +
                                   cube_lo * V(either<V>(2.0 / 3, 2.0F / 3)));
    V tail;
    if constexpr (is_double<V>)
        tail = poly(z.hi, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19,
                    2.0 / 21, 2.0 / 23, 2.0 / 25);
    else
        tail = poly(z.hi, 2.0F / 5, 2.0F / 7, 2.0F / 9, 2.0F / 11, 2.0F / 13);
    const Pair<V> whole = ordered_sum(reduced.k * V(F::ln2_hi), s + s);
    const Pair<V> most = ordered_sum(whole.hi, third.hi);
    const V rest = (cube.hi * z.hi) * tail + (third_lo + fma(reduced.k, V(F::ln2_lo), s_lo + s_lo));
    return ordered_sum(most.hi, whole.lo + most.lo + rest);
}

/// y 2ⁿ, before it is rounded: n may be beyond the exponents.
template <class V> struct Unscaled {
    V y, n;
};
/// e^(x.hi + x.lo).
template <class V> [[gnu::always_inline]] inline Unscaled<V> exp_of_pair_unscaled(Pair<V> x)
{
    using F = FormatOf<V>;
    using T = NumberOf<V>;
    const V hi(F::exp_max), lo(F::exp_min - F::exp_max / 8);
    const auto inside = (x.hi < hi) & (x.hi > lo);
    const V head = where(x.hi > lo, at_most(x.hi, hi), lo), low = where(inside, x.lo, V(T(0)));
    const V rounder(F::rounder), n = fma(head, V(T(1.44269504088896340736)), rounder) - rounder;
    const Pair<V> r = exact_sum(fma(n, V(-F::ln2_hi), head), fma(n, V(-F::ln2_lo), low));
    const Pair<V> most = ordered_sum(V(T(1)), r.hi);
    return {most.hi + (most.lo + fma(r.hi * r.hi, exp_rest(r.hi), r.lo)), n};
}
template <class V> [[gnu::always_inline]] inline V exp_of_pair(Pair<V> x)
{
    const Unscaled<V> e = exp_of_pair_unscaled(x);
    return scaled(e.y, e.n);
}

/// xʸ for x ≥ 0, from here on for what Annex F of C says.
template <class V> [[gnu::always_inline]] inline V pow_edges(V x, V y, V inside)
{
    using T = NumberOf<V>;
    const V zero(T(0)), one(T(1)), inf(std::numeric_limits<T>::infinity());
    const V nan(std::numeric_limits<T>::quiet_NaN());
    const V a = abs(x), half = y * lit(0.5);
    const auto whole = round_even(y) == y, odd = whole & (round_even(half) != half);
    const auto minus = copysign(one, x) < zero;
    V r = where(a == zero, where(y < zero, inf, zero), inside);
    r = where(a == inf, where(y < zero, zero, inf), r);
    r = where(minus & odd, -r, r);
    r = where((x < zero) & (a != inf) & !whole, nan, r);
    r = where((x != x) | (y != y), nan, r);
    return where((y == zero) | (x == one), one, r);
}

/// xʸ; x², x and 1/x are those of plain arithmetic.
template <> struct Approximation<Pow> {
    template <class V> [[gnu::always_inline]] static V of(V x, V y)
    {
        using T = NumberOf<V>;
        const V far(either<V>(0x1p900, 0x1p100F)), b = where(abs(y) < far, y, copysign(far, y));
        const Pair<V> l = log_pair(abs(x)), p = product(b, l.hi);
        const V r = pow_edges(x, y, exp_of_pair(Pair<V>{p.hi, fma(b, l.lo, p.lo)}));
        return where(y == lit(2), x * x, where(y == lit(1), x, where(y == lit(-1), V(T(1)) / x, r)));
    }
    template <class V> [[gnu::always_inline]] static bool is_quick(V, V y) { return all(y == lit(2)); }
    template <class V> [[gnu::always_inline]] static V quick(V x, V) { return x * x; }
};

}  // namespace wengert::detail::functions
