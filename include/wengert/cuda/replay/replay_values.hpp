// The values of a graph that runs on a device: where each lies.
#pragma once

#include "../../graph/plan/plan.hpp"
#include "../groups/group_kernels.hpp"

namespace wengert::detail::gpu {

class ReplayValues {
protected:
    ReplayValues(const Graph& g, std::uint8_t device)
        : graph_(g), device_(device), layouts_(tiling::layouts_of(graph_)), wants_(graph_, layouts_),
          plan_(graph_, tiling::groups_of(graph_, layouts_, wants_), {}, true), blocks_(g.size()),
          owned_(g.outputs().size()), at_(g.size())
    {}
    ~ReplayValues() = default;
    using Home = tiling::Home;

    Ref<Block> bytes_there(std::size_t n) const
    {
        return make_elsewhere(current_thread(), device_, DType::boolean, {static_cast<std::int64_t>(n)}, n);
    }
    Ref<Block> made_there(const GraphNode& n) const
    {
        return make_elsewhere(current_thread(), device_, n.dtype, n.shape, element_count(n.shape));
    }
    void hold(ValueId v, Ref<Block> b)
    {
        at_[v] = b->data;
        blocks_[v] = std::move(b);
    }

    std::byte* address(ValueId v) const { return at_[plan_.root(v)] + plan_.layouts[v].offset; }
    /// A value as a block. Those in the arena get a header when somebody wants one.
    Ref<Block> block(ValueId v)
    {
        const ValueId from = plan_.root(v);
        const GraphNode& n = graph_.node(from);
        if (!blocks_[from]) blocks_[from] = make_borrowed_elsewhere(device_, n.dtype, n.shape, at_[from]);
        if (from == v) return blocks_[v];
        return tiling::detail::header_on(blocks_[from], graph_.node(v).shape, plan_.layouts[v]);
    }

    /// The result that a value is made in, if its memory is there already.
    const Ref<Block>& owned_at(ValueId v) const
    {
        static const Ref<Block> none;
        const tiling::Placed& p = plan_.values[v];
        return p.home == Home::output ? owned_[plan_.stores[p.store].output] : none;
    }
    /// Is operand k a constant that a product is multiplied with? cuBLAS is given the number.
    bool is_factor_here(const GraphNode& n, std::size_t k) const
    {
        return n.primitive->product && n.primitive->product(n.op.get()).factor == k &&
               graph_.node(n.inputs[k]).kind == Graph::Kind::constant;
    }
    /// Bit by bit, as a loop has put it there.
    Ref<Block> taken(const GraphNode& n, const Block& from) const
    {
        Ref<Block> y = made_there(n);
        std::byte* const at =
            from.data + static_cast<std::size_t>(packed_part(n)->offset) * size_of(from.dtype);
        device_table(device_).copy(*make_borrowed_elsewhere(device_, n.dtype, n.shape, at), *y);
        return y;
    }

    /// Constants were good when the graph was traced.
    void ask(Gpu& gpu, const ReplayStep& s)
    {
        for (ValueId v : s.positions)
            ask_positions_of(gpu, graph_, v, [&](ValueId i) {
                return graph_.node(plan_.root(i)).kind == Graph::Kind::constant ? Ref<Block>() : block(i);
            });
    }
    /// The same where all positions are arguments, before anything is done with them.
    void ask_arguments(Gpu& gpu, const std::vector<ReplayStep>& steps, const std::vector<Ref<Block>>& inputs)
    {
        for (ValueId v : graph_.inputs())
            if (graph_.node(v).dtype == DType::int64) hold(v, contiguous(inputs[graph_.node(v).index]));
        for (const ReplayStep& s : steps) ask(gpu, s);
        for (ValueId v : graph_.inputs()) blocks_[v] = {};
    }

    Graph graph_;
    std::uint8_t device_;
    tiling::Layouts layouts_;
    GroupPreferences wants_;
    tiling::Plan plan_;
    // of a run
    std::vector<Ref<Block>> blocks_;
    std::vector<Ref<Block>> owned_;  ///< outputs that launches write
    std::vector<std::byte*> at_;
};

}  // namespace wengert::detail::gpu
