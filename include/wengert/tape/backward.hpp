// backward(): cotangents to the leaves of level 0, committed all together or not at all.
#pragma once

#include "tensor_impl.hpp"
#include "walk.hpp"

namespace wengert {

/// Options of backward().
struct BackwardOptions {
    bool retain = false;  ///< keep what the derivatives need, for another backward of the same
};

namespace detail {

void backward_any(const AnyTensor& y, Ref<Block> cotangent, const BackwardOptions& options, const Site& at);

}  // namespace detail

/// Adds ∂y/∂v · cotangent to the gradient of every variable v that y depends on. Throws TapeError when y depends on none
/// or has been used up, ShapeError when the shapes differ. After a throw every grad() is as before.
template <Differentiable T, class D, class E>
void backward(const Tensor<T, D>& y, const Tensor<T, E>& cotangent, BackwardOptions options = {},
              Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::refuse_mixed_devices<T, D, E>();
    if (!(y.shape("backward", at) == cotangent.shape("backward", at)))
        fail<ShapeError>("backward",
                         "the cotangent's shape " + to_string(cotangent.shape()) + " is not the result's, " +
                             to_string(y.shape()),
                         at);
    detail::backward_any(y.any(), cotangent.any().value, options, at);
}

/// The same for a scalar loss, with cotangent 1. Throws TapeError when it has more than one element.
template <Differentiable T, class D>
void backward(const Tensor<T, D>& loss, BackwardOptions options = {},
              Site at = {__builtin_FILE(), __builtin_LINE()})
{
    if (loss.size() != 1)
        fail<TapeError>("backward",
                        "a loss must be a scalar, this one has shape " +
                            to_string(loss.shape("backward", at)) +
                            "; give a cotangent of that shape as second argument",
                        at);
    detail::backward_any(loss.any(), full_beside<T>(*loss.any().value, loss.shape(), T(1)), options, at);
}

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/backward.ipp"
#endif
