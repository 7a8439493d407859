// The value type on which an approximation computes a plain number: for functions that <cmath> does not have.
#pragma once

#include <bit>
#include <cmath>
#include <type_traits>

#include "format.hpp"

namespace wengert::detail::functions {

template <class T> struct NumberMask {
    bool value;
    friend NumberMask operator&(NumberMask a, NumberMask b) { return {a.value && b.value}; }
    friend NumberMask operator|(NumberMask a, NumberMask b) { return {a.value || b.value}; }
    friend NumberMask operator!(NumberMask a) { return {!a.value}; }
    friend bool all(NumberMask a) { return a.value; }
};

template <class T> struct NumberInteger {
    using Int = typename Format<T>::Int;
    using Unsigned = std::make_unsigned_t<Int>;
    Int value;

    explicit NumberInteger(Int v) : value(v) {}
    static NumberInteger of(Unsigned v) { return NumberInteger(static_cast<Int>(v)); }
    Unsigned bits() const { return static_cast<Unsigned>(value); }
    friend NumberInteger operator+(NumberInteger a, NumberInteger b) { return of(a.bits() + b.bits()); }
    friend NumberInteger operator&(NumberInteger a, NumberInteger b) { return of(a.bits() & b.bits()); }
    friend NumberInteger operator|(NumberInteger a, NumberInteger b) { return of(a.bits() | b.bits()); }
    friend NumberInteger shift_left(NumberInteger a, int n) { return of(a.bits() << n); }
    friend NumberInteger shift_right(NumberInteger a, int n) { return of(a.bits() >> n); }
};

/// Products and sums are rounded apart, whatever the processor has: a compiler may join them, which no approximation minds.
template <class T> struct PlainNumber {
    using value_type = T;
    using Mask = NumberMask<T>;
    using Integer = NumberInteger<T>;
    static constexpr bool fused = false, may_scale = false;
    static constexpr bool scales() { return false; }
    /// Within another function.
    template <class F> static constexpr int calls = is_in<F, ApproximatedFunctions>;
    template <class F> static PlainNumber call(PlainNumber x, const Site&) { return Approximation<F>::of(x); }

    T value;

    PlainNumber() = default;
    PlainNumber(T v) : value(v) {}
    PlainNumber(Literal v) : value(static_cast<T>(v.value)) {}

    // clang-format off
    friend PlainNumber operator-(PlainNumber x) { return -x.value; }
    friend PlainNumber operator+(PlainNumber x, PlainNumber y) { return x.value + y.value; }
    friend PlainNumber operator-(PlainNumber x, PlainNumber y) { return x.value - y.value; }
    friend PlainNumber operator*(PlainNumber x, PlainNumber y) { return x.value * y.value; }
    friend PlainNumber operator/(PlainNumber x, PlainNumber y) { return x.value / y.value; }
    friend Mask operator<(PlainNumber x, PlainNumber y) { return {x.value < y.value}; }
    friend Mask operator>(PlainNumber x, PlainNumber y) { return {x.value > y.value}; }
    friend Mask operator>=(PlainNumber x, PlainNumber y) { return {x.value >= y.value}; }
    friend Mask operator==(PlainNumber x, PlainNumber y) { return {x.value == y.value}; }
    friend Mask operator!=(PlainNumber x, PlainNumber y) { return {x.value != y.value}; }
    friend PlainNumber where(Mask m, PlainNumber x, PlainNumber y) { return m.value ? x : y; }
    friend PlainNumber fma(PlainNumber x, PlainNumber y, PlainNumber z) { return x.value * y.value + z.value; }
    friend PlainNumber sqrt(PlainNumber x) { return std::sqrt(x.value); }
    friend PlainNumber abs(PlainNumber x) { return std::abs(x.value); }
    friend PlainNumber round_even(PlainNumber x) { return std::nearbyint(x.value); }
    friend PlainNumber copysign(PlainNumber x, PlainNumber y) { return std::copysign(x.value, y.value); }
    friend PlainNumber at_most(PlainNumber x, PlainNumber y) { return y.value < x.value ? y : x; }
    friend PlainNumber at_least(PlainNumber x, PlainNumber y) { return x.value < y.value ? y : x; }
    // clang-format on
    Integer bits() const { return Integer(std::bit_cast<typename Integer::Int>(value)); }
    static PlainNumber from_bits(Integer b) { return std::bit_cast<T>(b.value); }
};

/// A function of a plain number, by its approximation.
template <class F, class T> T of_number(T x) { return Approximation<F>::of(PlainNumber<T>(x)).value; }

}  // namespace wengert::detail::functions
