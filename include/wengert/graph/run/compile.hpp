// The default executor of graphs: plans once, then runs kernels on addresses that are known.
//
// Start at compile_tile, below. Plan decides order and memory (plan.hpp), Emitter turns the plan into steps (emit.hpp,
// fused_steps.hpp, library_steps.hpp), Program runs them (program.hpp).
#pragma once

#include <functional>

#include "fused_steps.hpp"
#include "inspect.hpp"
#include "library_steps.hpp"

namespace wengert {

namespace tiling::detail {

/// A guard, looked at as soon as its value is there.
void emit_guard(Emitter& e, std::size_t k);

/// Where fewer threads than were asked for run the steps: how many, and why.
std::string threads_note(unsigned asked, std::size_t team, std::size_t used);

void emit_task(Emitter& e, const Task& t);

void emit_outputs(Emitter& e);

}  // namespace tiling::detail

namespace tiling {

/// The steps of a plan; `emit(t)` writes those of task t. `watch` may be null.
void emit_plan(Emitter& e, PlanWatch* watch, const std::function<void(std::size_t)>& emit);

}  // namespace tiling

/// The graph as steps, its memory planned. Results have the bits of interpret().
std::unique_ptr<Executable> compile_tile(const Graph& g, const PlanOptions& options);

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/compile.ipp"
#endif
