// What fusion.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../fusion.hpp"

namespace wengert::tiling::detail {

WENGERT_INLINE std::size_t SameElementsHash::operator()(const SameElements& s) const
{
    std::size_t h = s.segment + 1469598103934665603U;
    for (auto e : s.shape) h = (h ^ static_cast<std::size_t>(e)) * 1099511628211U;
    return h;
}

WENGERT_INLINE std::vector<Group> Fusion::run()
{
    needed_ = needed_values(g_, layouts_);
    find_kinds();
    find_levels();
    sink();
    connect();
    make_groups();
    for (Group& group : groups_) find_operands(group);
    return ordered();
}

WENGERT_INLINE bool Fusion::runs_itself(ValueId v) const
{
    return node(v).kind == Graph::Kind::operation && needed_[v] && !layouts_[v].is_view(v);
}

WENGERT_INLINE bool Fusion::passed_on(ValueId i, ValueId v) const
{
    const ValueId u = source_[i];
    return together(u, v) && rows_->in_step(i, u, v) && (!moves(v) || wants_.in_step(i, v));
}

WENGERT_INLINE std::uint32_t Fusion::elements_of(ValueId v)
{
    const GraphNode& n = node(v);
    if (!runs_itself(v) || !(n.primitive->value || moves(v))) return 0;
    if (n.inputs.empty() || element_count(n.shape) == 0) return 0;
    if (n.primitive->value && n.inputs.size() > kernels::max_operands) return 0;
    return wants_.fuses(v) ? number_of(n.shape, n.segment) : 0;
}

WENGERT_INLINE std::uint32_t Fusion::number_of(const Shape& shape, std::uint16_t segment)
{
    const auto next = static_cast<std::uint32_t>(kinds_.size() + 1);
    return kinds_.try_emplace({wants_.reshapes ? squeezed(shape) : shape, segment}, next).first->second;
}

WENGERT_INLINE void Fusion::find_kinds()
{
    std::vector<bool> runs(g_.size(), false);
    for (ValueId v = 0; v < g_.size(); ++v) {
        source_[v] = wants_.reshapes ? read_as(g_, layouts_, v) : v;
        kind_[v] = elements_of(v);
        runs[v] = wants_.rows && runs_itself(v);
    }
    rows_.emplace(
        g_, wants_, runs, kind_,
        [&](const Shape& shape, std::uint16_t segment) { return number_of(shape, segment); },
        [&](ValueId v) { return source_[v]; });
}

WENGERT_INLINE void Fusion::find_levels()
{
    for (bool risen = true; risen;) {  // what reads the first value of a step may stand before its last
        risen = false;
        for (ValueId v = 0; v < g_.size(); ++v) {
            for (ValueId i : node(v).inputs) {
                const std::int32_t before = level_[source_[i]];
                level_[v] = std::max(level_[v], before + (fusible(v) && !passed_on(i, v)));
            }
            risen = raise_step(v) || risen;
        }
    }
}

/// What is made at once has one level. Values of a step that fuses need one another: each has its own level.
WENGERT_INLINE bool Fusion::raise_step(ValueId last)
{
    const ValueList* const all = wants_.whole_step(last);
    if (!all || all->back() != last || fusible(last)) return false;
    std::int32_t level = level_[last];
    for (ValueId u : *all) level = std::max(level, level_[u]);
    bool risen = false;
    for (ValueId u : *all) risen = std::exchange(level_[u], level) != level || risen;
    return risen;
}

WENGERT_INLINE void Fusion::sink()
{
    std::vector<std::int32_t> latest(g_.size(), std::numeric_limits<std::int32_t>::max());
    std::vector<std::uint8_t> elsewhere(g_.size(), 0);
    for (ValueId v : g_.outputs()) elsewhere[source_[v]] = 1;
    for (const Guard& guard : g_.guards()) elsewhere[source_[guard.value]] = 1;
    for (ValueId v = static_cast<ValueId>(g_.size()); v-- > 0;) {
        if (!needed_[v]) continue;
        if (source_[v] != v) continue;
        if (fusible(v) && !rows_->narrow(v) && !elsewhere[v] &&
            latest[v] != std::numeric_limits<std::int32_t>::max() && large_operands(v) <= 1)
            level_[v] = std::max(level_[v], latest[v]);
        for (ValueId i : node(v).inputs) {
            const ValueId u = source_[i];
            latest[u] = std::min(latest[u], level_[v]);
            if (!passed_on(i, v)) elsewhere[u] = 1;
        }
    }
}

WENGERT_INLINE std::size_t Fusion::large_operands(ValueId v) const
{
    std::size_t n = 0;
    for (ValueId i : node(v).inputs)
        n += node(i).kind == Graph::Kind::operation && element_count(node(i).shape) > 1;
    return n;
}

WENGERT_INLINE ValueId Fusion::find(ValueId v)
{
    while (parent_[v] != v) v = parent_[v] = parent_[parent_[v]];
    return v;
}

WENGERT_INLINE void Fusion::connect()
{
    for (ValueId v = 0; v < g_.size(); ++v) parent_[v] = v;
    IdTable readers;  // the last one of an operand on a level
    for (ValueId v = 0; v < g_.size(); ++v) {
        if (!fusible(v)) continue;
        for (ValueId i : node(v).inputs) {
            const ValueId u = source_[i];
            if (together(u, v) && level_[u] == level_[v])
                parent_[find(v)] = find(u);
            else if (!wants_.unrelated && element_count(node(u).shape) != 1)
                meet(readers, layouts_[u].root, v);
        }
        if (wants_.unrelated) meet(readers, no_value, v);
    }
}

WENGERT_INLINE void Fusion::meet(IdTable& readers, ValueId what, ValueId v)
{
    const std::uint64_t key = (std::uint64_t{what} << 32) ^
                              (std::uint64_t{kind_[v]} * 0x9e3779b9U + static_cast<std::uint32_t>(level_[v]));
    ValueId& last = readers[key];
    if (last != no_value && together(last, v) && level_[last] == level_[v]) parent_[find(v)] = find(last);
    last = v;
}

WENGERT_INLINE void Fusion::count_operands(ValueId v, std::uint32_t k)
{
    for (ValueId i : node(v).inputs)
        if (group_[source_[i]] != k && element_count(node(i).shape) > 1) groups_[k].operands.push_back(i);
}

WENGERT_INLINE void Fusion::make_groups()
{
    std::vector<std::uint32_t> open(g_.size(), none);
    for (ValueId v = 0; v < g_.size(); ++v) {
        if (!runs_itself(v)) continue;
        if (fusible(v)) {
            std::uint32_t& k = open[find(v)];
            if (k == none || !wants_.has_room(groups_[k], v)) k = new_group(true);
            if (const ValueList* all = wants_.whole_step(v)) {
                for (ValueId u : *all) put(u, k);
                for (ValueId u : *all) count_operands(u, k);
            } else {
                put(v, k);
                count_operands(v, k);
            }
        } else if (const ValueList* all = wants_.whole_step(v)) {
            if (all->back() != v) continue;
            const std::uint32_t k = new_group(true);
            for (ValueId u : *all) put(u, k);
        } else if (sums_with(v)) {
            put(v, group_[source_[node(v).inputs[0]]]);
        } else {
            put(v, new_group(false));
        }
    }
}

WENGERT_INLINE bool Fusion::sums_with(ValueId v) const
{
    const GraphNode& n = node(v);
    if (n.primitive->value || n.inputs.empty() || element_count(n.shape) == 0) return false;
    const ValueId u = source_[n.inputs[0]];
    return fusible(u) && !rows_->narrow(u) && node(u).segment == n.segment &&
           wants_.adds_up(groups_[group_[u]], v);
}

WENGERT_INLINE std::uint32_t Fusion::new_group(bool fused)
{
    groups_.emplace_back();
    groups_.back().fused = fused;
    return static_cast<std::uint32_t>(groups_.size() - 1);
}

WENGERT_INLINE void Fusion::put(ValueId v, std::uint32_t k)
{
    groups_[k].nodes.push_back(v);
    group_[v] = k;
}

WENGERT_INLINE void Fusion::find_operands(Group& group)
{
    group.operands.clear();
    const std::uint32_t k = group_[group.nodes[0]];
    const auto add = [](ValueList& list, ValueId i) {
        if (std::find(list.begin(), list.end(), i) == list.end()) list.push_back(i);
    };
    listed_.resize(g_.size(), none);
    for (ValueId v : group.nodes)
        for (ValueId i : node(v).inputs) {
            if (group.fused && group_[source_[i]] == k) continue;
            if (std::exchange(listed_[i], k) != k) group.operands.push_back(i);
            if (group.fused && wants_.moves && reads_elsewhere(i, v)) add(group.moved, i);
        }
    if (!group.fused) group.results = group.nodes;
}

WENGERT_INLINE bool Fusion::reads_elsewhere(ValueId i, ValueId v) const
{
    const ValueList* all = wants_.whole_step(v);
    return (all && all->back() != v) || (moves(v) && !wants_.in_step(i, v));
}

WENGERT_INLINE void Fusion::find_results(std::vector<std::uint8_t>& read_outside)
{
    for (ValueId v : g_.outputs()) read_outside[layouts_[v].root] = 1;
    for (const Guard& guard : g_.guards()) read_outside[layouts_[guard.value].root] = 1;
    for (Group& group : groups_)
        for (ValueId i : group.operands) read_outside[layouts_[i].root] = 1;
    for (Group& group : groups_)
        if (group.fused)
            for (ValueId v : group.nodes)
                if (read_outside[v]) group.results.push_back(v);
}

WENGERT_INLINE std::vector<Group> Fusion::ordered()
{
    std::vector<std::uint8_t> read_outside(g_.size(), 0);
    find_results(read_outside);
    std::vector<std::uint32_t> waits(groups_.size(), 0);
    std::vector<ValueList> next(groups_.size());
    for (std::uint32_t k = 0; k < groups_.size(); ++k)
        for (ValueId i : groups_[k].operands) {
            const std::uint32_t from = group_[layouts_[i].root];
            if (from == none || from == k) continue;
            next[from].push_back(k);
            ++waits[k];
        }
    using Entry = std::pair<ValueId, std::uint32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    // Operations with effects read the one before them, so they keep their order. What begins is not kept waiting by what can
    // run, too, and what waits lets all of that go first.
    const auto turn = [&](ValueId v) {
        const Primitive* const p = node(v).primitive;
        return p && p->begins ? 0 : p && p->waits ? no_value : v;
    };
    const auto push = [&](std::uint32_t k) { ready.push({turn(groups_[k].nodes.back()), k}); };
    for (std::uint32_t k = 0; k < groups_.size(); ++k)
        if (waits[k] == 0) push(k);
    std::vector<Group> out;
    out.reserve(groups_.size());
    while (!ready.empty()) {
        const std::uint32_t k = ready.top().second;
        ready.pop();
        for (std::uint32_t j : next[k])
            if (--waits[j] == 0) push(j);
        if (!groups_[k].results.empty()) out.push_back(std::move(groups_[k]));
    }
    return out;
}

}  // namespace wengert::tiling::detail

