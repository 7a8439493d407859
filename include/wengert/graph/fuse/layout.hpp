// Layouts: which values of a graph are views of others, and how they lie in the others' memory. Known before anything has
// a place.
#pragma once

#include "../ir/fold_of.hpp"
#include "../ir/index_program.hpp"

namespace wengert::tiling {

/// How a value lies in memory while the graph runs. Values that are no views are contiguous (row major).
struct Layout {
    ValueId root =
        no_value;  ///< whose memory it is: the value itself, or what it is a view of, which is no view
    std::int64_t offset = 0;  ///< bytes from the root's first element to the value's
    Strides strides;          ///< in elements, one for each axis, 0 along broadcast axes
    bool strided = false;     ///< not in row-major order
    bool is_view(ValueId v) const noexcept { return root != v; }
};

using Layouts = std::vector<Layout>;  ///< by value

namespace detail {

/// Where elements would be: views are made of headers only, nothing is read.
inline std::byte* nowhere() noexcept { return reinterpret_cast<std::byte*>(std::uintptr_t{1} << 44); }

/// The header of a value as its layout says, on top of its root's.
inline Ref<Block> header_on(const Ref<Block>& root, const Shape& shape, const Layout& l)
{
    return make_view(root, shape, l.strided ? &l.strides : nullptr,
                     l.offset / static_cast<std::int64_t>(size_of(root->dtype)));
}

/// A sum over extents of 1 is its operand in another shape, to the bit.
inline bool sums_nothing(const Graph& g, const GraphNode& n, const Layouts& layouts)
{
    const ValueId x = n.inputs[0];
    return summed_axes(g, n) && !layouts[x].strided &&
           element_count(n.shape) == element_count(g.node(x).shape) && element_count(n.shape) > 0;
}

/// The layout of a view, or false: the primitive has to compute or copy.
inline bool view_layout(const Graph& g, const GraphNode& n, const Layouts& layouts, Layout& out)
{
    if (!n.primitive || n.inputs.size() != 1) return false;
    const ValueId v = n.inputs[0];
    const Layout& from = layouts[v];
    if (sums_nothing(g, n, layouts)) {
        out = {from.root, from.offset, row_major(n.shape), false};
        return true;
    }
    Alias alias;
    if (!alias_of(g, n, from.strides, alias)) return false;
    const auto size = static_cast<std::int64_t>(size_of(n.dtype));
    out = {from.root, from.offset + alias.offset * size, alias.strides, alias.strided};
    return true;
}

}  // namespace detail

inline Layouts layouts_of(const Graph& g)
{
    Layouts layouts(g.size());
    for (ValueId v = 0; v < g.size(); ++v) {
        const GraphNode& n = g.node(v);
        Layout& l = layouts[v];
        if (n.kind == Graph::Kind::operation && detail::view_layout(g, n, layouts, l)) continue;
        l.root = v;
        l.strides = row_major(n.shape);
    }
    return layouts;
}

}  // namespace wengert::tiling
