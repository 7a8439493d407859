// What inlining.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../inlining.hpp"

namespace wengert::passes::detail {

WENGERT_INLINE bool stands_for(const Graph& inside, const Rewrite& r, const GraphNode& n)
{
    const auto alike = [](const GraphNode& a, const GraphNode& b) {
        return a.dtype == b.dtype && a.shape == b.shape;
    };
    for (std::size_t i = 0; i < n.inputs.size(); ++i)
        if (!alike(inside.node(inside.inputs()[i]), r.node(n.inputs[i]))) return false;
    return alike(inside.node(inside.outputs()[0]), n);
}

WENGERT_INLINE ValueId put_inside(Rewrite& r, const GraphNode& n, const Graph& g)
{
    std::vector<ValueId> map(g.size(), no_value);
    for (std::size_t i = 0; i < n.inputs.size(); ++i) map[g.inputs()[i]] = n.inputs[i];
    for (ValueId v = 0; v < g.size(); ++v) {
        if (map[v] != no_value) continue;
        GraphNode part = g.node(v);
        for (ValueId& i : part.inputs) i = map[i];
        part.segment = n.segment;
        if (!part.at.line) part.at = n.at;
        map[v] = r.add_inner(std::move(part));
    }
    return map[g.outputs()[0]];
}

WENGERT_INLINE ValueId compose_rule(Rewrite& r, GraphNode& n)
{
    if (n.kind != Graph::Kind::operation || !n.primitive->composed) return no_value;
    return traced_inside(
        r, n, [&](const std::vector<AnyTensor>& in) { return n.primitive->composed(n.op.get(), in.data()); });
}

WENGERT_INLINE ValueId inline_rule(Rewrite& r, GraphNode& n)
{
    if (n.kind != Graph::Kind::operation) return no_value;
    if (n.primitive->composed) return compose_rule(r, n);
    if (!n.primitive->inside || !n.op) return no_value;
    const auto* traced = static_cast<const InsideGraph*>(n.primitive->inside(n.op.get()));
    return traced && stands_for(traced->graph, r, n) ? put_inside(r, n, traced->graph) : no_value;
}

}  // namespace wengert::passes::detail

namespace wengert::passes {

WENGERT_INLINE Graph composed(const Graph& g)
{
    const auto composes = [](const GraphNode& n) { return n.primitive && n.primitive->composed; };
    return std::any_of(g.nodes().begin(), g.nodes().end(), composes)
               ? settled(g, {}, {{detail::compose_rule}, true})
               : g;
}

}  // namespace wengert::passes
