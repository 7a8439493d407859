// The bodies of backward.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../../base/separate.hpp"
#include "../backward.hpp"

namespace wengert {

namespace detail {

/// Adds the swept cotangents to the gradients. Everything that can fail happens before the first gradient changes.
inline void commit_gradients(const Walk& walk, const Site& at)
{
    for (const auto& leaf : walk.leaves())
        if (leaf->flags & Node::left)
            fail<TapeError>("backward",
                            "a variable of shape " + to_string(leaf->shape) +
                                " was written under NoGrad, or by write(), at " + to_string(leaf->at) +
                                ", after operations had been recorded of it and while another tensor or an "
                                "operation held a copy: call backward() before the write, or copy detach()",
                            at);
    std::vector<Ref<Block>> sums;
    sums.reserve(walk.leaves().size());
    for (const auto& leaf : walk.leaves()) {
        Block* const old = leaf->gradient();
        const Ref<Block>& add = leaf->cotangent.value;
        if (!old)
            sums.push_back(add->is_view() ? copy_of(*add) : add);
        else if (may_write(*old))
            sums.push_back({});
        else
            sums.push_back(sum_of(*old, *add));
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
        Node& leaf = *walk.leaves()[i];
        if (sums[i])
            leaf.set_gradient(std::move(sums[i]));
        else
            add_into(*leaf.gradient(), *leaf.cotangent.value);
        leaf.cotangent = {};
    }
}

WENGERT_INLINE void backward_any(const AnyTensor& y, Ref<Block> cotangent, const BackwardOptions& options,
                                 const Site& at)
{
    Tape& tape = Tape::current();
    if (Recorder* r = recorder())
        r->refuse("backward(): gradients of variables are state; use grad or value_and_grad", at);
    const AnyTensor* in[] = {&y};
    tape.dependence(in, 1, "backward", at);  // refuses what is another tape's
    if (!y.node || !(y.node->mask & 1))      // NoGrad says what is recorded from now on
        fail<TapeError>("backward",
                        "this tensor of shape " + to_string(y.value->shape) +
                            " depends on no variable: call requires_grad(true) on one before computing it. "
                            "Under NoGrad, and in a rule that a sweep runs, nothing is recorded",
                        at);
    cotangent = beside("backward", std::move(cotangent), *y.value, at);
    Walk walk(tape, 0, options.retain);
    std::pair<Node*, AnyTensor> root(y.node.get(), AnyTensor{std::move(cotangent), {}});
    walk.run(&root, 1);
    commit_gradients(walk, at);
    if (tape.extension && !options.retain) tape.extension->used_up(*tape.extension, walk.oldest());
}

}  // namespace detail
}  // namespace wengert
