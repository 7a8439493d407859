// What a node folds, as passes, planners and printers ask it: nobody asks for its name.
#pragma once

#include "../../ops/describe/folds.hpp"
#include "graph.hpp"

namespace wengert {

/// False where the node is no fold.
inline bool fold_of(const GraphNode& n, Fold& f)
{
    if (n.kind != Graph::Kind::operation || !n.primitive->fold) return false;
    n.primitive->fold->describe(n.op.get(), f);
    return true;
}
/// A sum of numbers of one type, null for all else: the axes.
inline const Axes* summed_axes(const Graph& g, const GraphNode& n)
{
    Fold f;
    const bool sums = differentiable(n.dtype) && fold_of(n, f) && n.primitive->fold->sums;
    return sums && g.node(n.inputs[0]).dtype == n.dtype ? f.axes : nullptr;
}

/// An operand of a fold as (outer, n, inner). Unless the axes lie beside one another, they are brought to its end: `order`.
struct FoldLines {
    std::int64_t outer = 1, n = 1, inner = 1;
    bool adjacent = true;
    Axes order;  ///< all axes, those that are folded last
    FoldLines() = default;
    FoldLines(const Shape& x, const Fold& f)
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
};

}  // namespace wengert
