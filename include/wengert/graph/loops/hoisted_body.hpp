// What of a loop's body is the same in all steps is worked out before the first one.
#pragma once

#include "../fuse/layout.hpp"

namespace wengert::detail {

/// A body in two parts: constants -> `before`'s outputs, and the body with these as inputs after its own. `before` is null
/// where there is nothing to work out.
struct HoistedBody {
    std::shared_ptr<const Graph> before, step;
};

/// Operations that are the same in all steps, as inputs from number `fixed` on are, and that others or outputs read.
inline std::vector<ValueId> same_in_all_steps(const Graph& g, std::size_t fixed)
{
    const tiling::Layouts layouts = tiling::layouts_of(g);
    std::vector<bool> same(g.size(), false), needed(g.size(), false);
    for (ValueId v = 0; v < g.size(); ++v) {
        const GraphNode& n = g.node(v);
        same[v] = n.kind == Graph::Kind::input
                      ? n.index >= fixed
                      : n.kind == Graph::Kind::constant ||
                            (!n.primitive->effects && std::all_of(n.inputs.begin(), n.inputs.end(),
                                                                  [&](ValueId i) { return same[i]; }));
    }
    for (ValueId v : g.outputs()) needed[v] = true;
    std::vector<ValueId> found;
    for (auto v = static_cast<ValueId>(g.size()); v-- > 0;) {
        if (!needed[v]) continue;
        const GraphNode& n = g.node(v);
        const bool hoisted = same[v] && n.kind == Graph::Kind::operation && !layouts[v].is_view(v) &&
                             element_count(n.shape) > 0;
        if (hoisted) found.push_back(v);
        for (ValueId i : n.inputs) needed[i] = needed[i] || !hoisted;
    }
    std::reverse(found.begin(), found.end());
    return found;
}

/// `fixed`: see same_in_all_steps; more than there are inputs for what is no step of a loop.
inline HoistedBody hoisted(const std::shared_ptr<const Graph>& whole, std::size_t fixed)
{
    std::vector<ValueId> made;
    if (fixed <= whole->inputs().size() && !has_effects(*whole)) made = same_in_all_steps(*whole, fixed);
    if (made.empty()) return {nullptr, whole};
    std::vector<ValueId> inputs = whole->inputs();
    const std::vector<ValueId> constants(inputs.begin() + static_cast<std::ptrdiff_t>(fixed), inputs.end());
    inputs.insert(inputs.end(), made.begin(), made.end());
    return {std::make_shared<const Graph>(graph_between(*whole, constants, made)),
            std::make_shared<const Graph>(graph_between(*whole, inputs, whole->outputs()))};
}

}  // namespace wengert::detail
