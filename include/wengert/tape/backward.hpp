// backward(): cotangents to the leaves of level 0, committed all together or not at all.
#pragma once

#include "tensor_impl.hpp"
#include "walk.hpp"

namespace wengert {

/// What backward() leaves behind.
struct BackwardOptions {
    bool retain = false;  ///< keep what the derivatives need, for another backward of the same
};

namespace detail {

/// Adds the swept cotangents to the gradients. Everything that can fail happens before the first gradient changes.
inline void commit_gradients(const Walk& walk)
{
    std::vector<Ref<Block>> sums;
    sums.reserve(walk.leaves().size());
    for (const auto& leaf : walk.leaves()) {
        const Ref<Block>& old = leaf->gradient;
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
            leaf.gradient = std::move(sums[i]);
        else
            add_into(*leaf.gradient, *leaf.cotangent.value);
        leaf.cotangent = {};
    }
}

inline void backward_any(const AnyTensor& y, Ref<Block> cotangent, const BackwardOptions& options,
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
                            " depends on no variable: call requires_grad(true) on one before computing it",
                        at);
    Walk walk(tape, 0, options.retain);
    std::pair<Node*, AnyTensor> root(y.node.get(), AnyTensor{std::move(cotangent), {}});
    walk.run(&root, 1);
    commit_gradients(walk);
}

}  // namespace detail

/// Adds ∂y/∂v · cotangent to the gradient of every variable v that y depends on. Throws TapeError when y depends on none
/// or has been used up, ShapeError when the shapes differ. After a throw every grad() is as before.
template <Differentiable T>
void backward(const Tensor<T>& y, const Tensor<T>& cotangent, BackwardOptions options = {},
              Site at = {__builtin_FILE(), __builtin_LINE()})
{
    if (!(y.shape("backward", at) == cotangent.shape("backward", at)))
        fail<ShapeError>("backward",
                         "the cotangent's shape " + to_string(cotangent.shape()) + " is not the result's, " +
                             to_string(y.shape()),
                         at);
    detail::backward_any(y.any(), cotangent.any().value, options, at);
}

/// The same for a scalar loss, with cotangent 1. Throws TapeError when it has more than one element.
template <Differentiable T>
void backward(const Tensor<T>& loss, BackwardOptions options = {},
              Site at = {__builtin_FILE(), __builtin_LINE()})
{
    if (loss.size() != 1)
        fail<TapeError>("backward",
                        "a loss must be a scalar, this one has shape " +
                            to_string(loss.shape("backward", at)) +
                            "; give a cotangent of that shape as second argument",
                        at);
    auto one = make_block(dtype_of<T>(), loss.shape());
    *one->template as<T>() = T(1);
    detail::backward_any(loss.any(), std::move(one), options, at);
}

}  // namespace wengert
