// Who calls a frozen function at the moment.
#pragma once

#include "frozen.hpp"

namespace wengert::detail {

/// One call at a time uses the graphs. An atomic exchange takes as long as all the rest of a short call, so as long as the process
/// has one thread that uses the library, that one sets a flag of its own. A second thread waits for a fence in all others
/// before it goes on (ThreadRegistry), and looks at that flag, too (Dekker's algorithm, one side of it without a fence:
/// Dice, Huang & Yang 2001).
class FrozenLock {
public:
    explicit FrozenLock(FrozenCore& core) : core_(core)
    {
        if (!several_threads.load(std::memory_order_relaxed) && core.live.empty() && occupy_alone())
            [[likely]]
            return;
        held_ = occupy();
        if (held_) note_owner();
    }
    FrozenLock(const FrozenLock&) = delete;
    FrozenLock& operator=(const FrozenLock&) = delete;
    ~FrozenLock()
    {
        if (!held_) return;
        core_.owner.store(nullptr, std::memory_order_relaxed);
        held_->store(false, std::memory_order_release);
        if (held_ == &core_.busy && !core_.live.empty()) core_.busy.notify_one();
    }
    /// Live tensors hold something else while another thread's call is under way: this one waits until it has ended.
    void wait_for_live();
    /// Until no other thread's call is under way; one of this thread's, around this place, may be.
    void wait();
    explicit operator bool() const noexcept { return held_; }

private:
    bool occupy_alone() noexcept
    {
        if (core_.alone.load(std::memory_order_relaxed) || core_.busy.load(std::memory_order_relaxed))
            return false;
        core_.alone.store(true, std::memory_order_relaxed);
        std::atomic_signal_fence(
            std::memory_order_seq_cst);  // the compiler keeps the order, the fence of others the rest
        if (several_threads.load(std::memory_order_relaxed)) [[unlikely]] {
            core_.alone.store(false, std::memory_order_release);
            return false;
        }
        held_ = &core_.alone;
        note_owner();
        return true;
    }
    std::atomic<bool>* occupy() noexcept
    {
        if (core_.busy.exchange(true, std::memory_order_acquire)) return nullptr;
        if (!core_.alone.load(std::memory_order_acquire)) return &core_.busy;
        core_.busy.store(false, std::memory_order_release);
        return nullptr;
    }
    void note_owner() noexcept { core_.owner.store(&current_thread(), std::memory_order_relaxed); }
    FrozenCore& core_;
    std::atomic<bool>* held_ = nullptr;
};

/// What a frozen function has done, and why, for a thread beside which others may call it.
FreezeStats stats_of(FrozenCore& core);
std::string reason_of(FrozenCore& core);

/// A call's notes, wiped when it ends.
struct CallCleanup {
    FrozenCall& call;
    ~CallCleanup()
    {
        call.arguments.clear();
        call.outputs.clear();
    }
};

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/frozen_lock.ipp"
#endif
