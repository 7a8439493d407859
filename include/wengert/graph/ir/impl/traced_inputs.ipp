// The bodies of traced_inputs.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../../../base/separate.hpp"
#include "../trace.hpp"
#include "../traced_inputs.hpp"

namespace wengert::detail {

WENGERT_INLINE AnyTensor traced_input(Trace& trace, const Ref<Block>& b, const Site& at)
{
    AnyTensor header{make_view(b, b->shape, nullptr, 0), {}};
    trace.input(header.value, at);
    header.value->access.traced = true;
    return header;
}

/// References to a block that are not a trace's own, not a view's, and not in `held`.
inline std::int64_t outside_references(const Trace& trace, const Block& b,
                                       const std::unordered_map<const Block*, std::int64_t>& held)
{
    const auto at = held.find(&b);
    std::int64_t n = references_to(&b) - 1 - (at != held.end() ? at->second : 0);
    for (const Trace* t = &trace; t; t = t->around()) n -= t->references_from_outside(b);
    return n;
}

WENGERT_INLINE std::vector<ValueId> escaped(Trace& trace, const HeldBlocks& held, std::size_t inputs)
{
    std::unordered_map<const Block*, std::int64_t> count;
    for (const Block* b : held.all) ++count[b];
    const auto counts = [&](const GraphNode& n) {
        return n.kind == Graph::Kind::operation || (n.kind == Graph::Kind::input && n.index < inputs);
    };
    for (const auto& [origin, block] : trace.keys()) ++count[block.get()];
    for (const auto& b : trace.blocks())
        if (b && b->base) ++count[b->base];
    for (const auto& b : trace.aliases()) ++count[b->base];
    const Graph& g = trace.graph();
    std::vector<ValueId> found;
    for (ValueId v = 0; v < g.size(); ++v)
        if (counts(g.node(v)) && trace.blocks()[v] &&
            outside_references(trace, *trace.blocks()[v], count) > 0)
            found.push_back(v);
    return found;
}

}  // namespace wengert::detail
