// What traced_call.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../base/separate.hpp"
#include "traced_call.hpp"

namespace wengert::detail {

/// A result of f on constants: what it depends on is something that f captures.
inline bool depends_now(const AnyTensor& t) { return t.node && (t.node->mask & Tape::current().active); }

inline void add_outputs(FrozenTrace& t, Trace& trace, const LiveInputs& live, const ResultBlocks& result,
                        const Site& at)
{
    const auto add = [&](Ref<Block> b) {
        trace.output(b, at);
        t.values.push_back(std::move(b));
    };
    for (const auto& [key, tensor] : result.leaves) {
        Ref<Block> b = tensor ? tensor->value : trace.key(key->origin);
        t.depends = t.depends || (tensor && depends_now(*tensor));
        add(b ? b : block_of_key(*key));
    }
    t.results = result.leaves.size();
    const std::size_t first = trace.graph().inputs().size() - live.tensors().size();
    for (std::size_t i = 0; i < live.tensors().size(); ++i) {
        if (!live.updated(i)) continue;
        const AnyTensor& now = *live.tensors()[i];
        if (!now.value) refuse_empty("freeze", now, at);
        t.live.push_back(i);
        t.depends = t.depends || depends_now(now);
        trace.graph().update(first + i, trace.graph().outputs().size());
        add(now.value);
    }
    for (const ValueId v : host_values(trace.graph())) add(trace.blocks()[v]);
}

WENGERT_INLINE void finish_trace(FrozenTrace& t, Trace& trace, const LiveInputs& live,
                                 const ResultBlocks& result, HeldBlocks held, const Site& at)
{
    for (const auto& header : live.headers()) ++held.count[header.get()];
    for (const AnyTensor* l : live.tensors()) ++held.count[l->value.get()];
    add_outputs(t, trace, live, result, at);
    trace.stop();
    t.varies = trace.varies();
    for (const auto& b : t.values) ++held.count[b.get()];
    t.escaped = escaped(trace, std::move(held));
    t.graph = std::move(trace.graph());
}

WENGERT_INLINE bool take_trace(FrozenCore& core, FrozenEntry& entry, std::shared_ptr<FrozenPath>& path,
                               FrozenTrace t, bool recorded, std::vector<Ref<Block>>& values, const Site& at)
{
    const CallArguments& a = core.call.arguments;
    if (path) {
        compare_calls(*path, core.call.outputs, t, at);
        values = std::move(t.values);
        return true;
    }
    values = std::move(t.values);
    path = core.add(entry, std::move(t), a.family, a.extent);
    core.report_retraces(at);
    return !recorded || (path && !loops_call_host(entry));
}

WENGERT_INLINE const FrozenPath* fitting_path(const FrozenEntry& e, const std::vector<Ref<Block>>& inputs)
{
    for (const auto& p : e.paths) {
        std::vector<Ref<Block>> in = inputs, out;
        if (p->optimized.guards().empty() || p->effects ||
            p->executable->run(in, out) == p->optimized.guards().size())
            return p.get();
    }
    return nullptr;
}

}  // namespace wengert::detail
