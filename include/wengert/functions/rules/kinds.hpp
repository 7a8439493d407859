// What the structs of functions say of the kinds of terms: names, and how long they take.
#pragma once

#include <array>
#include <string_view>

#include "../../base/enumerators.hpp"
#include "activations.hpp"
#include "math.hpp"
#include "pairs.hpp"
#include "probability.hpp"
#include "special.hpp"
#include "trigonometry.hpp"
#include "../term.hpp"

namespace wengert {

namespace detail {

/// A struct may say `brief`: a few instructions, inlined everywhere; `transcendentals` and `divisions`: what it costs, if not one of
/// the former.
struct FunctionFacts {
    std::string_view name;
    bool brief = false;
    double transcendentals = 1, divisions = 0;
};
template <class F> constexpr FunctionFacts facts_of()
{
    FunctionFacts facts{F::name};
    if constexpr (requires { F::brief; }) facts.brief = F::brief;
    if constexpr (requires { F::transcendentals; }) facts.transcendentals = F::transcendentals;
    if constexpr (requires { F::divisions; }) facts.divisions = F::divisions;
    return facts;
}
inline constexpr auto all_function_facts = []<class... F>(List<F...>) {
    return std::array{facts_of<F>()...};
}(ApproximatedFunctions());

/// Of a kind that is a function's.
constexpr const FunctionFacts& function_facts(TermKind k)
{
    return all_function_facts[static_cast<std::size_t>(k) - static_cast<std::size_t>(TermKind::functions)];
}

}  // namespace detail

constexpr std::string_view name_of(TermKind k)
{
    return is_function(k) ? detail::function_facts(k).name
                          : detail::enumerator_names<TermKind::seldom>[static_cast<std::size_t>(k)];
}

/// Does a step of this kind take more than a few instructions?
constexpr bool is_long(TermKind k) { return is_function(k) && !detail::function_facts(k).brief; }

}  // namespace wengert
