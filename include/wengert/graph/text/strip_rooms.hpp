// Results of a long loop of single numbers that lie inside an array, as a join puts them: they have the array's places in a room of the
// loop's memory, and leave it by runs.
#pragma once

#include <algorithm>
#include <unordered_map>

#include "../fuse/fusion.hpp"

namespace wengert::detail {

class StripRooms {
public:
    /// Of a place: the rest are bytes from the first room on.
    static constexpr std::uint32_t in_room = std::uint32_t{1} << 31;

    StripRooms(const Graph& g, const tiling::Layouts& layouts, const tiling::Group& group) : layouts_(layouts)
    {
        for (ValueId v : group.results) {
            const ValueId root = layouts[v].root;
            if (!has(v) || !begins_.emplace(root, bytes_).second) continue;
            bytes_ += (element_count(g.node(root).shape) * size_of(g.node(root).dtype) + 7) / 8 * 8;
        }
    }
    std::size_t bytes() const noexcept { return bytes_; }
    bool has(ValueId v) const { return layouts_[v].root != v; }
    std::uint32_t place(ValueId v) const
    {
        return in_room | static_cast<std::uint32_t>(begins_.at(layouts_[v].root) +
                                                    static_cast<std::size_t>(layouts_[v].offset));
    }

private:
    const tiling::Layouts& layouts_;
    std::unordered_map<ValueId, std::size_t> begins_;  ///< by array
    std::size_t bytes_ = 0;
};

/// A result on its way out of a loop's memory: argument `index` takes it from byte `from` on. Or some side by side in one room.
struct StripResult {
    std::size_t index, place, bytes;
    std::int64_t from;
};

inline std::vector<StripResult> as_runs(std::vector<StripResult> all)
{
    const auto rooms = std::stable_partition(
        all.begin(), all.end(), [](const StripResult& r) { return (r.place & StripRooms::in_room) == 0; });
    std::sort(rooms, all.end(), [](const StripResult& a, const StripResult& b) { return a.place < b.place; });
    std::vector<StripResult> runs(all.begin(), rooms);
    for (auto r = rooms; r != all.end(); ++r)
        if (r != rooms && runs.back().index == r->index && runs.back().place + runs.back().bytes == r->place)
            runs.back().bytes += r->bytes;
        else
            runs.push_back(*r);
    return runs;
}

/// Whose memory the results of a long loop lie in, in the order in which its text has them as arguments.
class ResultRoots {
public:
    ResultRoots(const tiling::Layouts& layouts, const tiling::Group& group)
    {
        for (ValueId v : group.results)
            if (at_.emplace(layouts[v].root, list.size()).second) list.push_back(layouts[v].root);
    }
    std::size_t argument(ValueId root) const { return at_.at(root); }

    ValueList list;

private:
    std::unordered_map<ValueId, std::size_t> at_;
};

}  // namespace wengert::detail
