// Graph: a recorded program as data. Nodes are values in single static assignment, in an order in which they can run; each
// is an input, a constant, or a primitive with its parameters applied to earlier values. Passes take a graph and return a
// graph (graph/passes/), executors run one (graph/ir/interpret.hpp, graph/run/).
#pragma once

#include <memory>
#include <vector>

#include "../../tape/recorder.hpp"
#include "value_list.hpp"

namespace wengert {

/// Parameters of an operation, shared by the graphs that hold it.
using Parameters = std::shared_ptr<const void>;

struct GraphNode {
    enum class Kind : std::uint8_t { input, constant, operation, result };

    Kind kind = Kind::operation;
    DType dtype{};
    std::uint16_t segment = 0;  ///< values of different segments are not merged: what is to be recomputed
    std::uint32_t index = 0;    ///< of an input, or of a result among those of its operation
    const Primitive* primitive = nullptr;  ///< operations only
    Parameters op;
    ValueList inputs;  ///< all of them smaller than the node's own id
    Shape shape;
    Ref<Block> constant;
    Site at;

    static GraphNode of_constant(Ref<Block> value, const Site& at, std::uint16_t segment);
};

/// An assumption under which a graph is right: `value` must hold exactly these elements.
struct Guard {
    ValueId value = no_value;
    Ref<Block> expected;
    Read what = Read::truth;
    Site at;
};

class Graph {
public:
    using Kind = GraphNode::Kind;

    Graph() = default;
    Graph(const Graph& g);
    Graph(Graph&& g) noexcept;
    Graph& operator=(const Graph& g);
    Graph& operator=(Graph&& g) noexcept;
    ~Graph();

    const std::vector<GraphNode>& nodes() const noexcept { return nodes_; }
    const GraphNode& node(ValueId v) const noexcept { return nodes_[v]; }
    std::size_t size() const noexcept { return nodes_.size(); }
    const std::vector<ValueId>& inputs() const noexcept { return inputs_; }
    const std::vector<ValueId>& outputs() const noexcept { return outputs_; }
    const std::vector<Guard>& guards() const noexcept { return guards_; }
    /// For each input the output that takes over its memory when nobody else sees it, or no_value: live tensors.
    const std::vector<ValueId>& updates() const noexcept { return updates_; }

    ValueId input(DType dtype, const Shape& shape, const Site& at = {}, std::uint16_t segment = 0);
    ValueId constant(Ref<Block> value, const Site& at = {}, std::uint16_t segment = 0);
    /// An operation whose result's shape is known.
    ValueId operation(const Primitive& p, Parameters op, ValueList inputs, const Shape& shape,
                      const Site& at = {}, std::uint16_t segment = 0);
    ValueId append(GraphNode n)
    {
        nodes_.push_back(std::move(n));
        return static_cast<ValueId>(nodes_.size() - 1);
    }
    void reserve(std::size_t n) { nodes_.reserve(n); }
    /// Moves a node out of a graph that is given up: what passes do that own their operand.
    GraphNode take(ValueId v) { return std::move(nodes_[v]); }
    void output(ValueId v) { outputs_.push_back(v); }
    /// These outputs in place of all others.
    void set_outputs(std::vector<ValueId> v) { outputs_ = std::move(v); }
    void guard(Guard g) { guards_.push_back(std::move(g)); }
    /// The k-th output is the new value of input i.
    void update(std::size_t i, std::size_t k) { updates_[i] = static_cast<ValueId>(k); }

    /// A graph with the same inputs and none of the rest: where a pass begins. `map` gets the inputs' ids.
    Graph like(std::vector<ValueId>& map) const;
    /// Appends a copy of another graph's node whose inputs have been mapped.
    ValueId copy(const GraphNode& n, const std::vector<ValueId>& map);
    /// Ends a pass: outputs and guards of `from`, mapped.
    void finish(const Graph& from, const std::vector<ValueId>& map);

private:
    std::vector<GraphNode> nodes_;
    std::vector<ValueId> inputs_, outputs_, updates_;
    std::vector<Guard> guards_;
};

/// What reads each value, in order; for an output or a guard no_value, behind the others.
inline std::vector<std::vector<ValueId>> readers_of(const Graph& g)
{
    std::vector<std::vector<ValueId>> readers(g.size());
    for (ValueId v = 0; v < g.size(); ++v)
        for (ValueId i : g.node(v).inputs) readers[i].push_back(v);
    for (ValueId v : g.outputs()) readers[v].push_back(no_value);
    for (const Guard& guard : g.guards()) readers[guard.value].push_back(no_value);
    return readers;
}

/// Does it do more than compute its outputs? Such operations are kept, in order, and never merged.
bool has_effects(const Graph& g);
/// Is there something that other processes take part in?
bool communicates(const Graph& g);

/// For each value whether an output, a guard or an effect needs it. Linear.
std::vector<bool> live_values(const Graph& g);
/// The graph without what nothing needs, nodes moved. Inputs stay.
Graph compacted(Graph g);

/// The same graph with the values of its guards as further outputs, and the way back: those outputs from `first` on that are the
/// values of guards become these guards.
Graph with_guards_as_outputs(Graph g);
Graph with_outputs_as_guards(Graph g, std::size_t first, const std::vector<Guard>& guards);

/// The graph that computes some values of g from other values of g, its inputs.
Graph graph_between(const Graph& g, const std::vector<ValueId>& inputs, const std::vector<ValueId>& outputs);

/// The product of matrices that a node says it is. Throws TapeError where it names operands that it does not have.
MatrixProduct product_of(const GraphNode& n);

/// A copy of parameters that lives as long as anyone holds it.
Parameters keep_parameters(const Primitive& p, const void* op);

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/graph.ipp"
#endif
