// Reference counts that cost a plain increment on the thread that made the object and are right on every other.
//
// Biased counting (Choi, Shull & Torrellas 2018): `local` is touched by the owner alone, `shared` by everyone
// else. An atomic pair costs 12 ns here, a plain one less than 1. When other threads release more than they
// took, the object goes to its owner's list and the owner adds the two counts when it next looks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "device.hpp"
#include "pool.hpp"

namespace wengert {

struct Thread;
struct Counted;
class Recorder;

/// How the owner destroys an object when the last reference is released. `anywhere`: other threads may do it themselves.
struct Disposal {
    void (*destroy)(Counted*) noexcept;
    bool anywhere;
};

struct Counted {
    Thread* owner = nullptr;
    std::uint32_t local = 1;
    std::atomic<std::int32_t> shared{0};  ///< count * 4 + flags
    static constexpr std::int32_t merged = 1, queued = 2, one = 4;
};

/// Planned memory for a result: the next buffer of exactly so many bytes that the thread takes on that device lies there,
/// owned by whoever planned it (graph/run/). Whether the result is what took it must be looked at afterwards.
struct PlannedResult {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    std::uint8_t device = 0;
};

/// What a thread owns. States are never freed: a thread that starts takes over one whose thread has ended, and
/// with it the objects that outlived that thread.
struct Thread {
    struct Returned {
        Counted* object;
        const Disposal* disposal;
    };

