// Which operations of a graph become one loop of native code: the groups of the one fuser (fuse/fusion.hpp), by what text can say.
//
// A loop holds elementwise operations of one shape whose rules are programs of numbers, whether or not they have operands in
// common, and sums over the last axes of what it makes. Stencils are loops of their own (stencils.hpp).
#pragma once

#include <unordered_set>

#include "../fuse/fusion.hpp"
#include "stencil_text.hpp"

namespace wengert::detail {

class NativeGroups final : public tiling::Preferences {
public:
    /// Operations in one loop: more of them need more registers than there are, and take the compiler long.
    static constexpr std::size_t most_steps = 160;
    /// Operations over the same elements from which on they are one loop as functions of bounded length (strip_text.hpp).
    static constexpr std::size_t least_in_strips = 1000;
    /// Operations for each operand or result from which on strips pay: each is copied to the strips or from them. An unrolled
    /// recurrence has few (ADBench's LSTM of 1024 characters: 2, and 1.65 times the time in strips).
    static constexpr std::size_t least_for_each_copy = 8;
    /// Rows of fewer elements are not worth a sum within the loop.
    static constexpr std::int64_t shortest_sum = 5;

    NativeGroups(const Graph& g, tiling::Layouts layouts, bool with_sums = true)
        : g_(g), layouts_(std::move(layouts)), with_sums_(with_sums), steps_(g.size(), 0),
          all_stencils_(g, layouts_), stencil_(g.size(), none), along_(g.size(), false)
    {
        unrelated = true;
        if (!with_sums) return;
        moves = true;
        stencils_ = all_stencils_.find();
        for (std::uint32_t k = 0; k < stencils_.size(); ++k) {
            const std::vector<ValueId>& nodes = stencils_[k].nodes;
            whole_.emplace_back(nodes.data(), nodes.size());
            for (ValueId v : nodes) stencil_[v] = k;
        }
    }

    const tiling::Layouts& layouts() const noexcept { return layouts_; }
    /// The text of a group that is a stencil, or "".
    std::string stencil_text(const tiling::Group& group, bool overwritten) const
    {
        const std::uint32_t k = stencil_[group.nodes.back()];
        return k == none ? ""
                         : StencilText(g_, layouts_, group, all_stencils_, stencils_[k], overwritten).text();
    }
    /// In an order in which they can run.
    std::vector<tiling::Group> take()
    {
        std::vector<tiling::Group> groups = tiling::groups_of(g_, layouts_, *this);
        if (!give_up_strips(groups)) return groups;
        counted_.clear(), totals_.clear();
        return tiling::groups_of(g_, layouts_, *this);
    }

    bool fuses(ValueId v) override
    {
        if (stencil_[v] != none) return false;
        const TypedProgram p = program_of(g_, layouts_, v, !with_sums_);
        if (p) steps_[v] = p.steps().size() - g_.node(v).inputs.size();
        if (p && with_sums_ && runs_along(v)) {
            along_[v] = true;
            totals_[element_count(g_.node(v).shape)] += steps_[v];
        }
        return bool(p);
    }
    /// Is it a loop as functions of bounded length?
    bool in_strips(const tiling::Group& group) const
    {
        const Counted& c = counted(group);
        return group.fused && c.along && c.steps > most_steps;
    }
    /// May it be one beside others?
    bool may_be_in_strips(const tiling::Group& group) const { return group.fused && counted(group).along; }
    bool has_room(const tiling::Group& group, ValueId v) const override
    {
        const Counted& c = counted(group);
        if (c.steps + steps_[v] > most_steps) return c.along && in_strips(v);
        const auto sum =
            std::find_if(group.nodes.begin(), group.nodes.end(), [&](ValueId u) { return is_sum(u); });
        return sum == group.nodes.end() || runs_through(group, v, summed_axes(g_, g_.node(*sum))->size());
    }
    /// Over the last axes, as the group's other sums.
    bool adds_up(const tiling::Group& group, ValueId v) const override
    {
        const GraphNode &n = g_.node(v), &x = g_.node(n.inputs[0]);
        const Axes* axes = with_sums_ ? summed_axes(g_, n) : nullptr;
        if (!axes || counted(group).steps > most_steps) return false;
        std::int64_t count = 1;
        for (std::size_t k = 0; k < axes->size(); ++k) {
            const std::size_t axis = x.shape.size() - axes->size() + k;
            if ((*axes)[k] != static_cast<std::int64_t>(axis)) return false;
            count *= x.shape[axis];
        }
        return count >= shortest_sum && std::all_of(group.nodes.begin(), group.nodes.end(), [&](ValueId u) {
                   if (!is_sum(u)) return runs_through(group, u, axes->size());
                   return *summed_axes(g_, g_.node(u)) == *axes && g_.node(u).dtype == n.dtype;
               });
    }
    /// All of a stencil is made with the last of its results.
    const ValueList* whole_step(ValueId v) const override
    {
        return stencil_[v] == none ? nullptr : &whole_[stencil_[v]];
    }

