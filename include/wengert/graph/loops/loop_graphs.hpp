// Graphs and parameters of loops, put together: what recording a loop and its derivatives have in common. Equal bodies are one
// object.
#pragma once

#include "loop.hpp"

namespace wengert::detail {

using Kind = LoopParameters::Kind;

std::vector<std::size_t> all_of(std::size_t first, std::size_t last);

/// The outputs of a body as results of its loop: `states`, then what the steps give, stacked.
std::vector<LoopParameters::Result> results_of(const Graph& body, std::size_t states, std::int64_t steps);

/// Graphs that are equal are one object, so that loops can be compared by their bodies' addresses, and what has been compiled
/// for one of them serves all.
std::shared_ptr<const Graph> shared_graph(Graph g);

/// With the outputs of those numbers and no others.
Graph with_outputs(Graph g, const std::vector<std::size_t>& outputs);

/// The graph with inputs of those dtypes and shapes, its own ones among them at `place`, and those of its outputs.
Graph with_inputs(const Graph& g, const std::vector<const GraphNode*>& inputs,
                  const std::vector<std::size_t>& place, const std::vector<std::size_t>& outputs);

/// New input j is the old input inputs[j], new output k the old output outputs[k]. Old inputs that are left out are unused.
Graph rearranged(const Graph& g, const std::vector<std::size_t>& inputs,
                 const std::vector<std::size_t>& outputs);

/// Drops xs and constants that the body of a scan does not read, and their operands.
void drop_unused(LoopParameters& p, std::vector<AnyTensor>& in);

/// A cond of two graphs that were made from its branches.
std::shared_ptr<LoopParameters> branch_of(Graph yes, Graph no);

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/loop_graphs.ipp"
#endif
