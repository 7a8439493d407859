// Algebra of shapes: views of views collapsed, moves that move nothing removed.
#pragma once

#include "rewrite.hpp"

namespace wengert::passes::detail {

template <class Op> void set_parameters(Rewrite& r, GraphNode& n, const Op& op, ValueId input)
{
    n.op = keep_parameters(*n.primitive, &op);
    n.inputs = {input};
    r.edited = true;
}

/// A descriptor of a structural primitive for any element type.
template <class Op> const Primitive& structural_for(DType d)
{
    const Primitive* p = nullptr;
    with_dtype(d, [&]<class T>() { p = &structural_primitive<Op, xsimd::default_arch, T, T>; });
    return *p;
}

/// Does fn show the elements of its operand in their order?
inline bool keeps_order(Fn fn) noexcept
{
    return fn == Fn::reshape || fn == Fn::expand_dims || fn == Fn::squeeze;
}

/// A sum with the other choice of keepdims has the shape of this reshape: Σ itself can have it.
inline bool reshape_of_sum(Rewrite& r, GraphNode& n, ValueId x)
{
    if (r.fn_for(n, x) != Fn::sum || !r.used_once(x)) return false;
    Sum op = parameters_of<Sum>(r.node(x));
    op.keepdims = !op.keepdims;
    Shape shape = op.kept();
    if (!op.keepdims) {
        shape = Shape();
        for (std::size_t i = 0, next = 0; i < op.from.size(); ++i)
            if (next < op.axes.size() && op.axes[next] == static_cast<std::int64_t>(i))
                ++next;
            else
                shape.push_back(op.from[i]);
    }
    if (!(shape == n.shape)) return false;
    n.primitive = r.node(x).primitive;
    set_parameters(r, n, op, r.node(x).inputs[0]);
    return true;
}

/// reshape(reshape(x)) is one reshape, or x; also with axes of extent 1 put in or taken out between.
inline ValueId simplify_reshape(Rewrite& r, GraphNode& n, Fn fn)
{
    const ValueId x = n.inputs[0];
    if (r.node(x).shape == n.shape && r.facts(x).has(Facts::row_major)) return x;
    const Fn inner = r.fn_for(n, x);
    if (keeps_order(inner) && (fn == Fn::reshape || inner == Fn::reshape)) {
        const ValueId y = r.node(x).inputs[0];
        n.primitive = &structural_for<Reshape>(n.dtype);
        set_parameters(r, n, Reshape{n.shape, r.node(y).shape}, y);
        return no_value;
    }
    if (keeps_order(inner) && r.node(r.node(x).inputs[0]).shape == n.shape) return r.node(x).inputs[0];
    if (fn == Fn::reshape) reshape_of_sum(r, n, x);
    return no_value;
}

inline ValueId simplify_transpose(Rewrite& r, GraphNode& n)
{
    const Axes& perm = parameters_of<Transpose>(n).perm;
    bool moves = false;
    for (std::size_t k = 0; k < perm.size(); ++k) moves = moves || perm[k] != static_cast<std::int64_t>(k);
    if (!moves) return n.inputs[0];
    const ValueId x = n.inputs[0];
    if (r.fn_for(n, x) != Fn::transpose) return no_value;
    const Axes& inner = parameters_of<Transpose>(r.node(x)).perm;
    Axes both = Axes::filled(perm.size());
    for (std::size_t k = 0; k < perm.size(); ++k) both[k] = inner[static_cast<std::size_t>(perm[k])];
    set_parameters(r, n, Transpose{both}, r.node(x).inputs[0]);
    return no_value;
}

/// Axes of extent 1 in front change nothing for what is broadcast.
inline ValueId simplify_broadcast(Rewrite& r, GraphNode& n)
{
    const ValueId x = n.inputs[0];
    if (r.node(x).shape == n.shape) return x;
    const Fn inner = r.fn_for(n, x);
    if (inner != Fn::broadcast_to && !keeps_order(inner)) return no_value;
    const ValueId y = r.node(x).inputs[0];
    const Shape from = r.node(y).shape;
    const bool same = inner == Fn::broadcast_to || equal_but_for_leading_ones(r.node(x).shape, from) ||
                      (from.empty() && r.node(x).shape.size() > 0);
    if (same && from.size() <= n.shape.size()) set_parameters(r, n, BroadcastTo{n.shape, from}, y);
    return no_value;
}

inline bool selects_everything(const Selection& s)
{
    if (!s.everything()) return false;
    for (std::size_t k = 0; k < s.shape.size(); ++k)
        if (s.start[k] != 0 || s.from[k] != static_cast<std::int64_t>(k) || s.step[k] != 1) return false;
    return true;
}

/// A part of a part is a part.
inline ValueId simplify_select(Rewrite& r, GraphNode& n)
{
    const Selection& outer = parameters_of<Select>(n).part;
    const ValueId x = n.inputs[0];
    if (selects_everything(outer)) return x;
    if (r.fn_for(n, x) != Fn::select || element_count(n.shape) == 0) return no_value;
    const Selection& inner = parameters_of<Select>(r.node(x)).part;
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
    set_parameters(r, n, Select{both}, r.node(x).inputs[0]);
    return no_value;
}

/// A sum over axes of extent 1 is its operand: sums of one number are not begun with 0.
inline ValueId simplify_sum(Rewrite& r, GraphNode& n)
{
    const Sum& op = parameters_of<Sum>(n);
    const ValueId x = n.inputs[0];
    for (auto a : op.axes)
        if (op.from[static_cast<std::size_t>(a)] != 1) return no_value;
    if (r.node(x).dtype != n.dtype) return no_value;
    n.primitive = &structural_for<Reshape>(n.dtype);
    set_parameters(r, n, Reshape{n.shape, r.node(x).shape}, x);
    return no_value;
}

inline ValueId simplify_shape(Rewrite& r, GraphNode& n, Fn fn)
{
    switch (fn) {
    case Fn::reshape:
    case Fn::expand_dims:
    case Fn::squeeze: return simplify_reshape(r, n, fn);
    case Fn::transpose: return simplify_transpose(r, n);
    case Fn::broadcast_to: return simplify_broadcast(r, n);
    case Fn::select: return simplify_select(r, n);
    case Fn::sum: return simplify_sum(r, n);
    case Fn::copy:  // a result keeps memory of its own
        return !r.is_output && r.facts(n.inputs[0]).has(Facts::row_major) ? n.inputs[0] : no_value;
    default: return no_value;
    }
}

}  // namespace wengert::passes::detail
