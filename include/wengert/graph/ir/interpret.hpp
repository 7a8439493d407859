// The simplest executor: node by node, each with the kernel that eager uses. What every other executor is compared with,
// and what a debugger steps through.
#pragma once

#include "../../tape/apply.hpp"
#include "executable.hpp"
#include "fields.hpp"

namespace wengert {

/// The value of one operation from those of its inputs.
inline Ref<Block> compute_node(const GraphNode& n, const Ref<Block>* in)
{
    const Primitive& p = *n.primitive;
    if (p.value) {
        const Block* blocks[kernels::max_operands] = {};
        for (std::size_t i = 0; i < n.inputs.size(); ++i) blocks[i] = in[i].get();
        return compute_elementwise(current_thread(), p, blocks, n.at);
    }
    return p.compute(n.op.get(), in, n.inputs.size(), n.at);
}

namespace detail {

/// The values of outputs and guards; others are let go after their last use.
inline std::vector<Ref<Block>> interpret_graph(const Graph& g, const std::vector<Ref<Block>>& inputs,
                                               const NodeCallback& callback)
{
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
            values[v] = n.constant;
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

/// The first guard that does not hold, or their number.
inline std::size_t failed_guard(const Graph& g, const std::vector<Ref<Block>>& values)
{
    for (std::size_t k = 0; k < g.guards().size(); ++k)
        if (!same_elements(*contiguous(values[g.guards()[k].value]), *g.guards()[k].expected)) return k;
    return g.guards().size();
}

namespace detail {

class InterpretedGraph : public Executable {
public:
    InterpretedGraph(const Graph& g, NodeCallback callback) : graph_(g), callback_(std::move(callback))
    {
        for (const GraphNode& n : g.nodes()) stats.kernels += n.kind == GraphNode::Kind::operation;
    }
    std::size_t run(std::vector<Ref<Block>>& inputs, std::vector<Ref<Block>>& outputs) override
    {
        const auto values = interpret_graph(graph_, inputs, callback_);
        const std::size_t failed = failed_guard(graph_, values);
        if (failed < graph_.guards().size()) return failed;
        outputs.clear();
        for (ValueId v : graph_.outputs()) outputs.push_back(values[v]);
        return failed;
    }

private:
    Graph graph_;
    NodeCallback callback_;
};

struct Interpreter : Backend {
    std::vector<Ref<Block>> operator()(const Graph& g, const std::vector<Ref<Block>>& inputs,
                                       const NodeCallback& callback = {}) const
    {
        return interpret_graph(g, inputs, callback);
    }
};

}  // namespace detail

/// The backend that runs node by node and calls PlanOptions::callback; interpret(graph, inputs) runs a graph once and
/// returns its values by id.
inline constexpr detail::Interpreter interpret{
    {"interpret", [](const Graph& g, const PlanOptions& o) -> std::unique_ptr<Executable> {
         return std::make_unique<detail::InterpretedGraph>(g, o.callback);
     }}};

/// A graph applied to tensors: each operation goes through the library's dispatch, so that it is recorded on the tape, and
/// by a trace, where one of them asks for it. Guards are not looked at.
inline std::vector<AnyTensor> replay(const Graph& g, const std::vector<AnyTensor>& inputs)
{
    std::vector<AnyTensor> values(g.size());
    std::vector<AnyTensor> operands;
    for (ValueId v = 0; v < g.size(); ++v) {
        const GraphNode& n = g.node(v);
        if (n.kind == GraphNode::Kind::input) {
            values[v] = inputs[n.index];
        } else if (n.kind == GraphNode::Kind::constant) {
            values[v].value = n.constant;
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
