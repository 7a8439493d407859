// Memory for kernels that run at once: what two strands of a wave use never overlaps.
#pragma once

#include "arena.hpp"
#include "waves.hpp"

namespace wengert::tiling {

namespace detail {

/// The buffers that live within one strand: they have a room of their own for the whole wave, in which they follow one
/// another as ever.
struct StrandRoom {
    std::uint32_t first, last;  ///< times of the strand
    Buffer whole;               ///< its lifetime is the wave's
    std::vector<std::uint32_t> inside;
};

/// Kernel t runs at time t + 1.
inline std::vector<StrandRoom> strand_rooms(const std::vector<Wave>& waves)
{
    std::vector<StrandRoom> rooms;
    for (const Wave& w : waves)
        for (std::size_t k = 0; k + 1 < w.cuts.size(); ++k)
            rooms.push_back({w.cuts[k] + 1, w.cuts[k + 1], {0, w.begin() + 1, w.end(), 0}, {}});
    return rooms;
}
/// The strand that runs at a time, or null.
inline StrandRoom* room_at(std::vector<StrandRoom>& rooms, std::uint32_t time)
{
    const auto behind = std::upper_bound(rooms.begin(), rooms.end(), time,
                                         [](std::uint32_t t, const StrandRoom& r) { return t < r.first; });
    return behind != rooms.begin() && time <= std::prev(behind)->last ? &*std::prev(behind) : nullptr;
}

inline void place_inside(StrandRoom& room, std::vector<Buffer>& buffers)
{
    std::vector<Buffer> own;
    for (std::uint32_t b : room.inside) {
        own.push_back(buffers[b]);
        own.back().first -= room.first;
        own.back().last -= room.first;
    }
    room.whole.bytes = place_buffers(own, room.last - room.first + 1).bytes;
    for (std::size_t i = 0; i < own.size(); ++i) buffers[room.inside[i]].offset = own[i].offset;
}

}  // namespace detail

/// place_buffers() for an order with waves. A buffer that is used beyond one strand lives as long as the waves in which
/// it begins and ends.
inline ArenaSize place_strands(std::vector<Buffer>& buffers, std::size_t steps,
                               const std::vector<Wave>& waves)
{
    if (waves.empty()) return place_buffers(buffers, steps);
    auto rooms = detail::strand_rooms(waves);
    std::vector<Buffer> outer;
    std::vector<std::uint32_t> shared;
    for (std::uint32_t b = 0; b < buffers.size(); ++b) {
        auto *from = detail::room_at(rooms, buffers[b].first), *to = detail::room_at(rooms, buffers[b].last);
        if (from && from == to) {
            from->inside.push_back(b);
            continue;
        }
        outer.push_back(buffers[b]);
        if (from) outer.back().first = from->whole.first;
        if (to) outer.back().last = to->whole.last;
        shared.push_back(b);
    }
    for (auto& room : rooms) {
        detail::place_inside(room, buffers);
        outer.push_back(room.whole);
    }
    const ArenaSize size = place_buffers(outer, steps);
    for (std::size_t i = 0; i < shared.size(); ++i) buffers[shared[i]].offset = outer[i].offset;
    for (std::size_t r = 0; r < rooms.size(); ++r)
        for (std::uint32_t b : rooms[r].inside) buffers[b].offset += outer[shared.size() + r].offset;
    return size;
}

}  // namespace wengert::tiling
