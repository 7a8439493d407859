// What arena.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../arena.hpp"

namespace wengert::tiling {

WENGERT_INLINE std::size_t aligned(std::size_t bytes) noexcept
{
    return (bytes + Buffer::alignment - 1) / Buffer::alignment * Buffer::alignment;
}

}  // namespace wengert::tiling

namespace wengert::tiling::detail {

WENGERT_INLINE std::size_t FreeList::take(std::size_t bytes)
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

WENGERT_INLINE void FreeList::give(std::size_t offset, std::size_t bytes)
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

WENGERT_INLINE std::size_t FreeList::cut(std::pair<std::size_t, std::size_t> piece, std::size_t bytes)
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

WENGERT_INLINE Timeline::Timeline(const std::vector<Buffer>& buffers, std::size_t steps)
    : begin(steps + 1), end(steps + 1)
{
    for (std::uint32_t b = 0; b < buffers.size(); ++b) {
        begin[buffers[b].first].push_back(b);
        end[std::min<std::size_t>(buffers[b].last, steps)].push_back(b);
    }
}

WENGERT_INLINE std::size_t place_along_time(std::vector<Buffer>& buffers, const Timeline& time)
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

WENGERT_INLINE std::size_t lowest_gap(const Buffer& b, const std::vector<const Buffer*>& placed)
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

WENGERT_INLINE std::size_t place_by_size(std::vector<Buffer>& buffers)
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

WENGERT_INLINE std::size_t most_alive(const std::vector<Buffer>& buffers, const Timeline& time)
{
    std::size_t now = 0, most = 0;
    for (std::size_t s = 0; s < time.begin.size(); ++s) {
        for (std::uint32_t b : time.begin[s]) now += buffers[b].bytes;
        most = std::max(most, now);
        for (std::uint32_t b : time.end[s]) now -= buffers[b].bytes;
    }
    return most;
}

}  // namespace wengert::tiling::detail

namespace wengert::tiling {

WENGERT_INLINE ArenaSize place_buffers(std::vector<Buffer>& buffers, std::size_t steps)
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
