// One piece of memory for all intermediate values: offsets for buffers whose lifetimes are known.
//
// Best fit along time (what a good allocator would do that is told when to free), and for plans that are small enough also
// greedily by size (Pisarchyk & Lee 2020); the smaller one is taken. The bound is the most that is alive at one time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "../../base/stable_sort.hpp"

namespace wengert::tiling {

struct Buffer {
    static constexpr std::size_t alignment = 64;

    std::size_t bytes = 0;              ///< rounded up to the alignment
    std::uint32_t first = 0, last = 0;  ///< steps, both included
    std::size_t offset = 0;
};

struct ArenaSize {
    std::size_t bytes = 0, lower_bound = 0;
};

inline std::size_t aligned(std::size_t bytes) noexcept
{
    return (bytes + Buffer::alignment - 1) / Buffer::alignment * Buffer::alignment;
}

namespace detail {

/// Free pieces of an arena that grows at its end.
class FreeList {
public:
    std::size_t take(std::size_t bytes)
    {
        const auto fit = sizes_.lower_bound({bytes, 0});
        if (fit != sizes_.end()) return cut(*fit, bytes);
        // the piece at the end grows
        std::size_t at = end_;
        if (!pieces_.empty()) {
            const auto back = std::prev(pieces_.end());
            if (back->first + back->second == end_) {
                at = back->first;
                sizes_.erase({back->second, back->first});
                pieces_.erase(back);
            }
        }
        end_ = at + bytes;
        return at;
    }
    void give(std::size_t offset, std::size_t bytes)
    {
        auto next = pieces_.lower_bound(offset);
        if (next != pieces_.end() && offset + bytes == next->first) {
            bytes += next->second;
            sizes_.erase({next->second, next->first});
            next = pieces_.erase(next);
        }
        if (next != pieces_.begin()) {
            const auto before = std::prev(next);
            if (before->first + before->second == offset) {
                offset = before->first;
                bytes += before->second;
                sizes_.erase({before->second, before->first});
                pieces_.erase(before);
            }
        }
        pieces_.emplace(offset, bytes);
        sizes_.insert({bytes, offset});
    }
    std::size_t end() const noexcept { return end_; }

private:
    std::size_t cut(std::pair<std::size_t, std::size_t> piece, std::size_t bytes)
    {
        const auto [size, offset] = piece;
        sizes_.erase(piece);
        pieces_.erase(offset);
        if (size > bytes) {
            pieces_.emplace(offset + bytes, size - bytes);
            sizes_.insert({size - bytes, offset + bytes});
        }
        return offset;
    }
    std::map<std::size_t, std::size_t> pieces_;            ///< offset, bytes
    std::set<std::pair<std::size_t, std::size_t>> sizes_;  ///< bytes, offset
    std::size_t end_ = 0;
};

/// Buffers by the step at which they begin, and by the one at which they end.
struct Timeline {
    std::vector<std::vector<std::uint32_t>> begin, end;
    Timeline(const std::vector<Buffer>& buffers, std::size_t steps) : begin(steps + 1), end(steps + 1)
    {
        for (std::uint32_t b = 0; b < buffers.size(); ++b) {
            begin[buffers[b].first].push_back(b);
            end[std::min<std::size_t>(buffers[b].last, steps)].push_back(b);
        }
    }
};

inline std::size_t place_along_time(std::vector<Buffer>& buffers, const Timeline& time)
{
    FreeList free;
    for (std::size_t s = 0; s < time.begin.size(); ++s) {
        for (std::uint32_t b : time.begin[s])
            if (buffers[b].bytes) buffers[b].offset = free.take(buffers[b].bytes);
        for (std::uint32_t b : time.end[s])
            if (buffers[b].bytes) free.give(buffers[b].offset, buffers[b].bytes);
    }
    return free.end();
}

/// The lowest gap that is large enough among those placed whose lifetimes meet b's.
inline std::size_t lowest_gap(const Buffer& b, const std::vector<const Buffer*>& placed)
{
    std::size_t at = 0, best = ~std::size_t{0}, best_size = ~std::size_t{0};
    for (const Buffer* p : placed) {  // by offset
        if (p->last < b.first || b.last < p->first) continue;
        if (p->offset >= at + b.bytes && p->offset - at < best_size) {
            best = at;
            best_size = p->offset - at;
        }
        at = std::max(at, p->offset + p->bytes);
    }
    return best_size == ~std::size_t{0} ? at : best;
}

inline std::size_t place_by_size(std::vector<Buffer>& buffers)
{
    std::vector<std::uint32_t> order(buffers.size());
    for (std::uint32_t b = 0; b < order.size(); ++b) order[b] = b;
    wengert::detail::stable_sort(
        order, [&](std::uint32_t a, std::uint32_t b) { return buffers[a].bytes > buffers[b].bytes; });
    std::vector<const Buffer*> placed;
    std::size_t end = 0;
    for (std::uint32_t i : order) {
        Buffer& b = buffers[i];
        if (b.bytes == 0) continue;
        b.offset = lowest_gap(b, placed);
        end = std::max(end, b.offset + b.bytes);
        placed.insert(
            std::upper_bound(placed.begin(), placed.end(), &b,
                             [](const Buffer* x, const Buffer* y) { return x->offset < y->offset; }),
            &b);
    }
    return end;
}

inline std::size_t most_alive(const std::vector<Buffer>& buffers, const Timeline& time)
{
    std::size_t now = 0, most = 0;
    for (std::size_t s = 0; s < time.begin.size(); ++s) {
        for (std::uint32_t b : time.begin[s]) now += buffers[b].bytes;
        most = std::max(most, now);
        for (std::uint32_t b : time.end[s]) now -= buffers[b].bytes;
    }
    return most;
}

}  // namespace detail

/// Gives each buffer an offset; no two of those alive at the same step meet. Steps are numbered below `steps`.
inline ArenaSize place_buffers(std::vector<Buffer>& buffers, std::size_t steps)
{
    constexpr std::size_t few = 600;  // greedy placement looks at every pair
    const detail::Timeline time(buffers, steps);
    ArenaSize size{0, detail::most_alive(buffers, time)};
    size.bytes = detail::place_along_time(buffers, time);
    if (size.bytes == size.lower_bound || buffers.size() > few) return size;
    std::vector<Buffer> other = buffers;
    const std::size_t greedy = detail::place_by_size(other);
    if (greedy < size.bytes) {
        buffers = std::move(other);
        size.bytes = greedy;
    }
    return size;
}

}  // namespace wengert::tiling
