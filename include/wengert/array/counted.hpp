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
    /// Where another thread has used a value of that trace: the file, null where none has, and the line.
    std::atomic<const char*> used_elsewhere{nullptr};
    std::atomic<int> line_elsewhere{0};
    void (*at_exit)(Thread&) noexcept = nullptr;
    memory::Cells blocks, nodes;  ///< array headers, tape nodes
    PlannedResult planned;        ///< see PlannedResult
};

/// The calling thread's state: one object across shared libraries, whatever their default visibility.
inline constinit thread_local Thread* this_thread __attribute__((visibility("default"))) = nullptr;

/// A fence in all threads of the process, at the time of the call: membarrier(2).
namespace fence_everywhere {
bool exists() noexcept;
void make() noexcept;
}  // namespace fence_everywhere

/// Have several threads used the library? Until then FrozenLock (graph/freeze/frozen_lock.hpp) needs no atomic exchange. The second
/// thread sets this, and waits until all others have seen it.
inline std::atomic<bool> several_threads __attribute__((visibility("default"))) = false;

/// Gives the calling thread the state of a thread that has ended, or a new one.
Thread& start_thread();

inline Thread& current_thread()
{
    Thread* t = this_thread;
    if (t == nullptr) [[unlikely]]
        return start_thread();
    return *t;
}

/// Destroys what other threads have handed back to t and nobody holds any more.
void drain_returned(Thread& t) noexcept;
inline void take_returned(Thread& t) noexcept
{
    if (t.has_returned.load(std::memory_order_relaxed)) [[unlikely]]
        drain_returned(t);
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
    drain_returned(t);
    t.pool.trim();
    t.blocks.trim();
    t.nodes.trim();
#ifdef __GLIBC__
    ::malloc_trim(0);  // glibc keeps free memory below live memory: nearly all cells of a long tape
#endif
}

}  // namespace memory

/// Releases a reference that is in the shared count.
void release_shared(Counted* x, const Disposal& disposal) noexcept;
/// The owner has released its last reference; other threads may still hold some.
void release_last_local(Counted* x, const Disposal& disposal) noexcept;

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

/// References, of an object of this thread. Other threads may have released some that were taken here.
inline std::int64_t references_to(const Counted* x) noexcept
{
    const std::int32_t flags = Counted::one - 1, shared = x->shared.load(std::memory_order_acquire);
    return std::int64_t{x->local} + (shared & ~flags) / Counted::one;
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

#ifndef WENGERT_COMPILED
#include "impl/counted.ipp"
#endif
