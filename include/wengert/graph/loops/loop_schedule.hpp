// Which states of a scan are kept, and which steps run again, where memory is bounded: the binomial schedule of
// transforms/revolve.hpp as a list of parts.
#pragma once

#include <vector>

#include "../../transforms/revolve.hpp"

namespace wengert::detail {

/// The steps [begin, end), to be reversed with so many states in memory, that before `begin` included.
struct LoopSpan {
    std::uint64_t begin = 0, end = 0, snapshots = 0;
};

/// The parts that a pass forward cuts from the front of the steps, each beginning with a state that is kept; the last part is
/// one step, which is reversed at once. More steps than snapshots give `snapshots` + 1 parts.
std::vector<LoopSpan> schedule(LoopSpan steps);

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/loop_schedule.ipp"
#endif
