// Uses: a value that remembers which inputs of a rule it depends on. Evaluating a rule on it at compile time tells
// what the tape has to save.
#pragma once

#include "literal.hpp"

namespace wengert {

/// The set of arguments that a value was made from; pull on it gives the saved set at compile time.
struct Uses {
    unsigned bits = 0;      ///< one for each input read
    bool is_input = false;  ///< an input itself, untouched

    constexpr Uses() = default;
    constexpr Uses(Literal) {}
    constexpr explicit Uses(unsigned b, bool input = false) : bits(b), is_input(input) {}
    constexpr explicit Uses(bool) {}
};

namespace detail {
template <class... U> constexpr Uses merge_uses(const U&... u) { return Uses((Uses(u).bits | ... | 0U)); }
}  // namespace detail

// clang-format off
constexpr Uses operator+(Uses a, Uses b) { return detail::merge_uses(a, b); }
constexpr Uses operator-(Uses a, Uses b) { return detail::merge_uses(a, b); }
constexpr Uses operator*(Uses a, Uses b) { return detail::merge_uses(a, b); }
constexpr Uses operator/(Uses a, Uses b) { return detail::merge_uses(a, b); }
constexpr Uses operator-(Uses a) { return detail::merge_uses(a); }
constexpr Uses operator!(Uses a) { return detail::merge_uses(a); }
constexpr Uses operator<(Uses a, Uses b) { return detail::merge_uses(a, b); }
constexpr Uses operator<=(Uses a, Uses b) { return detail::merge_uses(a, b); }
constexpr Uses operator>(Uses a, Uses b) { return detail::merge_uses(a, b); }
constexpr Uses operator>=(Uses a, Uses b) { return detail::merge_uses(a, b); }
constexpr Uses operator==(Uses a, Uses b) { return detail::merge_uses(a, b); }
constexpr Uses operator!=(Uses a, Uses b) { return detail::merge_uses(a, b); }
constexpr Uses operator&&(Uses a, Uses b) { return detail::merge_uses(a, b); }
constexpr Uses operator||(Uses a, Uses b) { return detail::merge_uses(a, b); }
constexpr Uses where(Uses c, Uses a, Uses b) { return Uses(c.bits | a.bits | b.bits); }
constexpr Uses maximum(Uses a, Uses b) { return detail::merge_uses(a, b); }
constexpr Uses minimum(Uses a, Uses b) { return detail::merge_uses(a, b); }
constexpr Uses pow(Uses a, Uses b) { return detail::merge_uses(a, b); }
constexpr Uses hypot(Uses a, Uses b) { return detail::merge_uses(a, b); }
constexpr Uses atan2(Uses a, Uses b) { return detail::merge_uses(a, b); }
constexpr Uses fmod(Uses a, Uses b) { return detail::merge_uses(a, b); }
constexpr Uses remainder(Uses a, Uses b) { return detail::merge_uses(a, b); }
constexpr Uses sqrt(Uses a) { return detail::merge_uses(a); }
constexpr Uses square(Uses a) { return detail::merge_uses(a); }
constexpr Uses exp(Uses a) { return detail::merge_uses(a); }
constexpr Uses expm1(Uses a) { return detail::merge_uses(a); }
constexpr Uses log(Uses a) { return detail::merge_uses(a); }
constexpr Uses log1p(Uses a) { return detail::merge_uses(a); }
constexpr Uses log2(Uses a) { return detail::merge_uses(a); }
constexpr Uses log10(Uses a) { return detail::merge_uses(a); }
constexpr Uses sin(Uses a) { return detail::merge_uses(a); }
constexpr Uses cos(Uses a) { return detail::merge_uses(a); }
constexpr Uses tan(Uses a) { return detail::merge_uses(a); }
constexpr Uses asin(Uses a) { return detail::merge_uses(a); }
constexpr Uses acos(Uses a) { return detail::merge_uses(a); }
constexpr Uses atan(Uses a) { return detail::merge_uses(a); }
constexpr Uses sinh(Uses a) { return detail::merge_uses(a); }
constexpr Uses cosh(Uses a) { return detail::merge_uses(a); }
constexpr Uses tanh(Uses a) { return detail::merge_uses(a); }
constexpr Uses erf(Uses a) { return detail::merge_uses(a); }
constexpr Uses erfc(Uses a) { return detail::merge_uses(a); }
constexpr Uses exp2(Uses a) { return detail::merge_uses(a); }
constexpr Uses cbrt(Uses a) { return detail::merge_uses(a); }
constexpr Uses asinh(Uses a) { return detail::merge_uses(a); }
constexpr Uses acosh(Uses a) { return detail::merge_uses(a); }
constexpr Uses atanh(Uses a) { return detail::merge_uses(a); }
constexpr Uses tgamma(Uses a) { return detail::merge_uses(a); }
constexpr Uses lgamma(Uses a) { return detail::merge_uses(a); }
constexpr Uses digamma(Uses a) { return detail::merge_uses(a); }
constexpr Uses abs(Uses a) { return detail::merge_uses(a); }
constexpr Uses sign(Uses a) { return detail::merge_uses(a); }
constexpr Uses floor(Uses a) { return detail::merge_uses(a); }
constexpr Uses ceil(Uses a) { return detail::merge_uses(a); }
constexpr Uses round_even(Uses a) { return detail::merge_uses(a); }
constexpr Uses sigmoid(Uses a) { return detail::merge_uses(a); }
constexpr Uses is_finite(Uses a) { return detail::merge_uses(a); }
constexpr Uses normal_cdf(Uses a) { return detail::merge_uses(a); }
// clang-format on

}  // namespace wengert
