// Waves: which kernels run at once, each wave on all threads before the next one begins.
//
// Kernels that use the same memory, one of them to write to it, keep their order; all others may change places. Level by
// level of that order kernels are independent of one another. Levels are then joined to longer waves wherever that is no
// slower by this estimate, where kernels of a wave that depend on one another form a strand and run one after the other:
//
//     time = min(Σ length, wake + max(longest strand, Σ work / threads))
//
// `work` is what a kernel takes on one thread, `length` what it takes when the team divides it, `wake` the time for waking
// threads and waiting for them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "../../base/stable_sort.hpp"

namespace wengert::tiling {

/// A kernel as the schedule sees it. Memory is known by numbers: pieces of different numbers do not overlap.
struct KernelUse {
    std::vector<std::uint32_t> reads, writes;
    double work = 0, length = 0;  ///< nanoseconds
    bool alone = false;           ///< it may fail or is seen from outside: nothing changes places with it
};

/// Kernels that run at once: strand k is kernels cuts[k] to cuts[k + 1] of the new order, one after the other.
struct Wave {
    std::vector<std::uint32_t> cuts;
    std::uint32_t begin() const { return cuts.front(); }
    std::uint32_t end() const { return cuts.back(); }
};

struct Schedule {
    std::vector<std::uint32_t> order;  ///< of the kernels
    std::vector<Wave> waves;           ///< of two strands and more; what is in none runs by itself
};

namespace detail {

/// A wave while it grows.
class WaveBuilder {
public:
    using Kernels = std::vector<std::uint32_t>;

    WaveBuilder(const std::vector<KernelUse>& uses, std::size_t team, double wake);
    /// Takes up kernels that are independent of each other, unless two waves are faster.
    bool take(const Kernels& level);
    /// The strands, the longest first, or all as one strand where threads do not help. The next wave begins empty.
    std::vector<Kernels> finish();

private:
    struct Sums {
        double work = 0, length = 0, longest = 0;
        void add(const KernelUse& u)
        {
            work += u.work;
            length += u.length;
            longest = std::max(longest, u.length);
        }
    };
    struct Join {
        std::uint32_t child, root;
        double length;  ///< of the root's strand before
    };

    double time(const Sums& s) const;
    std::uint32_t find(std::uint32_t t) const;
    void join(std::uint32_t a, std::uint32_t b);
    /// Joins t's strand with those of the wave that it depends on. The length of what comes about.
    double join_users(std::uint32_t t);
    void undo();
    void enter(std::uint32_t t);
    std::vector<Kernels> strands() const;

    const std::vector<KernelUse>& uses_;
    double team_, wake_;
    std::vector<std::uint32_t> parent_, size_;  ///< disjoint sets, by size, so that joins can be taken back
    std::vector<double> length_;                ///< of the strand, by its root
    std::vector<Join> joins_;
    Kernels kernels_;
    std::unordered_map<std::uint32_t, std::uint32_t> writer_;  ///< of each memory in this wave
    std::unordered_map<std::uint32_t, Kernels> readers_;       ///< since it was written
    Sums sums_;
};

/// Kernels begin to end, level by level.
std::vector<WaveBuilder::Kernels> levels_of(const std::vector<KernelUse>& uses, std::uint32_t begin,
                                            std::uint32_t end);

void add_wave(Schedule& to, const std::vector<WaveBuilder::Kernels>& strands);

}  // namespace detail

/// What runs at once on so many threads, for kernels in an order in which they can run one after the other.
Schedule schedule_of(const std::vector<KernelUse>& uses, std::size_t team, double wake);

}  // namespace wengert::tiling

#ifndef WENGERT_COMPILED
#include "impl/waves.ipp"
#endif
