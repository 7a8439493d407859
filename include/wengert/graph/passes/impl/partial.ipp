// What partial.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../partial.hpp"

namespace wengert::passes::detail {

WENGERT_INLINE Cut::Cut(const Graph& g, std::size_t early_inputs, std::size_t early_outputs,
                        const CostModel& costs)
    : g_(g), inputs_(early_inputs), outputs_(early_outputs), costs_(costs), layouts_(tiling::layouts_of(g)),
      late_(g.size(), false), read_(g.size(), false), again_(g.size(), false), handed_(g.size(), false),
      result_(g.size(), false)
{
    for (std::size_t k = 0; k < outputs_; ++k)
        result_[g.outputs()[k]] = !layouts_[g.outputs()[k]].is_view(g.outputs()[k]);
}

WENGERT_INLINE std::optional<CutGraph> Cut::graphs()
{
    find_late();
    for (auto v = static_cast<ValueId>(g_.size()); v-- > 0;)
        if (read_[v] && !late_[v] && !is_there(v)) settle_view(v);
    for (ValueId v = 0; v < g_.size(); ++v)
        if (read_[v] && !late_[v] && !is_there(v) && !settle(v)) return {};
    for (const Guard& guard : g_.guards())
        if (late_[guard.value]) return {};
    CutGraph cut;
    std::vector<ValueId> in = write_early(cut);
    in.insert(in.begin(), g_.inputs().begin(), split(g_.inputs(), inputs_));
    in.insert(in.end(), split(g_.inputs(), inputs_), g_.inputs().end());
    cut.late = graph_between(g_, in, {split(g_.outputs(), outputs_), g_.outputs().end()});
    return cut;
}

WENGERT_INLINE std::vector<ValueId>::const_iterator Cut::split(const std::vector<ValueId>& all,
                                                               std::size_t at)
{
    return all.begin() + static_cast<std::ptrdiff_t>(at);
}

WENGERT_INLINE bool Cut::is_there(ValueId v) const
{
    return node(v).kind == Graph::Kind::input || node(v).kind == Graph::Kind::constant;
}

WENGERT_INLINE void Cut::find_late()
{
    for (std::size_t i = inputs_; i < g_.inputs().size(); ++i) late_[g_.inputs()[i]] = true;
    for (ValueId v = 0; v < g_.size(); ++v)
        for (ValueId i : node(v).inputs) late_[v] = late_[v] || late_[i];
    for (ValueId v = 0; v < g_.size(); ++v)
        if (late_[v])
            for (ValueId i : node(v).inputs) read_[i] = true;
    for (std::size_t k = outputs_; k < g_.outputs().size(); ++k) read_[g_.outputs()[k]] = true;
}

WENGERT_INLINE void Cut::settle_view(ValueId v)
{
    if (!layouts_[v].is_view(v)) return;
    again_[v] = true;
    for (ValueId i : node(v).inputs) read_[i] = true;
}

WENGERT_INLINE bool Cut::settle(ValueId v)
{
    if (again_[v]) return true;
    std::vector<ValueId> again;
    double work = 0;
    if (!result_[v] && gather(v, again, work) &&
        work < costs_.margin * (store_cost(node(v), costs_) + load_cost(node(v), costs_))) {
        for (ValueId w : again) (result_[w] ? handed_ : again_)[w] = true;
        return true;
    }
    return handed_[v] = is_array(v);
}

WENGERT_INLINE bool Cut::is_array(ValueId v) const
{
    return std::none_of(g_.nodes().begin(), g_.nodes().end(), [&](const GraphNode& n) {
        return n.kind == Graph::Kind::result && n.inputs[0] == v;
    });
}

WENGERT_INLINE bool Cut::gather(ValueId v, std::vector<ValueId>& again, double& work) const
{
    if (is_there(v) || handed_[v] || again_[v] || std::find(again.begin(), again.end(), v) != again.end())
        return true;
    const GraphNode& n = node(v);
    const bool view = layouts_[v].is_view(v);
    again.push_back(v);
    if (result_[v]) {  // is stored anyway
        work += load_cost(n, costs_);
        return is_array(v);
    }
    if (n.kind != Graph::Kind::operation || (!n.primitive->value && !view) || again.size() > most)
        return false;
    if (!view) work += work_cost(g_, n, costs_);
    return std::all_of(n.inputs.begin(), n.inputs.end(), [&](ValueId i) { return gather(i, again, work); });
}

WENGERT_INLINE std::vector<ValueId> Cut::write_early(CutGraph& cut) const
{
    std::vector<ValueId> out(g_.outputs().begin(), split(g_.outputs(), outputs_)), order;
    for (ValueId v = 0; v < g_.size(); ++v) {
        if (!handed_[v]) continue;
        const auto at = std::find(out.begin(), out.end(), v);
        cut.handed.push_back(static_cast<std::size_t>(at - out.begin()));
        if (at == out.end()) out.push_back(v);
        order.push_back(v);
    }
    const std::size_t shown = out.size();
    for (const Guard& guard : g_.guards()) out.push_back(guard.value);
    cut.early = with_outputs_as_guards(
        graph_between(g_, {g_.inputs().begin(), split(g_.inputs(), inputs_)}, out), shown, g_.guards());
    return order;
}

}  // namespace wengert::passes::detail

namespace wengert::passes {

WENGERT_INLINE std::optional<CutGraph> cut(const Graph& g, std::size_t early_inputs,
                                           std::size_t early_outputs, const CostModel& costs)
{
    return detail::Cut(g, early_inputs, early_outputs, costs).graphs();
}

}  // namespace wengert::passes
