// scan, while_loop, cond, host_callback: control flow as functions of functions. Eager, they are the ordinary loops and
// branches that they look like, recorded operation by operation (graph/control/control_eager.hpp). While a graph is being traced a
// loop is one operation, however many steps there are (graph/control/control_record.hpp).
#pragma once

#include "control_record.hpp"
#include "host.hpp"

namespace wengert {

namespace detail {

/// Calls a step: body(state, x), or body(state) if there are only steps.
template <class Body> struct ScanCall {
    Body body;
    template <class State, class X> auto operator()(const State& state, const X& x) const
    {
        if constexpr (std::is_same_v<X, std::tuple<>>)
            return body(state);
        else
            return body(state, x);
    }
};

/// `bounded`: the call may outlive this one, as steps are made again when they are swept.
template <bool bounded, class Call, class State, class Xs>
auto scan_slices(Call call, State state, const Xs& xs, std::int64_t steps, const ScanOptions& options,
                 const Site& at)
{
    using Y = typename ScanTypes<Call, State, Xs>::Y;
    if (options.report) *options.report = plan_of(steps, options);
    if (Recorder* trace = current_trace<Call>()) [[unlikely]]
        if (auto recorded = scan_recorded<Y>(*trace, call, state, xs, steps, options, at))
            return std::move(*recorded);
    if constexpr (bounded)
        if (keeps_snapshots(steps, options))
            return scan_with_snapshots<Y>(std::move(call), state, xs, steps, options, at);
    return scan_eagerly<Y>(call, std::move(state), xs, steps, at);
}

/// As trees' arrays show them: complex tensors without the axis of their parts.
template <class Xs> std::vector<Shape> shapes_of(const Xs& xs)
{
    std::vector<Shape> shapes;
    tree::for_each_array(
        [&](const auto& x) {
            if (x.defined()) shapes.push_back(x.shape());
        },
        xs);
    return shapes;
}

/// Over slices of xs, or for as many steps.
template <bool bounded, class Call, class State, class Xs>
auto scan_over(Call call, const State& state, const Xs& xs, const ScanOptions& options, const Site& at)
{
    if constexpr (std::is_arithmetic_v<Xs>) {
        const auto steps = static_cast<std::int64_t>(xs);
        if (steps < 0) fail<ShapeError>("scan", "a loop cannot have " + std::to_string(steps) + " steps", at);
        return scan_slices<bounded>(std::move(call), Argument<State>(argument(state)), std::tuple<>(), steps,
                                    options, at);
    } else {
        static_assert(tree::contains_leaf<Argument<Xs>>,
                      "wengert: scan: xs hold no tensors; give a number of steps instead");
        const Argument<Xs>& slices = argument(xs);
        return scan_slices<bounded>(std::move(call), Argument<State>(argument(state)), slices,
                                    steps_of(shapes_of(slices), at), options, at);
    }
}

}  // namespace detail

/// body(state, x) -> (state, y) for each slice x of xs along axis 0: (final state, all y stacked along a new axis 0). State, xs
/// and y are tensors or any structs, tuples, vectors of them; shapes stay the same from step to step. With a number of steps in
/// place of xs, body(state) -> (state, y). Where there are no steps the body is called once with zeros, to know the shape of y.
/// Inside of freeze the loop is one node of the graph. Throws ShapeError, also for a negative number of steps.
template <class Body, class State, class Xs>
auto scan(Body&& body, const State& state, const Xs& xs, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::scan_over<false>(detail::ScanCall<Body&>{body}, state, xs, {}, at);
}

/// scan with memory for options.snapshots states between the steps: a reverse sweep makes the others again, by the binomial
/// schedule and so in the least number of steps (transforms/revolve.hpp), also inside of freeze. Same values and derivatives.
/// `scan(body, state, xs, {.snapshots = 20})`. Throws ShapeError, and TapeError where plain numbers of the state change.
template <class Body, class State, class Xs>
auto scan(Body body, const State& state, const Xs& xs, ScanOptions options,
          Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::scan_over<true>(detail::ScanCall<Body>{std::move(body)}, state, xs, options, at);
}

/// state = body(state) for as long as test(state), a Tensor<bool> of rank 0, holds. Throws ShapeError.
template <class Test, class Body, class State>
auto while_loop(Test&& test, Body&& body, const State& state, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const detail::Argument<State>& first = detail::argument(state);
    if (Recorder* trace = detail::current_trace<std::pair<Test, Body>>()) [[unlikely]]
        if (auto recorded = detail::while_recorded(*trace, test, body, first, at))
            return std::move(*recorded);
    return detail::while_eagerly(test, body, first, at);
}

namespace detail {
/// A truth value of any device, and the line of the call.
struct Condition {
    template <class Device>
    Condition(const Tensor<bool, Device>& x, const char* file = __builtin_FILE(), int line = __builtin_LINE())
        : value(on<cpu>(x)), at{file, line}
    {}
    Condition(bool x, const char* file = __builtin_FILE(), int line = __builtin_LINE())
        : value(number<bool, cpu>(x)), at{file, line}
    {}
    Tensor<bool> value;
    Site at;
};
}  // namespace detail

/// f(args…) where pred, one truth value, holds, else g(args…); both return the same type. Inside of freeze both are recorded,
/// and must return the same shapes. Throws ShapeError.
template <class F, class G, class... Args>
auto cond(detail::Condition pred, F&& f, G&& g, const Args&... args)
{
    using R = detail::Argument<decltype(f(detail::argument(args)...))>;
    static_assert(std::is_same_v<R, detail::Argument<decltype(g(detail::argument(args)...))>>,
                  "wengert: cond: both functions must return the same type");
    detail::check_condition("cond", *pred.value.any("cond", pred.at).value, pred.at);
    if (Recorder* trace = detail::current_trace<std::pair<F, G>>()) [[unlikely]]
        if (auto recorded =
                detail::cond_recorded<R>(*trace, pred.value, f, g, pred.at, detail::argument(args)...))
            return R(std::move(*recorded));
    return detail::constant_under_no_grad(pred.value.item(pred.at)
                                              ? R(detail::call_at(f, pred.at, detail::argument(args)...))
                                              : R(detail::call_at(g, pred.at, detail::argument(args)...)));
}

}  // namespace wengert
