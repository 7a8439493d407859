// The bodies of counted.hpp: threads' states, and counts that several threads share. With WENGERT_COMPILED only wengert::compiled
// compiles them.
#pragma once

#include <mutex>

#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "../../base/separate.hpp"
#include "../counted.hpp"

namespace wengert {

namespace fence_everywhere {
#if defined __linux__ && defined SYS_membarrier
WENGERT_INLINE bool exists() noexcept
{
    const long commands = ::syscall(SYS_membarrier, 0 /* MEMBARRIER_CMD_QUERY */, 0, 0);
    return commands > 0 && (commands & 1 /* MEMBARRIER_CMD_GLOBAL */);
}
WENGERT_INLINE void make() noexcept { ::syscall(SYS_membarrier, 1 /* MEMBARRIER_CMD_GLOBAL */, 0, 0); }
#else
WENGERT_INLINE bool exists() noexcept { return false; }
WENGERT_INLINE void make() noexcept {}
#endif
}  // namespace fence_everywhere

struct __attribute__((visibility("default"))) ThreadRegistry {
    std::mutex mutex;
    Thread* ended = nullptr;
    bool started = false;  ///< a thread has
    /// Called under the mutex, so no thread goes on before the fence.
    void count_start() noexcept
    {
        if (several_threads.load(std::memory_order_relaxed)) return;
        const bool first = !std::exchange(started, true);
        if (first && fence_everywhere::exists()) return;
        several_threads.store(true, std::memory_order_seq_cst);
        if (!first) fence_everywhere::make();
    }
    /// Leaked on purpose: static objects may release tensors after everything else has been destroyed.
    static ThreadRegistry& get()
    {
        static auto* registry = new ThreadRegistry;
        return *registry;
    }
};

/// Takes a thread's state down when the thread ends.
struct ThreadEnd {
    Thread* state;
    ~ThreadEnd()
    {
        drain_returned(*state);
        if (state->at_exit) state->at_exit(*state);
        drain_returned(*state);
        {
            const std::lock_guard lock(state->mutex);
            state->ended = true;
        }
        drain_returned(*state);
        state->pool.trim();
        state->pool.keep(memory::Pool::kept_at_first);  // what the next thread finds
        state->blocks.trim();
        state->nodes.trim();
        this_thread = nullptr;
        ThreadRegistry& registry = ThreadRegistry::get();
        const std::lock_guard lock(registry.mutex);
        state->next_ended = std::exchange(registry.ended, state);
    }
};

WENGERT_INLINE __attribute__((noinline)) Thread& start_thread()
{
    ThreadRegistry& registry = ThreadRegistry::get();
    Thread* t = nullptr;
    {
        const std::lock_guard lock(registry.mutex);
        registry.count_start();
        if (registry.ended) {
            t = registry.ended;
            registry.ended = t->next_ended;
        }
    }
    if (!t) t = new Thread;
    {
        const std::lock_guard lock(t->mutex);
        t->ended = false;
    }
    t->device = detail::first_device.load(std::memory_order_relaxed);
    this_thread = t;
    static thread_local ThreadEnd end{t};
    (void)end;
    return *t;
}

/// The owner (or, once it has ended, whoever holds its mutex) adds the shared count to its own.
/// True when no reference is left.
inline bool merge_counts(Counted& x) noexcept
{
    std::int32_t old = x.shared.load(std::memory_order_acquire), next;
    do next = old & Counted::merged ? old & ~Counted::queued : 0;
    while (!x.shared.compare_exchange_weak(old, next, std::memory_order_acq_rel));
    const std::int32_t count = old >> 2;
    if (old & Counted::merged) return count == 0;  // local is 0 for good
    x.local = static_cast<std::uint32_t>(static_cast<std::int32_t>(x.local) + count);
    if (x.local != 0) return false;
    old = x.shared.fetch_or(Counted::merged, std::memory_order_acq_rel);
    return (old >> 2) == 0;
}

WENGERT_INLINE void drain_returned(Thread& t) noexcept
{
    while (t.has_returned.load(std::memory_order_acquire)) {
        std::vector<Thread::Returned> list;
        {
            const std::lock_guard lock(t.mutex);
            list.swap(t.returned);
            t.has_returned.store(false, std::memory_order_release);
        }
        for (const auto& r : list)
            if (merge_counts(*r.object)) r.disposal->destroy(r.object);
    }
}

/// Hands an object to its owner; where the owner has ended, does the owner's work here.
inline void return_to_owner(Counted* x, const Disposal& disposal) noexcept
{
    bool last = false;
    {
        const std::lock_guard lock(x->owner->mutex);
        if (x->owner->ended)
            last = merge_counts(*x);
        else {
            x->owner->returned.push_back({x, &disposal});
            x->owner->has_returned.store(true, std::memory_order_release);
        }
    }
    if (last) disposal.destroy(x);
}

WENGERT_INLINE __attribute__((noinline)) void release_shared(Counted* x, const Disposal& disposal) noexcept
{
    std::int32_t old = x->shared.load(std::memory_order_acquire), next;
    bool give_back, last;
    do {
        const std::int32_t count = (old >> 2) - 1;
        const bool is_merged = old & Counted::merged, is_queued = old & Counted::queued;
        last = count == 0 && is_merged && !is_queued;
        give_back = (count < 0 && !is_merged && !is_queued) || (last && !disposal.anywhere);
        next = count * Counted::one + (old & 3) + (give_back ? Counted::queued : 0);
    } while (!x->shared.compare_exchange_weak(old, next, std::memory_order_acq_rel));
    if (give_back) {
        if (x->owner == this_thread) {
            if (merge_counts(*x)) disposal.destroy(x);
        } else {
            return_to_owner(x, disposal);
        }
    } else if (last) {
        disposal.destroy(x);
    }
}

WENGERT_INLINE __attribute__((noinline)) void release_last_local(Counted* x,
                                                                 const Disposal& disposal) noexcept
{
    if (x->shared.load(std::memory_order_acquire) != 0) {
        const std::int32_t old = x->shared.fetch_or(Counted::merged, std::memory_order_acq_rel);
        if ((old >> 2) != 0 || (old & Counted::queued)) return;
    }
    disposal.destroy(x);
}

}  // namespace wengert
