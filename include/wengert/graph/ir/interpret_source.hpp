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

/// Runs operations in an order, and lets values go after their last use.
class NodeByNode {
public:
    NodeByNode(const Graph& g, const std::vector<ValueId>& order, const std::vector<Ref<Block>>& inputs,
               const NodeCallback& callback)
        : values(g.size()), g_(g), order_(order), inputs_(inputs), callback_(callback), last_(g.size(), 0)
    {
        for (const auto& b : inputs)
            if (b && b->access.device) device_ = b->device();
        for (std::uint32_t k = 0; k < order.size(); ++k)
            for (ValueId i : g.node(order[k]).inputs) last_[i] = k;
        for (ValueId v : g.outputs()) last_[v] = ~0U;
        for (const Guard& guard : g.guards()) last_[guard.value] = ~0U;
    }
    void run(std::size_t first, std::size_t end)
    {
        for (std::size_t k = first; k < end; ++k) {
            const ValueId v = order_[k];
            const GraphNode& n = g_.node(v);
            values[v] = value(n);
            if (callback_) callback_(n, v, *values[v]);
            for (ValueId i : n.inputs)
                if (last_[i] == k) values[i] = {};
        }
    }
    std::vector<Ref<Block>> values;

private:
    Ref<Block> value(const GraphNode& n)
    {
        if (n.kind == GraphNode::Kind::input) return inputs_[n.index];
        if (n.kind == GraphNode::Kind::constant) return placed(n.constant, device_);
        operands_.clear();
        for (ValueId i : n.inputs) operands_.push_back(values[i]);
        return compute_node(n, operands_.data());
    }

    const Graph& g_;
    const std::vector<ValueId>& order_;
    const std::vector<Ref<Block>>& inputs_;
    const NodeCallback& callback_;
    std::vector<std::uint32_t> last_;
    std::vector<Ref<Block>> operands_;
    std::uint8_t device_ = 0;  // constants of graphs are on the host
};

WENGERT_INLINE NodeOrder::NodeOrder(const Graph& g)
{
    std::vector<bool> asked(g.size());
    bool effects = false;
    for (const Guard& guard : g.guards()) asked[guard.value] = true;
    for (ValueId v = static_cast<ValueId>(g.size()); v-- > 0;) {
        if (!asked[v]) continue;
        effects = effects || (g.node(v).primitive && g.node(v).primitive->effects);
        for (ValueId i : g.node(v).inputs) asked[i] = true;
    }
    if (effects) asked.assign(g.size(), true);
    for (const bool now : {true, false}) {
        for (ValueId v = 0; v < g.size(); ++v)
            if (asked[v] == now) nodes.push_back(v);
        if (now) first = nodes.size();
    }
}

WENGERT_INLINE std::vector<Ref<Block>> interpret_graph(const Graph& g, const std::vector<Ref<Block>>& inputs,
                                                       const NodeCallback& callback)
{
    std::vector<ValueId> all(g.size());
    for (ValueId v = 0; v < g.size(); ++v) all[v] = v;
    NodeByNode nodes(g, all, inputs, callback);
    nodes.run(0, all.size());
    return std::move(nodes.values);
}

WENGERT_INLINE std::size_t interpret_guarded(const Graph& g, const NodeOrder& order,
                                             const std::vector<Ref<Block>>& inputs,
                                             std::vector<Ref<Block>>& outputs, const NodeCallback& callback)
{
    NodeByNode nodes(g, order.nodes, inputs, callback);
    nodes.run(0, order.first);
    const std::size_t failed = failed_guard(g, nodes.values);
    if (failed < g.guards().size()) return failed;
    nodes.run(order.first, order.nodes.size());
    outputs.clear();
    for (ValueId v : g.outputs()) outputs.push_back(nodes.values[v]);
    return failed;
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
