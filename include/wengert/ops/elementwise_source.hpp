// Derivatives of elementwise operations by their pulls on tensors, for all types of elements at once.
#pragma once

#include "elementwise.hpp"

namespace wengert::detail {

/// pullᵢ(g, x…, y), recorded where a level below asks for it.
inline AnyTensor pull_on_tensors(const Pull& pull, std::size_t arity, const AnyTensor& g, const AnyTensor* x,
                                 const AnyTensor& y)
{
    if (pull.passes) return g;
    AnyTensor in[Primitive::max_elementwise + 2] = {g};
    for (std::size_t k = 0; k < pull.count; ++k) {
        const std::size_t slot = pull.slots[k];
        in[k + 1] = slot < arity ? x[slot] : y;
    }
    return pull.primitive->expand(nullptr, in, pull.count + 1U);
}

WENGERT_INLINE void elementwise_vjp(const Node& n, const AnyTensor& g, Cotangents& out)
{
    const Primitive& p = *n.primitive;
    const AnyTensor y = saved_output(n);
    AnyTensor x[Primitive::max_elementwise];
    for (std::size_t i = 0; i < p.arity; ++i) x[i] = saved_input(n, i);
    for (std::size_t i = 0; i < p.arity; ++i)
        if (p.pull[i].kernel && out.wanted(i))
            out.add(i, p.sum_to(pull_on_tensors(p.pull[i], p.arity, g, x, y), n.inputs[i]->shape));
}

WENGERT_INLINE AnyTensor sum_of_pulls(const Primitive& p, const AnyTensor* inputs, const AnyTensor* tangents,
                                      const AnyTensor& y)
{
    AnyTensor total;
    for (std::size_t i = 0; i < p.arity; ++i) {
        if (!p.pull[i].kernel || !tangents[i].value) continue;
        AnyTensor r = pull_on_tensors(p.pull[i], p.arity, tangents[i], inputs, y);
        total = total.value ? p.add(total, r) : std::move(r);
    }
    return total;
}

}  // namespace wengert::detail
