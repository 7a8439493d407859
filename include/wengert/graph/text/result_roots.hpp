// Where the results of a long loop lie: in memory of their own, or, single numbers, inside an array, as a join puts them.
#pragma once

#include <unordered_map>

#include "../fuse/fusion.hpp"

namespace wengert::detail {

/// Whose memory the results of a long loop lie in, in the order in which its text has them as arguments.
class ResultRoots {
public:
    ResultRoots(const tiling::Layouts& layouts, const tiling::Group& group) : layouts_(layouts)
    {
        for (ValueId v : group.results)
            if (at_.emplace(layouts[v].root, list.size()).second) list.push_back(layouts[v].root);
    }
    std::size_t argument(ValueId v) const { return at_.at(layouts_[v].root); }
    bool in_array(ValueId v) const { return layouts_[v].root != v; }
    /// Bytes from the begin of the array.
    std::int64_t offset(ValueId v) const { return layouts_[v].offset; }
    bool side_by_side(ValueId a, ValueId b) const
    {
        return in_array(a) && in_array(b) && layouts_[a].root == layouts_[b].root &&
               offset(a) + static_cast<std::int64_t>(sizeof(double)) == offset(b);
    }

    ValueList list;

private:
    const tiling::Layouts& layouts_;
    std::unordered_map<ValueId, std::size_t> at_;
};

}  // namespace wengert::detail
