// Derivatives of elementwise operations by their pulls on tensors, for all types of elements at once.
#pragma once

#include "../elementwise.hpp"

namespace wengert::detail {

/// (g, the values that a pull reads), as its operation on tensors takes them.
struct PullOperands {
    AnyTensor in[Primitive::max_elementwise + 2];

    PullOperands(const Pull& pull, std::size_t arity, const AnyTensor& g, const AnyTensor* x,
                 const AnyTensor& y)
    {
        in[0] = g;
        for (std::size_t k = 0; k < pull.count; ++k) {
            const std::size_t slot = pull.slots[k];
            in[k + 1] = slot < arity ? x[slot] : y;
        }
    }
};

WENGERT_INLINE void elementwise_vjp(const Node& n, const AnyTensor& g, Cotangents& out)
{
    const Primitive& p = *n.primitive;
    const AnyTensor y = saved_output(n);
    AnyTensor x[Primitive::max_elementwise], r;
    for (std::size_t i = 0; i < p.arity; ++i) x[i] = saved_input(n, i);
    for (std::size_t i = 0; i < p.arity; ++i) {
        const Pull& pull = p.pull[i];
        if (!pull.kernel || !out.wanted(i)) continue;
        if (pull.passes)
            r = g;
        else
            r = pull.primitive->expand(nullptr, PullOperands(pull, p.arity, g, x, y).in, pull.count + 1U);
        out.add(i, p.sum_to(r, n.inputs[i]->shape));
    }
}

WENGERT_INLINE AnyTensor sum_of_pulls(const Primitive& p, const AnyTensor* inputs, const AnyTensor* tangents,
                                      const AnyTensor& y)
{
    AnyTensor total, r;
    for (std::size_t i = 0; i < p.arity; ++i) {
        const Pull& pull = p.pull[i];
        const AnyTensor& dot = tangents[i];
        if (!pull.kernel || !dot.value) continue;
        if (pull.passes)
            r = dot;
        else
            r = pull.primitive->expand(nullptr, PullOperands(pull, p.arity, dot, inputs, y).in,
                                       pull.count + 1U);
        total = total.value ? p.add(total, r) : std::move(r);
    }
    return total;
}

}  // namespace wengert::detail
