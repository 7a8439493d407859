// Group: the operations that one step of a run carries out, and what a backend asks of groups.
#pragma once

#include <algorithm>

#include "layout.hpp"

namespace wengert::tiling {

struct Group {
    ValueList nodes;     ///< in the graph's order
    ValueList operands;  ///< what it reads from outside, each once
    ValueList moved;     ///< those of them that it reads at other places than the ones it makes
    ValueList results;  ///< what is read outside, is an output, or is guarded: no views, written contiguously
    bool fused = true;  ///< false: one node, run by a library kernel
};

/// What an operation is to the rows of its operand (row_groups.hpp).
struct RowRole {
    bool along = false;    ///< it looks at each row by itself
    bool reduces = false;  ///< one element a row
    enum class Joins : std::uint8_t {
        readers,  ///< those that read its result along the rows
        makers,   ///< those that make its rows, too
        any       ///< and is such a pass by itself
    } joins = Joins::readers;
};

/// The limits and preferences of a backend. fusion.hpp sees to it that groups can run one after the other.
class Preferences {
public:
    bool reshapes = false;   ///< a view of all elements in their order is the operand, whatever its shape
    bool rows = false;       ///< operations on rows run with those on their elements (row_groups.hpp)
    bool unrelated = false;  ///< operations run together that have nothing in common but their elements
    bool moves =
        false;  ///< index programs run with others, element by element of their results: `fuses` is asked of them, too

    /// Can v, an elementwise operation or one that moves, run with others? It is asked once, in the graph's order.
    virtual bool fuses(ValueId v) = 0;
    /// Has the group room for v, one more of these?
    virtual bool has_room(const Group& group, ValueId v) const = 0;
    /// Is v, which does not fuse, a sum that is computed while the group makes its operand?
    virtual bool adds_up(const Group& group, ValueId v) const = 0;
    /// All that runs in one step with v: the last one needs the others, which fuse with nothing else. Null for v alone.
    virtual const ValueList* whole_step(ValueId) const { return nullptr; }
    /// The role of an operation in passes over rows. It is asked for only if `rows` is set.
    virtual RowRole row(ValueId) { return {}; }
    /// Does v, which moves, read i at the very places that it makes?
    virtual bool in_step(ValueId, ValueId) const { return false; }

protected:
    ~Preferences() = default;
};

/// An operation by itself.
inline Group single_group(const Graph& g, ValueId v)
{
    const GraphNode& n = g.node(v);
    Group one{{v}, {}, {}, {v}, n.primitive->value != nullptr};
    for (ValueId i : n.inputs)
        if (std::find(one.operands.begin(), one.operands.end(), i) == one.operands.end())
            one.operands.push_back(i);
    return one;
}

/// A view that shows all elements of its operand in their order is read as the operand.
inline ValueId read_as(const Graph& g, const Layouts& layouts, ValueId v)
{
    while (layouts[v].is_view(v) && !layouts[v].strided) {
        const ValueId u = g.node(v).inputs[0];
        if (layouts[u].strided || element_count(g.node(u).shape) != element_count(g.node(v).shape)) break;
        v = u;
    }
    return v;
}

}  // namespace wengert::tiling
