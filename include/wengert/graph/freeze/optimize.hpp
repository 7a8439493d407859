// From a trace to something that runs: passes, then a backend.
#pragma once

#include "compiler.hpp"
#include "frozen.hpp"

namespace wengert::detail {

Graph optimized(const Graph& g, const FreezeOptions& options);

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/optimize.ipp"
#endif
