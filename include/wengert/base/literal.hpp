#pragma once

#include <concepts>
#include <type_traits>

namespace wengert {

/// A number in a rule that takes the type of its partner: with `1.0 - y * y` a float `y` would be
/// computed in double, `lit(1) - y * y` stays float, a SIMD lane, or a symbol.
///
/// A value type of one's own joins in by a constructor from `Literal` and operators found by ADL.
struct Literal {
    double value;
    constexpr Literal operator-() const { return {-value}; }
    constexpr Literal operator+() const { return *this; }
    constexpr bool operator==(const Literal&) const = default;
};

template <class N>
    requires std::is_arithmetic_v<N>
constexpr Literal lit(N value)
{
    return {static_cast<double>(value)};
}

/// What a literal can become without the help of a constructor.
template <class T>
concept Scalar = std::is_arithmetic_v<T> && !std::same_as<T, bool>;

constexpr Literal operator+(Literal a, Literal b) { return {a.value + b.value}; }
constexpr Literal operator-(Literal a, Literal b) { return {a.value - b.value}; }
constexpr Literal operator*(Literal a, Literal b) { return {a.value * b.value}; }
constexpr Literal operator/(Literal a, Literal b) { return {a.value / b.value}; }

// clang-format off
template <Scalar T> constexpr T operator+(T a, Literal b) { return static_cast<T>(a + static_cast<T>(b.value)); }
template <Scalar T> constexpr T operator+(Literal a, T b) { return static_cast<T>(static_cast<T>(a.value) + b); }
template <Scalar T> constexpr T operator-(T a, Literal b) { return static_cast<T>(a - static_cast<T>(b.value)); }
template <Scalar T> constexpr T operator-(Literal a, T b) { return static_cast<T>(static_cast<T>(a.value) - b); }
template <Scalar T> constexpr T operator*(T a, Literal b) { return static_cast<T>(a * static_cast<T>(b.value)); }
template <Scalar T> constexpr T operator*(Literal a, T b) { return static_cast<T>(static_cast<T>(a.value) * b); }
template <Scalar T> constexpr T operator/(T a, Literal b) { return static_cast<T>(a / static_cast<T>(b.value)); }
template <Scalar T> constexpr T operator/(Literal a, T b) { return static_cast<T>(static_cast<T>(a.value) / b); }

template <Scalar T> constexpr bool operator==(T a, Literal b) { return a == static_cast<T>(b.value); }
template <Scalar T> constexpr bool operator<(T a, Literal b) { return a < static_cast<T>(b.value); }
template <Scalar T> constexpr bool operator<(Literal a, T b) { return static_cast<T>(a.value) < b; }
template <Scalar T> constexpr bool operator>(T a, Literal b) { return a > static_cast<T>(b.value); }
template <Scalar T> constexpr bool operator>(Literal a, T b) { return static_cast<T>(a.value) > b; }
template <Scalar T> constexpr bool operator<=(T a, Literal b) { return a <= static_cast<T>(b.value); }
template <Scalar T> constexpr bool operator<=(Literal a, T b) { return static_cast<T>(a.value) <= b; }
template <Scalar T> constexpr bool operator>=(T a, Literal b) { return a >= static_cast<T>(b.value); }
template <Scalar T> constexpr bool operator>=(Literal a, T b) { return static_cast<T>(a.value) >= b; }
// clang-format on

}  // namespace wengert
