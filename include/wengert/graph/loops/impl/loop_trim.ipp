// What loop_trim.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../loop_trim.hpp"

#ifndef WENGERT_COMPILED
#include "run_loop.ipp"  // make_loop_code
#endif

namespace wengert::detail {

WENGERT_INLINE LoopReaders::LoopReaders(const Graph& g) : read(g.size())
{
    for (ValueId v = 0; v < g.size(); ++v) {
        const GraphNode& n = g.node(v);
        if (const LoopParameters* l = loop_parameters(n); l && (!l->effects || l->communicates))
            for (const auto& r : l->results) read[v].push_back(!r.wanted());
        // The last operand of what has effects is the one before it, and is not read. The first of them has none before it.
        const Primitive* const last = n.inputs.empty() ? nullptr : g.node(n.inputs.back()).primitive;
        const bool in_order = n.primitive && n.primitive->effects && last && last->effects;
        for (ValueId i : n.inputs)
            if (!read[i].empty() && !(in_order && i == n.inputs.back())) look(g, n, i);
    }
    for (ValueId v : g.outputs()) read[v].clear();
    for (const Guard& guard : g.guards()) read[guard.value].clear();
}

WENGERT_INLINE void LoopReaders::look(const Graph& g, const GraphNode& n, ValueId loop)
{
    const auto& results = loop_parameters(g.node(loop))->results;
    bool known = false;
    if (const auto part = packed_part(n))
        for (std::size_t k = 0; k < results.size(); ++k)
            if (results[k].offset == part->offset && results[k].shape == part->shape)
                read[loop][k] = known = true;
    if (!known) read[loop].clear();
}

WENGERT_INLINE std::shared_ptr<LoopParameters> trimmed(const LoopParameters& p, const std::vector<bool>& read,
                                                       std::vector<std::size_t>& place)
{
    auto q = std::make_shared<LoopParameters>(p);
    q->results.clear();
    q->kept = 0;
    q->size = 0;
    q->guard = p.kind == Kind::cond ? LoopParameters::npos : p.guard;
    q->code = make_loop_code();
    const std::size_t carried = p.kind == Kind::scan || p.kind == Kind::while_loop ? p.states
                                : p.kind == Kind::cond                             ? 0
                                                                                   : p.results.size();
    std::vector<std::size_t> outputs;
    for (std::size_t k = 0; k < p.results.size(); ++k) {
        place.push_back(q->results.size());
        const bool stays = read[k] || (p.effects && k == 0);  // without elements nothing would run it
        if (k >= carried && !stays) continue;
        q->results.push_back(p.results[k]);
        if (!stays) q->results.back().offset = LoopParameters::Result::nowhere;
        outputs.push_back(k);
    }
    place_results(*q, 0);
    if (p.kind != Kind::scan && p.kind != Kind::cond) return q;
    q->body = shared_graph(compacted(with_outputs(*p.body, outputs)));
    if (p.kind == Kind::cond) q->other = shared_graph(compacted(with_outputs(*p.other, outputs)));
    return q;
}

}  // namespace wengert::detail

namespace wengert {

WENGERT_INLINE Graph trimmed_loops(Graph g)
{
    const auto is_loop = [](const GraphNode& n) { return loop_parameters(n) != nullptr; };
    if (std::none_of(g.nodes().begin(), g.nodes().end(), is_loop)) return g;
    const detail::LoopReaders readers(g);
    std::vector<ValueId> map;
    Graph h = g.like(map);
    std::vector<std::vector<std::size_t>> places(g.size());
    for (ValueId v = 0; v < g.size(); ++v) {
        GraphNode n = g.node(v);
        if (n.kind == Graph::Kind::input) continue;
        if (const LoopParameters* l = loop_parameters(n); l && readers.trims(v)) {
            auto q = detail::trimmed(*l, readers.read[v], places[v]);
            n.shape = Shape{q->size};
            n.op = std::make_shared<const detail::Loop>(detail::Loop{std::move(q)});
        } else if (n.inputs.size() == 1 && packed_part(n) && !places[n.inputs[0]].empty()) {
            const LoopParameters &before = *loop_parameters(g.node(n.inputs[0])),
                                 &after = *loop_parameters(h.node(map[n.inputs[0]]));
            const PackedPart part = *packed_part(n);
            std::size_t k = 0;
            while (before.results[k].offset != part.offset || !(before.results[k].shape == part.shape)) ++k;
            n.op = packed_at(n, after.results[places[n.inputs[0]][k]].offset, after.size);
        }
        map[v] = h.copy(n, map);
    }
    h.finish(g, map);
    return h;
}

}  // namespace wengert
