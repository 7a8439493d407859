// scan, while_loop, cond, host_callback: control flow as functions of functions. Eager, they are the ordinary loops and
// branches that they look like, recorded operation by operation.
#pragma once

#include <optional>

#include "../ops/choices.hpp"
#include "../ops/shape.hpp"
#include "../ops/view.hpp"
#include "arguments.hpp"
#include "trace.hpp"

namespace wengert {

namespace detail {

/// The tensors of a tree, in order.
template <class X> std::vector<AnyTensor> tensors_of(const X& x)
{
    std::vector<AnyTensor> out;
    tree::for_each([&](const auto& t) { out.push_back(t.any()); }, x);
    return out;
}

/// The step that every leaf of xs can be sliced for. Throws ShapeError for a leaf of rank 0 and for different extents.
inline std::int64_t steps_of(const std::vector<AnyTensor>& xs, const Site& at)
{
    for (const AnyTensor& x : xs) {
        const Shape &shape = x.value->shape, &first = xs.front().value->shape;
        if (shape.size() == 0)
            fail<ShapeError>("scan", "xs are sliced along axis 0, but one of them has shape ()", at);
        if (shape[0] != first[0])
            fail<ShapeError>("scan",
                             "xs are sliced along axis 0, but their shapes " + to_string(first) + " and " +
                                 to_string(shape) + " differ there",
                             at);
    }
    return xs.front().value->shape[0];
}

/// What a body returns must have the shapes that it was given, or had before.
inline void check_same_shapes(std::string_view primitive, const char* what,
                              const std::vector<AnyTensor>& before, const std::vector<AnyTensor>& after,
                              const Site& at)
{
    if (before.size() != after.size())
        fail<ShapeError>(primitive,
                         std::string(what) + ": " + std::to_string(after.size()) +
                             " tensors where there were " + std::to_string(before.size()),
                         at);
    for (std::size_t i = 0; i < before.size(); ++i)
        if (!(before[i].value->shape == after[i].value->shape))
            fail<ShapeError>(primitive,
                             std::string(what) + ": tensor " + std::to_string(i) + " has shape " +
                                 to_string(after[i].value->shape) + " where it had " +
                                 to_string(before[i].value->shape),
                             at);
}
inline constexpr const char* state_changes = "the body must return a state of the shapes that it is given";
inline constexpr const char* result_changes = "the body must return results of the same shapes in every step";

/// Every tensor of xs at position k of axis 0.
template <class Xs> Xs slice_of(const Xs& xs, std::int64_t k, const Site& at)
{
    return tree::map([&]<class T>(const Tensor<T>& x) { return Tensor<T>(x(k, at)); }, xs);
}
/// The same with zeros: an example where there is no step.
template <class Xs> Xs zero_slice(const Xs& xs)
{
    return tree::map(
        [&]<class T>(const Tensor<T>& x) {
            Shape shape;
            for (std::size_t i = 1; i < x.dimension(); ++i) shape.push_back(x.shape()[i]);
            return Tensor<T>(AnyTensor{zeros_block(dtype_of<T>(), shape), {}});
        },
        xs);
}

/// The results of all steps stacked along a new axis 0, in a tree like one of them.
template <class Y> Y stacked(const Y& like, const std::vector<std::vector<AnyTensor>>& steps, const Site& at)
{
    std::size_t j = 0;
    return tree::map(
        [&]<class T>(const Tensor<T>& y) {
            std::vector<Tensor<T>> parts;
            parts.reserve(steps.size());
            for (const auto& step : steps) parts.push_back(Tensor<T>(step[j]));
            ++j;
            if (!parts.empty()) return stack(parts, 0, at);
            Shape shape{0};
            for (auto e : y.shape()) shape.push_back(e);
            return Tensor<T>(AnyTensor{zeros_block(dtype_of<T>(), shape), {}});
        },
        like);
}

template <class R>
concept PairOfResults = requires { requires std::tuple_size<R>::value == 2; };

/// step(k, state) -> (state, y), a plain loop. `example` is one step whose results only say what there would have been.
template <class Step, class Example, class State>
auto scan_eagerly(const Step& step, const Example& example, State state, std::int64_t steps, const Site& at)
{
    using R = std::remove_cvref_t<decltype(step(std::int64_t{}, state))>;
    static_assert(PairOfResults<R>,
                  "wengert: scan: the body returns a pair (state, y); y may be a std::tuple<>");
    static_assert(std::is_same_v<Argument<std::tuple_element_t<0, R>>, State>,
                  "wengert: scan: the body must return a state of the type that it is given");
    using Y = Argument<std::tuple_element_t<1, R>>;
    std::vector<std::vector<AnyTensor>> results;
    std::optional<Y> like;
    for (std::int64_t k = 0; k < steps; ++k) {
        R r = step(k, state);
        check_same_shapes("scan", state_changes, tensors_of(state), tensors_of(std::get<0>(r)), at);
        results.push_back(tensors_of(std::get<1>(r)));
        check_same_shapes("scan", result_changes, results.front(), results.back(), at);
        if (k == 0) like.emplace(std::get<1>(r));
        state = std::move(std::get<0>(r));
    }
    if (!like) {
        const NoGrad off;
        R r = example(state);
        check_same_shapes("scan", state_changes, tensors_of(state), tensors_of(std::get<0>(r)), at);
        like.emplace(std::move(std::get<1>(r)));
    }
    Y ys = stacked(*like, results, at);
    return std::pair<State, Y>(std::move(state), std::move(ys));
}

inline void check_condition(std::string_view primitive, const Block& b, const Site& at)
{
    if (b.shape.size() != 0)
        fail<ShapeError>(primitive,
                         "the condition must be one truth value, shape (), not shape " + to_string(b.shape),
                         at);
}

template <class Test, class Body, class State>
State while_eagerly(Test& test, Body& body, State state, const Site& at)
{
    static_assert(std::is_same_v<Argument<decltype(test(std::as_const(state)))>, Tensor<bool>>,
                  "wengert: while_loop: the condition returns a Tensor<bool> of rank 0");
    static_assert(std::is_same_v<Argument<decltype(body(std::as_const(state)))>, State>,
                  "wengert: while_loop: the body must return a state of the type that it is given");
    for (;;) {
        const Tensor<bool> go_on = test(std::as_const(state));
        check_condition("while_loop", *go_on.any().value, at);
        if (!go_on.item(at)) return state;
        State next = body(std::as_const(state));
        check_same_shapes("while_loop", state_changes, tensors_of(state), tensors_of(next), at);
        state = std::move(next);
    }
}

/// A copy of the arguments that is recorded nowhere.
template <class X> X constants_of(const X& x)
{
    return tree::map([]<class T>(const Tensor<T>& t) { return t.detach(); }, x);
}

}  // namespace detail

/// body(state, x) -> (state, y) for each slice x of xs along axis 0: (final state, all y stacked along a new axis 0). State, xs
/// and y are tensors or any structs, tuples, vectors of them; shapes stay the same from step to step. Where there are no
/// steps the body is called once with zeros, to know the shape of y. Inside of freeze the loop is one node of the graph.
/// Throws ShapeError.
template <class Body, class State, class Xs>
    requires(!std::is_arithmetic_v<Xs>)
auto scan(Body&& body, const State& state, const Xs& xs, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    using X = detail::Argument<Xs>;
    static_assert(tree::contains_leaf<X>,
                  "wengert: scan: xs hold no tensors; give a number of steps instead");
    const X& slices = detail::argument(xs);
    return detail::scan_eagerly(
        [&](std::int64_t k, const auto& s) { return body(s, detail::slice_of(slices, k, at)); },
        [&](const auto& s) { return body(s, detail::zero_slice(slices)); },
        detail::Argument<State>(detail::argument(state)), detail::steps_of(detail::tensors_of(slices), at),
        at);
}

/// The same with `steps` steps of body(state) -> (state, y). Throws ShapeError, also for a negative number of steps.
template <class Body, class State>
auto scan(Body&& body, const State& state, std::int64_t steps, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    if (steps < 0) fail<ShapeError>("scan", "a loop cannot have " + std::to_string(steps) + " steps", at);
    return detail::scan_eagerly([&](std::int64_t, const auto& s) { return body(s); },
                                [&](const auto& s) { return body(s); },
                                detail::Argument<State>(detail::argument(state)), steps, at);
}

/// state = body(state) for as long as test(state), a Tensor<bool> of rank 0, holds. Throws ShapeError.
template <class Test, class Body, class State>
auto while_loop(Test&& test, Body&& body, const State& state, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::while_eagerly(test, body, detail::Argument<State>(detail::argument(state)), at);
}

/// f(args…) where pred, one truth value, holds, else g(args…); both return the same type. Inside of freeze both are recorded,
/// and must return the same shapes. Throws ShapeError.
template <class F, class G, class... Args> auto cond(Operand<bool> pred, F&& f, G&& g, const Args&... args)
{
    using R = detail::Argument<decltype(f(detail::argument(args)...))>;
    static_assert(std::is_same_v<R, detail::Argument<decltype(g(detail::argument(args)...))>>,
                  "wengert: cond: both functions must return the same type");
    detail::check_condition("cond", *(*pred).any().value, pred.at);
    return (*pred).item(pred.at) ? R(f(detail::argument(args)...)) : R(g(detail::argument(args)...));
}

namespace detail {

template <class F, class... Args> decltype(auto) call_host(const F& fn, const Args&... args)
{
    const NoGrad unrecorded;
    const Untraced untraced;
    return fn(constants_of(args)...);
}

}  // namespace detail

/// Calls fn(args…), plain C++, with the values of the arguments: for printing, logging, reading external state. Calls are
/// made in program order, also by a frozen graph, once in every step of a loop. Nothing is differentiated.
template <class F, class... Args>
    requires std::is_invocable_v<const F&, detail::Argument<Args>...>
void host_callback(F fn, const Args&... args)
{
    detail::call_host(fn, detail::argument(args)...);
}

/// The same for an fn that returns a Tensor<T>, whose shape is declared. Its derivative is 0. Throws ShapeError for another shape.
template <class T, class F, class... Args>
    requires std::is_invocable_r_v<Tensor<T>, const F&, detail::Argument<Args>...>
Tensor<T> host_callback(const Shape& shape, F fn, const Args&... args)
{
    const Tensor<T> y = detail::call_host(fn, detail::argument(args)...);
    if (!(y.shape() == shape))
        fail<ShapeError>("host_callback",
                         "the function returned shape " + to_string(y.shape()) + " where " +
                             to_string(shape) + " was declared",
                         {});
    return y.detach();
}

}  // namespace wengert
