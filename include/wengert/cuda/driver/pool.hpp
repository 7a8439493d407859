// Memory of a device: size classes over the driver's, as the host's pool (array/pool.hpp). A buffer that comes back is handed out
// again at once: what uses it next comes after what has used it, in the same stream, or in another one that waits.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "../../array/pool.hpp"
#include "uses.hpp"

namespace wengert {

/// A device's memory, in bytes.
struct DeviceMemory {
    std::int64_t live = 0, peak = 0;             ///< of tensors, rounded to their size class
    std::int64_t pooled = 0;                     ///< free, kept for reuse
    std::int64_t limit = 0;                      ///< of live and pooled together; 0 for none
    std::int64_t kept = std::int64_t{32} << 30;  ///< most that is pooled
    std::int64_t allocations = 0, reuses = 0;    ///< buffers from the driver, and from the pool
};

/// Memory of a device from somebody else: buffers are asked for and given back in the order of a stream (CUstream), and kept for reuse
/// between (cuda::keep). Neither function may use tensors of that device.
struct DeviceAllocator {
    std::function<void*(std::size_t bytes, void* stream)> take;  ///< null where there is no more
    std::function<void(void* p, std::size_t bytes, void* stream)> give;
};

}  // namespace wengert

namespace wengert::detail::gpu {

class Pool;
struct Workspace;

/// Work of this thread on a device that is captured and not done: where it goes, and the memory that it has given back, which
/// whoever does the work keeps (capture.hpp).
struct Capturing {
    const Pool* pool = nullptr;
    Stream* stream = nullptr;
    std::vector<std::pair<std::byte*, std::size_t>> kept = {};
    const std::byte* key = nullptr;         ///< where the next draw will find the two numbers of its key
    bool asked = false;                     ///< elements that are positions have been looked at
    std::vector<Stream*>* inner = nullptr;  ///< for bodies of conditional nodes, by depth
    std::size_t depth = 0;                  ///< in how many bodies this is
    bool lost = false;                      ///< the driver has given up on a body
    Workspace* workspace =
        nullptr;  ///< cuBLAS's: in a graph it would take some of its own, in no body may it
};
inline constinit thread_local Capturing* capturing_now __attribute__((visibility("default"))) = nullptr;

class Pool {
public:
    /// `in_order`: can the driver take memory in a stream's order?
    Pool(std::string name, Queues& queues, bool in_order)
        : name_(std::move(name)), queues_(queues), uses_(queues), in_order_(in_order)
    {}

    /// For work of this thread's stream. Throws MemoryError.
    std::byte* take(std::size_t bytes, std::size_t& capacity)
    {
        const std::size_t c = memory::Pool::class_of(bytes);
        if (queues_.several()) [[unlikely]]
            queue().refuse_capture();
        const std::lock_guard lock(mutex_);
        if (c >= memory::Pool::classes) refuse(bytes);
        capacity = memory::Pool::bytes_of(c);
        const auto n = static_cast<std::int64_t>(capacity);
        Address p = 0;
        if (!free_[c].empty()) {
            p = reused(free_[c]);
            now_.pooled -= n;
            ++now_.reuses;
        } else {
            p = fresh(capacity);
            ++now_.allocations;
        }
        if (queues_.several()) [[unlikely]]
            uses_.take(queue(), p, capacity);
        now_.live += n;
        now_.peak = std::max(now_.peak, now_.live);
        return reinterpret_cast<std::byte*>(p);
    }
    void give(std::byte* p, std::size_t capacity) noexcept
    {
        if (capturing_now && capturing_now->pool == this) [[unlikely]]
            return keep_captured(p, capacity);
        const std::lock_guard lock(mutex_);
        const auto n = static_cast<std::int64_t>(capacity);
        now_.live -= n;
        Free it{reinterpret_cast<Address>(p), {}};
        try {
            if (queues_.several()) [[unlikely]]
                it.uses = uses_.give(it.at, capacity);
            if (now_.pooled + n > now_.kept) return give_back(it, capacity);
            free_[memory::Pool::class_of(capacity)].push_back(std::move(it));
            now_.pooled += n;
        } catch (...) {  // no memory on the host for a list of what is free on the device
            give_back(it, capacity);
        }
    }
    Uses& uses() noexcept { return uses_; }
    /// Sets the source of buffers from now on. An empty allocator stands for the driver. Throws Error if there is a tensor on the
    /// device.
    void set_allocator(DeviceAllocator allocator)
    {
        const std::lock_guard lock(mutex_);
        if (now_.live > 0)
            fail<Error>("allocator",
                        std::to_string(now_.live) + " bytes of tensors are live on " + name_ +
                            ": their memory is the other allocator's",
                        Operation::now().at);
        give_all_back();
        allocator_ = std::move(allocator);
    }
    /// Gives all that is free back to the driver.
    void trim() noexcept
    {
        const std::lock_guard lock(mutex_);
        give_all_back();
    }
    DeviceMemory stats()
    {
        const std::lock_guard lock(mutex_);
        return now_;
    }
    void set_limit(std::int64_t bytes)
    {
        const std::lock_guard lock(mutex_);
        now_.limit = bytes;
        if (bytes && now_.live + now_.pooled > bytes) give_all_back();
    }
    void keep(std::int64_t bytes)
    {
        const std::lock_guard lock(mutex_);
        now_.kept = bytes;
        if (now_.pooled > bytes) give_all_back();
    }

private:
    struct Free {
        Address at;
        Uses::List uses;  ///< empty: by the device's own stream
    };

