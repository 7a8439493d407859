// Recompute or store: an elementwise value that other passes over the same elements read is made again in them where that
// costs less than storing it in one and loading it in the others.
//
// Which operations share a pass says tile/fusion.hpp. A value u that pass j stores and passes k₁ … kₘ load costs, by cost.hpp,
//
//     store(u) + Σₖ load(u)      as it is,
//     Σₖ (Σ work(w) + Σ load(x)) when each pass k makes it again: w are u and what it follows from in j, back to values x
//                                that are stored anyway, of which those count that k does not load as it is,
//
// less work(u) in the second case where nothing in j reads u, and without store(u) in the first where the one pass that loads u
// stores a result in its place. Values are looked at in order, so that u sees which of those that it follows from are still
// stored.
#pragma once

#include <map>

#include "../ir/cost.hpp"
#include "../tile/fusion.hpp"
#include "rewrite.hpp"

namespace wengert::passes {

namespace detail {

/// Shapes of the same elements: they differ in extents of 1 at most.
inline bool same_extents(const Shape& a, const Shape& b)
{
    std::size_t i = 0, j = 0;
    for (;; ++i, ++j) {
        while (i < a.size() && a[i] == 1) ++i;
        while (j < b.size() && b[j] == 1) ++j;
        if (i == a.size() || j == b.size()) return i == a.size() && j == b.size();
        if (a[i] != b[j]) return false;
    }
}

/// One graph, its fused groups, and which values they are to make again.
class Recompute {
public:
    Recompute(const Graph& g, const CostModel& costs, const std::vector<bool>& refused)
        : g_(g), costs_(costs), refused_(refused), layouts_(tiling::layouts_of(g)),
          groups_(tiling::fuse(g, layouts_, {})), group_(g.size(), none), stored_(g.size(), true),
          fixed_(g.size(), false), extra_(groups_.size())
    {
        for (std::uint32_t k = 0; k < groups_.size(); ++k)
            for (ValueId v : groups_[k].nodes) group_[v] = k, stored_[v] = !groups_[k].fused;
        for (const tiling::Group& group : groups_)
            for (ValueId v : group.results) stored_[v] = true;
        for (ValueId v : g.outputs()) fixed_[layouts_[v].root] = true;
        for (const Guard& guard : g.guards()) fixed_[layouts_[guard.value].root] = true;
        for (std::size_t i = 0; i < g.inputs().size(); ++i)
            if (g.updates()[i] != no_value) fixed_[g.inputs()[i]] = true;
        find_users();
    }

    /// Finds what to make again; how many values that are.
    std::size_t choose()
    {
        for (std::uint32_t j = 0; j < groups_.size(); ++j)
            if (groups_[j].fused)
                for (ValueId u : groups_[j].results)
                    if (may_go(u) && pays(u)) ++chosen_;
        return chosen_;
    }
    /// The graph that does so. `origin` gets, for each value of it, the value that it is a copy of, or no_value.
    Graph graph(std::vector<ValueId>& origin) const;

private:
    static constexpr std::uint32_t none = ~0U;
    static constexpr std::size_t most = 12;  ///< operations that are repeated for one value

    /// What a group makes again: values in order, and what it loads for them.
    struct Extra {
        std::vector<ValueId> nodes, loads;
    };
    using Extras = std::map<std::uint32_t, Extra>;

    const GraphNode& node(ValueId v) const { return g_.node(v); }
    template <class List> static bool has(const List& list, ValueId v)
    {
        return std::find(list.begin(), list.end(), v) != list.end();
    }

    void find_users()
    {
        users_.resize(g_.size());
        for (ValueId v = 0; v < g_.size(); ++v)
            for (ValueId i : node(v).inputs) users_[i].push_back(v);
    }

