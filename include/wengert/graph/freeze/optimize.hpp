// From a trace to something that runs: passes, then a backend.
#pragma once

#include "compiler.hpp"
#include "frozen.hpp"

namespace wengert::detail {

Graph optimized(const Graph& g, const FreezeOptions& options);

/// For each output of a recorded graph: do all ways to it from inputs lead through a stop_gradient?
std::vector<bool> constant_outputs(const Graph& g);

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/optimize.ipp"
#endif
