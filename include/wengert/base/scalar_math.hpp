#pragma once

#include "arithmetic_options.hpp"
#include "literal.hpp"

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

/// The functions a rule may call that `std` does not have, for plain numbers. The same names exist for
/// `Lane`; a rule written once finds either.
namespace wengert {

template <class T>
concept Number = std::is_arithmetic_v<T>;

template <Number T> constexpr T where(bool condition, T a, T b) { return condition ? a : b; }
template <Number T> constexpr T where(bool condition, T a, Literal b)
{
    return condition ? a : static_cast<T>(b.value);
}
template <Number T> constexpr T where(bool condition, Literal a, T b)
{
    return condition ? static_cast<T>(a.value) : b;
}

/// NaN if either argument is (as NumPy's; std::fmax drops NaN).
template <Number T> constexpr T maximum(T a, T b) { return (a > b || a != a) ? a : b; }
template <Number T> constexpr T minimum(T a, T b) { return (a < b || a != a) ? a : b; }
// clang-format off
template <Number T> constexpr T maximum(T a, Literal b) { return maximum(a, static_cast<T>(b.value)); }
template <Number T> constexpr T maximum(Literal a, T b) { return maximum(static_cast<T>(a.value), b); }
template <Number T> constexpr T minimum(T a, Literal b) { return minimum(a, static_cast<T>(b.value)); }
template <Number T> constexpr T minimum(Literal a, T b) { return minimum(static_cast<T>(a.value), b); }
/// hi where lo > hi.
template <Number T> constexpr T clip(T x, std::type_identity_t<T> lo, std::type_identity_t<T> hi) { return minimum(maximum(x, lo), hi); }

template <std::floating_point T> T pow(T a, Literal b) { return std::pow(a, static_cast<T>(b.value)); }
template <std::floating_point T> T pow(Literal a, T b) { return std::pow(static_cast<T>(a.value), b); }
template <std::floating_point T> T hypot(T a, Literal b) { return std::hypot(a, static_cast<T>(b.value)); }
template <std::floating_point T> T hypot(Literal a, T b) { return std::hypot(static_cast<T>(a.value), b); }
template <std::floating_point T> T atan2(T a, Literal b) { return std::atan2(a, static_cast<T>(b.value)); }
template <std::floating_point T> T atan2(Literal a, T b) { return std::atan2(static_cast<T>(a.value), b); }
// clang-format on

/// −1, 0 or 1; 0 for ±0, NaN for NaN.
template <Number T> constexpr T sign(T x)
{
    if constexpr (std::floating_point<T>) {
        if (x != x) return x;
    }
    const int s = static_cast<int>(x > T(0)) - static_cast<int>(x < T(0));
    return static_cast<T>(s);
}

/// a + b, a − b, a b, −a. Integers wrap, where C++ leaves signed overflow undefined; all else has the operators' meaning,
/// bools and what is no number (Lane, Term) too.
template <class V>
concept Wrapping = std::integral<V> && !std::same_as<V, bool>;
template <Wrapping V> using Wrapped = std::make_unsigned_t<V>;

template <class V> constexpr V wrapping_add(const V& a, const V& b)
{
    if constexpr (Wrapping<V>)
        return static_cast<V>(static_cast<Wrapped<V>>(a) + static_cast<Wrapped<V>>(b));
    else
        return static_cast<V>(a + b);
}
template <class V> constexpr V wrapping_subtract(const V& a, const V& b)
{
    if constexpr (Wrapping<V>)
        return static_cast<V>(static_cast<Wrapped<V>>(a) - static_cast<Wrapped<V>>(b));
    else
        return static_cast<V>(a - b);
}
template <class V> constexpr V wrapping_multiply(const V& a, const V& b)
{
    if constexpr (Wrapping<V>)  // short unsigned factors would be promoted to int
        return static_cast<V>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    else
        return static_cast<V>(a * b);
}
template <class V> constexpr V wrapping_negate(const V& a)
{
    if constexpr (Wrapping<V>)
        return wrapping_subtract(V(0), a);
    else
        return static_cast<V>(-a);
}

template <Number T> constexpr T square(T x) { return wrapping_multiply(x, x); }

/// The integer of the size of a floating-point number.
template <std::floating_point T>
using BitsOf = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

/// Neither NaN nor infinite, by the bits of the exponent. Compilers make no SIMD of comparisons of numbers behind a condition, as those may trap. (x − x is 0 for
/// finite x alone, too, but not under -fassociative-math.)
template <std::floating_point T> constexpr bool is_finite(T x)
{
    constexpr auto exponent = std::bit_cast<BitsOf<T>>(std::numeric_limits<T>::infinity());
    return (std::bit_cast<BitsOf<T>>(x) & exponent) != exponent;
}
template <std::integral T> constexpr bool is_finite(T) { return true; }

template <Number T> constexpr bool is_nan(T x)
{
    if constexpr (std::floating_point<T>)
        return x != x;
    else
        return false;
}

/// The zero-cotangent rule: r counts as 0 where the cotangent g is the probe, which is 0, or NaN where the rule is off, and r is not
/// finite.
template <Number T> constexpr bool is_zero_by_rule(T g, T probe, T r) { return (g == probe) & !is_finite(r); }
/// r, or 0 by the zero-cotangent rule.
template <Number T> constexpr T unless_zero_cotangent(T g, T probe, T r)
{
    return is_zero_by_rule(g, probe, r) ? T(0) : r;
}

/// Halves go to the even neighbour (std::round takes them away from zero, NumPy does not).
template <std::floating_point T> T round_even(T x) { return std::nearbyint(x); }
template <std::integral T> constexpr T round_even(T x) { return x; }

}  // namespace wengert
