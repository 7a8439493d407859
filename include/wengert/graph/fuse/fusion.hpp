// Fusion: which operations run in one pass over their elements. The one fuser of all backends, which say by their
// preferences (group.hpp) what a pass of theirs may hold.
//
// Elementwise operations over the same elements (their shapes agree but for extents of 1) may share a pass unless something
// that must be complete first lies between them. Every value gets a level: along an edge between two of the same elements
// it does not fall, along every other edge that ends in an elementwise operation it rises by one. All operations of one
// level and the same elements can then run together, in any groups, without a cycle: a path that leaves a group comes back
// on a higher level only. Of those, groups are the ones connected by a value that they pass on or by an operand that they
// both read, or all of them, in the graph's order as far as there is room. Sums whose operand is made in a group are taken in its pass. Operations on rows are operations on the same
// elements where others read or make these rows beside them (row_groups.hpp).
#pragma once

#include <optional>
#include <queue>
#include <unordered_map>

#include "../ir/executable.hpp"
#include "../ir/id_table.hpp"
#include "group.hpp"
#include "row_groups.hpp"
#include "row_kernels.hpp"

namespace wengert::tiling {

namespace detail {

struct SameElements {
    Shape shape;
    std::uint16_t segment;
    bool operator==(const SameElements& o) const { return segment == o.segment && shape == o.shape; }
};
struct SameElementsHash {
    std::size_t operator()(const SameElements& s) const
    {
        std::size_t h = s.segment + 1469598103934665603U;
        for (auto e : s.shape) h = (h ^ static_cast<std::size_t>(e)) * 1099511628211U;
        return h;
    }
};

class Fusion {
public:
    Fusion(const Graph& g, const Layouts& layouts, Preferences& wants)
        : g_(g), layouts_(layouts), wants_(wants), source_(g.size()), kind_(g.size(), 0),
          level_(g.size(), -1), needed_(g.size(), false), parent_(g.size()), group_(g.size(), none)
    {}

    std::vector<Group> run()
    {
        find_needed();
        find_kinds();
        find_levels();
        sink();
        connect();
        make_groups();
        for (Group& group : groups_) find_operands(group);
        return ordered();
    }

private:
    static constexpr std::uint32_t none = ~0U;

    const GraphNode& node(ValueId v) const { return g_.node(v); }
    /// Has it a step, alone or with others?
    bool runs_itself(ValueId v) const
    {
        return node(v).kind == Graph::Kind::operation && needed_[v] && !layouts_[v].is_view(v);
    }
    /// Can it run in a pass over elements, or over rows of them?
    bool fusible(ValueId v) const { return kind_[v] != 0; }
    /// Are these two passes over the same elements?
    bool together(ValueId a, ValueId b) const { return kind_[a] != 0 && kind_[a] == kind_[b]; }
    /// Does v read what it reads as i element by element, or row by row, as it is made?
    bool passed_on(ValueId i, ValueId v) const
    {
        const ValueId u = source_[i];
        return together(u, v) && rows_->in_step(i, u, v) && (!moves(v) || wants_.in_step(i, v));
    }
    /// Does it take elements from other places?
    bool moves(ValueId v) const { return wants_.moves && is_described(*node(v).primitive); }

    void find_needed()
    {
        for (ValueId v : g_.outputs()) needed_[v] = true;
        for (const Guard& guard : g_.guards()) needed_[guard.value] = true;
        for (ValueId v = static_cast<ValueId>(g_.size()); v-- > 0;) {
            const GraphNode& n = node(v);
            if (n.kind == Graph::Kind::operation && n.primitive->compute && !layouts_[v].is_view(v))
                needed_[v] = true;
            if (needed_[v])
                for (ValueId i : n.inputs) needed_[i] = true;
        }
    }

    std::uint32_t elements_of(ValueId v)
    {
        const GraphNode& n = node(v);
        if (!runs_itself(v) || !(n.primitive->value || moves(v))) return 0;
        if (n.inputs.empty() || element_count(n.shape) == 0) return 0;
        if (n.primitive->value && n.inputs.size() > kernels::max_operands) return 0;
        return wants_.fuses(v) ? number_of(n.shape, n.segment) : 0;
    }
    std::uint32_t number_of(const Shape& shape, std::uint16_t segment)
    {
        const auto next = static_cast<std::uint32_t>(kinds_.size() + 1);
        return kinds_.try_emplace({wants_.reshapes ? squeezed(shape) : shape, segment}, next).first->second;
    }

    void find_kinds()
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
    void find_levels()
    {
        for (ValueId v = 0; v < g_.size(); ++v)
            for (ValueId i : node(v).inputs) {
                const std::int32_t before = level_[source_[i]];
                level_[v] = std::max(level_[v], before + (fusible(v) && !passed_on(i, v)));
            }
    }

    /// What is read on one higher level only, by others over the same elements, is made there: it then needs no memory.
    /// Not where that would keep more than one operand, or rows for the sake of their sum, alive in its place.
    void sink()
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
    std::size_t large_operands(ValueId v) const
    {
        std::size_t n = 0;
        for (ValueId i : node(v).inputs)
            n += node(i).kind == Graph::Kind::operation && element_count(node(i).shape) > 1;
        return n;
    }

