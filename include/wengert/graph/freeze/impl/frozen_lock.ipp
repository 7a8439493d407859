// What frozen_lock.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include <thread>

#include "../../../base/separate.hpp"
#include "../frozen_lock.hpp"

namespace wengert::detail {

WENGERT_INLINE void FrozenLock::wait_for_live()
{
    if (held_ || core_.live.empty() || core_.owner.load(std::memory_order_relaxed) == &current_thread())
        return;
    while (!(held_ = occupy())) core_.busy.wait(true);
    note_owner();
}

WENGERT_INLINE void FrozenLock::wait()
{
    while (!held_ && core_.owner.load(std::memory_order_relaxed) != &current_thread() && !(held_ = occupy()))
        std::this_thread::yield();
    if (held_ == &core_.busy) note_owner();
}

/// While it lives no other thread's call is under way.
struct BetweenCalls {
    explicit BetweenCalls(FrozenCore& core) : lock(core) { lock.wait(); }
    Thread& new_one = current_thread();  ///< a thread that is new to the library first makes it two of them
    FrozenLock lock;
};
WENGERT_INLINE FreezeStats stats_of(FrozenCore& core)
{
    const BetweenCalls now(core);
    return core.stats;
}
WENGERT_INLINE std::string reason_of(FrozenCore& core)
{
    const BetweenCalls now(core);
    return core.reason;
}

}  // namespace wengert::detail
