// What schedule.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../schedule.hpp"

namespace wengert::tiling {

WENGERT_INLINE std::size_t Team::size_for(unsigned threads)
{
#if defined(WENGERT_TBB)
    const std::size_t all = tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
#else
    const unsigned set = most().load(std::memory_order_relaxed);
    const std::size_t all = set ? set : std::max(1U, std::thread::hardware_concurrency());
#endif
    return threads ? std::min<std::size_t>(threads, all) : all;
}

WENGERT_INLINE std::atomic<unsigned>& Team::most()
{
    static std::atomic<unsigned> n{0};
    return n;
}

}  // namespace wengert::tiling
