// What fold_of.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../fold_of.hpp"

namespace wengert {

WENGERT_INLINE bool fold_of(const GraphNode& n, Fold& f)
{
    if (n.kind != Graph::Kind::operation || !n.primitive->fold) return false;
    n.primitive->fold->describe(n.op.get(), f);
    return true;
}

WENGERT_INLINE const Axes* summed_axes(const Graph& g, const GraphNode& n)
{
    Fold f;
    const bool sums = differentiable(n.dtype) && fold_of(n, f) && n.primitive->fold->sums;
    return sums && g.node(n.inputs[0]).dtype == n.dtype ? f.axes : nullptr;
}

WENGERT_INLINE FoldLines::FoldLines(const Shape& x, const Fold& f)
{
    Axes mapped;
    if (f.maps()) mapped.push_back(static_cast<std::int64_t>(f.axis));
    const Axes& axes = f.maps() ? mapped : *f.axes;
    std::size_t next = 0;
    adjacent = axes.empty() || axes.back() - axes[0] + 1 == static_cast<std::int64_t>(axes.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        const auto a = static_cast<std::int64_t>(i);
        const bool folded = next < axes.size() && axes[next] == a;
        next += folded;
        if (!folded) order.push_back(a);
        (folded ? n : !adjacent || axes.empty() || a < axes[0] ? outer : inner) *= x[i];
    }
    for (auto a : axes) order.push_back(a);
}

}  // namespace wengert
