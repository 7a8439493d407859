// The graphs of loops' bodies: without what is not needed, and one object where they are equal.
#pragma once

#include <memory>
#include <mutex>

#include "../ir/fields.hpp"

namespace wengert::detail {

/// Graphs that are equal are one object, so that loops can be compared by their bodies' addresses, and what has been compiled
/// for one of them serves all.
bool same_graph(const Graph& a, const Graph& b);

std::shared_ptr<const Graph> shared_graph(Graph g);

/// The graph without what no output needs.
Graph pruned(const Graph& g);
/// With the outputs of those numbers and no others.
Graph with_outputs(const Graph& g, const std::vector<std::size_t>& outputs);

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "body_graph_source.hpp"
#endif