    bool in_step(ValueId i, ValueId v) const override { return begins_with(g_, g_.node(v), i); }

private:
    static constexpr std::uint32_t none = ~0U;

    /// Of a group that grows: how many of its nodes have been counted, their steps, and whether all may be in strips.
    struct Counted {
        std::size_t nodes = 0, steps = 0;
        bool along = true;
    };
    const Counted& counted(const tiling::Group& group) const
    {
        Counted& c = counted_[group.nodes[0]];
        for (; c.nodes < group.nodes.size(); ++c.nodes) {
            const ValueId v = group.nodes[c.nodes];
            c.steps += steps_[v];
            c.along = c.along && in_strips(v);
        }
        return c;
    }
    bool in_strips(ValueId v) const
    {
        const std::size_t count = element_count(g_.node(v).shape);
        return along_[v] && !without_strips_.contains(count) && totals_.at(count) >= least_in_strips;
    }
    /// Loops that would copy more than they compute are not in strips; were there any?
    bool give_up_strips(const std::vector<tiling::Group>& groups)
    {
        std::unordered_set<std::size_t> found;
        for (const tiling::Group& group : groups) {
            const std::size_t copies = group.operands.size() + group.results.size();
            if (in_strips(group) && group.nodes.size() < least_for_each_copy * copies)
                found.insert(element_count(g_.node(group.nodes[0]).shape));
        }
        without_strips_ = std::move(found);
        return !without_strips_.empty();
    }
    /// One run through memory, or one number, is what v reads of each operand.
    bool runs_along(ValueId v) const
    {
        const Shape& shape = g_.node(v).shape;
        for (ValueId i : g_.node(v).inputs) {
            const LoopSpace space(shape, {broadcast_strides(g_.node(i).shape, layouts_[i].strides, shape)},
                                  0);
            if (space.rank() != 1 || space.strides[0].back() > 1 || space.strides[0].back() < 0) return false;
        }
        return true;
    }

    bool is_sum(ValueId v) const { return !g_.node(v).primitive->value; }
    /// The `inner` last axes, which sums run over, are one run through memory for what v reads.
    bool runs_through(const tiling::Group& group, ValueId v, std::size_t inner) const
    {
        const Shape& shape = g_.node(v).shape;
        std::int64_t count = 1;
        for (std::size_t d = shape.size() - inner; d < shape.size(); ++d) count *= shape[d];
        for (ValueId i : g_.node(v).inputs) {
            if (std::find(group.nodes.begin(), group.nodes.end(), i) != group.nodes.end()) continue;
            const Strides s = broadcast_strides(g_.node(i).shape, layouts_[i].strides, shape);
            if (LoopSpace(shape, {s}, inner).extents.back() != count) return false;
        }
        return true;
    }

    const Graph& g_;
    const tiling::Layouts layouts_;
    bool with_sums_;
    std::vector<std::size_t> steps_;  ///< of the programs of what fuses
    Stencils all_stencils_;
    std::vector<std::uint32_t> stencil_;  ///< the stencil that a value is part of
    std::vector<Stencil> stencils_;
    std::vector<ValueList> whole_;                          ///< their nodes
    std::vector<bool> along_;                               ///< may it be in strips?
    std::unordered_map<std::size_t, std::size_t> totals_;   ///< steps of these, by their elements
    std::unordered_set<std::size_t> without_strips_;        ///< elements of loops that they do not pay for
    mutable std::unordered_map<ValueId, Counted> counted_;  ///< by a group's first node
};

}  // namespace wengert::detail
