// What of a loop's body is the same in all steps is worked out before the first one.
#pragma once

#include "../tile/layout.hpp"

namespace wengert::detail {

/// A body in two parts: constants -> `before`'s outputs, and the body with these as inputs after its own. `before` is null
/// where there is nothing to work out.
struct HoistedBody {
    std::shared_ptr<const Graph> before, step;
};

class Hoisting {
public:
    /// Inputs from number `fixed` on are the same in all steps.
    Hoisting(const Graph& g, std::size_t fixed) : g_(g), from_(fixed), hoisted_(g.size(), false)
    {
        const tiling::Layouts layouts = tiling::layouts_of(g);
        std::vector<bool> same(g.size(), false), needed(g.size(), false);
        for (ValueId v = 0; v < g.size(); ++v) same[v] = is_same(v, same);
        for (ValueId v : g.outputs()) needed[v] = true;
        for (ValueId v = static_cast<ValueId>(g.size()); v-- > 0;) {
            if (!needed[v]) continue;
            const GraphNode& n = g.node(v);
            hoisted_[v] = same[v] && n.kind == Graph::Kind::operation && !layouts[v].is_view(v) &&
                          element_count(n.shape) > 0;
            any_ = any_ || hoisted_[v];
            for (ValueId i : n.inputs) needed[i] = needed[i] || !hoisted_[v];
        }
    }
    HoistedBody split(const std::shared_ptr<const Graph>& whole) const
    {
        if (!any_) return {nullptr, whole};
        return {std::make_shared<const Graph>(before()), std::make_shared<const Graph>(step())};
    }

private:
    bool is_same(ValueId v, const std::vector<bool>& same) const
    {
        const GraphNode& n = g_.node(v);
        if (n.kind == Graph::Kind::input) return n.index >= from_;
        return n.kind == Graph::Kind::constant ||
               (!n.primitive->effects &&
                std::all_of(n.inputs.begin(), n.inputs.end(), [&](ValueId i) { return same[i]; }));
    }
    Graph before() const
    {
        Graph h;
        std::vector<ValueId> map(g_.size(), no_value);
        std::vector<bool> needed = hoisted_;
        for (ValueId v = static_cast<ValueId>(g_.size()); v-- > 0;)
            for (ValueId i : g_.node(v).inputs) needed[i] = needed[i] || needed[v];
        for (std::size_t i = from_; i < g_.inputs().size(); ++i) add_input(h, g_.inputs()[i], map);
        for (ValueId v = 0; v < g_.size(); ++v)
            if (needed[v] && map[v] == no_value) map[v] = h.copy(g_.node(v), map);
        for (ValueId v = 0; v < g_.size(); ++v)
            if (hoisted_[v]) h.output(map[v]);
        return h;
    }
    Graph step() const
    {
        Graph h;
        std::vector<ValueId> map(g_.size(), no_value);
        for (ValueId v : g_.inputs()) add_input(h, v, map);
        for (ValueId v = 0; v < g_.size(); ++v)
            if (hoisted_[v]) add_input(h, v, map);
        std::vector<bool> needed(g_.size(), false);
        for (ValueId v : g_.outputs()) needed[v] = true;
        for (ValueId v = static_cast<ValueId>(g_.size()); v-- > 0;)
            for (ValueId i : g_.node(v).inputs) needed[i] = needed[i] || (needed[v] && !hoisted_[v]);
        for (ValueId v = 0; v < g_.size(); ++v)
            if (needed[v] && map[v] == no_value) map[v] = h.copy(g_.node(v), map);
        for (ValueId v : g_.outputs()) h.output(map[v]);
        return h;
    }
    void add_input(Graph& h, ValueId v, std::vector<ValueId>& map) const
    {
        const GraphNode& n = g_.node(v);
        map[v] = h.input(n.dtype, n.shape, n.at);
    }

    const Graph& g_;
    std::size_t from_;
    std::vector<bool> hoisted_;
    bool any_ = false;
};

}  // namespace wengert::detail
