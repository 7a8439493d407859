// What body_graph.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../base/separate.hpp"
#include "body_graph.hpp"

namespace wengert::detail {

WENGERT_INLINE bool same_graph(const Graph& a, const Graph& b)
{
    if (a.size() != b.size() || a.inputs() != b.inputs() || a.outputs() != b.outputs()) return false;
    const auto same_place = [](const Site& x, const Site& y) {
        return x.line == y.line && (x.file == y.file || to_string(x) == to_string(y));  // as text has it
    };
    for (ValueId v = 0; v < a.size(); ++v) {
        const GraphNode &m = a.node(v), &n = b.node(v);
        if (m.kind != n.kind || m.dtype != n.dtype || !(m.shape == n.shape) || m.inputs != n.inputs ||
            m.segment != n.segment || !same_place(m.at, n.at))
            return false;
        if (m.constant && !same_elements(*m.constant, *n.constant)) return false;
        if (m.primitive && !(same_primitive(*m.primitive, *n.primitive) && same_parameters(m, n)))
            return false;
    }
    return true;
}

WENGERT_INLINE std::shared_ptr<const Graph> shared_graph(Graph g)
{
    static std::mutex mutex;
    static std::vector<std::weak_ptr<const Graph>> known;
    const std::lock_guard lock(mutex);
    std::erase_if(known, [](const auto& w) { return w.expired(); });
    for (const auto& w : known)
        if (auto other = w.lock(); other && same_graph(*other, g)) return other;
    auto fresh = std::make_shared<const Graph>(std::move(g));
    known.push_back(fresh);
    return fresh;
}

WENGERT_INLINE Graph pruned(const Graph& g)
{
    std::vector<bool> needed(g.size());
    for (ValueId v : g.outputs()) needed[v] = true;
    for (ValueId v = static_cast<ValueId>(g.size()); v-- > 0;) {
        const GraphNode& n = g.node(v);
        needed[v] = needed[v] || (n.primitive && n.primitive->effects);
        for (ValueId i : n.inputs) needed[i] = needed[i] || needed[v];
    }
    std::vector<ValueId> map;
    Graph h = g.like(map);
    for (ValueId v = 0; v < g.size(); ++v)
        if (needed[v] && g.node(v).kind != Graph::Kind::input) map[v] = h.copy(g.node(v), map);
    h.finish(g, map);
    return h;
}

WENGERT_INLINE Graph with_outputs(const Graph& g, const std::vector<std::size_t>& outputs)
{
    std::vector<ValueId> map;
    Graph h = g.like(map);
    for (ValueId v = 0; v < g.size(); ++v)
        if (g.node(v).kind != Graph::Kind::input) map[v] = h.copy(g.node(v), map);
    for (std::size_t k : outputs) h.output(map[g.outputs()[k]]);
    return h;
}

}  // namespace wengert::detail
