// The bodies of graph.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include <algorithm>

#include "../../../array/elsewhere.hpp"
#include "../../../base/separate.hpp"
#include "../graph.hpp"

namespace wengert {

WENGERT_INLINE Graph::Graph(const Graph& g) = default;
WENGERT_INLINE Graph::Graph(Graph&& g) noexcept = default;
WENGERT_INLINE Graph& Graph::operator=(const Graph& g) = default;
WENGERT_INLINE Graph& Graph::operator=(Graph&& g) noexcept = default;
WENGERT_INLINE Graph::~Graph() = default;

WENGERT_INLINE ValueId Graph::input(DType dtype, const Shape& shape, const Site& at, std::uint16_t segment)
{
    GraphNode n;
    n.kind = Kind::input;
    n.dtype = dtype;
    n.shape = shape;
    n.at = at;
    n.segment = segment;
    n.index = static_cast<std::uint32_t>(inputs_.size());
    inputs_.push_back(append(std::move(n)));
    updates_.push_back(no_value);
    return inputs_.back();
}

WENGERT_INLINE GraphNode GraphNode::of_constant(Ref<Block> value, const Site& at, std::uint16_t segment)
{
    GraphNode n;
    n.segment = segment;
    n.kind = Kind::constant;
    n.dtype = value->dtype;
    n.shape = value->shape;
    n.constant = std::move(value);
    n.at = at;
    return n;
}

WENGERT_INLINE ValueId Graph::constant(Ref<Block> value, const Site& at, std::uint16_t segment)
{
    return append(GraphNode::of_constant(on_host(value), at, segment));
}

WENGERT_INLINE ValueId Graph::operation(const Primitive& p, Parameters op, ValueList inputs,
                                        const Shape& shape, const Site& at, std::uint16_t segment)
{
    GraphNode n;
    n.segment = segment;
    n.dtype = p.dtype;
    n.primitive = &p;
    n.op = std::move(op);
    n.inputs = std::move(inputs);
    n.shape = shape;
    n.at = at;
    return append(std::move(n));
}

WENGERT_INLINE Graph Graph::like(std::vector<ValueId>& map) const
{
    Graph g;
    map.assign(nodes_.size(), no_value);
    for (ValueId v : inputs_) {
        map[v] = g.input(nodes_[v].dtype, nodes_[v].shape, nodes_[v].at);
        g.nodes_[map[v]].segment = nodes_[v].segment;
    }
    g.updates_ = updates_;
    return g;
}

WENGERT_INLINE ValueId Graph::copy(const GraphNode& n, const std::vector<ValueId>& map)
{
    GraphNode c = n;
    for (ValueId& v : c.inputs) v = map[v];
    return append(std::move(c));
}

WENGERT_INLINE void Graph::finish(const Graph& from, const std::vector<ValueId>& map)
{
    for (ValueId v : from.outputs_) outputs_.push_back(map[v]);
    for (Guard g : from.guards_) {
        g.value = map[g.value];
        guards_.push_back(std::move(g));
    }
}

WENGERT_INLINE Graph with_guards_as_outputs(Graph g)
{
    for (std::size_t k = 0; k < g.guards().size(); ++k) g.output(g.guards()[k].value);
    return g;
}

WENGERT_INLINE Graph with_outputs_as_guards(Graph g, std::size_t first, const std::vector<Guard>& guards)
{
    std::vector<ValueId> rest;
    for (std::size_t k = 0; k < g.outputs().size(); ++k)
        if (const ValueId v = g.outputs()[k]; k >= first && k - first < guards.size()) {
            const Guard& guard = guards[k - first];
            g.guard({v, guard.expected, guard.what, guard.at});
        } else {
            rest.push_back(v);
        }
    g.set_outputs(std::move(rest));
    return g;
}

WENGERT_INLINE bool has_effects(const Graph& g)
{
    return std::any_of(g.nodes().begin(), g.nodes().end(),
                       [](const GraphNode& n) { return n.primitive && n.primitive->effects; });
}

WENGERT_INLINE bool communicates(const Graph& g)
{
    return std::any_of(g.nodes().begin(), g.nodes().end(),
                       [](const GraphNode& n) { return n.primitive && n.primitive->communicates; });
}

WENGERT_INLINE std::vector<bool> live_values(const Graph& g)
{
    std::vector<bool> live(g.size(), false);
    for (ValueId v : g.outputs()) live[v] = true;
    for (const Guard& guard : g.guards()) live[guard.value] = true;
    for (auto v = static_cast<ValueId>(g.size()); v-- > 0;) {
        const GraphNode& n = g.node(v);
        if (!live[v] && n.primitive && n.primitive->effects) live[v] = true;
        if (live[v])
            for (ValueId i : n.inputs) live[i] = true;
    }
    return live;
}

WENGERT_INLINE Graph compacted(Graph g)
{
    const std::vector<bool> live = live_values(g);
    if (std::find(live.begin(), live.end(), false) == live.end()) return g;
    std::vector<ValueId> map;
    Graph out = g.like(map);
    out.reserve(g.size());
    for (ValueId v = 0; v < g.size(); ++v) {
        if (!live[v] || map[v] != no_value) continue;
        GraphNode n = g.take(v);
        for (ValueId& i : n.inputs) i = map[i];
        map[v] = out.append(std::move(n));
    }
    out.finish(g, map);
    return out;
}

WENGERT_INLINE Graph graph_between(const Graph& g, const std::vector<ValueId>& inputs,
                                   const std::vector<ValueId>& outputs)
{
    Graph h;
    std::vector<ValueId> map(g.size(), no_value);
    std::vector<bool> needed(g.size(), false);
    for (ValueId v : inputs) {
        const GraphNode& n = g.node(v);
        map[v] = h.input(n.dtype, n.shape, n.at, n.segment);
    }
    for (ValueId v : outputs) needed[v] = true;
    for (auto v = static_cast<ValueId>(g.size()); v-- > 0;)
        for (ValueId i : g.node(v).inputs) needed[i] = needed[i] || (needed[v] && map[v] == no_value);
    for (ValueId v = 0; v < g.size(); ++v)
        if (needed[v] && map[v] == no_value) map[v] = h.copy(g.node(v), map);
    for (ValueId v : outputs) h.output(map[v]);
    return h;
}

WENGERT_INLINE MatrixProduct product_of(const GraphNode& n)
{
    const MatrixProduct p = n.primitive->product(n.op.get());
    const auto has = [&](std::uint8_t k, bool optional) {
        return k < n.inputs.size() || (optional && k == MatrixProduct::none);
    };
    if (!has(p.a.operand, false) || !has(p.b.operand, false) || !has(p.factor, true) ||
        !has(p.cotangent, true))
        fail<TapeError>(n.primitive->name,
                        "says that it is a product of an operand that it does not have: there are " +
                            std::to_string(n.inputs.size()),
                        n.at);
    return p;
}

WENGERT_INLINE Parameters keep_parameters(const Primitive& p, const void* op)
{
    if (!op || !p.clone) return {};
    const auto destroy = p.destroy;
    void* copy = p.clone(op);
    if (!copy) return {};
    return Parameters(copy, [destroy](const void* x) {
        if (destroy) destroy(const_cast<void*>(x));
    });
}

}  // namespace wengert
