// Memory of a device: size classes over the driver's, as the host's pool (array/pool.hpp). A buffer that comes back is handed out
// again at once: all work of a device is in one stream, so what reads it has been put there before what writes it.
#pragma once

#include <mutex>
#include <vector>

#include "../../array/pool.hpp"
#include "driver.hpp"

namespace wengert {

/// A device's memory, in bytes.
struct DeviceMemory {
    std::int64_t live = 0, peak = 0;             ///< of tensors, rounded to their size class
    std::int64_t pooled = 0;                     ///< free, kept for reuse
    std::int64_t limit = 0;                      ///< of live and pooled together; 0 for none
    std::int64_t kept = std::int64_t{32} << 30;  ///< most that is pooled
    std::int64_t allocations = 0, reuses = 0;    ///< buffers from the driver, and from the pool
};

}  // namespace wengert

namespace wengert::detail::gpu {

class Pool;

/// Work of this thread on a device that is written down and not done: where it goes, and the memory that it has given back, which
/// whoever does the work keeps (capture.hpp).
struct Capturing {
    const Pool* pool = nullptr;
    Stream* stream = nullptr;
    std::vector<std::pair<std::byte*, std::size_t>> kept = {};
};
inline constinit thread_local Capturing* capturing_now __attribute__((visibility("default"))) = nullptr;

class Pool {
public:
    /// `stream`: that of all work; null where the driver cannot take memory in a stream's order.
    Pool(std::string name, Stream* stream, bool in_order)
        : name_(std::move(name)), stream_(stream), in_order_(in_order)
    {}

    /// Throws MemoryError.
    std::byte* take(std::size_t bytes, std::size_t& capacity)
    {
        const std::size_t c = memory::Pool::class_of(bytes);
        const std::lock_guard lock(mutex_);
        if (c >= memory::Pool::classes) refuse(bytes);
        capacity = memory::Pool::bytes_of(c);
        const auto n = static_cast<std::int64_t>(capacity);
        Address p = 0;
        if (!free_[c].empty()) {
            p = free_[c].back();
            free_[c].pop_back();
            now_.pooled -= n;
            ++now_.reuses;
        } else {
            p = fresh(capacity);
            ++now_.allocations;
        }
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
        const auto at = reinterpret_cast<Address>(p);
        if (now_.pooled + n > now_.kept) return give_back(at);
        try {
            free_[memory::Pool::class_of(capacity)].push_back(at);
            now_.pooled += n;
        } catch (...) {  // no memory on the host for a list of what is free on the device
            give_back(at);
        }
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
    static void keep_captured(std::byte* p, std::size_t capacity) noexcept
    {
        try {
            capturing_now->kept.emplace_back(p, capacity);
        } catch (...) {  // no memory on the host for a list: it is never used again
        }
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
    Result from_driver(Address& p, std::size_t bytes) const
    {
        const Driver& d = Driver::get();
        return in_order_ ? d.take_in_order(&p, bytes, stream_) : d.take(&p, bytes);
    }
    /// Where the device has failed for good the driver refuses, and there is nothing left to do.
    void give_back(Address p) const noexcept
    {
        const Driver& d = Driver::get();
        static_cast<void>(in_order_ ? d.give_in_order(p, stream_) : d.give(p));
    }
    void give_all_back() noexcept
    {
        bool any = false;
        for (std::vector<Address>& list : free_) {
            for (const Address p : list) give_back(p);
            any = any || !list.empty();
            list.clear();
        }
        now_.pooled = 0;
        if (any && in_order_) static_cast<void>(Driver::get().wait_for_stream(stream_));
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
    Stream* stream_;
    bool in_order_;
    std::mutex mutex_;
    std::vector<Address> free_[memory::Pool::classes];
    DeviceMemory now_;
};

}  // namespace wengert::detail::gpu
