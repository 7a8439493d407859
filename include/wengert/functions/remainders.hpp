// fmod and remainder: exact for all arguments.
#pragma once

#include "circular.hpp"
#include "exponential.hpp"

namespace wengert::detail::functions {

/// a b without error where a and b are not so large that halves of them overflow, nor so small that rests vanish (Veltkamp's halves;
/// Dekker 1971).
template <class V> [[gnu::always_inline]] inline Pair<V> exact_product(V a, V b)
{
    const V p = a * b;
    if constexpr (V::fused) {
        return {p, fma(a, b, -p)};
    } else {
        const V s(FormatOf<V>::splitter), ca = a * s, cb = b * s;
        const V ah = ca - (ca - a), bh = cb - (cb - b), al = a - ah, bl = b - bh;
        return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
    }
}

/// a = X 2ᵉ for a > 0 with a whole X of all bits of the format.
template <class V> struct WholeDigits {
    V digits, exponent;
    [[gnu::always_inline]] explicit WholeDigits(V a)
    {
        using F = FormatOf<V>;
        using T = NumberOf<V>;
        using Integer = typename V::Integer;
        constexpr auto magic = std::bit_cast<typename F::Int>(F::exponent_magic);
        constexpr auto mantissa = (typename F::Int(1) << F::mantissa_bits) - 1;
        const auto denormal = a < V(std::numeric_limits<T>::min());
        const Integer bits = where(denormal, a * V(F::denormal_scale), a).bits();
        digits = V::from_bits((bits & Integer(mantissa)) | Integer(magic));
        exponent = V::from_bits(shift_right(bits, F::mantissa_bits) | Integer(magic)) -
                   V(F::exponent_magic + F::bias + T(F::mantissa_bits)) -
                   where(denormal, V(F::denormal_exponent), V(T(0)));
    }
};

/// Into [−m/2, m/2], of what is in [−3m/2, 3m/2].
template <class V> [[gnu::always_inline]] inline V around_zero(V r, V m)
{
    const V half = lit(0.5) * m;
    const V below = where(r > half, r - m, r);
    return where(below < -half, below + m, below);
}
/// a b modulo m for whole a and b in [−m/2, m/2], m of all bits: the quotient is less than a quarter of the largest whole number, so its
/// error, with that of rounding it, moves the rest by less than m.
template <class V> [[gnu::always_inline]] inline V product_modulo(V a, V b, V m)
{
    const Pair<V> p = exact_product(a, b), q = exact_product(round_even(p.hi / m), m);
    return around_zero((p.hi - q.hi) + (p.lo - q.lo), m);
}

/// a modulo b for a much larger than b: X 2ᵈ modulo Y, the power by squares and doublings, one for each bit of d.
struct Modulo {
    template <class V> [[gnu::always_inline]] static V far(V a, V b)
    {
        using T = NumberOf<V>;
        const WholeDigits<V> x(a), y(b);
        V power(T(1)), d = x.exponent - y.exponent;
        for (int bit = is_double<V> ? 11 : 8; bit >= 0; --bit) {
            const V weight(static_cast<T>(1 << bit));
            const auto set = d >= weight;
            d = where(set, d - weight, d);
            power = product_modulo(power, power, y.digits);
            power = where(set, around_zero(power + power, y.digits), power);
        }
        const V start = around_zero(where(x.digits > y.digits, x.digits - y.digits, x.digits), y.digits);
        const V r = product_modulo(power, start, y.digits);
        return scaled(where(r < lit(0), r + y.digits, r), y.exponent);
    }
};

/// a modulo b in [0, b) for a < 2⁵¹ b: the nearest quotient, and b added to a negative rest. All differences are exact.
template <class V> [[gnu::always_inline]] inline V modulo_near(V a, V b)
{
    const Pair<V> p = exact_product(round_even(a / b), b);
    const V r = (a - p.hi) - p.lo;
    return where(r < lit(0), r + b, r);
}
/// The same for all a, b > 0, by a part of F. The products of modulo_near neither overflow nor vanish.
template <class F, class V> [[gnu::always_inline]] inline V modulo(V a, V b)
{
    const V most(either<V>(0x1p51, 0x1p22F)), one(NumberOf<V>(1));
    const V far(either<V>(0x1p900, 0x1p90F)), near(either<V>(0x1p-800, 0x1p-70F));
    const V up(either<V>(0x1p150, 0x1p40F)), down(either<V>(0x1p-150, 0x1p-40F));
    a = seldom_of_two(a / b >= most, a, Far<F>(), b);
    const auto large = b > far, small = b < near;
    const V scale = where(large, down, where(small, up, one));
    const V back = where(large, up, where(small, down, one));
    return where(a < b, a, modulo_near(a * scale, b * scale) * back);
}

/// NaN of ∞ and by 0, as C's Annex F has it; x itself by ∞.
template <class V> [[gnu::always_inline]] inline V modulo_edges(V x, V y, V inside)
{
    using T = NumberOf<V>;
    const V inf(std::numeric_limits<T>::infinity()), nan(std::numeric_limits<T>::quiet_NaN());
    const V r = where(abs(y) == inf, x, inside);
    return where((abs(x) == inf) | (y == lit(0)) | (x != x) | (y != y), nan, r);
}
/// x − y trunc(x/y), of the sign of x.
template <> struct Approximation<Fmod> : Modulo {
    template <class V> [[gnu::always_inline]] static V of(V x, V y)
    {
        return modulo_edges(x, y, copysign(modulo<Fmod>(abs(x), abs(y)), x));
    }
};
/// x − y n, n the whole number next to x/y, the even one of two: from |x| modulo 2|y| (fdlibm e_remainder.c).
template <> struct Approximation<Remainder> : Modulo {
    template <class V> [[gnu::always_inline]] static V of(V x, V y)
    {
        using T = NumberOf<V>;
        const V a = abs(x), b = abs(y);
        const auto doubles = b < V(std::numeric_limits<T>::max() / 2);
        const V rest = where(doubles, modulo<Remainder>(a, where(doubles, b + b, b)), a), once = rest - b;
        const V r = where(rest > b - rest, where(once >= b - once, once - b, once), rest);
        return modulo_edges(x, y, where(r == lit(0), copysign(r, x), where(x < lit(0), -r, r)));
    }
};

}  // namespace wengert::detail::functions
