// What layout.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include <algorithm>

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

inline bool is_small_view(const Graph& g, const Layouts& layouts, ValueId v)
{
    constexpr std::int64_t times = 16, least = 1024;
    if (!layouts[v].is_view(v)) return false;
    const GraphNode &n = g.node(v), &root = g.node(layouts[v].root);
    const auto bytes = [](const GraphNode& x) {
        return static_cast<std::int64_t>(element_count(x.shape) * size_of(x.dtype));
    };
    return bytes(root) >= least && bytes(n) * times <= bytes(root);
}

/// Of an operation that gives one of its operands with a part replaced, that operand.
inline ValueId replaced_in(const Graph& g, const GraphNode& n)
{
    if (n.kind != Graph::Kind::operation || !is_described(*n.primitive) || n.primitive->part) return no_value;
    const Index program = index_of(g, n);
    return program.start == Index::Start::operand ? n.inputs[program.base] : no_value;
}

/// Small views that are read after the last task that needs all of their root, which replaces a part of it. A copy of such a view
/// lets that task write in place; otherwise it would copy the root.
inline std::vector<bool> views_to_copy(const Graph& g, const Layouts& layouts)
{
    const auto end = static_cast<ValueId>(g.size());
    std::vector<ValueId> last(g.size(), 0), last_whole(g.size(), 0);
    std::vector<bool> small(g.size());
    const auto reads = [&](ValueId i, ValueId reader) {
        (small[i] ? last[i] : last_whole[layouts[i].root]) = reader;
    };
    for (ValueId v = 0; v < end; ++v) {
        small[v] = is_small_view(g, layouts, v);
        for (const ValueId i : g.node(v).inputs)
            if (small[i] || !small[v]) reads(i, v);
    }
    for (const ValueId o : g.outputs()) reads(o, end);
    for (ValueId v = 0; v < end; ++v) {
        const ValueId root = layouts[v].root, whole = last_whole[root];
        small[v] = small[v] && v < whole && whole < last[v] && whole < end &&
                   g.node(root).kind == Graph::Kind::operation && replaced_in(g, g.node(whole)) == root;
    }
    return small;
}

inline Layouts layouts_without(const Graph& g, const std::vector<bool>& copied)
{
    Layouts layouts(g.size());
    for (ValueId v = 0; v < g.size(); ++v) {
        const GraphNode& n = g.node(v);
        Layout& l = layouts[v];
        if (n.kind == Graph::Kind::operation && !copied[v] && view_layout(g, n, layouts, l)) continue;
        l.root = v;
        l.strides = row_major(n.shape);
    }
    return layouts;
}

}  // namespace wengert::tiling::detail

namespace wengert::tiling {

WENGERT_INLINE Layouts layouts_of(const Graph& g)
{
    std::vector<bool> copied(g.size());
    Layouts layouts = detail::layouts_without(g, copied);
    copied = detail::views_to_copy(g, layouts);
    if (std::find(copied.begin(), copied.end(), true) != copied.end())
        layouts = detail::layouts_without(g, copied);
    return layouts;
}

}  // namespace wengert::tiling
