// What each replay runs: frozen functions, the tile machine and its steps, loops, the interpreter; and tracing. One source of
// wengert::compiled.
#pragma once

#include "../graph/freeze/freeze.hpp"
#include "../graph/freeze/impl/frozen.ipp"
#include "../graph/freeze/impl/frozen_rule.ipp"
#include "../graph/freeze/impl/into.ipp"
#include "../graph/freeze/impl/frozen_lock.ipp"
#include "../graph/ir/impl/fields.ipp"
#include "../graph/ir/impl/graph.ipp"
#include "../graph/ir/impl/interpret.ipp"
#include "../graph/ir/impl/trace.ipp"
#include "../graph/loops/impl/interpreted_body.ipp"
#include "../graph/loops/impl/loop.ipp"
#include "../graph/loops/impl/run_loop.ipp"
#include "../graph/loops/impl/loop_code.ipp"
#include "../graph/loops/impl/loop_run.ipp"
#include "../graph/loops/impl/loop_schedule.ipp"
#include "../graph/loops/impl/program_body.ipp"
#include "../graph/run/impl/call_steps.ipp"
#include "../graph/run/impl/compile.ipp"
#include "../graph/run/impl/emit.ipp"
#include "../graph/run/impl/fused_steps.ipp"
#include "../graph/run/impl/inspect.ipp"
#include "../graph/run/impl/library_steps.ipp"
#include "../graph/run/impl/part_steps.ipp"
#include "../graph/run/impl/program.ipp"
#include "../graph/threads/impl/helpers.ipp"
#include "../graph/threads/impl/schedule.ipp"
#include "../graph/tile/impl/fused.ipp"
#include "../graph/tile/impl/fused_direct.ipp"
#include "../graph/tile/impl/fused_program.ipp"
#include "../graph/tile/impl/fused_recipe.ipp"

#ifdef WENGERT_COMPILED
namespace wengert::detail {

template Tensor<float> FrozenCalls::call(RunOfOne<float>, const Site&, const Tensor<float>&) const;
template Tensor<double> FrozenCalls::call(RunOfOne<double>, const Site&, const Tensor<double>&) const;

}  // namespace wengert::detail
#endif
