// Function objects that know the line of their call: what grad(f), elementwise(f), custom_vjp(f, rule) … return.
#pragma once

#include <concepts>
#include <functional>
#include <tuple>
#include <type_traits>

#include "../base/site.hpp"

namespace wengert {
namespace detail {

struct ClosureBase {};

template <class X>
concept NoSite = !std::is_same_v<X, Site>;
/// A concept, which nobody looks into before Self is complete.
template <class Self, class... X>
concept Accepts = Self::template accepts<X...>();

/// Gives Self, which has at_line(at, x…) and accepts<X…>, a call operator that ends with the user's line. A default
/// argument cannot follow a pack: the operator is written out for up to four arguments, and with more of them the line
/// is the one on which the closure was made.
template <class Self> class Closure : public ClosureBase {
public:
    template <NoSite A>
        requires Accepts<Self, A>
    auto operator()(const A& a, Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        return self().at_line(at, a);
    }
    template <NoSite A, NoSite B>
        requires Accepts<Self, A, B>
    auto operator()(const A& a, const B& b, Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        return self().at_line(at, a, b);
    }
    template <NoSite A, NoSite B, NoSite C>
        requires Accepts<Self, A, B, C>
    auto operator()(const A& a, const B& b, const C& c, Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        return self().at_line(at, a, b, c);
    }
    template <NoSite A, NoSite B, NoSite C, NoSite D>
        requires Accepts<Self, A, B, C, D>
    auto operator()(const A& a, const B& b, const C& c, const D& d,
                    Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        return self().at_line(at, a, b, c, d);
    }
    template <NoSite... X>
        requires(sizeof...(X) > 4 && Accepts<Self, X...>)
    auto operator()(const X&... x) const
    {
        return self().at_line(made_, x...);
    }

protected:
    explicit Closure(const Site& made) : made_(made) {}

private:
    const Self& self() const { return static_cast<const Self&>(*this); }
    Site made_;
};

/// f(x…), and where f is such a closure, in the name of the line `at`.
template <class F, class... X> decltype(auto) call_at(F& f, const Site& at, X&&... x)
{
    if constexpr (std::is_base_of_v<ClosureBase, F>)
        return f.at_line(at, x...);
    else
        return std::invoke(f, std::forward<X>(x)...);
}
template <class F, class Tuple> decltype(auto) apply_at(F& f, const Site& at, Tuple& x)
{
    return std::apply([&](auto&... element) -> decltype(auto) { return call_at(f, at, element...); }, x);
}

}  // namespace detail
}  // namespace wengert
