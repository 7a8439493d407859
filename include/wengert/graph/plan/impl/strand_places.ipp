// What strand_places.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../strand_places.hpp"

namespace wengert::tiling {

WENGERT_INLINE ArenaSize place_strands(std::vector<Buffer>& buffers, std::size_t steps,
                                       const std::vector<Wave>& waves)
{
    if (waves.empty()) return place_buffers(buffers, steps);
    struct StrandArena {
        std::uint32_t first, last;  ///< times of the strand
        Buffer whole;               ///< its lifetime is the wave's
        std::vector<std::uint32_t> inside;
    };
    std::vector<StrandArena> arenas;
    std::vector<std::size_t> strand(steps, 0);  // by time, 0 for none
    for (const Wave& w : waves)
        for (std::size_t k = 0; k + 1 < w.cuts.size(); ++k) {
            arenas.push_back({w.cuts[k] + 1, w.cuts[k + 1], {0, w.begin() + 1, w.end(), 0}, {}});
            std::fill_n(strand.begin() + arenas.back().first, w.cuts[k + 1] - w.cuts[k], arenas.size());
        }
    std::vector<Buffer> outer;
    std::vector<std::uint32_t> shared;
    for (std::uint32_t b = 0; b < buffers.size(); ++b) {
        const std::size_t from = strand[buffers[b].first], to = strand[buffers[b].last];
        if (from && from == to) {
            arenas[from - 1].inside.push_back(b);
            continue;
        }
        outer.push_back(buffers[b]);
        if (from) outer.back().first = arenas[from - 1].whole.first;
        if (to) outer.back().last = arenas[to - 1].whole.last;
        shared.push_back(b);
    }
    for (StrandArena& arena : arenas) {
        std::vector<Buffer> own;
        for (std::uint32_t b : arena.inside) {
            own.push_back(buffers[b]);
            own.back().first -= arena.first;
            own.back().last -= arena.first;
        }
        arena.whole.bytes = place_buffers(own, arena.last - arena.first + 1).bytes;
        for (std::size_t i = 0; i < own.size(); ++i) buffers[arena.inside[i]].offset = own[i].offset;
        outer.push_back(arena.whole);
    }
    const ArenaSize size = place_buffers(outer, steps);
    for (std::size_t i = 0; i < shared.size(); ++i) buffers[shared[i]].offset = outer[i].offset;
    for (std::size_t r = 0; r < arenas.size(); ++r)
        for (std::uint32_t b : arenas[r].inside) buffers[b].offset += outer[shared.size() + r].offset;
    return size;
}

}  // namespace wengert::tiling
