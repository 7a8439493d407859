// What waves.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../waves.hpp"

namespace wengert::tiling::detail {

WENGERT_INLINE WaveBuilder::WaveBuilder(const std::vector<KernelUse>& uses, std::size_t team, double wake)
    : uses_(uses), team_(static_cast<double>(team)), wake_(wake), parent_(uses.size()), size_(uses.size(), 1)
{
    std::iota(parent_.begin(), parent_.end(), 0U);
    for (const KernelUse& u : uses) length_.push_back(u.length);
}

WENGERT_INLINE bool WaveBuilder::take(const Kernels& level)
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

WENGERT_INLINE std::vector<WaveBuilder::Kernels> WaveBuilder::finish()
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

WENGERT_INLINE double WaveBuilder::time(const Sums& s) const
{
    return std::min(s.length, wake_ + std::max(s.longest, s.work / team_));
}

WENGERT_INLINE std::uint32_t WaveBuilder::find(std::uint32_t t) const
{
    while (parent_[t] != t) t = parent_[t];
    return t;
}

WENGERT_INLINE void WaveBuilder::join(std::uint32_t a, std::uint32_t b)
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

WENGERT_INLINE double WaveBuilder::join_users(std::uint32_t t)
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

WENGERT_INLINE void WaveBuilder::undo()
{
    for (; !joins_.empty(); joins_.pop_back()) {
        const Join& j = joins_.back();
        parent_[j.child] = j.child;
        size_[j.root] -= size_[j.child];
        length_[j.root] = j.length;
    }
}

WENGERT_INLINE void WaveBuilder::enter(std::uint32_t t)
{
    kernels_.push_back(t);
    for (std::uint32_t m : uses_[t].reads) readers_[m].push_back(t);
    for (std::uint32_t m : uses_[t].writes) {
        writer_[m] = t;
        readers_[m].clear();
    }
}

WENGERT_INLINE std::vector<WaveBuilder::Kernels> WaveBuilder::strands() const
{
    std::vector<Kernels> found;
    std::unordered_map<std::uint32_t, std::size_t> number;
    for (std::uint32_t t : kernels_) {
        const auto [at, fresh] = number.emplace(find(t), found.size());
        if (fresh) found.emplace_back();
        found[at->second].push_back(t);
    }
    const auto length = [&](const Kernels& s) { return length_[find(s[0])]; };
    wengert::detail::stable_sort(found,
                                 [&](const Kernels& a, const Kernels& b) { return length(a) > length(b); });
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

WENGERT_INLINE std::vector<WaveBuilder::Kernels> levels_of(const std::vector<KernelUse>& uses,
                                                           std::uint32_t begin, std::uint32_t end)
{
    std::unordered_map<std::uint32_t, std::size_t> written, used;  // the first level behind
    std::vector<WaveBuilder::Kernels> levels;
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

WENGERT_INLINE void add_wave(Schedule& to, const std::vector<WaveBuilder::Kernels>& strands)
{
    Wave wave;
    for (const auto& s : strands) {
        wave.cuts.push_back(static_cast<std::uint32_t>(to.order.size()));
        to.order.insert(to.order.end(), s.begin(), s.end());
    }
    wave.cuts.push_back(static_cast<std::uint32_t>(to.order.size()));
    if (strands.size() > 1) to.waves.push_back(std::move(wave));
}

}  // namespace wengert::tiling::detail

namespace wengert::tiling {

WENGERT_INLINE Schedule schedule_of(const std::vector<KernelUse>& uses, std::size_t team, double wake)
{
    Schedule found;
    detail::WaveBuilder wave(uses, team, wake);
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
