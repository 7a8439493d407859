// Risks: what may fail runs before anything of the caller's is written. Updates of the caller's memory that nothing else
// waits for go behind the last task that may throw or whose result is guarded.
#pragma once

#include "planned.hpp"

namespace wengert::tiling {

namespace detail {

/// The task that makes each value.
std::vector<ValueId> makers_of(const Planned& p);

/// Tasks that make updates and that no risk waits for, and those that wait for them.
std::vector<bool> behind_the_risks(const Planned& p);

}  // namespace detail

/// Moves the updates, and finds the last task that is a risk.
void sink_updates(Planned& p);

}  // namespace wengert::tiling

#ifndef WENGERT_COMPILED
#include "impl/risks.ipp"
#endif
