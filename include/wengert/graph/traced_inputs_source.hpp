// What traced_inputs.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../base/separate.hpp"
#include "traced_inputs.hpp"

namespace wengert::detail {

WENGERT_INLINE LiveInputs::LiveInputs(TraceInputs& in, const std::vector<AnyTensor*>& live) : live_(live)
{
    for (AnyTensor* t : live_) {
        before_.push_back(*t);
        headers_.push_back(in.take());
    }
    const std::uint64_t active = Tape::current().active;
    for (std::size_t i = 0; i < live_.size(); ++i) {
        live_[i]->value = headers_[i];
        if (before_[i].node && (before_[i].node->mask & active)) live_[i]->node = {};
    }
}

WENGERT_INLINE LiveInputs::~LiveInputs()
{
    for (std::size_t i = 0; i < live_.size(); ++i)
        if (!ended_ || !updated(i)) *live_[i] = before_[i];
}

WENGERT_INLINE LiveKept::LiveKept(const std::vector<AnyTensor*>& live) : live_(live)
{
    for (const AnyTensor* t : live_) before_.push_back(*t);
}

WENGERT_INLINE LiveKept::~LiveKept()
{
    for (std::size_t i = 0; i < live_.size(); ++i) *live_[i] = before_[i];
}

WENGERT_INLINE std::int64_t outside_references(const Block& b, const HeldBlocks& held)
{
    std::int64_t count =
        static_cast<std::int64_t>(b.Counted::local) + (b.shared.load(std::memory_order_relaxed) >> 2) - 1;
    if (const auto at = held.count.find(&b); at != held.count.end()) count -= at->second;
    return count;
}

WENGERT_INLINE ValueId escaped(Trace& trace, HeldBlocks held, std::size_t inputs)
{
    const auto counts = [&](const GraphNode& n) {
        return n.kind == Graph::Kind::operation || (n.kind == Graph::Kind::input && n.index < inputs);
    };
    for (const auto& [origin, block] : trace.keys()) ++held.count[block.get()];
    for (const auto& b : trace.blocks())
        if (b && b->base) ++held.count[b->base];
    for (const auto& b : trace.aliases()) ++held.count[b->base];
    const Graph& g = trace.graph();
    for (ValueId v = 0; v < g.size(); ++v)
        if (counts(g.node(v)) && trace.blocks()[v] && outside_references(*trace.blocks()[v], held) > 0)
            return v;
    return no_value;
}

}  // namespace wengert::detail
