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
class Strands {
public:
    using Kernels = std::vector<std::uint32_t>;

    Strands(const std::vector<KernelUse>& uses, std::size_t team, double wake)
        : uses_(uses), team_(static_cast<double>(team)), wake_(wake), parent_(uses.size()),
          size_(uses.size(), 1)
    {
        std::iota(parent_.begin(), parent_.end(), 0U);
        for (const KernelUse& u : uses) length_.push_back(u.length);
    }
    /// Takes up kernels that are independent of each other, unless two waves are faster.
    bool take(const Kernels& level)
    {
        Sums after, both = sums_;
        for (std::uint32_t t : level) {
            after.add(uses_[t]);
            both.add(uses_[t]);
        }
        joins_.clear();
        for (std::uint32_t t : level) both.longest = std::max(both.longest, join_users(t));
        constexpr double rounding = 1 + 1e-9;
        if (!kernels_.empty() && time(both) > (time(sums_) + time(after)) * rounding) {
            undo();
            return false;
        }
        sums_ = both;
        for (std::uint32_t t : level) enter(t);
        return true;
    }
    /// The strands, the longest first, or all as one strand where threads do not help. The next wave begins empty.
    std::vector<Kernels> finish()
    {
        std::sort(kernels_.begin(), kernels_.end());
        std::vector<Kernels> found;
        if (time(sums_) < sums_.length)
            found = strands();
        else if (!kernels_.empty())
            found.push_back(kernels_);
        kernels_.clear();
        writer_.clear();
        readers_.clear();
        sums_ = {};
        return found;
    }

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

    double time(const Sums& s) const
    {
        return std::min(s.length, wake_ + std::max(s.longest, s.work / team_));
    }
    std::uint32_t find(std::uint32_t t) const
    {
        while (parent_[t] != t) t = parent_[t];
        return t;
    }
    void join(std::uint32_t a, std::uint32_t b)
    {
        a = find(a);
        b = find(b);
        if (a == b) return;
        if (size_[a] < size_[b]) std::swap(a, b);
        joins_.push_back({b, a, length_[a]});
        parent_[b] = a;
        size_[a] += size_[b];
        length_[a] += length_[b];
    }
    /// Joins t's strand with those of the wave that it depends on. The length of what comes about.
    double join_users(std::uint32_t t)
    {
        const auto writer = [&](std::uint32_t m) {
            if (const auto w = writer_.find(m); w != writer_.end()) join(t, w->second);
        };
        for (std::uint32_t m : uses_[t].reads) writer(m);
        for (std::uint32_t m : uses_[t].writes) {
            writer(m);
            if (const auto r = readers_.find(m); r != readers_.end())
                for (std::uint32_t other : r->second) join(t, other);
        }
        return length_[find(t)];
    }
    void undo()
    {
        for (; !joins_.empty(); joins_.pop_back()) {
            const Join& j = joins_.back();
            parent_[j.child] = j.child;
            size_[j.root] -= size_[j.child];
            length_[j.root] = j.length;
        }
    }
    void enter(std::uint32_t t)
    {
        kernels_.push_back(t);
        for (std::uint32_t m : uses_[t].reads) readers_[m].push_back(t);
        for (std::uint32_t m : uses_[t].writes) {
            writer_[m] = t;
            readers_[m].clear();
        }
    }
    std::vector<Kernels> strands() const
    {
        std::vector<Kernels> found;
        std::unordered_map<std::uint32_t, std::size_t> number;
        for (std::uint32_t t : kernels_) {
            const auto [at, fresh] = number.emplace(find(t), found.size());
            if (fresh) found.emplace_back();
            found[at->second].push_back(t);
        }
        const auto length = [&](const Kernels& s) { return length_[find(s[0])]; };
        wengert::detail::stable_sort(
            found, [&](const Kernels& a, const Kernels& b) { return length(a) > length(b); });
        const double least = wake_ / 4;  // shorter strands are put together
        double last = least;
        std::size_t kept = 0;
        for (Kernels& s : found) {
            if (last < least) {
                last += length(s);
                found[kept - 1].insert(found[kept - 1].end(), s.begin(), s.end());
                continue;
            }
            last = length(s);
            if (&found[kept] != &s) found[kept] = std::move(s);
            ++kept;
        }
        found.resize(kept);
        for (Kernels& s : found) std::sort(s.begin(), s.end());
        return found;
    }

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
inline std::vector<Strands::Kernels> levels_of(const std::vector<KernelUse>& uses, std::uint32_t begin,
                                               std::uint32_t end)
{
    std::unordered_map<std::uint32_t, std::size_t> written, used;  // the first level behind
    std::vector<Strands::Kernels> levels;
    for (std::uint32_t t = begin; t < end; ++t) {
        std::size_t level = 0;
        for (std::uint32_t m : uses[t].reads) level = std::max(level, written[m]);
        for (std::uint32_t m : uses[t].writes) level = std::max({level, written[m], used[m]});
        if (level == levels.size()) levels.emplace_back();
        levels[level].push_back(t);
        for (std::uint32_t m : uses[t].reads) used[m] = std::max(used[m], level + 1);
        for (std::uint32_t m : uses[t].writes) written[m] = level + 1;
    }
    return levels;
}

inline void add_wave(Schedule& to, const std::vector<Strands::Kernels>& strands)
{
    Wave wave;
    for (const auto& s : strands) {
        wave.cuts.push_back(static_cast<std::uint32_t>(to.order.size()));
        to.order.insert(to.order.end(), s.begin(), s.end());
    }
    wave.cuts.push_back(static_cast<std::uint32_t>(to.order.size()));
    if (strands.size() > 1) to.waves.push_back(std::move(wave));
}

}  // namespace detail

/// What runs at once on so many threads, for kernels in an order in which they can run one after the other.
inline Schedule schedule_of(const std::vector<KernelUse>& uses, std::size_t team, double wake)
{
    Schedule found;
    detail::Strands wave(uses, team, wake);
    const auto n = static_cast<std::uint32_t>(uses.size());
    for (std::uint32_t begin = 0, end = 0; begin < n; begin = end) {
        while (end < n && !uses[end].alone) ++end;
        for (const auto& level : detail::levels_of(uses, begin, end)) {
            if (wave.take(level)) continue;
            detail::add_wave(found, wave.finish());
            wave.take(level);
        }
        detail::add_wave(found, wave.finish());
        if (end < n) found.order.push_back(end++);
    }
    return found;
}

}  // namespace wengert::tiling
