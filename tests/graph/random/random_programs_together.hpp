/// A backend that runs each graph by several executors, compares what they give to the bit, and compiles the graphs of many
/// programs as one.
#pragma once

#include <wengert/graph/ir/executable.hpp>

#include "graph/random/random_programs.hpp"

namespace random_programs {

/// What a check inside of a program, or of executors, has found. Each program is asked after each call.
inline thread_local std::string complaint;

extern const wengert::Backend side_by_side;
/// Is there an executor that takes a compiler?
bool compiles();

/// Where two arrays of one dtype differ, or "". Not exact: by more than sums in another order do.
std::string difference(const wengert::Block& a, const wengert::Block& b, bool exact, double slack = 1);

}  // namespace random_programs