    /// An elementwise operation of a fused group that an executor makes where it is read: one operand at most is a result of
    /// another operation, or they would live on in its place (tile/fusion.hpp).
    bool may_repeat(ValueId w) const
    {
        const GraphNode& n = node(w);
        if (n.kind != Graph::Kind::operation || !n.primitive->value || n.index != 0 || refused_[w] ||
            group_[w] == none || !groups_[group_[w]].fused)
            return false;
        std::size_t large = 0;
        for (ValueId i : n.inputs)
            large += node(i).kind == Graph::Kind::operation && element_count(node(i).shape) > 1;
        return large <= 1;
    }
    /// Can u be left in the group that makes it? All others that read it must be elementwise over the same elements.
    bool may_go(ValueId u) const
    {
        if (fixed_[u] || store_cost(node(u), costs_) + load_cost(node(u), costs_) < costs_.least ||
            !may_repeat(u))
            return false;
        bool read = false;
        for (ValueId v : users_[u]) {
            const std::uint32_t k = group_[v];
            if (k == none || !groups_[k].fused || node(v).segment != node(u).segment) return false;
            if (k == group_[u]) continue;
            if (!node(v).primitive->value || node(v).index != 0 ||
                !same_extents(node(v).shape, node(u).shape))
                return false;
            read = true;
        }
        return read;
    }

    /// What group k has to do to make u; false when it cannot.
    bool gather(ValueId u, std::uint32_t k, Extra& x) const
    {
        std::vector<ValueId> todo = {u};
        while (!todo.empty()) {
            const ValueId w = todo.back();
            todo.pop_back();
            if (has(x.nodes, w) || has(x.loads, w) || has(extra_[k].nodes, w)) continue;
            const ValueId root = layouts_[w].root;
            if (w != u && (stored_[root] || root != w)) {
                if (fixed_[root] && node(root).kind == Graph::Kind::input) return false;  // updated in place
                x.loads.push_back(w);
                continue;
            }
            if (!may_repeat(w) || x.nodes.size() == most) return false;
            x.nodes.push_back(w);
            todo.insert(todo.end(), node(w).inputs.begin(), node(w).inputs.end());
        }
        return fits(k, x);
    }
    bool fits(std::uint32_t k, const Extra& x) const
    {
        const tiling::GroupLimits limits;
        const tiling::Group& group = groups_[k];
        return group.nodes.size() + extra_[k].nodes.size() + x.nodes.size() < limits.nodes &&
               group.operands.size() + extra_[k].loads.size() + x.loads.size() < limits.operands;
    }
    double cost_of(const Extra& x, std::uint32_t k) const
    {
        double cost = 0;
        for (ValueId w : x.nodes) cost += work_cost(g_, node(w), costs_);
        for (ValueId w : x.loads)
            if (!has(groups_[k].operands, w) && !has(extra_[k].loads, w)) cost += load_cost(node(w), costs_);
        return cost;
    }

    /// Does the only other pass that reads u store a result where u lies? Then u takes no memory of its own.
    bool has_heir(ValueId u, const Extras& readers) const
    {
        if (readers.size() != 1) return false;
        const auto& results = groups_[readers.begin()->first].results;
        return std::any_of(results.begin(), results.end(),
                           [&](ValueId v) { return bytes_of(node(v)) == bytes_of(node(u)); });
    }
    /// Notes what each reader of u makes again, where that costs less.
    bool pays(ValueId u)
    {
        Extras extras;
        double again = 0, kept = 0;
        bool used = false;
        for (ValueId v : users_[u]) {
            const std::uint32_t k = group_[v];
            used = used || k == group_[u];
            if (k == group_[u] || extras.count(k)) continue;
            if (!gather(u, k, extras[k])) return false;
            again += cost_of(extras[k], k);
            kept += load_cost(node(u), costs_);
        }
        if (!has_heir(u, extras)) kept += store_cost(node(u), costs_);
        if (!used) kept += work_cost(g_, node(u), costs_);
        if (again >= costs_.margin * kept) return false;
        leave(u, extras);
        return true;
    }
    void leave(ValueId u, const Extras& extras)
    {
        stored_[u] = false;
        for (const auto& [k, x] : extras) {
            auto &nodes = extra_[k].nodes, &loads = extra_[k].loads;
            nodes.insert(nodes.end(), x.nodes.begin(), x.nodes.end());
            loads.insert(loads.end(), x.loads.begin(), x.loads.end());
        }
    }

