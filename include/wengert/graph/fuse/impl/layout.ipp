// What layout.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../layout.hpp"

namespace wengert::tiling::detail {

WENGERT_INLINE Ref<Block> header_on(const Ref<Block>& root, const Shape& shape, const Layout& l)
{
    return make_view(root, shape, l.strided ? &l.strides : nullptr,
                     l.offset / static_cast<std::int64_t>(size_of(root->dtype)));
}

WENGERT_INLINE bool sums_nothing(const Graph& g, const GraphNode& n, const Layouts& layouts)
{
    const ValueId x = n.inputs[0];
    return summed_axes(g, n) && !layouts[x].strided &&
           element_count(n.shape) == element_count(g.node(x).shape) && element_count(n.shape) > 0;
}

WENGERT_INLINE bool view_layout(const Graph& g, const GraphNode& n, const Layouts& layouts, Layout& out)
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

}  // namespace wengert::tiling::detail

namespace wengert::tiling {

WENGERT_INLINE Layouts layouts_of(const Graph& g)
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
