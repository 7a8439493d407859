// A fused group as steps: a small one as calls of its kernels on addresses that are known, others as one pass.
#pragma once

#include "emit.hpp"

namespace wengert::tiling {

namespace detail {

/// The straight-line form of a small group.
void emit_straight(Emitter& e, const Task& t, std::byte* scratch);

}  // namespace detail

void emit_fused(Emitter& e, const Task& t);

}  // namespace wengert::tiling

#ifndef WENGERT_COMPILED
#include "impl/fused_steps.ipp"
#endif
