// The fold of a node, for passes, planners and printers. None of them asks for its name.
#pragma once

#include "../../ops/describe/folds.hpp"
#include "graph.hpp"

namespace wengert {

/// False where the node is no fold.
bool fold_of(const GraphNode& n, Fold& f);
/// A sum of numbers of one type, null for all else: the axes.
const Axes* summed_axes(const Graph& g, const GraphNode& n);

/// An operand of a fold as (outer, n, inner). Unless the axes lie beside one another, they are brought to its end: `order`.
struct FoldLines {
    std::int64_t outer = 1, n = 1, inner = 1;
    bool adjacent = true;
    Axes order;  ///< all axes, those that are folded last
    FoldLines() = default;
    FoldLines(const Shape& x, const Fold& f);
};

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/fold_of.ipp"
#endif
