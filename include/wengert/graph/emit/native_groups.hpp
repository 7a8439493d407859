// Which operations of a graph become one loop of native code.
//
// Every operation has a level above those of all that it reads from memory. An elementwise operation joins the loop of its
// shape that makes its operands, as long as whatever else it reads lies on lower levels; so no loop waits for itself. Sums
// over the last axes join the loop of their operand.
#pragma once

#include "part_chains.hpp"

namespace wengert::detail {

class NativeGroups {
public:
    /// Operations in one loop: more of them need more registers than there are, and take the compiler long.
    static constexpr std::size_t most_steps = 160, most_operands = 40;

    NativeGroups(const Graph& g, tiling::Layouts layouts, bool with_sums = true)
        : g_(g), layouts_(std::move(layouts)), with_sums_(with_sums), home_(g.size(), none),
          level_(g.size(), 0), needed_(needed()), chain_(g.size(), none)
    {
        if (with_sums) find_chains();
        for (ValueId v = 0; v < g.size(); ++v)
            if (needed_[v] && g.node(v).kind == Graph::Kind::operation && !layouts_[v].is_view(v)) assign(v);
    }

    const std::vector<PartChain>& chains() const noexcept { return chains_; }

    /// In an order in which they can run.
    std::vector<tiling::Group> take()
    {
        for (Loop& l : loops_)
            for (ValueId v : l.group.nodes)
                for (ValueId i : g_.node(v).inputs)
                    if (!inlined(i, v)) add_once(l.group.operands, i);
        find_results();
        return in_order();
    }

private:
    static constexpr std::uint32_t none = ~0U;
    struct Loop {
        tiling::Group group;
        Shape shape;
        std::uint32_t level = 0;
        std::size_t steps = 0;
    };

    template <class List> static void add_once(List& list, ValueId v)
    {
        if (std::find(list.begin(), list.end(), v) == list.end()) list.push_back(v);
    }
    ValueId root(ValueId v) const { return layouts_[v].root; }
    std::vector<bool> needed() const
    {
        std::vector<bool> n(g_.size(), false);
        for (ValueId v : g_.outputs()) n[v] = true;
        for (const Guard& guard : g_.guards()) n[guard.value] = true;
        for (ValueId v = static_cast<ValueId>(g_.size()); v-- > 0;) {
            const GraphNode& node = g_.node(v);
            if (node.kind == Graph::Kind::operation && node.primitive->compute && !layouts_[v].is_view(v))
                n[v] = true;
            if (n[v])
                for (ValueId i : node.inputs) n[i] = true;
        }
        return n;
    }

    /// Its elements are there while the loop of v runs: made by the same loop, at the same place.
    bool inlined(ValueId i, ValueId v) const
    {
        if (root(i) != i || home_[i] == none || home_[i] != home_[v]) return false;
        return g_.node(i).primitive->value || chain_[i] != none;
    }
    std::uint32_t level_below(ValueId v) const
    {
        std::uint32_t top = 0;
        for (ValueId i : g_.node(v).inputs) top = std::max(top, level_[root(i)]);
        return top;
    }

    /// What belongs to a chain waits for its last addition, which all of it is made with.
    void find_chains()
    {
        chains_ = PartChains(g_, layouts_).find();
        for (std::uint32_t k = 0; k < chains_.size(); ++k)
            for (ValueId v : chains_[k].nodes()) chain_[v] = k;
    }
    void assign_chain(ValueId v)
    {
        const PartChain& c = chains_[chain_[v]];
        if (v != c.links.back().node) return;
        std::uint32_t level = 0;
        for (ValueId n : c.nodes())
            for (ValueId i : g_.node(n).inputs) level = std::max(level, level_[root(i)]);
        open(v, level + 1, most_steps);
        for (ValueId n : c.nodes()) {
            home_[n] = home_[v];
            level_[n] = level + 1;
        }
        loops_.back().group.nodes = c.nodes();
    }

