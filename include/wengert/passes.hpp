// Graphs taken in hand: trace_graph(), optimize(), its passes one by one.
#pragma once

#include "base/compiler.hpp"

#include "graph/ir/trace.hpp"
#include "graph/passes/lowering.hpp"
#include "graph/passes/memory_limit.hpp"
#include "graph/passes/passes.hpp"
