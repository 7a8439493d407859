// Group: the operations that one step of a run carries out.
#pragma once

#include <algorithm>

#include "layout.hpp"

namespace wengert::tiling {

struct Group {
    ValueList nodes;     ///< in the graph's order
    ValueList operands;  ///< what it reads from outside, each once
    ValueList results;  ///< what is read outside, is an output, or is guarded: no views, written contiguously
    bool fused = true;  ///< false: one node, run by a library kernel
};

/// An operation by itself.
inline Group single_group(const Graph& g, ValueId v)
{
    const GraphNode& n = g.node(v);
    Group one{{v}, {}, {v}, n.primitive->value != nullptr};
    for (ValueId i : n.inputs)
        if (std::find(one.operands.begin(), one.operands.end(), i) == one.operands.end())
            one.operands.push_back(i);
    return one;
}

/// Every operation that is no view as a group of its own, in the graph's order; those that nothing needs are left out.
inline std::vector<Group> single_groups(const Graph& g, const Layouts& layouts)
{
    std::vector<bool> needed(g.size(), false);
    for (ValueId v : g.outputs()) needed[v] = true;
    for (const Guard& guard : g.guards()) needed[guard.value] = true;
    for (ValueId v = static_cast<ValueId>(g.size()); v-- > 0;) {
        const GraphNode& n = g.node(v);
        if (n.kind == Graph::Kind::operation && n.primitive->compute && !layouts[v].is_view(v))
            needed[v] = true;
        if (needed[v])
            for (ValueId i : n.inputs) needed[i] = true;
    }
    std::vector<Group> groups;
    for (ValueId v = 0; v < g.size(); ++v) {
        const GraphNode& n = g.node(v);
        if (n.kind != Graph::Kind::operation || !needed[v] || layouts[v].is_view(v)) continue;
        groups.push_back(single_group(g, v));
    }
    return groups;
}

}  // namespace wengert::tiling
