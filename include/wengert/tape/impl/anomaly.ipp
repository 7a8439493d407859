// Where a NaN or Inf is born in an operation or in its tangent: what AnomalyMode looks for while a program runs.
#pragma once

#include "../../array/layout.hpp"
#include "../../base/separate.hpp"
#include "../recorder.hpp"
#include "../tape.hpp"

namespace wengert::detail {

/// "add" met a NaN: only what is born here is reported, so the inputs must be finite.
inline void check_born(const Primitive& p, const AnyTensor* const* in, std::size_t n, const Block& out,
                       const Site& at)
{
    if (!differentiable(out.dtype) || all_finite(out)) return;
    for (std::size_t i = 0; i < n; ++i)
        if (differentiable(in[i]->value->dtype) && !all_finite(*in[i]->value)) return;
    fail<NumericError>(
        p.name, "a NaN or Inf was born here from finite inputs, output shape " + to_string(out.shape), at);
}
/// What a rule makes on its way is not looked at: where(y == 0, 0, g a/y) has a NaN that it does not return. A sweep looks at each
/// cotangent that is delivered (Walk::deliver, Walk::differentiate), and this at a tangent; both at tangents of these, too.
inline bool looks_for_births(const Tape& tape) noexcept { return tape.anomaly && !tape.in_rule; }

inline bool finite_with_tangents(const AnyTensor& x)
{
    if (!x.value || !differentiable(x.value->dtype)) return true;
    if (!all_finite(*x.value)) return false;
    if (!x.node || !x.node->tangents) return true;
    return std::all_of(x.node->tangents->begin(), x.node->tangents->end(),
                       [](const Tangent& t) { return finite_with_tangents(t.value); });
}

inline void check_tangent(const Primitive& p, const std::vector<AnyTensor>& inputs,
                          const std::vector<AnyTensor>& dots, const AnyTensor& dot, const Site& at)
{
    const auto finite = [](const std::vector<AnyTensor>& all) {
        return std::all_of(all.begin(), all.end(), finite_with_tangents);
    };
    if (finite_with_tangents(dot) || !finite(inputs) || !finite(dots)) return;
    fail<NumericError>(
        p.name,
        "a NaN or Inf was born in the tangent of this operation, shape " + to_string(dot.value->shape), at);
}

}  // namespace wengert::detail