namespace wengert::tiling {

WENGERT_INLINE std::vector<bool> needed_values(const Graph& g, const Layouts& layouts)
{
    std::vector<bool> needed(g.size(), false);
    for (ValueId v : g.outputs()) needed[v] = true;
    for (const Guard& guard : g.guards()) needed[guard.value] = true;
    for (ValueId v = static_cast<ValueId>(g.size()); v-- > 0;) {
        const GraphNode& n = g.node(v);
        if (n.kind == Graph::Kind::operation && n.primitive->compute && !layouts[v].is_view(v))
            needed[v] = true;
        if (needed[v])
            for (ValueId i : n.inputs) needed[i] = true;
    }
    return needed;
}

WENGERT_INLINE std::vector<Group> groups_of(const Graph& g, const Layouts& layouts, Preferences& wants)
{
    return detail::Fusion(g, layouts, wants).run();
}

WENGERT_INLINE bool TilePreferences::has_room(const Group& group, ValueId) const
{
    return group.nodes.size() < limits_.nodes && group.operands.size() < limits_.operands;
}

WENGERT_INLINE RowRole TilePreferences::row(ValueId v)
{
    const RowOperation r = row_operation(g_, g_.node(v));
    return {r.kernel != nullptr, r.reduces, r.streams ? RowRole::Joins::readers : RowRole::Joins::makers};
}

WENGERT_INLINE bool TilePreferences::adds_up(const Group&, ValueId v) const
{
    detail::RowSum r;
    return detail::row_sum(g_, g_.node(v), r);
}

WENGERT_INLINE std::vector<Group> fuse(const Graph& g, const Layouts& layouts)
{
    TilePreferences wants(g);
    return groups_of(g, layouts, wants);
}

}  // namespace wengert::tiling
