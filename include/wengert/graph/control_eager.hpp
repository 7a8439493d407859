// Control flow as the plain loops and branches that it stands for, recorded operation by operation.
#pragma once

#include "../ops/shape.hpp"
#include "control_trace.hpp"

namespace wengert {

namespace detail {

/// The tensors of a tree, in order, without empty ones.
template <class X> std::vector<AnyTensor> tensors_of(const X& x)
{
    std::vector<AnyTensor> out;
    tree::for_each(
        [&](const auto& t) {
            if (t.defined()) out.push_back(t.any());
        },
        x);
    return out;
}

std::vector<AnyTensor> part_of(const std::vector<AnyTensor>& all, std::size_t first, std::size_t last);

/// The step that every leaf of xs can be sliced for. Throws ShapeError for a leaf of rank 0 and for different extents.
std::int64_t steps_of(const std::vector<AnyTensor>& xs, const Site& at);

/// What a body returns must have the shapes that it was given, or had before.
void check_same_shapes(std::string_view primitive, const char* what, const std::vector<AnyTensor>& before,
                       const std::vector<AnyTensor>& after, const Site& at);
inline constexpr const char* state_changes = "the body must return a state of the shapes that it is given";
inline constexpr const char* result_changes = "the body must return results of the same shapes in every step";

/// Every tensor of xs at position k of axis 0.
template <class Xs> Xs slice_of(const Xs& xs, std::int64_t k, const Site& at)
{
    return tree::map([&]<class T, class D>(const Tensor<T, D>& x) { return Tensor<T, D>(x(k, at)); }, xs);
}
/// The same with these.
template <class Xs> Xs with_rows(const Xs& xs, const std::vector<AnyTensor>& rows)
{
    Xs slice = tree::detail::copied(xs);
    const AnyTensor* row = rows.data();
    tree::for_each(
        [&]<class T, class D>(Tensor<T, D>& t) {
            if (t.defined()) t = Tensor<T, D>(*row++);
        },
        slice);
    return slice;
}

/// The results of all steps stacked along a new axis 0, in a tree like one of them.
template <class Y> Y stacked(const Y& like, const std::vector<std::vector<AnyTensor>>& steps, const Site& at)
{
    std::size_t j = 0;
    return tree::map(
        [&]<class T, class D>(const Tensor<T, D>& y) {
            std::vector<Tensor<T, D>> parts;
            parts.reserve(steps.size());
            for (const auto& step : steps) parts.push_back(Tensor<T, D>(step[j]));
            ++j;
            if (!parts.empty()) return stack(parts, 0, at);
            const Shape none = stacked_shape(0, y.shape());
            return Tensor<T, D>(AnyTensor{zeros_beside(*y.any().value, dtype_of<T>(), none), {}});
        },
        like);
}

template <class R>
concept PairOfResults = requires { requires std::tuple_size<R>::value == 2; };

struct KeyCounter {
    std::size_t keys = 0;
    template <class T, class D> void tensor(const Tensor<T, D>&) {}
    void key(const Key&) { ++keys; }
};
/// Keys cannot be stacked.
template <class Y> void refuse_keys(const Y& y, const Site& at)
{
    KeyCounter counter;
    visit_argument(counter, y);
    if (counter.keys)
        fail<TapeError>(
            "scan", "a body's result holds a random key, which cannot be stacked: put it into the state", at);
}

/// What a body of a scan returns, by type.
template <class Call, class State, class Xs> struct ScanTypes {
    using Result = std::remove_cvref_t<decltype(std::declval<const Call&>()(std::declval<const State&>(),
                                                                            std::declval<const Xs&>()))>;
    static_assert(PairOfResults<Result>,
                  "wengert: scan: the body returns a pair (state, y); y may be a std::tuple<>");
    static_assert(std::is_same_v<Argument<std::tuple_element_t<0, Result>>, State>,
                  "wengert: scan: the body must return a state of the type that it is given");
    using Y = Argument<std::tuple_element_t<1, Result>>;
};

/// A step of a scan, call(state, x) -> (state, y), however it is run: all of them have the same shapes.
template <class Y, class Call> struct ScanStep {
    const Call& call;
    const Site& at;
    std::optional<Y> like = {};         ///< the results of the first step
    std::vector<AnyTensor> first = {};  ///< their tensors

    /// Makes of a state the next one. The tensors of y.
    template <class State, class X> std::vector<AnyTensor> operator()(State& state, const X& x)
    {
        auto r = call(std::as_const(state), x);
        check_same_shapes("scan", state_changes, tensors_of(state), tensors_of(std::get<0>(r)), at);
        std::vector<AnyTensor> y = tensors_of(std::get<1>(r));
        if (!like) {
            like.emplace(std::get<1>(r));
            first = y;
            refuse_keys(*like, at);
        }
        check_same_shapes("scan", result_changes, first, y, at);
        state = std::move(std::get<0>(r));
        return y;
    }
};

/// In a plain loop.
template <class Y, class Call, class State, class Xs>
std::pair<State, Y> scan_eagerly(const Call& call, State state, const Xs& xs, std::int64_t steps,
                                 const Site& at)
{
    ScanStep<Y, Call> step{call, at};
    std::vector<std::vector<AnyTensor>> results;
    for (std::int64_t k = 0; k < steps; ++k) results.push_back(step(state, slice_of(xs, k, at)));
    if (steps == 0) {  // an example says what there would have been
        const NoGrad unrecorded;
        State example = state;
        step(example, with_rows(xs, example_slices(tensors_of(xs))));
    }
    Y ys = stacked(*step.like, results, at);
    return {std::move(state), std::move(ys)};
}

void check_condition(std::string_view primitive, const Block& b, const Site& at);

template <class Test, class Body, class State>
State while_eagerly(Test& test, Body& body, State state, const Site& at)
{
    static_assert(is_truth<Argument<decltype(test(std::as_const(state)))>>,
                  "wengert: while_loop: the condition returns a Tensor<bool> of rank 0");
    static_assert(std::is_same_v<Argument<decltype(body(std::as_const(state)))>, State>,
                  "wengert: while_loop: the body must return a state of the type that it is given");
    for (;;) {
        const auto go_on = argument(test(std::as_const(state)));
        check_condition("while_loop", *go_on.any().value, at);
        if (!go_on.item(at)) return state;
        State next = body(std::as_const(state));
        check_same_shapes("while_loop", state_changes, tensors_of(state), tensors_of(next), at);
        state = std::move(next);
        if (Speculation::active()) return state;  // on values that nobody reads a loop might not end
    }
}

}  // namespace detail
}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "control_eager_source.hpp"
#endif
