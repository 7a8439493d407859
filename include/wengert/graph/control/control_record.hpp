// Loops and branches recorded as one operation: what a trace in progress sees of scan, while_loop and cond.
#pragma once

#include "control_snapshots.hpp"

namespace wengert::detail {

/// Null where the loop cannot be one operation: its body decides by values in plain C++, differently from step to step.
template <class Y, class Call, class State, class Xs>
std::optional<std::pair<State, Y>> scan_recorded(Recorder& outer, const Call& call, const State& state,
                                                 const Xs& xs, std::int64_t steps, const ScanOptions& options,
                                                 const Site& at)
{
    const TreeReader s = read_tree(&outer, state);
    const std::vector<AnyTensor> x = leaves_of(xs);  // keys in xs are the same in every step, as if captured
    const std::size_t n = s.leaves.size();
    std::optional<Y> shell;
    const auto one_step = [&](const std::vector<AnyTensor>& in, Recorder& trace, HeldBlocks& held) {
        ScanStep<Y, Call> step{call, at};
        auto out = step.on_leaves(&trace, state, s.plain.signature, in, with_rows(xs, in, n));
        shell = std::move(step.like);
        visit_argument(held, *shell);
        return out;
    };
    const Leaves out = traced_control().scan(outer, s.leaves, x, steps, options.snapshots, one_step, at);
    if (!out) return {};
    std::pair<State, Y> results(state, *shell);
    write_tree(&outer, results.first, *out);
    write_tree(nullptr, results.second, *out, n);
    return results;
}

template <class Test, class Body, class State>
std::optional<State> while_recorded(Recorder& outer, Test& test, Body& body, const State& state,
                                    const Site& at)
{
    const TreeReader s = read_tree(&outer, state);
    const auto entered = [&](const std::vector<AnyTensor>& in, Recorder& trace) {
        State before = tree::detail::copied(state);
        write_tree(&trace, before, in);
        return before;
    };
    const auto look = [&](const std::vector<AnyTensor>& in, Recorder& trace, HeldBlocks&) -> Leaves {
        const State before = entered(in, trace);
        const auto go_on = argument(call_at(test, at, before));
        check_condition("while_loop", *go_on.any("while_loop", at).value, at);
        return std::vector<AnyTensor>{go_on.any()};
    };
    const auto one_step = [&](const std::vector<AnyTensor>& in, Recorder& trace, HeldBlocks&) -> Leaves {
        const State before = entered(in, trace), after = call_at(body, at, before);
        const TreeReader next = read_tree(&trace, after);
        check_same_shapes("while_loop", state_changes, s.leaves, next.leaves, at);
        if (next.plain.signature != s.plain.signature) return {};
        return next.leaves;
    };
    const Leaves out = traced_control().while_loop(outer, s.leaves, look, one_step, at);
    if (!out) return {};
    State result = state;
    write_tree(&outer, result, *out);
    return result;
}

/// Null where the branches cannot be one operation; then the branch is taken by value.
template <class R, class F, class G, class... Args>
std::optional<R> cond_recorded(Recorder& outer, const Tensor<bool>& pred, F& f, G& g, const Site& at,
                               const Args&... args)
{
    const TreeReader x = read_tree(&outer, std::tuple<const Args&...>(args...));
    std::optional<R> shells[2];
    const auto traced = [&](auto& branch, std::optional<R>& shell) -> BodyFunction {
        return [&](const std::vector<AnyTensor>& in, Recorder& trace, HeldBlocks& held) -> Leaves {
            std::tuple<Args...> copy(tree::detail::copied(args)...);
            write_tree(&trace, copy, in);
            shell.emplace(std::apply([&](const auto&... a) { return R(call_at(branch, at, a...)); }, copy));
            visit_argument(held, *shell);
            return read_tree(&trace, *shell).leaves;
        };
    };
    const auto alike = [&] {
        const TreeReader a = read_tree(&outer, *shells[0]), b = read_tree(&outer, *shells[1]);
        check_same_shapes("cond", "both functions must return the same shapes", a.leaves, b.leaves, at);
        return a.plain.signature == b.plain.signature;
    };
    const Leaves out =
        traced_control().cond(outer, pred, x.leaves, traced(f, shells[0]), traced(g, shells[1]), alike, at);
    if (!out) return {};
    R result = *shells[0];
    write_tree(&outer, result, *out);
    return result;
}

}  // namespace wengert::detail
