// Uses: a value that remembers which inputs of a rule it depends on. Evaluating a rule on it at compile time tells
// what the tape has to save.
#pragma once

#include "../base/literal.hpp"
#include "../base/site.hpp"

namespace wengert {

/// The set of arguments that a value was made from; pull on it gives the saved set at compile time.
struct Uses {
    unsigned bits = 0;      ///< one for each input read
    bool is_input = false;  ///< an input itself, untouched

    constexpr Uses() = default;
    constexpr Uses(Literal) {}
    constexpr explicit Uses(unsigned b, bool input = false) : bits(b), is_input(input) {}
    constexpr explicit Uses(bool) {}

    /// A function of numbers (calls.hpp) reads all of its arguments.
    template <class F> static constexpr int calls = 1;
    template <class F> static constexpr Uses call(Uses x, const Site&) { return Uses(x.bits); }
    template <class F> static constexpr Uses call(Uses x, Uses y, const Site&)
    {
        return Uses(x.bits | y.bits);
    }
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
constexpr Uses sqrt(Uses a) { return detail::merge_uses(a); }
constexpr Uses square(Uses a) { return detail::merge_uses(a); }
constexpr Uses abs(Uses a) { return detail::merge_uses(a); }
constexpr Uses sign(Uses a) { return detail::merge_uses(a); }
constexpr Uses floor(Uses a) { return detail::merge_uses(a); }
constexpr Uses ceil(Uses a) { return detail::merge_uses(a); }
constexpr Uses round_even(Uses a) { return detail::merge_uses(a); }
constexpr Uses is_finite(Uses a) { return detail::merge_uses(a); }
// clang-format on

}  // namespace wengert
