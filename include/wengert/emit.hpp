// Graphs as C and C++.
#pragma once

#include "base/compiler.hpp"

#include "graph/c/emit_cpp.hpp"
