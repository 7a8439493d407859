// A call of a frozen function while it is traced: what the trace ends with, and what becomes of it. All that does not depend on
// the function's type: a program compiles freeze.hpp once for each function that it freezes.
#pragma once

#include "check.hpp"
#include "frozen_rule.hpp"
#include "traced_inputs.hpp"

namespace wengert::detail {

/// The outputs of a trace: the result's, what live tensors have been assigned, what the host has returned. Then t is complete but
/// for what depends on the result's type. `held`: what the result and the arguments hold.
void finish_trace(FrozenTrace& t, Trace& trace, const LiveInputs& live, const ResultBlocks& result,
                  HeldBlocks held, const Site& at);

/// Compares a trace with the path that has just been replayed; without one makes it a path. Returns whether live tensors keep what
/// f assigned to them: not where the call is recorded, and the path does it again.
bool take_trace(FrozenCore& core, FrozenEntry& entry, std::shared_ptr<FrozenPath>& path, FrozenTrace t,
                bool recorded, std::vector<Ref<Block>>& values, const Site& at);

/// The path whose guards these inputs pass, or null; inputs and live tensors stay as they are.
const FrozenPath* fitting_path(const FrozenEntry& e, const std::vector<Ref<Block>>& inputs);

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "traced_call_source.hpp"
#endif
