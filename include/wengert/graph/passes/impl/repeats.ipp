// What repeats.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../repeats.hpp"

namespace wengert::passes::detail {

WENGERT_INLINE Schedule::Schedule(const Graph& g, const CostModel& costs) : graph_(&g)
{
    const tiling::Layouts layouts = tiling::layouts_of(g);
    std::vector<bool> kept(g.size(), false);  // in an output's memory
    for (ValueId v : g.outputs()) kept[layouts[v].root] = true;
    for (ValueId v = 0; v < g.size(); ++v) {
        const GraphNode& n = g.node(v);
        Occurrence s{v, layouts[v].root, 0, 0, n.inputs};
        const bool computed = n.kind == Graph::Kind::operation && s.root == v;
        if (computed) s.work = work_cost(g, n, costs);
        if (computed && !kept[v]) s.bytes = (element_count(n.shape) * size_of(n.dtype) + 63) / 64 * 64;
        occurrences_.push_back(std::move(s));
        order_.push_back(v);
    }
}

WENGERT_INLINE Schedule::Peak Schedule::peak()
{
    find_uses();
    std::vector<std::int64_t> change(order_.size() + 1, 0);
    for (std::size_t i = 0; i < order_.size(); ++i) {
        const Occurrence& s = occurrences_[order_[i]];
        if (!s.bytes) continue;
        change[i] += static_cast<std::int64_t>(s.bytes);
        change[std::min(last_[order_[i]], order_.size() - 1) + 1] -= static_cast<std::int64_t>(s.bytes);
    }
    Peak p;
    std::int64_t now = 0;
    for (std::size_t i = 0; i < order_.size(); ++i) {
        now += change[i];
        const auto bytes = static_cast<std::size_t>(now);
        if (bytes > p.bytes) p = {bytes, i, 0};
        p.positions += bytes == p.bytes;
    }
    return p;
}

WENGERT_INLINE void Schedule::apply(const Repeat& r, const Peak& p)
{
    std::vector<std::uint32_t> copy(occurrences_.size(), no_value), fresh;
    if (++segment_ == 0) segment_ = 1;  // 0 is where nothing is recomputed
    const auto repeat = [&](std::uint32_t s) {
        Occurrence again = occurrences_[s];
        again.segment = segment_;
        for (std::uint32_t& i : again.inputs)
            if (copy[i] != no_value) i = copy[i];
        const auto made = static_cast<std::uint32_t>(occurrences_.size());
        again.root = occurrences_[s].root == s                ? made
                     : copy[occurrences_[s].root] != no_value ? copy[occurrences_[s].root]
                                                              : again.root;
        copy[s] = made;
        copy.push_back(no_value);
        fresh.push_back(made);
        occurrences_.push_back(std::move(again));
    };
    std::vector<bool> let_go(occurrences_.size(), false);
    for (std::uint32_t s : r.values) let_go[s] = true;
    for (std::uint32_t s : r.again) repeat(s);
    for (std::size_t i = 0; i < p.position; ++i)  // views that are read late
        if (const std::uint32_t s = order_[i]; let_go[occurrences_[s].root] && copy[s] == no_value) repeat(s);
    for (std::size_t i = p.position + 1; i < order_.size(); ++i)
        for (std::uint32_t& in : occurrences_[order_[i]].inputs)
            if (in < let_go.size() && let_go[occurrences_[in].root] && copy[in] != no_value) in = copy[in];
    order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(r.next), fresh.begin(), fresh.end());
}

WENGERT_INLINE bool Schedule::available(std::uint32_t s, std::size_t position) const
{
    const std::uint32_t root = occurrences_[s].root;
    return occurrences_[root].bytes == 0 || (position_[root] < position && last_[root] >= position);
}

WENGERT_INLINE bool Schedule::may_repeat(std::uint32_t s, bool products) const
{
    const GraphNode& n = node(s);
    if (n.kind != Graph::Kind::operation || n.primitive->effects || n.primitive->random) return false;
    if (products || n.primitive->value || occurrences_[s].root != s) return true;
    const LoopParameters* loop = loop_parameters(n);
    return !n.primitive->product && (!loop || loop->kind == LoopParameters::Kind::cond);
}

WENGERT_INLINE Graph Schedule::graph(RematReport& report) const
{
    std::vector<ValueId> map;
    Graph out = graph_->like(map);
    std::uint16_t first = 0;
    for (const GraphNode& n : graph_->nodes()) first = std::max(first, n.segment);
    map.resize(occurrences_.size(), no_value);
    for (std::uint32_t s : order_) {
        if (map[s] != no_value) continue;
        GraphNode n = node(s);
        if (occurrences_[s].segment) n.segment = static_cast<std::uint16_t>(first + occurrences_[s].segment);
        for (std::size_t k = 0; k < n.inputs.size(); ++k) n.inputs[k] = map[occurrences_[s].inputs[k]];
        if (n.primitive && occurrences_[s].root == s) {
            (s < graph_->size() ? report.work : report.extra_work) += occurrences_[s].work;
            report.recomputed += s >= graph_->size();
        }
        map[s] = out.append(std::move(n));
    }
    out.finish(*graph_, map);
    return out;
}

WENGERT_INLINE void Schedule::find_uses()
{
    position_.assign(occurrences_.size(), 0);
    last_.assign(occurrences_.size(), 0);
    for (std::size_t i = 0; i < order_.size(); ++i) {
        position_[order_[i]] = last_[order_[i]] = i;
        for (std::uint32_t s : occurrences_[order_[i]].inputs) last_[occurrences_[s].root] = i;
        last_[occurrences_[order_[i]].root] = i;
    }
    for (const Guard& g : graph_->guards()) last_[occurrences_[g.value].root] = order_.size();
}

}  // namespace wengert::passes::detail
