// What gradients.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../gradients.hpp"

namespace wengert::passes::detail {

WENGERT_INLINE Unbroadcast unbroadcast(const Rewrite& r, const GraphNode& n, ValueId v)
{
    if (!r.node(v).shape.empty() && r.facts(v).one) return {v, true};
    for (;;) {
        const Fn fn = r.fn_for(n, v);
        if (fn != Fn::broadcast_to && !keeps_order(fn)) return {v, false};
        const ValueId x = r.node(v).inputs[0];
        const Shape &from = r.node(x).shape, &to = r.node(v).shape;
        const bool one = from.empty() && element_count(to) == 1;
        const bool fewer = from.size() <= to.size() && equal_but_for_leading_ones(from, to);
        if (fn != Fn::broadcast_to && !one && !fewer) return {v, false};
        v = x;
    }
}

WENGERT_INLINE Shape Operands::shape(const Rewrite& r) const
{
    Shape s;
    for (const Unbroadcast& p : all)
        if (!p.number) s = broadcast_shapes("optimize", s, r.node(p.v).shape, {});
    return s;
}

WENGERT_INLINE std::vector<ValueId> Operands::values(Rewrite& r, const Site& at) const
{
    std::vector<ValueId> v;
    for (const Unbroadcast& p : all) v.push_back(p.number ? r.literal(p.v, at) : p.v);
    return v;
}

WENGERT_INLINE ValueId push_down(Rewrite& r, const GraphNode& n, std::vector<ValueId> inputs,
                                 const Shape& small)
{
    GraphNode f = n, b = n;
    f.shape = small;
    f.inputs = std::move(inputs);
    const ValueId v = r.add_inner(std::move(f));
    make_broadcast(r, b, v);
    return r.add(std::move(b));
}

WENGERT_INLINE Operands kept_shape(const Rewrite& r, const GraphNode& n, const Operands& small)
{
    Operands some;
    for (ValueId v : n.inputs) some.all.push_back({v, false});
    for (std::size_t k = 0; k < small.all.size(); ++k) {
        const Unbroadcast before = std::exchange(some.all[k], small.all[k]);
        if (!(some.shape(r) == n.shape)) some.all[k] = before;
    }
    return some;
}

WENGERT_INLINE ValueId drop_broadcasts(Rewrite& r, GraphNode& n)
{
    bool differs = false;
    for (ValueId v : n.inputs) {
        const Unbroadcast p = unbroadcast(r, n, v);
        differs = differs || p.v != v || p.number;
    }
    if (!differs) return no_value;
    Operands small;
    for (ValueId v : n.inputs) small.all.push_back(unbroadcast(r, n, v));
    const Shape all = small.shape(r);
    if (element_count(all) < element_count(n.shape) && !r.is_output)
        return push_down(r, n, small.values(r, n.at), all);
    const Operands some = all == n.shape ? small : kept_shape(r, n, small);
    for (std::size_t k = 0; k < some.all.size(); ++k)
        if (some.all[k].number || some.all[k].v != n.inputs[k]) r.edited = true;
    if (!r.edited) return no_value;
    n.inputs = some.values(r, n.at);
    r.edited = true;
    return no_value;
}

WENGERT_INLINE bool is_nonzero(const Rewrite& r, ValueId v)
{
    if (!r.facts(v).one) return false;
    const double x = number(*r.facts(v).one);
    return x != 0 && x == x;
}

WENGERT_INLINE bool finite_number(const Rewrite& r, ValueId v)
{
    return r.facts(v).one && std::isfinite(number(*r.facts(v).one));
}

WENGERT_INLINE ValueId unguarded(Rewrite& r, GraphNode& n, Fn fn)
{
    const ValueId g = n.inputs[0], b = n.inputs[1];
    if (fn == Fn::guarded_multiply && (is_nonzero(r, g) || finite_number(r, b)))
        return turn_into(r, n, Fn::multiply, {g, b});
    if (fn == Fn::guarded_divide && (is_nonzero(r, g) || is_nonzero(r, b)))
        return turn_into(r, n, Fn::divide, {g, b});
    if (fn == Fn::guarded_square && r.is(g, 1) && r.node(b).shape == n.shape)
        return turn_into(r, n, Fn::multiply, {number_like(r, n, 2), b});
    return no_value;
}

WENGERT_INLINE ValueId drop_guard(const Rewrite& r, const GraphNode& n, Fn fn)
{
    const bool zero_rule = fn == Fn::zero_rule;
    const std::size_t k = n.inputs.size() - 2;
    const ValueId g = n.inputs[k + zero_rule], x = n.inputs[k + !zero_rule], v = k ? n.inputs[0] : x;
    const bool again = v == x && fn != Fn::zero_where_undefined_pull && r.fn_for(n, x) == fn &&
                       r.node(x).inputs.size() == 2 && r.node(x).inputs[zero_rule] == g;
    return x == g || is_nonzero(r, g) || r.facts(x).has(Facts::finite) || again ? instead(r, n, v) : no_value;
}

WENGERT_INLINE ValueId embed_first(Rewrite& r, const GraphNode& n)
{
    const ValueId c = n.inputs[0], g = n.inputs[1];
    if (!r.is(c, 0) || r.is_minus_zero(c)) return no_value;
    const Embed op{part_of(r.graph(), n)};
    GraphNode e = n;
    turn_into(r, e, Fn::embed, {g}, &op);
    if (!r.facts(g).has(Facts::no_minus_zero)) {
        GraphNode a = n;
        a.shape = op.part.shape;
        turn_into(r, a, Fn::add, {g, number_like(r, n, 0)});
        e.inputs[0] = r.add_inner(std::move(a));
    }
    return r.add(std::move(e));
}

WENGERT_INLINE ValueId sum_of_broadcast(Rewrite& r, GraphNode& n)
{
    const ValueId x = n.inputs[0];
    if (!r.options.allow_reassociation || !wengert::differentiable(n.dtype)) return no_value;
    if (r.fn_for(n, x) != Fn::broadcast_to) return no_value;
    const ValueId y = r.node(x).inputs[0];
    if (!r.node(y).shape.empty()) return no_value;
    double count = 1;
    Fold fold;
    fold_of(n, fold);
    for (auto a : *fold.axes) count *= static_cast<double>(r.node(x).shape[static_cast<std::size_t>(a)]);
    GraphNode product = n;
    product.shape = Shape();
    turn_into(r, product, Fn::multiply, {y, number_like(r, n, count)});
    const ValueId v = r.add_inner(std::move(product));
    return n.shape.empty() ? v : make_broadcast(r, n, v);
}

WENGERT_INLINE ValueId gradient_rule(Rewrite& r, GraphNode& n)
{
    if (n.kind != Graph::Kind::operation) return no_value;
    const Fn fn = r.here;
    if (n.primitive->value)
        if (const ValueId v = drop_broadcasts(r, n); v != no_value || r.edited) return v;
    switch (fn) {
    case Fn::guarded_multiply:
    case Fn::guarded_divide:
    case Fn::guarded_square: return unguarded(r, n, fn);
    case Fn::zero_where_undefined:
    case Fn::zero_where_undefined_pull:
    case Fn::zero_rule: return drop_guard(r, n, fn);
    case Fn::add_part: return embed_first(r, n);
    case Fn::sum: return sum_of_broadcast(r, n);
    default: return no_value;
    }
}

}  // namespace wengert::passes::detail