    memory::Pool pool;
    std::mutex mutex;
    std::vector<Returned> returned;  ///< released by other threads, guarded by mutex
    std::atomic<bool> has_returned{false};
    std::uint8_t device = 0;  ///< where new blocks go unless something else is said, see array/device.hpp
    bool ended = false;       ///< guarded by mutex
    Thread* next_ended = nullptr;  ///< guarded by the registry's mutex
    void* tape = nullptr;          ///< the current tape, see tape/tape.hpp
    Recorder* recorder = nullptr;  ///< the trace in progress, see tape/recorder.hpp
    void (*at_exit)(Thread&) noexcept = nullptr;
    memory::Cells blocks, nodes;  ///< array headers, tape nodes
    PlannedResult planned;        ///< see PlannedResult
};

/// The calling thread's state: one object across shared libraries, whatever their default visibility.
inline constinit thread_local Thread* this_thread __attribute__((visibility("default"))) = nullptr;

/// A fence in all threads of the process, at the time of the call: membarrier(2).
namespace fence_everywhere {
#if defined __linux__ && defined SYS_membarrier
inline bool exists() noexcept
{
    const long commands = ::syscall(SYS_membarrier, 0 /* MEMBARRIER_CMD_QUERY */, 0, 0);
    return commands > 0 && (commands & 1 /* MEMBARRIER_CMD_GLOBAL */);
}
inline void make() noexcept { ::syscall(SYS_membarrier, 1 /* MEMBARRIER_CMD_GLOBAL */, 0, 0); }
#else
inline bool exists() noexcept { return false; }
inline void make() noexcept {}
#endif
}  // namespace fence_everywhere

/// Have several threads used the library? Until then FrozenLock (graph/freeze/frozen_lock.hpp) needs no atomic exchange. The second
/// thread sets this, and waits until all others have seen it.
inline std::atomic<bool> several_threads __attribute__((visibility("default"))) = false;

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

void drain_returned(Thread& t) noexcept;

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

__attribute__((noinline)) inline Thread& start_thread()
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

inline Thread& current_thread()
{
    Thread* t = this_thread;
    if (t == nullptr) [[unlikely]]
        return start_thread();
    return *t;
}

namespace memory {

/// The calling thread's counts.
inline Stats stats()
{
    Thread& t = current_thread();
    Stats s = t.pool.stats();
    s.cell_bytes = t.blocks.live_bytes() + t.nodes.live_bytes();
    s.pooled_bytes += t.blocks.free_bytes() + t.nodes.free_bytes();
    if (t.tape) s.tape_nodes = static_cast<std::int64_t>(tape_size.load()(t.tape));
    return s;
}
/// From now on the peak counts from the bytes that are live now.
inline void reset_peak()
{
    Stats& s = current_thread().pool.stats();
    s.peak_bytes = s.current_bytes;
}
/// The most bytes of free buffers that the calling thread keeps for reuse, 4 GiB unless said: a program that meets ever other sizes
/// holds that much in the end.
inline void keep(std::int64_t bytes) { current_thread().pool.keep(bytes); }
/// Returns the calling thread's free buffers, headers and nodes to the system.
inline void trim()
{
    Thread& t = current_thread();
    t.pool.trim();
    t.blocks.trim();
    t.nodes.trim();
#ifdef __GLIBC__
    ::malloc_trim(0);  // glibc keeps free memory below live memory: nearly all cells of a long tape
#endif
}

}  // namespace memory

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

inline void drain_returned(Thread& t) noexcept
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

__attribute__((noinline)) inline void release_shared(Counted* x, const Disposal& disposal) noexcept
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

/// The owner has released its last reference; other threads may still hold some.
__attribute__((noinline)) inline void release_last_local(Counted* x, const Disposal& disposal) noexcept
{
    if (x->shared.load(std::memory_order_acquire) != 0) {
        const std::int32_t old = x->shared.fetch_or(Counted::merged, std::memory_order_acq_rel);
        if ((old >> 2) != 0 || (old & Counted::queued)) return;
    }
    disposal.destroy(x);
}

inline void retain(Counted* x) noexcept
{
    if (x->owner == this_thread && x->local != 0) [[likely]]
        ++x->local;
    else
        x->shared.fetch_add(Counted::one, std::memory_order_relaxed);
}

[[gnu::always_inline]] inline void release(Counted* x, const Disposal& disposal) noexcept
{
    if (x->owner == this_thread && x->local != 0) [[likely]] {
        if (--x->local == 0) release_last_local(x, disposal);
    } else {
        release_shared(x, disposal);
    }
}

/// True when the caller holds the only reference.
inline bool is_unique(const Counted* x) noexcept
{
    return x->owner == this_thread && x->local == 1 && x->shared.load(std::memory_order_acquire) == 0;
}

/// An intrusive pointer; X has a static `disposal`.
template <class X> class Ref {
public:
    Ref() noexcept = default;
    Ref(std::nullptr_t) noexcept {}
    /// Shares x.
    explicit Ref(X* x) noexcept : x_(x)
    {
        if (x_) retain(x_);
    }
    /// Takes over a reference that the caller already holds.
    static Ref adopt(X* x) noexcept
    {
        Ref r;
        r.x_ = x;
        return r;
    }
    Ref(const Ref& o) noexcept : Ref(o.x_) {}
    /// Through a register: g++ 12 joins the moves of two neighbours into one of 16 bytes, and reading what has just been written
    /// as two halves takes a dozen cycles more.
    Ref(Ref&& o) noexcept : x_(std::exchange(o.x_, nullptr)) { asm("" : "+r"(x_)); }
    // Not one operator by value: clang 14 and 16 forget to destroy its parameter in `ref = {}` inside a lambda of a template.
    Ref& operator=(const Ref& o) noexcept
    {
        Ref copy(o);
        std::swap(x_, copy.x_);
        return *this;
    }
    Ref& operator=(Ref&& o) noexcept
    {
        Ref taken(std::move(o));
        std::swap(x_, taken.x_);
        return *this;
    }
    [[gnu::always_inline]] ~Ref()
    {
        if (x_) release(x_, X::disposal);
    }

    X* get() const noexcept { return x_; }
    X* operator->() const noexcept { return x_; }
    X& operator*() const noexcept { return *x_; }
    explicit operator bool() const noexcept { return x_ != nullptr; }
    X* leak() noexcept { return std::exchange(x_, nullptr); }

private:
    X* x_ = nullptr;
};

}  // namespace wengert
