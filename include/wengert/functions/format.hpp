// What the functions of numbers share: the numbers of a floating-point format, polynomials, products without error.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "../base/literal.hpp"
#include "calls.hpp"

/// exp, log, sin and their like, each written once, over a value type V: a SIMD register (kernels/cpu/lane.hpp), which gives the
/// kernels, or a number that remembers how it was made (written.hpp), which gives the text of native code and of emitted
/// headers. So all of them round alike, and give the same bits.
///
/// Every element takes the same path, so that its result does not depend on its neighbours. V has
///   value_type, V(T), V(Literal), + − × ÷, comparisons that give masks with & | !, where(mask, a, b), abs, sqrt, copysign,
///   round_even, fma(a, b, c): one rounding if V::fused, two otherwise;
///   at_most(x, bound), at_least(x, bound): NaN stays;
///   bits(), from_bits(), of an Integer with + & | shift_left shift_right;
///   two_over_pi(i): a digit of 2/π (circular.hpp);
///   V::may_scale, V::scales(), times_pow2(x, n): x 2ⁿ rounded once, where there is an instruction;
///   all(mask): of what may be skipped; seldom(mask, y, f, x): f(x) where the mask says so, y elsewhere;
///   seldom_of_two(mask, x, f, y): f(x, y) where the mask says so, x elsewhere.
namespace wengert::detail::functions {

/// How a function of list.hpp is computed: `of(x…)`. Those with another way for arguments that are seldom as large say `far(x…)`; those
/// of two numbers that have a quick way where `is_quick(x, y)` holds for all, `quick(x, y)`.
template <class F> struct Approximation;

template <class T> struct Format;
template <> struct Format<double> {
    using Int = std::int64_t;
    static constexpr int mantissa_bits = 52;
    static constexpr double bias = 1023;
    static constexpr double rounder = 0x1.8p52;        ///< adding it rounds to an integer in the low bits
    static constexpr double ln2_hi = 0x1.62e42feep-1;  ///< 32 bits: k · ln2_hi is exact
    static constexpr double ln2_lo = 0x1.a39ef35793c76p-33;
    static constexpr double exp_max = 710, exp_min = -745.14;  ///< below exp_min eˣ rounds to 0
    static constexpr double expm1_min = -38;
    static constexpr double denormal_scale = 0x1p54, denormal_exponent = 54;
    static constexpr double exponent_magic = 0x1p52;
    static constexpr double splitter = 0x1p27 + 1;
    static constexpr Int root_half = 0x3fe6a09e00000000;  ///< the bits of a number close to √½
};
template <> struct Format<float> {
    using Int = std::int32_t;
    static constexpr int mantissa_bits = 23;
    static constexpr float bias = 127;
    static constexpr float rounder = 0x1.8p23F;
    static constexpr float ln2_hi = 0x1.62e4p-1F;
    static constexpr float ln2_lo = 0x1.7f7d1cp-20F;
    static constexpr float exp_max = 89, exp_min = -103.98F;
    static constexpr float expm1_min = -18;
    static constexpr float denormal_scale = 0x1p25F, denormal_exponent = 25;
    static constexpr float exponent_magic = 0x1p23F;
    static constexpr float splitter = 0x1p12F + 1;
    static constexpr Int root_half = 0x3f3504f3;
};

template <class V> using NumberOf = typename V::value_type;
template <class V> using FormatOf = Format<NumberOf<V>>;
template <class V> inline constexpr bool is_double = sizeof(NumberOf<V>) == 8;

/// One of two numbers, by the type.
template <class V> constexpr NumberOf<V> either(double for_double, float for_float)
{
    return is_double<V> ? static_cast<NumberOf<V>>(for_double) : static_cast<NumberOf<V>>(for_float);
}

/// c₀ + x (c₁ + x (c₂ + …)).
template <class V, class... C> [[gnu::always_inline]] inline V poly(V x, NumberOf<V> c0, C... more)
{
    if constexpr (sizeof...(more) == 0)
        return c0;
    else
        return fma(poly(x, static_cast<NumberOf<V>>(more)...), x, V(c0));
}
/// The same with 1 as the last coefficient.
template <class V, class... C> [[gnu::always_inline]] inline V monic(V x, NumberOf<V> c0, C... more)
{
    if constexpr (sizeof...(more) == 0)
        return x + V(c0);
    else
        return fma(monic(x, static_cast<NumberOf<V>>(more)...), x, V(c0));
}

/// hi + lo, lo no more than half a unit in the last place of hi.
template <class V> struct Pair {
    V hi, lo;
};

/// The upper half of the digits.
template <class V> [[gnu::always_inline]] inline V upper_half(V x)
{
    using F = FormatOf<V>;
    using Int = typename F::Int;
    constexpr Int mask = -(Int(1) << (F::mantissa_bits + 2) / 2);
    return V::from_bits(x.bits() & typename V::Integer(mask));
}
/// a b; the sum is exact, but for what is 2 mantissa_bits below it where products and sums are rounded apart (Dekker 1971).
template <class V> [[gnu::always_inline]] inline Pair<V> product(V a, V b)
{
    const V p = a * b;
    if constexpr (V::fused) {
        return {p, fma(a, b, -p)};
    } else {
        const V ah = upper_half(a), bh = upper_half(b), al = a - ah, bl = b - bh;
        return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
    }
}
/// a + b, exactly, for |a| ≥ |b| or a = 0.
template <class V> [[gnu::always_inline]] inline Pair<V> ordered_sum(V a, V b)
{
    const V s = a + b;
    return {s, b - (s - a)};
}
/// a + b, exactly (Knuth 1969).
template <class V> [[gnu::always_inline]] inline Pair<V> exact_sum(V a, V b)
{
    const V s = a + b, t = s - a;
    return {s, (a - (s - t)) + (b - t)};
}

}  // namespace wengert::detail::functions
