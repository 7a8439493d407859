// Where the tape calls hooks on saved values (hooks.hpp). With WENGERT_COMPILED only wengert::compiled compiles it.
#pragma once

#include "../../base/separate.hpp"
#include "../tape_impl.hpp"

namespace wengert {

/// Called when an operation has been recorded. The node then holds what the hooks return in place of the values.
WENGERT_INLINE void Tape::pack(Node& n)
{
    const std::shared_ptr<SavedHooks> now = hooks;
    const Restore<std::shared_ptr<SavedHooks>> without(hooks, nullptr);  // they may compute with tensors
    PackedValues p{now, std::vector<PackedValues::Value>(n.input_count + 1U)};
    bool any = false;
    const detail::Unrecorded nothing_recorded;
    // a checkpoint that runs again compares what the function does, not what hooks do
    const Restore<bool> rule(in_rule, true);
    for (std::size_t i = 0; i <= n.input_count; ++i) {
        if (!n.saved()[i]) continue;
        auto& v = p.values[i];
        v = {now->pack(Ref<Block>(n.saved()[i])), n.saved()[i]->dtype, n.saved()[i]->shape};
        any = any || v.packed;
    }
    if (!any) return;
    packed.emplace(&n, p);
    n.flags |= Node::packed;
    for (std::size_t i = 0; i <= n.input_count; ++i)
        if (p.values[i].packed) release(std::exchange(n.saved()[i], nullptr), Block::disposal);
}

/// Called before the derivative of the node is computed (Walk::run).
WENGERT_INLINE void Tape::unpack(Node& n)
{
    const PackedValues p = packed.at(&n);
    const Restore<std::shared_ptr<SavedHooks>> without(hooks, nullptr);
    const detail::Unrecorded nothing_recorded;
    const Restore<bool> rule(in_rule, true);
    for (std::size_t i = 0; i < p.values.size(); ++i) {
        const auto& v = p.values[i];
        if (!v.packed || n.saved()[i]) continue;
        Ref<Block> b = p.hooks->unpack(v.packed, v.dtype, v.shape);
        if (!b || b->dtype != v.dtype || !(b->shape == v.shape))
            fail<TapeError>("SavedTensorHooks",
                            "unpack must return what was packed: shape " + to_string(v.shape) + " of " +
                                std::string(name_of(v.dtype)),
                            n.at);
        n.saved()[i] = b.leak();
    }
}

}  // namespace wengert