    const Graph& g_;
    const CostModel& costs_;
    const std::vector<bool>& refused_;  ///< by value
    const tiling::Layouts layouts_;
    const std::vector<tiling::Group> groups_;
    std::vector<std::uint32_t> group_;  ///< by value
    std::vector<bool> stored_, fixed_;  ///< by value: it has memory; it keeps it
    std::vector<ValueList> users_;
    std::vector<Extra> extra_;  ///< by group
    std::size_t chosen_ = 0;
};

inline Graph Recompute::graph(std::vector<ValueId>& origin) const
{
    std::vector<ValueId> map;
    Graph out = g_.like(map);
    std::uint32_t copies = 0;
    for (const GraphNode& n : g_.nodes())
        if (n.kind == Graph::Kind::operation) copies = std::max(copies, n.index);
    std::vector<std::map<ValueId, ValueId>> made(groups_.size());
    std::vector<std::uint32_t> number(groups_.size(), 0);
    const auto in_group = [&](std::uint32_t k, ValueId i) {
        const auto at = made[k].find(i);
        return at == made[k].end() ? map[i] : at->second;
    };
    const auto make = [&](std::uint32_t k, ValueId last) {
        std::vector<ValueId> nodes = extra_[k].nodes;
        std::sort(nodes.begin(), nodes.end());
        if (number[k] == 0) number[k] = ++copies;
        for (ValueId w : nodes) {
            if (w > last || made[k].count(w)) continue;
            GraphNode n = node(w);
            n.index = number[k];
            for (ValueId& i : n.inputs) i = in_group(k, i);
            made[k][w] = out.append(std::move(n));
            origin.resize(out.size(), no_value);
            origin.back() = w;
        }
    };
    for (ValueId v = 0; v < g_.size(); ++v) {
        if (map[v] != no_value) continue;
        GraphNode n = node(v);
        const std::uint32_t k = group_[v];
        for (ValueId& i : n.inputs) {
            if (k == none || !has(extra_[k].nodes, i) || group_[i] == k) {
                i = map[i];
                continue;
            }
            make(k, i);
            i = in_group(k, i);
        }
        map[v] = out.append(std::move(n));
    }
    out.finish(g_, map);
    origin.resize(out.size(), no_value);
    return out;
}

/// Copies that a plan of h would store after all: they bring nothing.
inline bool refuse_stored(const Graph& h, const std::vector<ValueId>& origin, std::vector<bool>& refused)
{
    bool any = false;
    const tiling::Layouts layouts = tiling::layouts_of(h);
    for (const tiling::Group& group : tiling::fuse(h, layouts, {}))
        for (ValueId v : group.results)
            if (origin[v] != no_value) any = refused[origin[v]] = true;
    return any;
}

/// Can there be a value to recompute? It is large and has several readers, none of which takes it elsewhere. This is asked
/// first, as it takes less time than finding groups.
inline bool any_candidate(const Graph& g, const CostModel& c)
{
    std::vector<std::uint32_t> readers(g.size(), 0);
    std::vector<bool> elsewhere(g.size(), false);
    for (const GraphNode& n : g.nodes()) {
        if (!n.primitive) continue;
        const bool moves = n.primitive->index || (!n.primitive->value && n.primitive->product);
        for (ValueId i : n.inputs) {
            ++readers[i];
            if (moves) elsewhere[i] = true;
        }
    }
    for (ValueId v = 0; v < g.size(); ++v) {
        const GraphNode& n = g.node(v);
        if (n.primitive && n.primitive->value && n.index == 0 && readers[v] > 1 && !elsewhere[v] &&
            store_cost(n, c) + load_cost(n, c) >= c.least)
            return true;
    }
    return false;
}

/// One round; false when nothing pays.
inline bool recompute_once(Graph& g, const CostModel& costs)
{
    std::vector<bool> refused(g.size(), false);
    for (int attempt = 0; attempt < 4; ++attempt) {
        Recompute r(g, costs, refused);
        if (r.choose() == 0) return false;
        std::vector<ValueId> origin;
        Graph h = r.graph(origin);
        if (refuse_stored(h, origin, refused)) continue;
        g = compacted(std::move(h));
        return true;
    }
    return false;
}

}  // namespace detail

/// The graph with elementwise values computed again in the passes that read them where PassOptions::costs says that this is
/// cheaper than memory. Copies have a number (GraphNode::index), by which other passes know not to merge them. Exact.
inline Graph recompute(Graph g, const PassOptions& o = {})
{
    if (!detail::any_candidate(g, o.costs)) return g;
    for (int round = 0; round < 8 && detail::recompute_once(g, o.costs); ++round) {}
    return g;
}

}  // namespace wengert::passes
