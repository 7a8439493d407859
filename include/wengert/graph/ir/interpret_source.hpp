// What interpret.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../base/separate.hpp"
#include "interpret.hpp"

namespace wengert {

WENGERT_INLINE Ref<Block> compute_node(const GraphNode& n, const Ref<Block>* in)
{
    const Primitive& p = *n.primitive;
    if (p.value) {
        const Block* blocks[kernels::max_operands] = {};
        for (std::size_t i = 0; i < n.inputs.size(); ++i) blocks[i] = in[i].get();
        return compute_elementwise(current_thread(), p, blocks, n.at);
    }
    return detail::compute_structural(p, n.op.get(), in, n.inputs.size(), n.at);
}
namespace detail {

WENGERT_INLINE std::vector<Ref<Block>> interpret_graph(const Graph& g, const std::vector<Ref<Block>>& inputs,
                                                       const NodeCallback& callback)
{
    std::uint8_t device = 0;  // constants of graphs are on the host
    for (const auto& b : inputs)
        if (b && b->access.device) device = b->device();
    std::vector<Ref<Block>> values(g.size());
    std::vector<std::uint32_t> last(g.size(), 0);
    for (ValueId v = 0; v < g.size(); ++v)
        for (ValueId i : g.node(v).inputs) last[i] = v;
    for (ValueId v : g.outputs()) last[v] = ~0U;
    for (const Guard& guard : g.guards()) last[guard.value] = ~0U;
    std::vector<Ref<Block>> operands;
    for (ValueId v = 0; v < g.size(); ++v) {
        const GraphNode& n = g.node(v);
        if (n.kind == GraphNode::Kind::input) {
            values[v] = inputs[n.index];
        } else if (n.kind == GraphNode::Kind::constant) {
            values[v] = placed(n.constant, device);
        } else {
            operands.clear();
            for (ValueId i : n.inputs) operands.push_back(values[i]);
            values[v] = compute_node(n, operands.data());
        }
        if (callback) callback(n, v, *values[v]);
        for (ValueId i : n.inputs)
            if (last[i] == v) values[i] = {};
    }
    return values;
}

}  // namespace detail

WENGERT_INLINE std::size_t failed_guard(const Graph& g, const std::vector<Ref<Block>>& values)
{
    for (std::size_t k = 0; k < g.guards().size(); ++k)
        if (!same_elements(*readable(values[g.guards()[k].value]), *g.guards()[k].expected)) return k;
    return g.guards().size();
}

WENGERT_INLINE std::vector<AnyTensor> replay(const Graph& g, const std::vector<AnyTensor>& inputs)
{
    std::uint8_t device = 0;
    for (const AnyTensor& t : inputs)
        if (t.value && t.value->access.device) device = t.value->device();
    std::vector<AnyTensor> values(g.size());
    std::vector<AnyTensor> operands;
    for (ValueId v = 0; v < g.size(); ++v) {
        const GraphNode& n = g.node(v);
        if (n.kind == GraphNode::Kind::input) {
            values[v] = inputs[n.index];
        } else if (n.kind == GraphNode::Kind::constant) {
            values[v].value = placed(n.constant, device);
        } else {
            operands.clear();
            for (ValueId i : n.inputs) operands.push_back(values[i]);
            values[v] = apply_any(*n.primitive, n.op.get(), operands.data(), operands.size(), n.at);
        }
    }
    std::vector<AnyTensor> out;
    for (ValueId v : g.outputs()) out.push_back(values[v]);
    return out;
}

}  // namespace wengert
