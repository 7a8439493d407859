// Loops and branches as operations of a trace: what tracing.hpp has as a table.
#pragma once

#include "../../../base/separate.hpp"
#include "../../ir/trace.hpp"
#include "../control_trace.hpp"

namespace wengert::detail {

/// Throws TapeError where an operand has escaped from a transform that has ended. What a body captures has been asked there.
inline void check_operands(Recorder& outer, std::string_view name, const std::vector<AnyTensor>& operands,
                           const Site& at)
{
    int& lowered = Tape::current().lowered;
    const Restore<int> strict(lowered, static_cast<const Trace&>(outer).lowered_outside());
    for (const AnyTensor& t : operands) {
        const AnyTensor* const one = &t;
        static_cast<void>(Tape::current().dependence(&one, 1, name, at));
    }
}

WENGERT_INLINE Leaves record_scan(Recorder& outer, const std::vector<AnyTensor>& state,
                                  const std::vector<AnyTensor>& xs, std::int64_t steps,
                                  std::uint64_t snapshots, const BodyFunction& body, const Site& at)
{
    check_operands(outer, "scan", state, at);
    check_operands(outer, "scan", xs, at);
    std::vector<AnyTensor> in = state;
    append_to(in, example_slices(xs));
    auto traced = trace_body(outer, in, {"scan", steps > 0, true, steps > 1}, body, at);
    if (!traced) return {};
    in = state;
    auto p = loop_of(Kind::scan, *traced, in);
    p->body = shared_graph(std::move(traced->graph));
    p->steps = steps;
    if (snapshots < static_cast<std::uint64_t>(steps)) p->snapshots = static_cast<std::int64_t>(snapshots);
    p->xs = xs.size();
    p->results = results_of(*p->body, p->states, steps);
    append_to(in, xs);
    append_to(in, traced->captured);
    drop_unused(*p, in);
    const auto own = static_cast<std::ptrdiff_t>(state.size()),
               states = static_cast<std::ptrdiff_t>(p->states);
    Leaves out = record_loop(std::move(p), std::move(in), traced->guard, at);
    if (out) out->erase(out->begin() + own, out->begin() + states);  // the flag
    return out;
}

WENGERT_INLINE Leaves record_while(Recorder& outer, const std::vector<AnyTensor>& state,
                                   const BodyFunction& test, const BodyFunction& body, const Site& at)
{
    check_operands(outer, "while_loop", state, at);
    bool goes_on = false;
    const auto look = [&](const std::vector<AnyTensor>& in, Recorder& trace, HeldBlocks& held) {
        Leaves go_on = test(in, trace, held);
        goes_on = *readable(go_on->front().value)->as<bool>();
        return go_on;
    };
    const auto tested = trace_body(outer, state, {"while_loop", true, false, true}, look, at);
    if (!tested) return {};
    auto traced = trace_body(outer, state, {"while_loop", goes_on, true, true}, body, at);
    if (!traced) return {};
    std::vector<AnyTensor> in = state;
    auto p = loop_of(Kind::while_loop, *traced, in);
    auto [graphs, captured] = with_all_captured(*traced, *tested, p->states);
    p->body = shared_graph(std::move(graphs[0]));
    p->other = shared_graph(std::move(graphs[1]));
    p->effects = p->effects || tested->effects;
    p->results = results_of(*p->body, p->states, 0);
    append_to(in, captured);
    return record_loop(std::move(p), std::move(in), traced->guard, at);
}

WENGERT_INLINE Leaves record_cond(Recorder& outer, const Tensor<bool>& pred, const std::vector<AnyTensor>& in,
                                  const BodyFunction& yes, const BodyFunction& no,
                                  const std::function<bool()>& alike, const Site& at)
{
    if (BranchCount::too_many()) return {};
    check_operands(outer, "cond", {pred.any()}, at);
    check_operands(outer, "cond", in, at);
    const BranchCount count;
    const bool taken = *readable(pred.any().value)->as<bool>();
    auto first = trace_body(outer, in, {"cond", taken, true, false}, yes, at);
    if (!first) return {};
    auto second = trace_body(outer, in, {"cond", !taken, true, false}, no, at);
    if (!second || !alike()) return {};
    const bool flag = first->flag || second->flag;
    for (auto* branch : {&*first, &*second})
        if (flag && !branch->flag)
            branch->graph.output(branch->graph.constant(Tensor<bool>(true).any().value));
    auto [graphs, captured] = with_all_captured(*first, *second, in.size());
    auto p = branch_of(std::move(graphs[0]), std::move(graphs[1]));
    p->effects = first->effects || second->effects;
    if (flag) p->guard = p->results.size() - 1;
    std::vector<AnyTensor> all{pred.any()};
    append_to(all, in);
    append_to(all, captured);
    return record_loop(std::move(p), std::move(all), first->flag ? first->guard : second->guard, at);
}

inline constexpr ControlTracing control_functions{record_scan, record_while, record_cond};

WENGERT_INLINE void know_control() noexcept
{
    control_tracing.store(&control_functions, std::memory_order_relaxed);
}

}  // namespace wengert::detail
