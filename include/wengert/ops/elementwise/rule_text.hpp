// The text of an elementwise primitive's rules, from the rules themselves.
#pragma once

#include "../../functions/rules/term_text.hpp"
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
        return requires(const Term& s) { P::value((static_cast<void>(k), s)...); };
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

template <class P, std::size_t i, class... S>
std::string pull_text(const TermProgram& program, const std::string* names, Term g, Term y, const S&... x)
{
    if constexpr (requires { P::pull(wrt<i>{}, g, x..., y); })
        return term_text(program, P::pull(wrt<i>{}, g, x..., y), names);
    else
        return {};
}

}  // namespace detail

/// The rule of an elementwise primitive as text: its value, its derivatives, what it saves.
template <class P> RuleText rule_text()
{
    constexpr std::size_t n = detail::arity_of<P>();
    const std::string names[] = {n == 1 ? "x" : "a", "b", "c", "g", "y"};
    TermProgram program;
    const TermScope scope(program);
    Term in[5];
    for (std::int32_t i = 0; i < 5; ++i) in[i] = Term::input(i);
    return [&]<std::size_t... k>(std::index_sequence<k...>) {
        RuleText text{term_text(program, P::value(in[k]...), names), {}};
        const auto pull = [&]<std::size_t i>(std::integral_constant<std::size_t, i>) {
            text.pulls.push_back(detail::pull_text<P, i>(program, names, in[3], in[4], in[k]...));
        };
        (pull(std::integral_constant<std::size_t, k>{}), ...);
        return text;
    }(std::make_index_sequence<n>());
}

}  // namespace wengert
