// What sweeps leave behind: cotangents that are one number, broadcasts before operations that broadcast by themselves,
// guards against 0 · ∞ where there can be none, sums into zeros.
#pragma once

#include "simplify.hpp"

namespace wengert::passes {

namespace detail {

/// A smaller value that broadcasts to the same elements, or the one number that they are.
struct Peeled {
    ValueId v;
    bool number;  ///< it is to be read as a rank-0 constant, which is made when it is used
};

inline Peeled peeled(const Rewrite& r, const GraphNode& n, ValueId v)
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

/// The operands of an elementwise operation, some of them peeled.
struct Operands {
    std::vector<Peeled> all;
    Shape shape(const Rewrite& r) const
    {
        Shape s;
        for (const Peeled& p : all)
            if (!p.number) s = broadcast_shapes("optimize", s, r.node(p.v).shape, {});
        return s;
    }
    std::vector<ValueId> values(Rewrite& r, const Site& at) const
    {
        std::vector<ValueId> v;
        for (const Peeled& p : all) v.push_back(p.number ? r.literal(p.v, at) : p.v);
        return v;
    }
};

/// f(broadcast x) = broadcast f(x): the smaller one is computed.
inline ValueId push_down(Rewrite& r, const GraphNode& n, std::vector<ValueId> inputs, const Shape& small)
{
    GraphNode f = n, b = n;
    f.shape = small;
    f.inputs = std::move(inputs);
    const ValueId v = r.add_inner(std::move(f));
    make_broadcast(r, b, v);
    return r.add(std::move(b));
}

/// As many operands peeled as leave the result its shape.
inline Operands kept_shape(const Rewrite& r, const GraphNode& n, const Operands& small)
{
    Operands some;
    for (ValueId v : n.inputs) some.all.push_back({v, false});
    for (std::size_t k = 0; k < small.all.size(); ++k) {
        const Peeled before = std::exchange(some.all[k], small.all[k]);
        if (!(some.shape(r) == n.shape)) some.all[k] = before;
    }
    return some;
}

/// Operands need no broadcast: elementwise operations do that by themselves.
inline ValueId drop_broadcasts(Rewrite& r, GraphNode& n)
{
    bool differs = false;
    for (ValueId v : n.inputs) {
        const Peeled p = peeled(r, n, v);
        differs = differs || p.v != v || p.number;
    }
    if (!differs) return no_value;
    Operands small;
    for (ValueId v : n.inputs) small.all.push_back(peeled(r, n, v));
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

/// A number that is everywhere in v and neither 0 nor NaN.
inline bool speaks(const Rewrite& r, ValueId v)
{
    if (!r.facts(v).one) return false;
    const double x = number(*r.facts(v).one);
    return x != 0 && x == x;
}
inline bool finite_number(const Rewrite& r, ValueId v)
{
    return r.facts(v).one && std::isfinite(number(*r.facts(v).one));
}

/// Where g is not 0, or b is a finite number (and, for a quotient, not 0), there is nothing to guard.
inline ValueId unguarded(Rewrite& r, GraphNode& n, Fn fn)
{
    const ValueId g = n.inputs[0], b = n.inputs[1];
    if (fn == Fn::guarded_multiply && (speaks(r, g) || finite_number(r, b)))
        return turn_into(r, n, Fn::multiply, {g, b});
    if (fn == Fn::guarded_divide && (speaks(r, g) || speaks(r, b)))
        return turn_into(r, n, Fn::divide, {g, b});
    if (fn == Fn::guarded_square && r.is(g, 1) && r.node(b).shape == n.shape)
        return turn_into(r, n, Fn::multiply, {number_like(r, n, 2), b});
    return no_value;
}

/// Guards show their value where g is not 0, where what may not be finite is, and where the same one has been before:
/// zero_where_undefined(g, x) = x and silence(x, g) = x; of (v, g, x) and (v, x, g) it is v.
inline ValueId drop_guard(const Rewrite& r, const GraphNode& n, Fn fn)
{
    const bool silent = fn == Fn::silence;
    const std::size_t k = n.inputs.size() - 2;
    const ValueId g = n.inputs[k + silent], x = n.inputs[k + !silent], v = k ? n.inputs[0] : x;
    const bool again = v == x && fn != Fn::zero_where_undefined_pull && r.fn_for(n, x) == fn &&
                       r.node(x).inputs.size() == 2 && r.node(x).inputs[silent] == g;
    return speaks(r, g) || r.facts(x).has(Facts::finite) || again ? instead(r, n, v) : no_value;
}

/// Zeros plus g at a place: g put there. 0 + g is g but for −0, so that g + 0 is put there where g can be −0.
inline ValueId embed_first(Rewrite& r, const GraphNode& n)
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

/// Σ of a broadcast is a product with the count, where that is allowed.
inline ValueId sum_of_broadcast(Rewrite& r, GraphNode& n)
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

inline ValueId gradient_rule(Rewrite& r, GraphNode& n)
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
    case Fn::silence: return drop_guard(r, n, fn);
    case Fn::add_part: return embed_first(r, n);
    case Fn::sum: return sum_of_broadcast(r, n);
    default: return no_value;
    }
}

}  // namespace detail

/// Exact: broadcasts dropped before elementwise operations, which broadcast by themselves, and put after those of which
/// all operands are broadcast; guards of the zero-cotangent rule dropped where the cotangent is a number other than 0;
/// the first sum into zeros replaced by what is added. With allow_reassociation the sum of a broadcast number becomes a
/// product.
inline constexpr Pass gradients{"gradients", detail::gradient_rule};

}  // namespace wengert::passes
