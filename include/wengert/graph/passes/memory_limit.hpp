// Automatic rematerialisation: values that wait long for their next use are let go and computed again before it, until what
// is alive at one time fits a limit (Chen, Xu, Zhang, Guestrin 2016, "Training deep nets with sublinear memory cost", for
// the idea; the choice is greedy, by nanoseconds of the cost model for each byte).
#pragma once

#include "../../base/stable_sort.hpp"
#include "repeats.hpp"

namespace wengert {

namespace passes::detail {

/// Ways to lower a peak.
class PeakSearch {
public:
    struct Candidate {
        Schedule::Repeat repeat;
        double cost = 0;  ///< nanoseconds for each byte
    };

    PeakSearch(const Schedule& s, const Schedule::Peak& p, bool products);
    /// The cheapest first: values that are alive at the peak only because they are used later, one by one, and together
    /// with those that follow from the same.
    std::vector<Candidate> candidates() const;

private:
    bool waits(std::uint32_t s) const;
    /// The occurrences that give a value once more from what is there at that position, in order; false when that is too much.
    bool gather(Candidate& c) const;
    /// Of the derived occurrences those that waiting values are made of.
    void keep_needed(const std::vector<std::uint32_t>& derived, Schedule::Repeat& r) const;
    /// What can be had from one value and what outlives the peak, in order.
    std::vector<std::uint32_t> derived(std::uint32_t base, std::size_t most) const;
    /// Several values at once: those that follow from one value, which is kept in their place.
    bool derive(std::uint32_t base, std::size_t most, Candidate& c) const;

    const Schedule& schedule_;
    const Schedule::Peak peak_;
    const bool products_;            ///< may they be repeated?
    std::vector<std::size_t> next_;  ///< of memory: the position of its first use after the peak
    std::vector<bool> held_;         ///< used at the peak, or looked at by a guard
    std::vector<std::vector<std::uint32_t>> users_;  ///< of occurrences, before the peak
};

/// Lets values go across the peak, such that it becomes lower. False when there are none.
bool lower_peak(Schedule& schedule, Schedule::Peak& p);

}  // namespace passes::detail

/// The most bytes that results of operations take at one time when nodes run in order, each result from its node to its
/// last use, in units of 64 bytes. Views take nothing and keep alive what they show. Inputs, constants and outputs, which
/// the caller holds, do not count; nor does it count that an executor may fuse operations or write results over operands.
inline std::size_t liveness_peak(const Graph& g) { return passes::detail::Schedule(g, {}).peak().bytes; }

/// The graph with values computed again near their later uses, so that liveness_peak() is at most `limit_bytes`.
/// Elementwise operations, reductions and views first, products only where these are not enough, random draws and calls of
/// the host never. Values keep their bits. What is computed again has a segment of its own, which no pass merges. Throws
/// MemoryError with the smallest limit that it can reach.
Graph rematerialise(const Graph& g, std::size_t limit_bytes, RematReport& report, const CostModel& costs = {},
                    Site at = {__builtin_FILE(), __builtin_LINE()});

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/memory_limit.ipp"
#endif
