// Control flow as the plain loops and branches that it stands for, recorded operation by operation.
#pragma once

#include "../../ops/shape.hpp"
#include "../../tape/speculation.hpp"
#include "tracing.hpp"

namespace wengert {

namespace detail {

/// Every tensor of xs at position k of axis 0.
template <class Xs> Xs slice_of(const Xs& xs, std::int64_t k, const Site& at)
{
    return tree::map([&]<class T, class D>(const Tensor<T, D>& x) { return Tensor<T, D>(x(k, at)); }, xs);
}
/// The same with these, from `first` on.
template <class Xs> Xs with_rows(const Xs& xs, const std::vector<AnyTensor>& rows, std::size_t first = 0)
{
    Xs slice = tree::detail::copied(xs);
    each_tensor([&](AnyTensor& t) { t = rows[first++]; }, slice);
    return slice;
}

/// The results of all steps, one after the other from `first` on, stacked along a new axis 0, in a tree like one of them.
template <class Y>
Y stacked(const Y& like, const std::vector<AnyTensor>& results, std::size_t first, const Site& at)
{
    const std::size_t width = leaves_of(like).size();
    return tree::map(
        [&]<class T, class D>(const Tensor<T, D>& y) {
            std::vector<Tensor<T, D>> parts;
            for (std::size_t i = first; i < results.size(); i += width)
                parts.push_back(Tensor<T, D>(results[i]));
            ++first;
            if (!parts.empty()) return stack(parts, 0, at);
            const Shape none = stacked_shape(0, y.shape());
            return Tensor<T, D>(AnyTensor{zeros_beside(*y.any().value, dtype_of<T>(), none), {}});
        },
        like);
}

template <class R>
concept PairOfResults = requires { requires std::tuple_size<R>::value == 2; };

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
    Words plain_numbers = {};           ///< and what else they hold

    /// Makes of a state the next one. The tensors of y.
    template <class State, class X> std::vector<AnyTensor> operator()(State& state, const X& x)
    {
        auto r = Argument<decltype(call(std::as_const(state), x))>(call(std::as_const(state), x));
        check_same_shapes("scan", state_changes, leaves_of(state), leaves_of(std::get<0>(r)), at);
        std::vector<AnyTensor> y = leaves_of(std::get<1>(r));
        if (!like) {
            like.emplace(std::get<1>(r));
            first = y;
            if (read_tree(nullptr, *like).keys)
                fail<TapeError>(
                    "scan",
                    "a body's result holds a random key, which cannot be stacked: put it into the state", at);
        }
        check_same_shapes("scan", result_changes, first, y, at);
        if constexpr (!is_tensor<Y>) check_same_numbers(std::get<1>(r));
        state = std::move(std::get<0>(r));
        return y;
    }
    /// Numbers are not stacked: those of the first step stand for all.
    void check_same_numbers(const Y& y)
    {
        Words now = read_tree(nullptr, y).plain.signature;
        if (plain_numbers.empty())
            plain_numbers = std::move(now);
        else if (plain_numbers != now)
            fail<TapeError>(
                "scan",
                "plain numbers among the body's results, or the sizes of its lists, change from step to "
                "step: return tensors in their place",
                at);
    }
    /// The same from the leaves of a state like that one to those of the next one, behind which are y's. Nothing where its numbers do
    /// not stay what they were.
    template <class State, class X>
    std::optional<std::vector<AnyTensor>> on_leaves(Recorder* trace, const State& form, const Words& numbers,
                                                    const std::vector<AnyTensor>& leaves, const X& x)
    {
        State state = tree::detail::copied(form);
        write_tree(trace, state, leaves);
        const std::vector<AnyTensor> y = (*this)(state, x);
        TreeReader next = read_tree(trace, state);
        if (next.plain.signature != numbers) return {};
        append_to(next.leaves, y);
        return std::move(next.leaves);
    }
};

/// What a loop or a branch gives under NoGrad is a constant, also where it only hands it through: so it is in a graph.
template <class X> X constant_under_no_grad(X x)
{
    const auto cut = [](AnyTensor& t) {
        if (!depends_now(t)) t.node = {};  // else a derivative that was begun under NoGrad wants it
    };
    if (Tape::current().constants > 0) each_tensor(cut, x);
    return x;
}

/// In a plain loop.
template <class Y, class Call, class State, class Xs>
std::pair<State, Y> scan_eagerly(const Call& call, State state, const Xs& xs, std::int64_t steps,
                                 const Site& at)
{
    ScanStep<Y, Call> step{call, at};
    std::vector<AnyTensor> results;
    for (std::int64_t k = 0; k < steps; ++k) append_to(results, step(state, slice_of(xs, k, at)));
    if (steps == 0) {  // an example says what there would have been
        const detail::Unrecorded unrecorded;
        const Speculation zeros;  // which nobody reads
        State example = state;
        step(example, with_rows(xs, example_slices(leaves_of(xs))));
    }
    Y ys = stacked(*step.like, results, 0, at);
    return constant_under_no_grad(std::pair(std::move(state), std::move(ys)));
}

template <class Test, class Body, class State>
State while_eagerly(Test& test, Body& body, State state, const Site& at)
{
    static_assert(is_truth<Argument<decltype(test(std::as_const(state)))>>,
                  "wengert: while_loop: the condition returns a Tensor<bool> of rank 0");
    static_assert(std::is_same_v<Argument<decltype(body(std::as_const(state)))>, State>,
                  "wengert: while_loop: the body must return a state of the type that it is given");
    for (;;) {
        const auto go_on = argument(call_at(test, at, std::as_const(state)));
        check_condition("while_loop", *go_on.any("while_loop", at).value, at);
        if (!go_on.item(at)) return constant_under_no_grad(std::move(state));
        State next = call_at(body, at, std::as_const(state));
        check_same_shapes("while_loop", state_changes, leaves_of(state), leaves_of(next), at);
        state = std::move(next);
        if (Speculation::active()) return state;  // on values that nobody reads a loop might not end
    }
}

}  // namespace detail
}  // namespace wengert
