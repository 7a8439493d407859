// Rules of the user's own for functions of complex tensors: the function and its rule, as functions of parts.
#pragma once

#include "../transforms/custom.hpp"
#include "tensor.hpp"

namespace wengert::detail {

/// The parts of complex tensors; what else there is as it is.
template <class X> auto as_its_parts(const X& x)
{
    if constexpr (is_complex_tensor<X>)
        return x.parts("custom rule", Site{});
    else
        return x;
}
template <class... X> auto as_its_parts(const std::tuple<X...>& all)
{
    return std::apply([](const auto&... x) { return std::tuple(as_its_parts(x)...); }, all);
}
template <class X> using ItsParts = decltype(as_its_parts(std::declval<const X&>()));
template <class X> X from_its_parts(const ItsParts<X>& p)
{
    if constexpr (is_complex_tensor<X>)
        return as_complex(p);
    else
        return p;
}

/// The function or the rule of a pair, which takes X….
template <bool is_rule, class Functions, class... X> struct OnParts {
    std::shared_ptr<const Functions> own;
    auto operator()(const ItsParts<X>&... p) const
    {
        if constexpr (is_rule)
            return as_its_parts(own->second(from_its_parts<X>(p)...));
        else
            return as_its_parts(own->first(from_its_parts<X>(p)...));
    }
};

template <bool is_rule, class Functions, class... X>
inline constexpr bool is_made_of_own<OnParts<is_rule, Functions, X...>> = true;

/// Calls a function that takes X…, with a rule of its own, on their parts.
template <class... X> struct ByParts {
    template <template <class, class, class> class Op, class F, class R>
    static auto with_rule(const std::shared_ptr<const std::pair<F, R>>& functions, const Site& at,
                          const X&... x)
    {
        using Functions = std::pair<F, R>;
        using Y = std::remove_cvref_t<std::invoke_result_t<const F&, const X&...>>;
        using Function = OnParts<false, Functions, X...>;
        using Rule =
            std::conditional_t<Op<F, R, cpu>::gives_tangents, OnParts<true, Functions, X..., Y, X...>,
                               OnParts<true, Functions, Y, Y, X...>>;
        using First = std::tuple_element_t<0, std::tuple<ItsParts<X>...>>;
        using Made = Op<Function, Rule, typename First::device_type>;
        const auto both =
            std::make_shared<const std::pair<Function, Rule>>(Function{functions}, Rule{functions});
        return from_its_parts<Y>(apply<Made, typename First::value_type>(Made{both}, at, as_its_parts(x)...));
    }
};

}  // namespace wengert::detail
