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
        Xs slice = tree::detail::copied(xs);
        write_tree(&trace, before, part_of(in, 0, n));
        const AnyTensor* row = in.data() + n;
        tree::for_each(
            [&]<class T, class D>(Tensor<T, D>& t) {
                if (t.defined()) t = Tensor<T, D>(*row++);
            },
            slice);
        auto r = call(std::as_const(before), std::as_const(slice));
        shell.emplace(std::get<1>(r));
        refuse_keys(*shell, at);
        const State after = std::move(std::get<0>(r));
        const TreeReader next = read_tree(&trace, after), y = read_tree(&trace, *shell);
        check_same_shapes("scan", state_changes, s.leaves, next.leaves, at);
        if (next.plain.signature != s.plain.signature) return {};  // numbers in the state that change
        return joined_lists(next.leaves, y.leaves);
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
    const std::vector<AnyTensor> out = record_loop(std::move(p), std::move(in), at);
    if (traced->flag && !flag_holds(out[n], traced->guard)) return {};
    std::pair<State, Y> results(state, *traced->shell);
    write_tree(&outer, results.first, part_of(out, 0, n));
    write_tree(nullptr, results.second, part_of(out, first, out.size()));
    return results;
}

/// Captured values of two graphs as one list, and where each graph finds its own.
struct MergedCaptures {
    std::vector<AnyTensor> all;
    std::vector<const GraphNode*> inputs;  ///< those before the captured ones, then these
    std::vector<std::size_t> place[2];

    void add(std::size_t which, const Graph& g, const std::vector<AnyTensor>& captured, std::size_t before)
    {
        const std::size_t own =
            g.inputs().size() - captured.size();  // inputs of this graph that are not captured
        for (std::size_t i = 0; i < own; ++i) place[which].push_back(i);
        for (std::size_t i = 0; i < captured.size(); ++i) {
            std::size_t k = 0;
            while (k < all.size() && !same(all[k], captured[i])) ++k;
            if (k == all.size()) {
                all.push_back(captured[i]);
                inputs.push_back(&g.node(g.inputs()[own + i]));
            }
            place[which].push_back(before + k);
        }
    }
    /// Graph number `which` with all of these as inputs.
    Graph graph(std::size_t which, const Graph& g) const
    {
        return with_inputs(g, inputs, place[which], all_of(0, g.outputs().size()));
    }

private:
    static bool same(const AnyTensor& a, const AnyTensor& b)
    {
        return a.value.get() == b.value.get() && a.node.get() == b.node.get();
    }
};

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
    MergedCaptures constants;
    for (std::size_t i = 0; i < p->states; ++i) constants.inputs.push_back(&step.node(step.inputs()[i]));
    constants.add(0, step, traced->captured, p->states);
    constants.add(1, tested->graph, tested->captured, p->states);
    p->body = shared_graph(constants.graph(0, step));
    p->other = shared_graph(constants.graph(1, tested->graph));
    p->effects = traced->effects || tested->effects;
    for (std::size_t k = 0; k < p->states; ++k)
        p->results.push_back({constants.inputs[k]->dtype, constants.inputs[k]->shape, 0});
    std::vector<AnyTensor> in = s.leaves;
    if (traced->flag) in.push_back(true_flag());
    const std::vector<AnyTensor> out =
        record_loop(std::move(p), joined_lists(std::move(in), constants.all), at);
    if (traced->flag && !flag_holds(out[n], traced->guard)) return {};
    State result = state;
    write_tree(&outer, result, part_of(out, 0, n));
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
    MergedCaptures constants;
    for (std::size_t i = 0; i < x.leaves.size(); ++i)
        constants.inputs.push_back(&yes->graph.node(yes->graph.inputs()[i]));
    constants.add(0, yes->graph, yes->captured, x.leaves.size());
    constants.add(1, no->graph, no->captured, x.leaves.size());
    auto p = branch_of(constants.graph(0, yes->graph), constants.graph(1, no->graph));
    p->effects = yes->effects || no->effects;
    if (flag) p->guard = p->results.size() - 1;
    const std::vector<AnyTensor> out =
        record_loop(std::move(p), joined_lists(joined_lists({pred.any()}, x.leaves), constants.all), at);
    if (flag && !flag_holds(out.back(), yes->flag ? yes->guard : no->guard)) return {};
    R result = *yes->shell;
    write_tree(&outer, result, out);
    return result;
}

}  // namespace wengert::detail
