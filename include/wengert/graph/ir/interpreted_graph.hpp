// What the backend `interpret` makes of a graph.
#pragma once

#include "../../base/separate.hpp"
#include "executable.hpp"

namespace wengert::detail {

class InterpretedGraph : public Executable {
public:
    InterpretedGraph(const Graph& g, NodeCallback callback) : graph_(g), callback_(std::move(callback))
    {
        for (const GraphNode& n : g.nodes()) stats.kernels += n.kind == GraphNode::Kind::operation;
    }
    WENGERT_INLINE std::size_t run(std::vector<Ref<Block>>& inputs,
                                   std::vector<Ref<Block>>& outputs) override;

private:
    Graph graph_;
    NodeCallback callback_;
};

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "interpret.hpp"
#endif
