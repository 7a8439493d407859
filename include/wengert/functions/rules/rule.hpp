// What the rule of a function is written with. A rule is a struct with a name, a value and the pull of each input, as templates
// over a value type: lanes, terms, tensors, dual numbers, and the numbers of scalar code all evaluate the same one.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#include "../../base/scalar_math.hpp"
#include "../calls.hpp"
#include "../uses.hpp"

namespace wengert {

/// Names an input in a rule.
template <std::size_t i> struct wrt {};

namespace detail {
template <class V>
concept HasBlock = requires(const V& g) { g.any(); };
}  // namespace detail

/// A zero of g's kind: the derivative of what is flat almost everywhere.
template <class V>
    requires(!detail::HasBlock<V>)
constexpr V zero_like(const V&)
{
    if constexpr (std::is_arithmetic_v<V>)
        return V(0);
    else
        return V(lit(0));
}

namespace detail {

/// A rule says which of its n inputs pull reads; one that cannot be evaluated at compile time names them in `saves`.
template <class P, std::size_t i, std::size_t n> constexpr Uses uses_of()
{
    if constexpr (requires { P::saves; }) {
        return Uses(P::saves);
    } else {
        return []<std::size_t... k>(std::index_sequence<k...>) {
            return P::pull(wrt<i>{}, Uses(1U << (n + 1), true), Uses(1U << k)..., Uses(1U << n));
        }(std::make_index_sequence<n>());
    }
}

}  // namespace detail
}  // namespace wengert
