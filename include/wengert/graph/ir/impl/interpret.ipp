// The bodies of interpret.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../../../base/separate.hpp"
#include "../../../tape/apply.hpp"
#include "../guard_check.hpp"
#include "../interpret.hpp"
#include "../interpreted_graph.hpp"

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

WENGERT_INLINE std::unique_ptr<Executable> interpreted(const Graph& g, const PlanOptions& options)
{
    return std::make_unique<InterpretedGraph>(g, options.callback);
}
WENGERT_INLINE std::size_t InterpretedGraph::run(std::vector<Ref<Block>>& inputs,
                                                 std::vector<Ref<Block>>& outputs)
{
    return interpret_guarded(graph_, inputs, outputs, callback_);
}

/// Runs operations, and lets values go after their last use.
class NodeByNode {
public:
    NodeByNode(const Graph& g, const std::vector<Ref<Block>>& inputs, const NodeCallback& callback)
        : values(g.size()), g_(g), inputs_(inputs), callback_(callback), last_(g.size(), 0)
    {
        for (const auto& b : inputs)
            if (b && b->access.device) device_ = b->device();
        for (ValueId v = 0; v < g.size(); ++v)
            for (ValueId i : g.node(v).inputs) last_[i] = v;
        for (ValueId v : g.outputs()) last_[v] = no_value;
        for (const Guard& guard : g.guards()) last_[guard.value] = no_value;
    }
    void run(ValueId first, std::size_t end)
    {
        for (ValueId v = first; v < end; ++v) {
            const GraphNode& n = g_.node(v);
            values[v] = value(n);
            if (callback_) callback_(n, v, *values[v]);
            for (ValueId i : n.inputs)
                if (last_[i] == v) values[i] = {};
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
    const std::vector<Ref<Block>>& inputs_;
    const NodeCallback& callback_;
    std::vector<ValueId> last_;  ///< user
    std::vector<Ref<Block>> operands_;
    std::uint8_t device_ = 0;  // constants of graphs are on the host
};

WENGERT_INLINE std::vector<Ref<Block>> interpret_graph(const Graph& g, const std::vector<Ref<Block>>& inputs,
                                                       const NodeCallback& callback)
{
    NodeByNode nodes(g, inputs, callback);
    nodes.run(0, g.size());
    return std::move(nodes.values);
}

WENGERT_INLINE std::size_t interpret_guarded(const Graph& g, const std::vector<Ref<Block>>& inputs,
                                             std::vector<Ref<Block>>& outputs, const NodeCallback& callback)
{
    NodeByNode nodes(g, inputs, callback);
    ValueId behind = 0;  // the last value that is guarded
    for (const Guard& guard : g.guards()) behind = std::max(behind, guard.value + 1);
    nodes.run(0, behind);
    const std::size_t failed = failed_guard(g, nodes.values);
    if (failed < g.guards().size()) return failed;
    nodes.run(behind, g.size());
    outputs.clear();
    for (ValueId v : g.outputs()) outputs.push_back(nodes.values[v]);
    return failed;
}

}  // namespace detail

WENGERT_INLINE std::size_t failed_guard(const Graph& g, const std::vector<Ref<Block>>& values)
{
    for (std::size_t k = 0; k < g.guards().size(); ++k)
        if (!detail::meets(*readable(values[g.guards()[k].value]), *g.guards()[k].expected)) return k;
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
