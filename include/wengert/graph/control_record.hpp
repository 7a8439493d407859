// Loops and branches recorded as one operation: what a trace in progress sees of scan, while_loop and cond.
#pragma once

#include "control_snapshots.hpp"

namespace wengert::detail {

template <class V> std::vector<V> joined_lists(std::vector<V> a, const std::vector<V>& b)
{
    a.insert(a.end(), b.begin(), b.end());
    return a;
}
inline AnyTensor true_flag() { return Tensor<bool>(true).any(); }

/// Null where the loop cannot be one operation: its body decides by values in plain C++, differently from step to step.
template <class Y, class Call, class State, class Xs>
std::optional<std::pair<State, Y>> scan_recorded(Trace& outer, const Call& call, const State& state,
                                                 const Xs& xs, std::int64_t steps, const ScanOptions& options,
                                                 const Site& at)
{
    const TreeReader s = read_tree(&outer, state);
    const std::vector<AnyTensor> x = tensors_of(xs);  // keys in xs are the same in every step, as if captured
    const std::size_t n = s.leaves.size();
    const auto one_step = [&](const std::vector<AnyTensor>& in, Trace& trace,
                              std::optional<Y>& shell) -> std::optional<std::vector<AnyTensor>> {
        State before = tree::detail::copied(state);
        write_tree(&trace, before, part_of(in, 0, n));
        ScanStep<Y, Call> step{call, at};
        const std::vector<AnyTensor> y = step(before, with_rows(xs, part_of(in, n, in.size())));
        shell = std::move(step.like);
        const TreeReader next = read_tree(&trace, before);
        if (next.plain.signature != s.plain.signature) return {};  // numbers in the state that change
        return joined_lists(next.leaves, y);
    };
    const auto traced =
        trace_body<Y>(outer, joined_lists(s.leaves, example_slices(x)), steps > 0, true, one_step, at);
    if (!traced) return {};
    auto p = std::make_shared<LoopParameters>();
    p->body = shared_graph(with_flag(traced->graph, n, traced->flag));
    p->steps = steps;
    if (options.snapshots < static_cast<std::uint64_t>(steps))
        p->snapshots = static_cast<std::int64_t>(options.snapshots);
    p->effects = traced->effects;
    p->states = n + traced->flag;
    p->xs = x.size();
    if (traced->flag) p->guard = n;
    p->results = results_of(*p->body, p->states, steps);
    std::vector<AnyTensor> in = s.leaves;
    if (traced->flag) in.push_back(true_flag());
    in = joined_lists(joined_lists(std::move(in), x), traced->captured);
    drop_unused(*p, in);
    const std::size_t first = p->states;
    const auto out = record_loop(std::move(p), std::move(in), traced->guard, at);
    if (!out) return {};
    std::pair<State, Y> results(state, *traced->shell);
    write_tree(&outer, results.first, part_of(*out, 0, n));
    write_tree(nullptr, results.second, part_of(*out, first, out->size()));
    return results;
}

/// What trace() gives, or nothing where it throws and the program would not have run it: on the values at hand it may fail, and
/// then the way is taken by value. Shapes do not depend on values: a ShapeError is the program's.
template <class F> auto trace_perhaps(Trace& outer, bool runs, const F& trace) -> decltype(trace())
{
    try {
        return trace();
    } catch (const MemoryError&) {
        throw;
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception&) {
        if (runs) throw;
        outer.by_value();
        return {};
    }
}

template <class Test, class Body, class State>
std::optional<State> while_recorded(Trace& outer, Test& test, Body& body, const State& state, const Site& at)
{
    using Nothing = std::tuple<>;
    const TreeReader s = read_tree(&outer, state);
    const std::size_t n = s.leaves.size();
    const auto entered = [&](const std::vector<AnyTensor>& in, Trace& trace) {
        State before = tree::detail::copied(state);
        write_tree(&trace, before, in);
        return before;
    };
    bool goes_on = false;
    const auto look = [&](const std::vector<AnyTensor>& in, Trace& trace,
                          std::optional<Nothing>&) -> std::optional<std::vector<AnyTensor>> {
        const State before = entered(in, trace);
        const auto go_on = argument(test(before));
        check_condition("while_loop", *go_on.any().value, at);
        goes_on = *readable(go_on.any().value)->template as<bool>();
        return std::vector<AnyTensor>{go_on.any()};
    };
    const auto one_step = [&](const std::vector<AnyTensor>& in, Trace& trace,
                              std::optional<Nothing>&) -> std::optional<std::vector<AnyTensor>> {
        const State before = entered(in, trace), after = body(before);
        const TreeReader next = read_tree(&trace, after);
        check_same_shapes("while_loop", state_changes, s.leaves, next.leaves, at);
        if (next.plain.signature != s.plain.signature) return {};
        return next.leaves;
    };
    const auto tested = trace_body<Nothing>(outer, s.leaves, true, false, look, at);
    if (!tested) return {};
    const auto traced = trace_perhaps(
        outer, goes_on, [&] { return trace_body<Nothing>(outer, s.leaves, goes_on, true, one_step, at); });
    if (!traced) return {};

    const Graph step = with_flag(traced->graph, n, traced->flag);
    auto p = std::make_shared<LoopParameters>();
    p->kind = Kind::while_loop;
    p->states = n + traced->flag;
    if (traced->flag) p->guard = n;
    const auto constants =
        with_all_captured(step, traced->captured, tested->graph, tested->captured, p->states);
    p->body = shared_graph(constants.graphs[0]);
    p->other = shared_graph(constants.graphs[1]);
    p->effects = traced->effects || tested->effects;
    p->results = results_of(*p->body, p->states, 0);
    std::vector<AnyTensor> in = s.leaves;
    if (traced->flag) in.push_back(true_flag());
    const auto out = record_loop(std::move(p), joined_lists(std::move(in), constants.all), traced->guard, at);
    if (!out) return {};
    State result = state;
    write_tree(&outer, result, part_of(*out, 0, n));
    return result;
}

/// How deeply branches lie in each other, and how many have been traced: a recursion that only data end has no graph of all
/// its branches, so that from some depth on the branch is taken by value, and guarded.
struct BranchCount {
    static constexpr int deepest = 24, most = 1000;
    static int& depth()
    {
        static thread_local int n = 0;
        return n;
    }
    static int& traced()
    {
        static thread_local int n = 0;
        return n;
    }
    BranchCount()
    {
        if (depth()++ == 0) traced() = 0;
        traced() += 2;
    }
    BranchCount(const BranchCount&) = delete;
    BranchCount& operator=(const BranchCount&) = delete;
    ~BranchCount() { --depth(); }
    static bool too_many() { return depth() >= deepest || (depth() > 0 && traced() >= most); }
};

template <class R, class F, class... Args>
std::optional<TracedBody<R>> trace_branch(Trace& outer, F& f, const std::vector<AnyTensor>& examples,
                                          bool taken, const Site& at, const Args&... args)
{
    const auto run = [&](const std::vector<AnyTensor>& in, Trace& trace,
                         std::optional<R>& shell) -> std::optional<std::vector<AnyTensor>> {
        std::tuple<Args...> copy(tree::detail::copied(args)...);
        write_tree(&trace, copy, in);
        shell.emplace(std::apply([&](const auto&... x) { return R(f(x...)); }, copy));
        return read_tree(&trace, *shell).leaves;
    };
    return trace_perhaps(outer, taken, [&] { return trace_body<R>(outer, examples, taken, true, run, at); });
}

/// Null where the branches cannot be one operation; then the branch is taken by value.
template <class R, class F, class G, class... Args>
std::optional<R> cond_recorded(Trace& outer, const Tensor<bool>& pred, F& f, G& g, const Site& at,
                               const Args&... args)
{
    if (BranchCount::too_many()) return {};
    const BranchCount count;
    const TreeReader x = read_tree(&outer, std::tuple<const Args&...>(args...));
    const bool taken = *readable(pred.any().value)->template as<bool>();
    auto yes = trace_branch<R>(outer, f, x.leaves, taken, at, args...);
    if (!yes) return {};
    auto no = trace_branch<R>(outer, g, x.leaves, !taken, at, args...);
    if (!no) return {};
    const TreeReader a = read_tree(&outer, *yes->shell), b = read_tree(&outer, *no->shell);
    check_same_shapes("cond", "both functions must return the same shapes", a.leaves, b.leaves, at);
    if (a.plain.signature != b.plain.signature) return {};

    const bool flag = yes->flag || no->flag;
    for (auto* branch : {&*yes, &*no})
        if (flag && !branch->flag) branch->graph.output(branch->graph.constant(true_flag().value));
    const auto constants =
        with_all_captured(yes->graph, yes->captured, no->graph, no->captured, x.leaves.size());
    auto p = branch_of(constants.graphs[0], constants.graphs[1]);
    p->effects = yes->effects || no->effects;
    if (flag) p->guard = p->results.size() - 1;
    const auto out =
        record_loop(std::move(p), joined_lists(joined_lists({pred.any()}, x.leaves), constants.all),
                    yes->flag ? yes->guard : no->guard, at);
    if (!out) return {};
    R result = *yes->shell;
    write_tree(&outer, result, *out);
    return result;
}

}  // namespace wengert::detail
