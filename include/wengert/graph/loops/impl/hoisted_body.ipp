// What hoisted_body.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../hoisted_body.hpp"

namespace wengert::detail {

WENGERT_INLINE std::vector<ValueId> same_in_all_steps(const Graph& g, std::size_t fixed)
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

WENGERT_INLINE HoistedBody hoisted(const std::shared_ptr<const Graph>& whole, std::size_t fixed)
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
