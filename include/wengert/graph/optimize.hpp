// From a trace to something that runs: passes, then a backend.
#pragma once

#include "check.hpp"
#include "compiler.hpp"
#include "frozen.hpp"

namespace wengert {

namespace detail {

/// What is guarded and needs nothing of the host comes first: where it does not hold, the host has not been called in vain.
Graph guards_before_effects(const Graph& g);

Graph optimized(const Graph& g, const FreezeOptions& options);

/// Calls of several threads at once are counted as well.
inline void count_one(std::size_t& n) { std::atomic_ref(n).fetch_add(1, std::memory_order_relaxed); }

/// One call at a time uses the graphs.
class Occupied {
public:
    explicit Occupied(FrozenCore& core)
        : core_(core), mine_(!core.busy.exchange(true, std::memory_order_acquire))
    {
        if (mine_) note_owner();
    }
    Occupied(const Occupied&) = delete;
    Occupied& operator=(const Occupied&) = delete;
    ~Occupied()
    {
        if (!mine_) return;
        core_.owner.store(nullptr, std::memory_order_relaxed);
        core_.busy.store(false, std::memory_order_release);
        if (!core_.live.empty()) core_.busy.notify_one();
    }
    /// Live tensors hold something else while another thread's call is under way: this one waits until it has ended.
    void wait_for_live()
    {
        if (mine_ || core_.live.empty() || core_.owner.load(std::memory_order_relaxed) == &current_thread())
            return;
        while (core_.busy.exchange(true, std::memory_order_acquire)) core_.busy.wait(true);
        mine_ = true;
        note_owner();
    }
    explicit operator bool() const noexcept { return mine_; }

private:
    void note_owner() noexcept
    {
        if (!core_.live.empty()) core_.owner.store(&current_thread(), std::memory_order_relaxed);
    }
    FrozenCore& core_;
    bool mine_;
};

/// A call's notes, wiped when it ends.
class Noted {
public:
    explicit Noted(FrozenCall& call) : call_(call) {}
    Noted(const Noted&) = delete;
    Noted& operator=(const Noted&) = delete;
    ~Noted()
    {
        call_.arguments.clear();
        call_.outputs.clear();
    }

private:
    FrozenCall& call_;
};

}  // namespace detail
}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "optimize_source.hpp"
#endif
