// Teams of up to seven threads, however few the machine has.
#pragma once

#include "wengert/graph/threads/schedule.hpp"

namespace tile_test {

#if defined(WENGERT_TBB)
inline const tbb::global_control seven(tbb::global_control::max_allowed_parallelism, 7);
#else
inline const bool seven = (wengert::tiling::Team::most() = 7) == 7;
#endif

}  // namespace tile_test
