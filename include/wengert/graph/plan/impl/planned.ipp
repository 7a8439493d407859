// What planned.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../planned.hpp"

namespace wengert::tiling {

WENGERT_INLINE std::size_t Planned::bytes_of(ValueId v) const
{
    const GraphNode& n = graph.node(v);
    return element_count(n.shape) * size_of(n.dtype);
}

WENGERT_INLINE bool Planned::whole(ValueId v) const
{
    return !layouts[v].strided && layouts[v].offset == 0 && bytes_of(v) == bytes_of(root(v));
}

WENGERT_INLINE void Planned::reorder(const std::vector<std::uint32_t>& order)
{
    std::vector<Task> all;
    for (std::uint32_t t : order) all.push_back(std::move(tasks[t]));
    tasks = std::move(all);
}

}  // namespace wengert::tiling
