// What simplify_shapes.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../simplify_shapes.hpp"

namespace wengert::passes::detail {

WENGERT_INLINE ValueId turn_into(Rewrite& r, GraphNode& n, Fn fn, ValueList inputs, const void* op)
{
    n.primitive = &primitive_of(fn, n.dtype);
    n.op = keep_parameters(*n.primitive, op);
    n.inputs = std::move(inputs);
    r.edited = true;
    return no_value;
}

WENGERT_INLINE ValueId make_reshape(Rewrite& r, GraphNode& n, ValueId x)
{
    const Reshape op{n.shape, r.node(x).shape};
    return turn_into(r, n, Fn::reshape, {x}, &op);
}

WENGERT_INLINE ValueId make_broadcast(Rewrite& r, GraphNode& n, ValueId x)
{
    const BroadcastTo op{n.shape, r.node(x).shape};
    return turn_into(r, n, Fn::broadcast_to, {x}, &op);
}

WENGERT_INLINE bool reshape_of_fold(Rewrite& r, GraphNode& n, ValueId x)
{
    Fold f;
    const GraphNode& folded = r.node(x);
    if (folded.segment != n.segment || !fold_of(folded, f) || f.maps() || !folded.primitive->fold->keep ||
        !r.used_once(x))
        return false;
    const Shape& from = r.node(folded.inputs[0]).shape;
    if (!(reduced_shape(*f.axes, !f.keepdims, from) == n.shape)) return false;
    const Parameters op = keep_parameters(*folded.primitive, folded.op.get());
    folded.primitive->fold->keep(const_cast<void*>(op.get()), !f.keepdims);
    n.primitive = folded.primitive;
    n.op = op;
    n.inputs = ValueList(folded.inputs);
    return r.edited = true;
}

WENGERT_INLINE ValueId simplify_reshape(Rewrite& r, GraphNode& n, Fn fn)
{
    const ValueId x = n.inputs[0];
    if (r.node(x).shape == n.shape && (fn == Fn::unit_axes || r.facts(x).has(Facts::row_major))) return x;
    const Fn inner = r.fn_for(n, x);
    if (keeps_order(inner) && (fn == Fn::reshape || inner == Fn::reshape))
        return make_reshape(r, n, r.node(x).inputs[0]);
    if (keeps_order(inner) && r.node(r.node(x).inputs[0]).shape == n.shape) return r.node(x).inputs[0];
    if (fn == Fn::reshape) reshape_of_fold(r, n, x);
    return no_value;
}

WENGERT_INLINE ValueId simplify_broadcast(Rewrite& r, GraphNode& n)
{
    const ValueId x = n.inputs[0];
    if (r.node(x).shape == n.shape) return x;
    const Fn inner = r.fn_for(n, x);
    if (inner != Fn::broadcast_to && !keeps_order(inner)) return no_value;
    const ValueId y = r.node(x).inputs[0];
    const Shape from = r.node(y).shape;
    const bool same = inner == Fn::broadcast_to || equal_but_for_leading_ones(r.node(x).shape, from) ||
                      (from.empty() && r.node(x).shape.size() > 0);
    return same && from.size() <= n.shape.size() ? make_broadcast(r, n, y) : no_value;
}

WENGERT_INLINE ValueId simplify_part(Rewrite& r, GraphNode& n, Fn fn)
{
    const ValueId x = n.inputs[0];
    if (r.fn_for(n, x) != fn || (fn == Fn::select && element_count(n.shape) == 0)) return no_value;
    const Selection outer = part_of(r.graph(), n), inner = part_of(r.graph(), r.node(x));
    Selection both(Selection::Empty{}, inner.of);
    both.start = inner.start;
    for (std::size_t k = 0; k < inner.shape.size(); ++k)
        if (inner.from[k] >= 0)
            both.start[static_cast<std::size_t>(inner.from[k])] += outer.start[k] * inner.step[k];
    for (std::size_t k = 0; k < outer.shape.size(); ++k) {
        const auto axis = static_cast<std::size_t>(outer.from[k]);
        const bool fresh = outer.from[k] < 0 || inner.from[axis] < 0;
        both.shape.push_back(outer.shape[k]);
        both.from.push_back(fresh ? -1 : inner.from[axis]);
        both.step.push_back(fresh ? 0 : outer.step[k] * inner.step[axis]);
    }
    const Transpose order{both.from};
    const Select part{std::move(both)};
    const void* op = fn == Fn::select ? static_cast<const void*>(&part) : &order;
    return turn_into(r, n, fn, {r.node(x).inputs[0]}, op);
}

WENGERT_INLINE ValueId simplify_sum(Rewrite& r, GraphNode& n)
{
    Fold f;
    fold_of(n, f);
    const ValueId x = n.inputs[0];
    for (auto a : *f.axes)
        if (r.node(x).shape[static_cast<std::size_t>(a)] != 1) return no_value;
    return r.node(x).dtype == n.dtype ? make_reshape(r, n, x) : no_value;
}

WENGERT_INLINE ValueId simplify_shape(Rewrite& r, GraphNode& n, Fn fn)
{
    switch (fn) {
    case Fn::reshape:
    case Fn::unit_axes: return simplify_reshape(r, n, fn);
    case Fn::broadcast_to: return simplify_broadcast(r, n);
    case Fn::transpose:
    case Fn::select: return simplify_part(r, n, fn);
    case Fn::sum: return simplify_sum(r, n);
    case Fn::copy:  // a result keeps memory of its own
        return !r.is_output && r.facts(n.inputs[0]).has(Facts::row_major) ? n.inputs[0] : no_value;
    default: return no_value;
    }
}

}  // namespace wengert::passes::detail
