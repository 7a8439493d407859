// Where a join of single numbers has room for what long loops compute: there it is made, and the join does not move it.
#pragma once

#include "../ir/index_program.hpp"
#include "../plan/plan.hpp"
#include "../text/native_groups.hpp"
#include "../../ops/index/alias.hpp"

namespace wengert::detail {

class PartsInPlace {
public:
    PartsInPlace(const Graph& g, const NativeGroups& native)
        : g_(g), layouts_(native.layouts()), native_(native), free_(g.size(), false)
    {}
    /// None where inputs are updated: the order of such a graph's steps is not yet known.
    std::vector<tiling::Inside> of(const std::vector<tiling::Group>& groups)
    {
        if (std::any_of(g_.updates().begin(), g_.updates().end(), [](ValueId k) { return k != no_value; }))
            return {};
        find_free(groups);
        std::vector<tiling::Inside> all;
        for (const tiling::Group& group : groups)
            if (!group.fused && group.nodes.size() == 1) look_at(group.nodes[0], all);
        return all;
    }

private:
    /// Numbers of long loops that one task reads, as they are, and nobody looks at otherwise. A loop's text, say, asks for a number by
    /// the value whose memory it lies in.
    void find_free(const std::vector<tiling::Group>& groups)
    {
        for (const tiling::Group& group : groups)
            if (native_.in_strips(group) && element_count(g_.node(group.nodes[0]).shape) == 1)
                for (ValueId v : group.results) free_[v] = layouts_[v].root == v;
        std::vector<const tiling::Group*> reader(g_.size(), nullptr);
        for (const tiling::Group& group : groups)
            for (ValueId o : group.operands) {
                const tiling::Group*& first = reader[layouts_[o].root];
                if (first && first != &group) take(o);
                first = &group;
            }
        for (ValueId v = 0; v < g_.size(); ++v)
            if (layouts_[v].root != v) take(v);
        for (ValueId v : g_.outputs()) take(v);
        for (const Guard& guard : g_.guards()) take(guard.value), guarded_.insert(layouts_[guard.value].root);
    }
    void take(ValueId v) { free_[layouts_[v].root] = false; }

    /// Does v consist of parts alone, of which none begins with what is there or clears it?
    bool joins(ValueId v) const
    {
        const GraphNode& n = g_.node(v);
        return layouts_[v].root == v && consists_of_numbers(n) && !guarded_.contains(v) &&
               is_described(*n.primitive) && moves_boxes(g_, n) &&
               each_program(g_, n, [](const Index& p, std::span<const ValueId>) {
                   return p.start == Index::Start::nothing && p.reads[0].how == Combine::assign;
               });
    }
    void look_at(ValueId v, std::vector<tiling::Inside>& all)
    {
        if (!joins(v)) return;
        const GraphNode& n = g_.node(v);
        each_program(g_, n, [&](const Index& p, std::span<const ValueId> operands) {
            const ValueId x = operands[p.reads[0].operand];
            Box box;
            const bool flag = n.dtype == DType::boolean;  // a byte here, and as wide as a number in a loop
            if (free_[x] && !flag && g_.node(x).dtype == n.dtype &&
                box_of(p, p.reads[0], layouts_[x].strides, box) && element_count(box.extents) == 1) {
                all.push_back({x, v, box.place * static_cast<std::int64_t>(size_of(n.dtype))});
                free_[x] = false;
            }
            return true;
        });
    }

    const Graph& g_;
    const tiling::Layouts& layouts_;
    const NativeGroups& native_;
    std::vector<bool> free_;
    std::set<ValueId> guarded_;
};

}  // namespace wengert::detail
