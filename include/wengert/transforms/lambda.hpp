// elementwise(f): a lambda over scalars becomes one primitive, its derivative taken from the lambda itself.
#pragma once

#include "../ops/elementwise/activations.hpp"
#include "../ops/elementwise/choices.hpp"
#include "../ops/elementwise/pairs.hpp"
#include "../ops/selection.hpp"
#include "../ops/elementwise/special.hpp"
#include "level.hpp"

namespace wengert {

template <class V> struct Dual;

namespace detail {
template <class V, class X> V as_value(const X& x);
template <class P, class V> Dual<V> dual_unary(const Dual<V>& x);
template <class P, class A, class B> auto dual_binary(const A& a, const B& b);
}  // namespace detail

/// A value and its derivative with respect to one input, over any V that rules run on: SIMD lanes give the backward
/// loop, tensors the recorded derivative. Values that do not depend on that input stay plain V.
template <class V> struct Dual {
    V value, dot;

    Dual() = default;
    Dual(V x, V dx) : value(std::move(x)), dot(std::move(dx)) {}
    explicit Dual(Literal x) : value(detail::as_value<V>(x)), dot(detail::as_value<V>(lit(0))) {}
    /// A dual number is no double: `using std::sin; sin(x)` in place of std::sin(x).
    template <std::same_as<double> D> operator D() const = delete;

    /// A function of numbers (functions/calls.hpp), by its rule.
    template <class F> static constexpr int calls = 3;
    template <class F> static Dual call(const Dual& x, const Site&) { return detail::dual_unary<F>(x); }
    template <class F, class A, class B> static Dual call(const A& a, const B& b, const Site&)
    {
        return detail::dual_binary<F>(a, b);
    }
};

namespace detail {

template <class X> inline constexpr bool is_dual = false;
template <class V> inline constexpr bool is_dual<Dual<V>> = true;

template <class V, class X> V as_value(const X& x)
{
    if constexpr (is_dual<X>)
        return x.value;
    else if constexpr (std::is_same_v<X, V>)
        return x;
    else if constexpr (std::is_same_v<X, Literal>)
        return as_value<V>(x.value);
    else if constexpr (requires { typename V::device_type; })
        return V(x);  // a tensor of rank 0
    else
        return V(lit(x));
}
template <class X> struct dual_value {
    using type = void;
};
template <class V> struct dual_value<Dual<V>> {
    using type = V;
};
template <class A, class B>
using dual_value_t =
    std::conditional_t<is_dual<A>, typename dual_value<A>::type, typename dual_value<B>::type>;

/// One input in a rule: ẏ = pull(ẋ), since real elementwise Jacobians are diagonal.
template <class P, class V> Dual<V> dual_unary(const Dual<V>& x)
{
    const V y = P::value(x.value);
    if constexpr (requires(Uses u) { P::pull(wrt<0>{}, u, u, u); })
        return {y, P::pull(wrt<0>{}, x.dot, x.value, y)};
    else
        return {y, zero_like(x.dot)};
}
template <class P, class A, class B> auto dual_binary(const A& a, const B& b)
{
    using V = dual_value_t<A, B>;
    const V x = as_value<V>(a), z = as_value<V>(b), y = P::value(x, z);
    if constexpr (is_dual<A> && is_dual<B>)
        return Dual<V>{y, P::pull(wrt<0>{}, a.dot, x, z, y) + P::pull(wrt<1>{}, b.dot, x, z, y)};
    else if constexpr (is_dual<A>)
        return Dual<V>{y, P::pull(wrt<0>{}, a.dot, x, z, y)};
    else
        return Dual<V>{y, P::pull(wrt<1>{}, b.dot, x, z, y)};
}

template <class A, class B>
concept either_dual = is_dual<A> || is_dual<B>;

}  // namespace detail

// clang-format off
template <class A, class B> requires detail::either_dual<A, B> auto operator+(const A& a, const B& b) { return detail::dual_binary<Add>(a, b); }
template <class A, class B> requires detail::either_dual<A, B> auto operator-(const A& a, const B& b) { return detail::dual_binary<Subtract>(a, b); }
template <class A, class B> requires detail::either_dual<A, B> auto operator*(const A& a, const B& b) { return detail::dual_binary<Multiply>(a, b); }
template <class A, class B> requires detail::either_dual<A, B> auto operator/(const A& a, const B& b) { return detail::dual_binary<Divide>(a, b); }
template <class V> Dual<V> operator-(const Dual<V>& x) { return detail::dual_unary<Negative>(x); }
template <class A, class B> requires detail::either_dual<A, B>
auto operator<(const A& a, const B& b) { using V = detail::dual_value_t<A, B>; return detail::as_value<V>(a) < detail::as_value<V>(b); }
template <class A, class B> requires detail::either_dual<A, B>
auto operator>(const A& a, const B& b) { using V = detail::dual_value_t<A, B>; return detail::as_value<V>(a) > detail::as_value<V>(b); }
template <class A, class B> requires detail::either_dual<A, B>
auto operator<=(const A& a, const B& b) { using V = detail::dual_value_t<A, B>; return detail::as_value<V>(a) <= detail::as_value<V>(b); }
template <class A, class B> requires detail::either_dual<A, B>
auto operator>=(const A& a, const B& b) { using V = detail::dual_value_t<A, B>; return detail::as_value<V>(a) >= detail::as_value<V>(b); }
template <class A, class B> requires detail::either_dual<A, B> auto maximum(const A& a, const B& b) { return detail::dual_binary<Maximum>(a, b); }
template <class A, class B> requires detail::either_dual<A, B> auto minimum(const A& a, const B& b) { return detail::dual_binary<Minimum>(a, b); }
template <class V> Dual<V> square(const Dual<V>& x) { return detail::dual_unary<Square>(x); }
template <class V> Dual<V> sqrt(const Dual<V>& x) { return detail::dual_unary<Sqrt>(x); }
template <class V> Dual<V> abs(const Dual<V>& x) { return detail::dual_unary<Abs>(x); }
template <class V> Dual<V> sign(const Dual<V>& x) { return detail::dual_unary<Sign>(x); }
template <class V> Dual<V> floor(const Dual<V>& x) { return detail::dual_unary<Floor>(x); }
template <class V> Dual<V> ceil(const Dual<V>& x) { return detail::dual_unary<Ceil>(x); }
template <class V> Dual<V> round_even(const Dual<V>& x) { return detail::dual_unary<Round>(x); }
template <class V> Dual<V> round(const Dual<V>& x) { return detail::dual_unary<Round>(x); }
template <class V> Dual<V> nearbyint(const Dual<V>& x) { return detail::dual_unary<Round>(x); }
template <class V> auto is_finite(const Dual<V>& x) { return is_finite(x.value); }
template <class V> auto is_nan(const Dual<V>& x) { return is_nan(x.value); }
// clang-format on

namespace detail {
/// What a lambda of elementwise is given: no tensor, no Real, no plain number.
template <class V>
concept LambdaValue = Calls<V, Exp> && !HasBlock<V> && requires(const V& x) { where(is_nan(x), x, x); };
}  // namespace detail
// clang-format off
template <detail::LambdaValue V> auto isnan(const V& x) { return is_nan(x); }
template <detail::LambdaValue V> auto isfinite(const V& x) { return is_finite(x); }
/// Numbers in place of NaN and the infinities. A lambda does not know its numbers' type, so it names all three.
template <detail::LambdaValue V> V nan_to_num(const V& x, double nan, double posinf, double neginf) { return where(is_finite(x), x, where(is_nan(x), V(lit(nan)), where(x < V(lit(0)), V(lit(neginf)), V(lit(posinf))))); }
// clang-format on

/// Selection by a condition on values: both branches are computed, the derivative is that of the one selected.
template <class C, class A, class B>
    requires detail::either_dual<A, B>
auto where(const C& c, const A& a, const B& b)
{
    using V = detail::dual_value_t<A, B>;
    const auto dot = []<class X>(const X& x) {
        if constexpr (detail::is_dual<X>)
            return x.dot;
        else
            return detail::as_value<V>(lit(0));
    };
    return Dual<V>{where(c, detail::as_value<V>(a), detail::as_value<V>(b)), where(c, dot(a), dot(b))};
}

namespace detail {

/// The primitive of a lambda without captures.
template <class F> struct LambdaPrimitive {
    static constexpr std::string_view name = "elementwise";
    template <class... V> static auto value(const V&... x)
    {
        using First = std::tuple_element_t<0, std::tuple<V...>>;
        return as_value<First>(F{}(x...));
    }
    /// x̄ᵢ = ȳ ∂f/∂xᵢ, f evaluated on a dual number in its place.
    template <std::size_t i, class V, class... X> static constexpr V pull(wrt<i>, const V& g, const X&... xy)
    {
        if constexpr (std::is_same_v<V, Uses>) {
            return Uses(0xffU >> (8 - sizeof...(X) + 1));  // every input, not the output
        } else {
            const std::tuple<const X&...> all(xy...);
            return [&]<std::size_t... k>(std::index_sequence<k...>) {
                const auto r = F{}(seeded<k == i>(std::get<k>(all), g)...);
                if constexpr (is_dual<std::remove_cvref_t<decltype(r)>>)
                    return r.dot;
                else
                    return zero_like(g);  // f does not use this input
            }(std::make_index_sequence<sizeof...(X) - 1>());
        }
    }

private:
    template <bool seed, class V> static auto seeded(const V& x, const V& g)
    {
        if constexpr (seed)
            return Dual<V>{x, g};
        else
            return x;
    }
};

template <class F> class ElementwiseLambda : public Closure<ElementwiseLambda<F>> {
public:
    explicit ElementwiseLambda(const Site& made) : Closure<ElementwiseLambda>(made) {}
    template <class... X> static constexpr bool accepts()
    {
        return (is_tensor<Argument<X>> || ...) && ((is_tensor<Argument<X>> || std::is_arithmetic_v<X>)&&...);
    }
    template <class... X> auto at_line(const Site& at, const X&... x) const
    {
        static_assert(sizeof...(X) <= Primitive::max_elementwise,
                      "wengert: elementwise: at most four arguments");
        using First = typename first_tensor<X...>::type;
        using Looked [[maybe_unused]] =
            decltype(F{}(dual_for(x)...));  // std::sin is refused here, in few lines
        return apply_elementwise<LambdaPrimitive<F>, typename First::value_type>(at, operand<First>(x)...);
    }

private:
    template <class X> static Dual<Term> dual_for(const X&);
    template <class First, class X> static First operand(const X& x)
    {
        if constexpr (std::is_arithmetic_v<X>)
            return number<typename First::value_type, typename First::device_type>(x);
        else {
            static_assert(std::is_same_v<typename X::value_type, typename First::value_type>,
                          "wengert: elementwise: the tensors have one dtype; use cast");
            return argument(x);
        }
    }
};

}  // namespace detail

/// A user's generic lambda over scalars as one primitive: one fused SIMD loop forward, one backward for each input, and
/// its derivative, to any order, from the lambda itself. Write it with `auto` parameters and `using std::exp;` before
/// `exp(x)`; select with `where(x > 0.0, a, b)`. It must not capture: pass numbers as arguments, up to four in all. The
/// recorded operation carries the line where the result is called.
template <class F> auto elementwise(F, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    static_assert(std::is_empty_v<F> && std::is_default_constructible_v<F>,
                  "wengert: elementwise(f): the lambda must not capture; pass what it needs as arguments");
    return detail::ElementwiseLambda<F>(at);
}

}  // namespace wengert
