// freeze(f) and what stands beside it: control flow as nodes of a graph, graphs as text, the backend that runs node by node.
#pragma once

#include "base/compiler.hpp"

#include "graph/control/control.hpp"
#include "graph/freeze/freeze.hpp"
#include "graph/ir/interpret.hpp"
#include "graph/look/graph_text.hpp"
