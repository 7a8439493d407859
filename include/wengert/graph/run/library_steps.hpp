// Operations that are not fused, as steps: the kernels that eager uses, on addresses that are known, or where there is none
// such the primitive itself. Start at emit_library, below.
#pragma once

#include "call_steps.hpp"
#include "product_steps.hpp"

namespace wengert::tiling {

namespace detail {

/// A fold of whole axes, on operands that lie as its kernel reads them. A team takes lines of it.
void emit_fold(Emitter& e, ValueId v);

/// The zero-cotangent rule as an operation, in the memory of its input. If all of g is 0, elements that are not finite become 0.
template <class T> void emit_zero_rule(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    bring(e, n.inputs[0], v);
    e.step([g = e.header(n.inputs[1]).get(), out = e.header(v).get()](Run&) {
        wengert::detail::ZeroWhereOther::apply_rule<T>(*out, *out, *g);
    });
}

/// An index program, into the memory that is planned for it.
void emit_index(Emitter& e, ValueId v);

}  // namespace detail

void emit_library(Emitter& e, ValueId v);

}  // namespace wengert::tiling

#ifndef WENGERT_COMPILED
#include "impl/library_steps.ipp"
#endif
