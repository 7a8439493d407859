// Where every buffer comes from: a pool of size classes in each thread. Cold pages cost more than arithmetic,
// so a buffer that was used before is worth more than a fresh one.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "../base/error.hpp"

namespace wengert::memory {

/// Counts of one thread; `current` may be negative where buffers travel and die elsewhere.
struct Stats {
    std::int64_t current_bytes = 0, peak_bytes = 0;  ///< live buffers, rounded to their size class
    std::int64_t cell_bytes = 0;               ///< live array headers, with small arrays in them, and nodes
    std::int64_t pooled_bytes = 0;             ///< free buffers, headers and nodes kept for reuse
    std::int64_t allocations = 0, reuses = 0;  ///< buffers taken from the system, and from the pool
    std::int64_t tape_nodes = 0;               ///< operations on the current tape
};

/// Set by the tape: which lines hold most, for the text of an error; how many nodes a tape has.
using HoldersText = std::string (*)() noexcept;
using TapeSize = std::size_t (*)(const void* tape) noexcept;
inline constinit std::atomic<HoldersText> holders{nullptr};
inline constinit std::atomic<TapeSize> tape_size{nullptr};

/// Tests make allocation number `fail_at` (counted from here on) and those after it fail, `times` in all, as where the system
/// refuses them; 0 switches it off.
struct Injection {
    std::int64_t fail_at = 0, count = 0, times = 1;
};
inline constinit thread_local Injection injection __attribute__((visibility("default")));

inline void inject_failure()
{
    if (injection.fail_at != 0) [[unlikely]]
        if (const auto n = ++injection.count - injection.fail_at; n >= 0 && n < injection.times)
            throw MemoryError("[memory] injected");
}

/// A pool of 64-byte aligned buffers in size classes, four to a doubling (at most 25 % is lost).
class Pool {
public:
    static constexpr std::size_t alignment = 64, classes = 200, huge_page = std::size_t{1} << 21;

    /// At least `bytes` bytes; `capacity` is set to the size class. Throws MemoryError.
    void* take(std::size_t bytes, std::size_t& capacity)
    {
        const std::size_t c = class_of(bytes);
        if (c >= classes) [[unlikely]]
            refuse(bytes);
        capacity = bytes_of(c);
        inject_failure();
        void* p;
        if (Free* head = free_[c]) {
            free_[c] = head->next;
            __builtin_prefetch(free_[c], 1);
            stats_.pooled_bytes -= static_cast<std::int64_t>(capacity);
            ++stats_.reuses;
            p = head;
        } else {
            p = from_system(capacity);
            if (!p) {  // what lies free in other sizes may be what is missing
                trim();
                p = from_system(capacity);
            }
            if (!p) refuse(capacity);
            ++stats_.allocations;
        }
        stats_.current_bytes += static_cast<std::int64_t>(capacity);
        if (stats_.current_bytes > stats_.peak_bytes) stats_.peak_bytes = stats_.current_bytes;
        return p;
    }

    void give(void* p, std::size_t capacity) noexcept
    {
        stats_.current_bytes -= static_cast<std::int64_t>(capacity);
        if (stats_.pooled_bytes + static_cast<std::int64_t>(capacity) > limit_) {
            std::free(p);
            return;
        }
        const std::size_t c = class_of(capacity);
        free_[c] = new (p) Free{free_[c]};
        stats_.pooled_bytes += static_cast<std::int64_t>(capacity);
    }

    /// Returns every free buffer to the system.
    void trim() noexcept
    {
        for (Free*& head : free_)
            while (head) {
                Free* next = head->next;
                std::free(head);
                head = next;
            }
        stats_.pooled_bytes = 0;
    }

    Stats& stats() noexcept { return stats_; }
    static constexpr std::int64_t kept_at_first = std::int64_t{4} << 30;
    /// The most that lies free for reuse: beyond it buffers go back to the system.
    void keep(std::int64_t bytes) noexcept
    {
        limit_ = bytes;
        if (stats_.pooled_bytes > limit_) trim();
    }

    static std::size_t class_of(std::size_t bytes) noexcept
    {
        const std::size_t units = (bytes + 63) / 64;
        if (units <= 4) return units == 0 ? 0 : units - 1;
        // 2^log < units <= 2^(log+1)
        const auto log = static_cast<std::size_t>(std::bit_width(units - 1)) - 1;
        const std::size_t step = std::size_t{1} << (log - 2);
        return 4 * (log - 1) + (units - 1 - (std::size_t{1} << log)) / step;
    }
    static std::size_t bytes_of(std::size_t c) noexcept
    {
        if (c < 4) return 64 * (c + 1);
        const std::size_t log = c / 4 + 1, step = std::size_t{1} << (log - 2);
        return 64 * ((std::size_t{1} << log) + (c % 4 + 1) * step);
    }

private:
    struct Free {
        Free* next;
    };

    [[noreturn]] void refuse(std::size_t capacity) const;
    static void* from_system(std::size_t capacity);

    Free* free_[classes] = {};
    Stats stats_;
    std::int64_t limit_ = kept_at_first;
};

/// Free cells of one size: headers and nodes come and go once an operation, so they get the shortest path.
class Cells {
public:
    template <std::size_t bytes> void* take()
    {
        inject_failure();
        Free* const head = free_;
        if (!head) [[unlikely]]
            return take_fresh(bytes);
        free_ = head->next;
        ++live_;
        // The next cell left the caches long ago on a long tape; it comes while this one is filled.
        // An address and no pointer: there may be none, and null + 64 is not defined.
        const auto next = reinterpret_cast<std::uintptr_t>(free_);
        [&]<std::size_t... k>(std::index_sequence<k...>) {
            (__builtin_prefetch(reinterpret_cast<const void*>(next + 64 * k), 1), ...);
        }(std::make_index_sequence<(bytes + 63) / 64>());
        return head;
    }
    bool has_free() const noexcept { return free_; }
    void give(void* p) noexcept
    {
        free_ = new (p) Free{free_};
        --live_;
    }
    void trim() noexcept
    {
        while (free_) {
            Free* next = free_->next;
            std::free(free_);
            free_ = next;
        }
        made_ = live_;
    }
    std::int64_t live_bytes() const noexcept { return live_ * size_; }
    std::int64_t free_bytes() const noexcept { return (made_ - live_) * size_; }

private:
    void* take_fresh(std::size_t bytes);
    struct Free {
        Free* next;
    };
    Free* free_ = nullptr;
    /// Cells from the system here, and taken less those given back: negative where cells of other threads come to their end.
    std::int64_t made_ = 0, live_ = 0, size_ = 0;
};

}  // namespace wengert::memory

#ifndef WENGERT_COMPILED
#include "impl/pool.ipp"
#endif
