// Inlining: a function with a rule of the user's (custom_vjp, custom_jvp) becomes the operations that it consists of, so that
// they fuse with what is around them. The rule has done its work when the graph was recorded.
#pragma once

#include "../ir/trace.hpp"
#include "rewrite.hpp"

namespace wengert::passes {

namespace detail {

/// Does the graph take what the node takes, and give what it gives? A graph for another extent has been traced with other shapes.
inline bool stands_for(const Graph& inside, const Rewrite& r, const GraphNode& n)
{
    const auto alike = [](const GraphNode& a, const GraphNode& b) {
        return a.dtype == b.dtype && a.shape == b.shape;
    };
    for (std::size_t i = 0; i < n.inputs.size(); ++i)
        if (!alike(inside.node(inside.inputs()[i]), r.node(n.inputs[i]))) return false;
    return alike(inside.node(inside.outputs()[0]), n);
}

inline ValueId inline_rule(Rewrite& r, GraphNode& n)
{
    if (n.kind != Graph::Kind::operation || !n.primitive->inside || !n.op) return no_value;
    const auto* traced = static_cast<const InsideGraph*>(n.primitive->inside(n.op.get()));
    if (!traced || !stands_for(traced->graph, r, n)) return no_value;
    const Graph& g = traced->graph;
    std::vector<ValueId> map(g.size(), no_value);
    for (std::size_t i = 0; i < n.inputs.size(); ++i) map[g.inputs()[i]] = n.inputs[i];
    for (ValueId v = 0; v < g.size(); ++v) {
        if (map[v] != no_value) continue;
        GraphNode part = g.node(v);
        for (ValueId& i : part.inputs) i = map[i];
        part.segment = n.segment;
        map[v] = r.add_inner(std::move(part));
    }
    return map[g.outputs()[0]];
}

}  // namespace detail

/// Functions with a rule as the operations inside. Exact. One that looks at elements in plain C++, has effects, or captures
/// arrays stays one operation, called in each replay.
inline Graph inlining(const Graph& g, const PassOptions& options = {})
{
    return settled(g, options, {{detail::inline_rule}});
}

}  // namespace wengert::passes
