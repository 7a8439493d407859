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

std::size_t aligned(std::size_t bytes) noexcept;

namespace detail {

/// Free pieces of an arena that grows at its end.
class FreeList {
public:
    std::size_t take(std::size_t bytes);
    void give(std::size_t offset, std::size_t bytes);
    std::size_t end() const noexcept { return end_; }

private:
    std::size_t cut(std::pair<std::size_t, std::size_t> piece, std::size_t bytes);
    std::map<std::size_t, std::size_t> pieces_;            ///< offset, bytes
    std::set<std::pair<std::size_t, std::size_t>> sizes_;  ///< bytes, offset
    std::size_t end_ = 0;
};

/// Buffers by the step at which they begin, and by the one at which they end.
struct Timeline {
    std::vector<std::vector<std::uint32_t>> begin, end;
    Timeline(const std::vector<Buffer>& buffers, std::size_t steps);
};

std::size_t place_along_time(std::vector<Buffer>& buffers, const Timeline& time);

/// The lowest gap that is large enough among those placed whose lifetimes meet b's.
std::size_t lowest_gap(const Buffer& b, const std::vector<const Buffer*>& placed);

std::size_t place_by_size(std::vector<Buffer>& buffers);

std::size_t most_alive(const std::vector<Buffer>& buffers, const Timeline& time);

}  // namespace detail

/// Gives each buffer an offset; no two of those alive at the same step meet. Steps are numbered below `steps`.
ArenaSize place_buffers(std::vector<Buffer>& buffers, std::size_t steps);

}  // namespace wengert::tiling

#ifndef WENGERT_COMPILED
#include "impl/arena.ipp"
#endif
