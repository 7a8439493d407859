// jvp: forward mode. Tangents are computed beside the values, as each line runs; nothing is kept for a backward pass.
#pragma once

#include "level.hpp"

namespace wengert {

namespace detail {

template <class T, class D>
Tensor<T, D> lift_with_tangent(const Tensor<T, D>& x, const Tensor<T, D>& dot, std::size_t level,
                               std::string_view who, const Site& at)
{
    if (!(x.shape(who, at) == dot.shape(who, at)))
        fail<ShapeError>(who,
                         "the tangent's shape " + to_string(dot.shape()) + " is not that of its primal, " +
                             to_string(x.shape()),
                         at);
    Tensor<T, D> variable = lift(x, level, who, at);
    if constexpr (is_differentiable<T>) {
        demand_recorded(dot.any(), who, at, Tape::current().level(level).start);
        variable.any().node->add_tangent(level, dot.any());
    }
    return variable;
}

/// Trees of primals and tangents of one type; the tree's tensors in order.
template <class X>
X lift_with_tangents(const X& x, const X& dot, std::size_t level, std::string_view who, const Site& at)
{
    X variables = tree::detail::copied(x);
    std::vector<AnyTensor> tangents;
    zip_at(
        who, at,
        [&]<class T, class D>(const Tensor<T, D>&, const Tensor<T, D>& d) {
            tangents.push_back(d.any(who, at));
        },
        x, dot);
    std::size_t i = 0;
    tree::for_each(
        [&]<class T, class D>(Tensor<T, D>& v) {
            if (v.defined()) v = lift_with_tangent(v, Tensor<T, D>(tangents[i++]), level, who, at);
        },
        variables);
    return variables;
}

template <class T, class D> Tensor<T, D> tangent_of(const Tensor<T, D>& y, std::size_t level)
{
    const AnyTensor& any = y.any();
    if (any.node)
        if (const AnyTensor* dot = any.node->tangent(level)) return Tensor<T, D>(*dot);
    return Tensor<T, D>(AnyTensor{made_in_run(zeros_beside(*any.value, dtype_of<T>(), y.shape())), {}});
}

/// f of one argument, or of the elements of a tuple of them.
template <class F, class X> auto call_with(F& f, const X& x, const Site& at)
{
    if constexpr (std::is_invocable_v<F&, const X&>)
        return Argument<decltype(call_at(f, at, x))>(call_at(f, at, x));
    else
        return Argument<decltype(apply_at(f, at, x))>(apply_at(f, at, x));
}

/// `who` takes the derivative, for errors.
template <class F, class X>
auto forward_tensors(F& f, const X& x, const X& v, std::string_view who, const Site& at)
{
    Tape& tape = Tape::current();
    LevelScope scope(tape, true);
    const std::size_t level = scope.level();
    const X variables = lift_with_tangents(x, v, level, who, at);
    const auto y = call_with(f, variables, at);
    report_lost(tape, level, who, at, y);
    scope.close();
    auto dot = tree::map([&]<class T, class D>(const Tensor<T, D>& t) { return tangent_of(t, level); }, y);
    return std::pair(lower_tree(y, level, at), std::move(dot));
}

template <class F, class X, class V>
auto forward(F& f, const X& x, const V& v, std::string_view who, const Site& at)
{
    static_assert(visible<X>);
    static_assert(std::is_same_v<X, V>, "wengert: jvp, hvp: the tangent has the type of its primal");
    if constexpr (of_numbers<decltype(call_with(f, x, at)), X>)
        return ByTensors<X>::forward(f, x, v, who, at);
    else
        return forward_tensors(f, x, v, who, at);
}

}  // namespace detail

/// (f(x), ∂f/∂x · v). Several primals are given as a tuple, their tangents likewise; x may be any struct of tensors.
/// Throws ShapeError when a tangent's shape is not its primal's.
template <class F, class X, class V>
auto jvp(F&& f, const X& x, const V& v, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::forward(f, detail::argument(x), detail::argument(v), "jvp", at);
}

}  // namespace wengert
