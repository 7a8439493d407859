// From a trace to something that runs: passes, then a backend.
#pragma once

#include <algorithm>

#include "compiler.hpp"
#include "frozen.hpp"

namespace wengert::detail {

Graph optimized(const Graph& g, const FreezeOptions& options);

/// For each output of a recorded graph the inputs from which a way without stop_gradient leads to it.
std::vector<std::uint64_t> reaching_inputs(const Graph& g);

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/optimize.ipp"
#endif
