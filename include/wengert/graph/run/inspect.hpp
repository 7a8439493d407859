// Copies of a plan for whoever watches it (PlanWatch), and steps that note the time. Programs that nobody watches have no such steps.
#pragma once

#include <chrono>

#include "../ir/watch.hpp"
#include "emit.hpp"

namespace wengert::tiling {

namespace detail {

/// The kernel at a time of a plan. Times count from 1; time 0 belongs to the first kernel, too.
inline std::uint32_t kernel_at(std::uint32_t time) noexcept { return time > 0 ? time - 1 : 0; }

PlanWatch::Value watched_value(const Plan& plan, ValueId v, const std::vector<std::uint32_t>& buffers);

}  // namespace detail

/// Fills in all but the times.
void tell(const Plan& plan, PlanWatch& to);

/// Where a watch wants it, a step that notes the time: k counts beginnings and ends of kernels.
void emit_tick(Emitter& e, PlanWatch* watch, std::size_t k);

}  // namespace wengert::tiling

#ifndef WENGERT_COMPILED
#include "impl/inspect.ipp"
#endif
