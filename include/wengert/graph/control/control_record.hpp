// Loops and branches recorded as one operation: what a trace in progress sees of scan, while_loop and cond.
#pragma once

#include "control_snapshots.hpp"

namespace wengert::detail {

/// Null where the loop cannot be one operation: its body decides by values in plain C++, differently from step to step.
template <class Y, class Call, class State, class Xs>
std::optional<std::pair<State, Y>> scan_recorded(Trace& outer, const Call& call, const State& state,
                                                 const Xs& xs, std::int64_t steps, const ScanOptions& options,
                                                 const Site& at)
{
    const TreeReader s = read_tree(&outer, state);
    const std::vector<AnyTensor> x = leaves_of(xs);  // keys in xs are the same in every step, as if captured
    const std::size_t n = s.leaves.size();
    std::optional<Y> shell;
    const auto one_step = [&](const std::vector<AnyTensor>& in, Trace& trace, HeldBlocks& held) {
        ScanStep<Y, Call> step{call, at};
        auto out = step.on_leaves(&trace, state, s.plain.signature, in, with_rows(xs, in, n));
        shell = std::move(step.like);
        visit_argument(held, *shell);
        return out;
    };
    std::vector<AnyTensor> in = s.leaves;
    append_to(in, example_slices(x));
    auto traced = trace_body(outer, in, steps > 0, true, one_step, at);
    if (!traced) return {};
    in = s.leaves;
    auto p = loop_of(Kind::scan, *traced, in);
    p->body = shared_graph(std::move(traced->graph));
    p->steps = steps;
    if (options.snapshots < static_cast<std::uint64_t>(steps))
        p->snapshots = static_cast<std::int64_t>(options.snapshots);
    p->xs = x.size();
    p->results = results_of(*p->body, p->states, steps);
    append_to(in, x);
    append_to(in, traced->captured);
    drop_unused(*p, in);
    const std::size_t first = p->states;
    const auto out = record_loop(std::move(p), std::move(in), traced->guard, at);
    if (!out) return {};
    std::pair<State, Y> results(state, *shell);
    write_tree(&outer, results.first, *out);
    write_tree(nullptr, results.second, *out, first);
    return results;
}

template <class Test, class Body, class State>
std::optional<State> while_recorded(Trace& outer, Test& test, Body& body, const State& state, const Site& at)
{
    using Leaves = std::optional<std::vector<AnyTensor>>;
    const TreeReader s = read_tree(&outer, state);
    const auto entered = [&](const std::vector<AnyTensor>& in, Trace& trace) {
        State before = tree::detail::copied(state);
        write_tree(&trace, before, in);
        return before;
    };
    bool goes_on = false;
    const auto look = [&](const std::vector<AnyTensor>& in, Trace& trace, HeldBlocks&) -> Leaves {
        const State before = entered(in, trace);
        const auto go_on = argument(test(before));
        check_condition("while_loop", *go_on.any().value, at);
        goes_on = *readable(go_on.any().value)->template as<bool>();
        return std::vector<AnyTensor>{go_on.any()};
    };
    const auto one_step = [&](const std::vector<AnyTensor>& in, Trace& trace, HeldBlocks&) -> Leaves {
        const State before = entered(in, trace), after = body(before);
        const TreeReader next = read_tree(&trace, after);
        check_same_shapes("while_loop", state_changes, s.leaves, next.leaves, at);
        if (next.plain.signature != s.plain.signature) return {};
        return next.leaves;
    };
    const auto tested = trace_body(outer, s.leaves, true, false, look, at);
    if (!tested) return {};
    auto traced = trace_body(outer, s.leaves, goes_on, true, one_step, at);
    if (!traced) return {};
    std::vector<AnyTensor> in = s.leaves;
    auto p = loop_of(Kind::while_loop, *traced, in);
    auto [graphs, captured] = with_all_captured(*traced, *tested, p->states);
    p->body = shared_graph(std::move(graphs[0]));
    p->other = shared_graph(std::move(graphs[1]));
    p->effects = p->effects || tested->effects;
    p->results = results_of(*p->body, p->states, 0);
    append_to(in, captured);
    const auto out = record_loop(std::move(p), std::move(in), traced->guard, at);
    if (!out) return {};
    State result = state;
    write_tree(&outer, result, *out);
    return result;
}

/// How deeply branches lie in each other, and how many have been traced: a recursion that only data end has no graph of all
/// its branches, so that from some depth on the branch is taken by value, and guarded.
struct BranchCount {
    static constexpr int deepest = 24, most = 1000;
    inline static constinit thread_local int depth = 0, traced = 0;
    BranchCount() { traced = (depth++ == 0 ? 0 : traced) + 2; }
    BranchCount(const BranchCount&) = delete;
    BranchCount& operator=(const BranchCount&) = delete;
    ~BranchCount() { --depth; }
    static bool too_many() { return depth >= deepest || (depth > 0 && traced >= most); }
};

/// Null where the branches cannot be one operation; then the branch is taken by value.
template <class R, class F, class G, class... Args>
std::optional<R> cond_recorded(Trace& outer, const Tensor<bool>& pred, F& f, G& g, const Site& at,
                               const Args&... args)
{
    if (BranchCount::too_many()) return {};
    const BranchCount count;
    const TreeReader x = read_tree(&outer, std::tuple<const Args&...>(args...));
    const bool taken = *readable(pred.any().value)->template as<bool>();
    std::optional<R> shells[2];
    const auto traced = [&](auto& branch, bool real, std::optional<R>& shell) {
        const auto run = [&](const std::vector<AnyTensor>& in, Trace& trace, HeldBlocks& held) {
            std::tuple<Args...> copy(tree::detail::copied(args)...);
            write_tree(&trace, copy, in);
            shell.emplace(std::apply([&](const auto&... a) { return R(branch(a...)); }, copy));
            visit_argument(held, *shell);
            return std::optional(read_tree(&trace, *shell).leaves);
        };
        return trace_body(outer, x.leaves, real, true, run, at);
    };
    auto yes = traced(f, taken, shells[0]);
    if (!yes) return {};
    auto no = traced(g, !taken, shells[1]);
    if (!no) return {};
    const TreeReader a = read_tree(&outer, *shells[0]), b = read_tree(&outer, *shells[1]);
    check_same_shapes("cond", "both functions must return the same shapes", a.leaves, b.leaves, at);
    if (a.plain.signature != b.plain.signature) return {};

    const bool flag = yes->flag || no->flag;
    for (auto* branch : {&*yes, &*no})
        if (flag && !branch->flag)
            branch->graph.output(branch->graph.constant(Tensor<bool>(true).any().value));
    auto [graphs, captured] = with_all_captured(*yes, *no, x.leaves.size());
    auto p = branch_of(std::move(graphs[0]), std::move(graphs[1]));
    p->effects = yes->effects || no->effects;
    if (flag) p->guard = p->results.size() - 1;
    std::vector<AnyTensor> in{pred.any()};
    append_to(in, x.leaves);
    append_to(in, captured);
    const auto out = record_loop(std::move(p), std::move(in), yes->flag ? yes->guard : no->guard, at);
    if (!out) return {};
    R result = *shells[0];
    write_tree(&outer, result, *out);
    return result;
}

}  // namespace wengert::detail
