// Inlining: a function with a rule of the user's (custom_vjp, custom_jvp) becomes the operations that it consists of, so that
// they fuse with what is around them. The rule has done its work when the graph was recorded. So does what the library has a
// kernel for and a composition (Primitive::composed).
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

/// The operations of g in the place of n.
inline ValueId put_inside(Rewrite& r, const GraphNode& n, const Graph& g)
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

/// What f, a function of tensors, makes of zeros in the place of n; no_value where it makes nothing.
template <class F> ValueId traced_inside(Rewrite& r, const GraphNode& n, const F& f)
{
    const Untraced alone;
    const OnDevice host(0);
    std::vector<Ref<Block>> zeros;
    for (ValueId v : n.inputs) {
        if (element_count(r.node(v).shape) == 0) return no_value;
        zeros.push_back(zeros_block(r.node(v).dtype, r.node(v).shape));
    }
    const auto outputs = [&](const std::vector<AnyTensor>& in) {
        std::vector<AnyTensor> out{f(in)};
        if (!out[0].value) out.clear();
        return out;
    };
    const Graph g = trace_graph(outputs, zeros, n.at);
    return g.outputs().empty() ? no_value : put_inside(r, n, g);
}

inline ValueId compose_rule(Rewrite& r, GraphNode& n)
{
    if (n.kind != Graph::Kind::operation || !n.primitive->composed) return no_value;
    return traced_inside(
        r, n, [&](const std::vector<AnyTensor>& in) { return n.primitive->composed(n.op.get(), in.data()); });
}

inline ValueId inline_rule(Rewrite& r, GraphNode& n)
{
    if (n.kind != Graph::Kind::operation) return no_value;
    if (n.primitive->composed) return compose_rule(r, n);
    if (!n.primitive->inside || !n.op) return no_value;
    const auto* traced = static_cast<const InsideGraph*>(n.primitive->inside(n.op.get()));
    return traced && stands_for(traced->graph, r, n) ? put_inside(r, n, traced->graph) : no_value;
}

}  // namespace detail

/// Only what has a composition as that: what a text is made of, also where nothing is optimized.
inline Graph composed(const Graph& g)
{
    const auto composes = [](const GraphNode& n) { return n.primitive && n.primitive->composed; };
    return std::any_of(g.nodes().begin(), g.nodes().end(), composes)
               ? settled(g, {}, {{detail::compose_rule}, true})
               : g;
}

/// Functions with a rule as the operations inside. Exact. One that looks at elements in plain C++, has effects, or captures
/// arrays stays one operation, called in each replay.
inline constexpr Pass inlining{"inlining", detail::inline_rule};

}  // namespace wengert::passes
