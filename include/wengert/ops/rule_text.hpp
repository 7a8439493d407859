// The text of an elementwise primitive's rules, from the rules themselves.
#pragma once

#include <vector>

#include "../base/symbol.hpp"
#include "elementwise.hpp"

namespace wengert {

/// Inputs are called x, or a, b, c where there are several, the result y and its cotangent g.
struct RuleText {
    std::string value;
    std::vector<std::string> pulls;  ///< one for each input; empty where it has no derivative
};

namespace detail {

template <class P, std::size_t n> constexpr bool takes()
{
    return []<std::size_t... k>(std::index_sequence<k...>) {
        return requires(const Symbol& s) { P::value((static_cast<void>(k), s)...); };
    }(std::make_index_sequence<n>());
}

template <class P> constexpr std::size_t arity_of()
{
    if constexpr (takes<P, 1>())
        return 1;
    else if constexpr (takes<P, 2>())
        return 2;
    else
        return 3;
}

template <class P, std::size_t i, class... S> std::string pull_text(const S&... x)
{
    const Symbol g("g"), y("y");
    if constexpr (requires { P::pull(wrt<i>{}, g, x..., y); })
        return P::pull(wrt<i>{}, g, x..., y).text();
    else
        return {};
}

}  // namespace detail

template <class P> RuleText rule_text()
{
    constexpr std::size_t n = detail::arity_of<P>();
    const Symbol names[] = {Symbol(n == 1 ? "x" : "a"), Symbol("b"), Symbol("c")};
    return [&]<std::size_t... k>(std::index_sequence<k...>) {
        RuleText text{P::value(names[k]...).text(), {}};
        const auto pull = [&]<std::size_t i>(std::integral_constant<std::size_t, i>) {
            text.pulls.push_back(detail::pull_text<P, i>(names[k]...));
        };
        (pull(std::integral_constant<std::size_t, k>{}), ...);
        return text;
    }(std::make_index_sequence<n>());
}

}  // namespace wengert