    void assign(ValueId v)
    {
        if (chain_[v] != none) return assign_chain(v);
        const GraphNode& n = g_.node(v);
        if (n.primitive->value && element_count(n.shape) > 0)
            if (const TypedProgram p = program_of(g_, layouts_, v, !with_sums_))
                return assign_loop(v, p.steps().size() - n.inputs.size());
        if (with_sums_ && summed_axes(g_, n) && assign_sum(v)) return;
        open(v, level_below(v) + 1, 0);
        loops_.back().group.fused = false;
        loops_.back().steps = most_steps;
    }
    void open(ValueId v, std::uint32_t level, std::size_t steps)
    {
        home_[v] = static_cast<std::uint32_t>(loops_.size());
        level_[v] = level;
        Loop l;
        l.group.nodes = {v};
        l.shape = g_.node(v).shape;
        l.level = level;
        l.steps = steps;
        loops_.push_back(std::move(l));
    }
    void join(ValueId v, std::uint32_t loop, std::size_t steps)
    {
        home_[v] = loop;
        level_[v] = loops_[loop].level;
        loops_[loop].group.nodes.push_back(v);
        loops_[loop].steps += steps;
    }
    bool has_room(const Loop& l, ValueId v, std::size_t steps) const
    {
        if (chain_[l.group.nodes[0]] != none) return false;
        return l.group.fused && l.shape == g_.node(v).shape && l.steps + steps <= most_steps;
    }
    /// Everything that v reads is made by this loop, or before it.
    bool ready(ValueId v, std::uint32_t loop) const
    {
        for (ValueId i : g_.node(v).inputs) {
            const bool same =
                root(i) == i && home_[i] == loop && g_.node(i).primitive && g_.node(i).primitive->value;
            if (!same && level_[root(i)] >= loops_[loop].level) return false;
        }
        const std::size_t inner = sums_over(loops_[loop]);
        return inner == 0 || runs_through(loops_[loop], v, loop, inner);
    }
    /// How many axes the sums at the end of a loop run over, 0 without any.
    std::size_t sums_over(const Loop& l) const
    {
        for (ValueId v : l.group.nodes)
            if (!g_.node(v).primitive->value) return summed_axes(g_, g_.node(v))->size();
        return 0;
    }
    void assign_loop(ValueId v, std::size_t steps)
    {
        std::uint32_t best = none;
        const auto consider = [&](std::uint32_t loop) {
            if (loop == none || !has_room(loops_[loop], v, steps) || !ready(v, loop)) return;
            if (best == none || loops_[loop].level < loops_[best].level) best = loop;
        };
        for (ValueId i : g_.node(v).inputs) consider(home_[root(i)]);
        if (best == none)  // beside the loops made last
            for (std::size_t k = loops_.size(); k > 0 && k + 8 > loops_.size(); --k)
                consider(static_cast<std::uint32_t>(k - 1));
        if (best == none) return open(v, level_below(v) + 1, steps);
        join(v, best, steps);
    }
    /// Over the last axes of a loop's value, which lies as the loop runs.
    bool assign_sum(ValueId v)
    {
        const GraphNode& n = g_.node(v);
        const ValueId x = n.inputs[0];
        if (root(x) != x || home_[x] == none || chain_[x] != none || !loops_[home_[x]].group.fused ||
            !differentiable(n.dtype))
            return false;
        if (g_.node(x).dtype != n.dtype || !g_.node(x).primitive->value) return false;
        const Shape& s = g_.node(x).shape;
        const Axes& axes = *summed_axes(g_, n);
        std::int64_t count = 1;
        for (std::size_t k = 0; k < axes.size(); ++k) {
            const std::size_t axis = s.size() - axes.size() + k;
            if (axes[k] != static_cast<std::int64_t>(axis)) return false;
            count *= s[axis];
        }
        const Loop& l = loops_[home_[x]];
        for (ValueId other : l.group.nodes)
            if (!g_.node(other).primitive->value &&
                (*summed_axes(g_, g_.node(other)) != axes || g_.node(other).dtype != n.dtype))
                return false;
        if (count < 5) return false;
        for (ValueId other : l.group.nodes)
            if (g_.node(other).primitive->value && !runs_through(l, other, home_[x], axes.size()))
                return false;
        join(v, home_[x], 0);
        return true;
    }
    /// The axes that sums at the end run over are one run through memory for what v reads.
    bool runs_through(const Loop& l, ValueId v, std::uint32_t loop, std::size_t inner) const
    {
        std::int64_t count = 1;
        for (std::size_t d = l.shape.size() - inner; d < l.shape.size(); ++d) count *= l.shape[d];
        for (ValueId i : g_.node(v).inputs) {
            if (root(i) == i && home_[i] == loop) continue;
            const Strides s = broadcast_strides(g_.node(i).shape, layouts_[i].strides, l.shape);
            if (LoopSpace(l.shape, {s}, inner).extents.back() != count) return false;
        }
        return true;
    }

    void find_results()
    {
        std::vector<bool> stored(g_.size(), false);
        const auto store = [&](ValueId v) {
            if (home_[root(v)] != none) stored[root(v)] = true;
        };
        for (ValueId v : g_.outputs()) store(v);
        for (const Guard& guard : g_.guards()) store(guard.value);
        for (const Loop& l : loops_)
            for (ValueId v : l.group.operands) store(v);
        for (Loop& l : loops_)
            for (ValueId v : l.group.nodes)
                if (stored[v] || !l.group.fused) l.group.results.push_back(v);
    }

    /// As early as what they read allows, and otherwise by their first operation.
    std::vector<tiling::Group> in_order()
    {
        const std::size_t count = loops_.size();
        std::vector<std::vector<std::uint32_t>> after(count);
        std::vector<std::uint32_t> waits(count, 0);
        for (std::uint32_t k = 0; k < count; ++k) {
            std::vector<ValueId> before;
            for (ValueId v : loops_[k].group.operands)
                if (home_[root(v)] != none) add_once(before, home_[root(v)]);
            for (std::uint32_t b : before) after[b].push_back(k);
            waits[k] = static_cast<std::uint32_t>(before.size());
        }
        std::set<std::uint32_t> free;
        for (std::uint32_t k = 0; k < count; ++k)
            if (waits[k] == 0) free.insert(k);
        std::vector<tiling::Group> order;
        while (!free.empty()) {
            const std::uint32_t k = *free.begin();
            free.erase(free.begin());
            for (std::uint32_t b : after[k])
                if (--waits[b] == 0) free.insert(b);
            if (!loops_[k].group.results.empty()) order.push_back(std::move(loops_[k].group));
        }
        return order;
    }

    const Graph& g_;
    const tiling::Layouts layouts_;
    bool with_sums_;
    std::vector<std::uint32_t> home_;  ///< the loop that makes a value
    std::vector<std::uint32_t> level_;
    std::vector<bool> needed_;
    std::vector<std::uint32_t> chain_;  ///< the chain that a value is part of
    std::vector<PartChain> chains_;
    std::vector<Loop> loops_;
};

}  // namespace wengert::detail
