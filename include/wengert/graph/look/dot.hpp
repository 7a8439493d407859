// Graphs as text for Graphviz: operations are boxes, fusion groups clusters. dot -Tsvg graph.dot > graph.svg
#pragma once

#include "text.hpp"

namespace wengert {

namespace detail {

/// "%3 tanh", "f32(64, 10)", "heat.cpp:34": the lines of a node's label.
std::vector<std::string> label_lines(const GraphNode& n, ValueId v);

}  // namespace detail

/// The graph in Graphviz' language. Throws nothing but bad_alloc.
std::string to_dot(const Graph& g, const Annotations& notes = {});

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "dot_source.hpp"
#endif
