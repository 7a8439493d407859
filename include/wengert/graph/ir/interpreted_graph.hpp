// What the backend `interpret` makes of a graph.
#pragma once

#include "executable.hpp"
#include "interpret.hpp"

namespace wengert::detail {

class InterpretedGraph : public Executable {
public:
    InterpretedGraph(const Graph& g, NodeCallback callback) : graph_(g), callback_(std::move(callback))
    {
        for (const GraphNode& n : g.nodes()) stats.kernels += n.kind == GraphNode::Kind::operation;
    }
    std::size_t run(std::vector<Ref<Block>>& inputs, std::vector<Ref<Block>>& outputs) override
    {
        return interpret_guarded(graph_, inputs, outputs, callback_);
    }

private:
    Graph graph_;
    NodeCallback callback_;
};

}  // namespace wengert::detail