    ValueId find(ValueId v)
    {
        while (parent_[v] != v) v = parent_[v] = parent_[parent_[v]];
        return v;
    }

    void connect()
    {
        for (ValueId v = 0; v < g_.size(); ++v) parent_[v] = v;
        IdTable readers;  // the last one of an operand on a level
        for (ValueId v = 0; v < g_.size(); ++v) {
            if (!fusible(v)) continue;
            for (ValueId i : node(v).inputs) {
                const ValueId u = source_[i];
                if (together(u, v) && level_[u] == level_[v])
                    parent_[find(v)] = find(u);
                else if (!wants_.strangers && element_count(node(u).shape) != 1)
                    meet(readers, layouts_[u].root, v);
            }
            if (wants_.strangers) meet(readers, no_value, v);
        }
    }
    /// v joins the last operation of its elements and level that has to do with `what`.
    void meet(IdTable& readers, ValueId what, ValueId v)
    {
        const std::uint64_t key = (std::uint64_t{what} << 32) ^ (std::uint64_t{kind_[v]} * 0x9e3779b9U +
                                                                 static_cast<std::uint32_t>(level_[v]));
        ValueId& last = readers[key];
        if (last != no_value && together(last, v) && level_[last] == level_[v]) parent_[find(v)] = find(last);
        last = v;
    }

    /// Operands counted while a group grows, with repetitions.
    void count_operands(ValueId v, std::uint32_t k)
    {
        for (ValueId i : node(v).inputs)
            if (group_[source_[i]] != k && element_count(node(i).shape) > 1) groups_[k].operands.push_back(i);
    }

    void make_groups()
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
    bool sums_with(ValueId v) const
    {
        const GraphNode& n = node(v);
        if (n.primitive->value || n.inputs.empty() || element_count(n.shape) == 0) return false;
        const ValueId u = source_[n.inputs[0]];
        return fusible(u) && !rows_->narrow(u) && node(u).segment == n.segment &&
               wants_.adds_up(groups_[group_[u]], v);
    }
    std::uint32_t new_group(bool fused)
    {
        groups_.emplace_back();
        groups_.back().fused = fused;
        return static_cast<std::uint32_t>(groups_.size() - 1);
    }
    void put(ValueId v, std::uint32_t k)
    {
        groups_[k].nodes.push_back(v);
        group_[v] = k;
    }

    void find_operands(Group& group)
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
    /// At other places than the group makes?
    bool reads_elsewhere(ValueId i, ValueId v) const
    {
        const ValueList* all = wants_.whole_step(v);
        return (all && all->back() != v) || (moves(v) && !wants_.in_step(i, v));
    }

    /// Values of fused groups that others read.
    void find_results(std::vector<std::uint8_t>& read_outside)
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

    /// Topological order, of those that can run the one whose last node comes first in the graph.
    std::vector<Group> ordered()
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
        const auto push = [&](std::uint32_t k) { ready.push({groups_[k].nodes.back(), k}); };
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

    const Graph& g_;
    const Layouts& layouts_;
    Preferences& wants_;
    std::vector<ValueId> source_;
    std::vector<std::uint32_t> kind_;  ///< number of the elements that a fusible value has, 0 for others
    std::vector<std::int32_t> level_;
    std::vector<bool> needed_;
    std::vector<ValueId> parent_;        ///< of the disjoint sets that `connect` makes
    std::vector<std::uint32_t> group_;   ///< by value
    std::vector<std::uint32_t> listed_;  ///< by value: the last group that has it among its operands
    std::unordered_map<SameElements, std::uint32_t, SameElementsHash> kinds_;
    std::optional<RowMembers> rows_;
    std::vector<Group> groups_;
};

}  // namespace detail

/// All operations that need a step, as groups in an order in which they can run.
inline std::vector<Group> groups_of(const Graph& g, const Layouts& layouts, Preferences& wants)
{
    return detail::Fusion(g, layouts, wants).run();
}

/// Of one group of tiles: its program and tiles stay in the caches.
struct GroupLimits {
    std::size_t nodes = 96, operands = 32;
};

/// What the default executor asks for.
class TilePreferences final : public Preferences {
public:
    explicit TilePreferences(const Graph& g) : g_(g) { reshapes = rows = true; }
    bool fuses(ValueId) override { return true; }
    bool has_room(const Group& group, ValueId) const override
    {
        return group.nodes.size() < limits_.nodes && group.operands.size() < limits_.operands;
    }
    RowRole row(ValueId v) override
    {
        const RowOperation r = row_operation(g_, g_.node(v));
        return {r.kernel != nullptr, r.reduces, r.streams ? RowRole::Joins::readers : RowRole::Joins::makers};
    }
    bool adds_up(const Group&, ValueId v) const override
    {
        detail::RowSum r;
        return detail::row_sum(g_, g_.node(v), r);
    }

private:
    const Graph& g_;
    GroupLimits limits_;
};

/// The groups of the default executor.
inline std::vector<Group> fuse(const Graph& g, const Layouts& layouts)
{
    TilePreferences wants(g);
    return groups_of(g, layouts, wants);
}

}  // namespace wengert::tiling
