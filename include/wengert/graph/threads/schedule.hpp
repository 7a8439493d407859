// Schedule: how the parts of one large step are spread over threads. Which parts there are never changes the bits, as
// nothing depends on the cuts (FusedKernel::next_cut), so threads may take them in any order.
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

#include "../../kernels/cpu/elementwise.hpp"

#if defined(WENGERT_TBB)
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#else
#include "helpers.hpp"
#endif

namespace wengert::tiling {

// A program and the library that it links must have the same threads: with others it does not link.
#if defined(WENGERT_TBB)
inline namespace on_onetbb {
#else
inline namespace on_plain_threads {
#endif

/// The caller and the threads that help it, `size` in all: those of oneTBB where the program is built with WENGERT_TBB,
/// otherwise plain ones (helpers.hpp).
class Team {
public:
    /// Threads of a team of that many, no more than there may be, as a rule those of the machine; 0 stands for all of them.
    static std::size_t size_for(unsigned threads);
    /// What size_for() keeps to without oneTBB; 0 for the threads of the machine.
    static std::atomic<unsigned>& most();
    static constexpr const char* kind =
#if defined(WENGERT_TBB)
        "oneTBB";
#else
        "std::thread";
#endif

#if defined(WENGERT_TBB)
    explicit Team(std::size_t size) : size_(size), arena_(static_cast<int>(size)) {}
#else
    explicit Team(std::size_t size) : size_(size) {}
#endif

    std::size_t size() const noexcept { return size_; }

    /// part(k, place) for k < parts, no two at once with the same place < size(). Threads see what the caller has set for
    /// kernels: the zero-cotangent rule and how the processor rounds. An exception of a part comes out here.
    template <class F> void run(std::size_t parts, const F& part)
    {
#if defined(WENGERT_TBB)
        const double zero = kernels::zero_cotangent;
        // made out here: within the arena rounding is as it was when the arena was first used
        tbb::task_group_context context(tbb::task_group_context::isolated,
                                        tbb::task_group_context::fp_settings);
        arena_.execute([&] {
            tbb::parallel_for(
                std::size_t{0}, parts,
                [&](std::size_t k) {
                    const ZeroCotangentScope setting(zero);
                    part(k, static_cast<std::size_t>(tbb::this_task_arena::current_thread_index()));
                },
                tbb::simple_partitioner(), context);
        });
#else
        Helpers::get().run(
            parts, size_,
            [](const void* self, std::size_t k, std::size_t place) {
                (*static_cast<const F*>(self))(k, place);
            },
            &part);
#endif
    }

private:
#if defined(WENGERT_TBB)
    struct ZeroCotangentScope {
        explicit ZeroCotangentScope(double x) : before(kernels::zero_cotangent)
        {
            kernels::zero_cotangent = x;
        }
        ZeroCotangentScope(const ZeroCotangentScope&) = delete;
        ZeroCotangentScope& operator=(const ZeroCotangentScope&) = delete;
        ~ZeroCotangentScope() { kernels::zero_cotangent = before; }
        double before;
    };
#endif

    std::size_t size_;
#if defined(WENGERT_TBB)
    tbb::task_arena arena_;
#endif
};

/// A step's elements in parts for a team; none where it runs whole.
struct Division {
    Team* team = nullptr;
    const std::size_t* cuts = nullptr;  ///< the parts' first elements, and the end
    std::size_t parts = 0;

    explicit operator bool() const noexcept { return parts > 0; }
    /// part(begin, end, place): see Team::run.
    template <class F> void run(const F& part) const
    {
        team->run(parts, [&](std::size_t k, std::size_t place) { part(cuts[k], cuts[k + 1], place); });
    }
};

}  // inline namespace

/// Elements of a part, some microseconds of work, as much as waking costs; and of a step that is cut.
inline constexpr std::size_t least_part = std::size_t{1} << 14, least_divided = 4 * least_part;

/// Where to cut `count` elements for a team: the parts' first elements and `count`, or nothing where they are too few for
/// threads to be worth waking. `next_cut(at)` gives the first element from `at` on where a cut may be.
template <class F> std::vector<std::size_t> cuts_for(std::size_t team, std::size_t count, const F& next_cut)
{
    const std::size_t parts =
        std::min(count / least_part, 4 * team);  // threads that started late take fewer of them
    std::vector<std::size_t> cuts{0};
    if (team < 2 || count < least_divided) return {};
    for (std::size_t k = 1; k < parts; ++k)
        if (const std::size_t at = next_cut(count / parts * k); at > cuts.back() && at < count)
            cuts.push_back(at);
    cuts.push_back(count);
    return cuts.size() > 2 ? cuts : std::vector<std::size_t>{};
}

}  // namespace wengert::tiling

#ifndef WENGERT_COMPILED
#include "impl/schedule.ipp"
#endif
