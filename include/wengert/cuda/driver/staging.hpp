// Copies between the host's memory and a device's.
#pragma once

#include <cstring>
#include <memory>
#include <mutex>

#include "../../graph/threads/schedule.hpp"
#include "driver.hpp"

namespace wengert::detail::gpu {

/// Copies between the host and a device, through memory that the device can read by itself where they are large.
class Staging {
public:
    /// `from` may be written again when this returns; the device has it when the stream comes to what follows.
    void to_device(Address to, const void* from, std::size_t bytes, Stream* stream)
    {
        const Driver& d = Driver::get();
        if (bytes <= small) return few_to_device(to, from, bytes, stream);
        if (!ready()) {  // the caller's memory may be pinned: the driver reads it when it comes to it
            check(d.to_device(to, from, bytes, stream), "cuMemcpyHtoDAsync");
            return check_wait(d.wait_for_stream(stream), "cuStreamSynchronize");
        }
        const auto* source = static_cast<const std::byte*>(from);
        const std::lock_guard lock(mutex_);
        for (std::size_t i = 0; i < bytes; i += part) {
            Half& h = next();
            const std::size_t n = std::min(part, bytes - i);
            copy(h.memory, source + i, n);
            check(d.to_device(to + i, h.memory, n, stream), "cuMemcpyHtoDAsync");
            check(d.record(h.done, stream), "cuEventRecord");
        }
    }
    /// Waits for all earlier work of the stream.
    void to_host(void* to, Address from, std::size_t bytes, Stream* stream)
    {
        const Driver& d = Driver::get();
        if (bytes <= small || !ready()) {
            check(d.to_host(to, from, bytes, stream), "cuMemcpyDtoHAsync");
            return check_wait(d.wait_for_stream(stream), "cuStreamSynchronize");
        }
        const std::lock_guard lock(mutex_);
        auto* const target = static_cast<std::byte*>(to);
        Half* before = nullptr;
        std::size_t at = 0;
        for (std::size_t i = 0; i < bytes; i += part) {
            Half& h = next();
            check(d.to_host(h.memory, from + i, std::min(part, bytes - i), stream), "cuMemcpyDtoHAsync");
            check(d.record(h.done, stream), "cuEventRecord");
            if (before) take(*before, target, at, bytes);
            before = &h, at = i;
        }
        take(*before, target, at, bytes);
    }

private:
    static constexpr std::size_t small = std::size_t{1} << 16, part = std::size_t{1} << 22;
    /// One thread does not copy as fast as a device reads: several take a part each.
    static void copy(void* to, const void* from, std::size_t bytes)
    {
        constexpr std::size_t piece = std::size_t{1} << 18;
        constexpr unsigned threads = 4;
        if (bytes <= 2 * piece) return static_cast<void>(std::memcpy(to, from, bytes));
        tiling::Team(tiling::Team::size_for(threads))
            .run((bytes + piece - 1) / piece, [&](std::size_t k, std::size_t) {
                const std::size_t at = k * piece;
                std::memcpy(static_cast<std::byte*>(to) + at, static_cast<const std::byte*>(from) + at,
                            std::min(piece, bytes - at));
            });
    }
    struct Half {
        void* memory = nullptr;
        Event* done = nullptr;
    };

    /// The driver has read pageable memory when it returns, but not pinned memory, which the caller's may be.
    static void few_to_device(Address to, const void* from, std::size_t bytes, Stream* stream)
    {
        static thread_local std::unique_ptr<std::byte[]> pageable(new std::byte[small]);
        std::memcpy(pageable.get(), from, bytes);
        check(Driver::get().to_device(to, pageable.get(), bytes, stream), "cuMemcpyHtoDAsync");
    }
    /// Pinned memory, taken when it is first wanted; without it copies go as they are.
    bool ready()
    {
        const std::lock_guard lock(mutex_);
        if (asked_) return halves_[1].done;
        asked_ = true;
        const Driver& d = Driver::get();
        constexpr unsigned no_timing = 2;
        for (Half& h : halves_) {
            if (d.take_pinned(&h.memory, part, 0) != success) return false;
            if (d.make_event(&h.done, no_timing) != success) return h.done = nullptr, false;
        }
        return true;
    }
    /// The one that was used before the other, when the device is done with it.
    Half& next()
    {
        Half& h = halves_[turn_ ^= 1];
        check_wait(Driver::get().wait_for_event(h.done), "cuEventSynchronize");
        return h;
    }
    static void take(const Half& h, std::byte* to, std::size_t at, std::size_t bytes)
    {
        check_wait(Driver::get().wait_for_event(h.done), "cuEventSynchronize");
        copy(to + at, h.memory, std::min(part, bytes - at));
    }

    std::mutex mutex_;
    Half halves_[2];
    std::size_t turn_ = 0;
    bool asked_ = false;
};

}  // namespace wengert::detail::gpu
