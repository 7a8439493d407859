// Tasks of a plan, for the schedule: the memory that they use, the time that they take, and which are barriers. The time is the
// estimate of ir/cost.hpp. It is enough to tell what is worth a thread.
#pragma once

#include "../ir/cost.hpp"
#include "library_rules.hpp"
#include "planned.hpp"
#include "../threads/schedule.hpp"

namespace wengert::tiling {

namespace detail {

double node_work(const Graph& g, const Layouts& layouts, ValueId v, const CostModel& costs);

/// Nanoseconds on one thread.
double kernel_work(const Planned& p, const Task& t);

/// Does a team divide the kernel among its threads?
bool is_divided(const Planned& p, const Task& t);

/// The memory that each value has a part in, by number: an output that takes over an input's is the same as that.
std::vector<std::uint32_t> memories_of(const Planned& p);
/// What a guard looks at, what may throw for what it is given, and the last task before updates of the caller's memory.
bool stays_alone(const Planned& p, std::size_t t);

}  // namespace detail

std::vector<KernelUse> kernel_uses(const Planned& p, std::size_t team);

}  // namespace wengert::tiling

#ifndef WENGERT_COMPILED
#include "impl/kernel_uses.ipp"
#endif
