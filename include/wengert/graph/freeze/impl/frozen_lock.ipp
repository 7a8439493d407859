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

WENGERT_INLINE FreezeStats stats_of(FrozenCore& core)
{
    static_cast<void>(current_thread());  // a thread that is new to the library makes it two of them first
    FrozenLock alone(core);
    alone.wait();
    return core.stats;
}
WENGERT_INLINE std::string reason_of(FrozenCore& core)
{
    static_cast<void>(current_thread());
    FrozenLock alone(core);
    alone.wait();
    return core.reason;
}

}  // namespace wengert::detail