    static void keep_captured(std::byte* p, std::size_t capacity) noexcept
    {
        try {
            capturing_now->kept.emplace_back(p, capacity);
        } catch (...) {  // no memory on the host for a list: it is never used again
        }
    }
    /// What is captured is done in the order of the device's own stream, or after it.
    Queue& queue() noexcept { return capturing_now ? queues_.main() : queues_.now(); }
    bool is_ready(const Free& f, const Queue& q)
    {
        return !f.uses.empty() && std::all_of(f.uses.begin(), f.uses.end(), [&](const Use& u) {
            return queues_.after(q, *u.queue, u.used);
        });
    }
    /// One that this stream need not wait for, if there is one among the last few.
    Address reused(std::vector<Free>& list)
    {
        if (queues_.several()) [[unlikely]] {
            Queue& q = queue();
            const auto last = list.rend() - list.rbegin() > 8 ? list.rbegin() + 8 : list.rend();
            const auto found =
                std::find_if(list.rbegin(), last, [&](const Free& f) { return is_ready(f, q); });
            if (found != last) std::iter_swap(found, list.rbegin());
            wait(q, list.back());
        }
        const Address p = list.back().at;
        list.pop_back();
        return p;
    }
    void wait(Queue& q, Free& f)
    {
        if (f.uses.empty()) f.uses = uses_.unknown();
        for (const Use& u : f.uses) queues_.wait(q, *u.queue, u.used);
    }
    Address fresh(std::size_t capacity)
    {
        Address p = 0;
        const auto beyond = [&] {
            return now_.limit && now_.live + now_.pooled + static_cast<std::int64_t>(capacity) > now_.limit;
        };
        if (beyond()) give_all_back();
        if (beyond()) refuse(capacity);
        Result r = from_driver(p, capacity);
        if (r == out_of_memory) {  // what lies free in other sizes may be what is missing
            give_all_back();
            r = from_driver(p, capacity);
        }
        if (r == out_of_memory) refuse(capacity);
        check(r, in_order_ ? "cuMemAllocAsync" : "cuMemAlloc");
        return p;
    }
    Result from_driver(Address& p, std::size_t bytes)
    {
        const Driver& d = Driver::get();
        if (allocator_.take) {
            const RelaxedCalls relaxed(d.exchange_capture_mode);
            p = reinterpret_cast<Address>(allocator_.take(bytes, queue().stream()));
            return p ? success : out_of_memory;
        }
        return in_order_ ? d.take_in_order(&p, bytes, queue().stream()) : d.take(&p, bytes);
    }
    /// Where the device has failed for good the driver refuses, and there is nothing left to do.
    void give_back(Free& f, std::size_t capacity) noexcept
    {
        const Driver& d = Driver::get();
        try {
            if ((in_order_ || allocator_.give) && queues_.several()) wait(queues_.main(), f);
            if (allocator_.give) {
                const RelaxedCalls relaxed(d.exchange_capture_mode);
                return allocator_.give(reinterpret_cast<void*>(f.at), capacity, queues_.main().stream());
            }
        } catch (...) {  // nobody knows who still works with it: it stays taken
            return;
        }
        static_cast<void>(in_order_ ? d.give_in_order(f.at, queues_.main().stream()) : d.give(f.at));
    }
    void give_all_back() noexcept
    {
        bool any = false;
        for (std::size_t c = 0; c < memory::Pool::classes; ++c) {
            for (Free& f : free_[c]) give_back(f, memory::Pool::bytes_of(c));
            any = any || !free_[c].empty();
            free_[c].clear();
        }
        now_.pooled = 0;
        if (any && in_order_) static_cast<void>(Driver::get().wait_for_stream(queues_.main().stream()));
    }
    [[noreturn]] void refuse(std::size_t bytes) const
    {
        const Operation& now = Operation::now();
        const auto holders = memory::holders.load();
        fail<MemoryError>(now.name.empty() ? "memory" : now.name,
                          "cannot allocate " + std::to_string(bytes) + " bytes on " + name_ + "; " +
                              std::to_string(now_.live) + " bytes of tensors are live" +
                              (now_.limit ? ", the limit is " + std::to_string(now_.limit) : "") +
                              (holders ? holders() : std::string()),
                          now.at);
    }

    std::string name_;
    Queues& queues_;
    Uses uses_;
    bool in_order_;
    DeviceAllocator allocator_;
    std::mutex mutex_;
    std::vector<Free> free_[memory::Pool::classes];
    DeviceMemory now_;
};

/// Memory that products work with in what is captured, again and again: one run after the other.
struct Workspace {
    Workspace() = default;
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;
    ~Workspace()
    {
        if (at) pool->give(at, capacity);
    }
    void take(Pool& from, std::size_t bytes)
    {
        if (at) return;
        at = from.take(bytes, capacity);
        pool = &from;
    }
    Pool* pool = nullptr;
    std::byte* at = nullptr;
    std::size_t capacity = 0;
};

}  // namespace wengert::detail::gpu
