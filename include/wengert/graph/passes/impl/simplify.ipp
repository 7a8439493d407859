// What simplify.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../simplify.hpp"

namespace wengert::passes::detail {

WENGERT_INLINE ValueId instead(const Rewrite& r, const GraphNode& n, ValueId x)
{
    const GraphNode& to = r.node(x);
    const bool fits = to.shape == n.shape && to.dtype == n.dtype &&
                      (r.facts(x).has(Facts::row_major) || r.options.allow_reassociation);
    return fits ? x : no_value;
}

WENGERT_INLINE ValueId number_like(Rewrite& r, const GraphNode& n, double x)
{
    auto b = make_block(n.dtype, Shape());
    with_dtype(n.dtype, [&]<class T>() { *b->as<T>() = static_cast<T>(x); });
    return r.constant(std::move(b), n.at);
}

WENGERT_INLINE ValueId negated(const Rewrite& r, const GraphNode& n, ValueId v)
{
    return r.fn_for(n, v) == Fn::negative ? r.node(v).inputs[0] : no_value;
}

WENGERT_INLINE ValueId drop_neutral(const Rewrite& r, const GraphNode& n, Fn fn, bool floating)
{
    const bool adds = fn == Fn::add, sum = adds || fn == Fn::subtract, either = adds || fn == Fn::multiply;
    for (std::size_t k = 0; k < (either ? 2U : 1U); ++k) {
        const ValueId x = n.inputs[k], c = n.inputs[1 - k];
        if (!r.is(c, sum ? 0 : 1)) continue;
        if (sum && floating && r.is_minus_zero(c) != adds && !r.facts(x).has(Facts::no_minus_zero)) continue;
        if (const ValueId v = instead(r, n, x); v != no_value) return v;
    }
    return no_value;
}

WENGERT_INLINE ValueId simplify_addition(Rewrite& r, GraphNode& n, Fn fn)
{
    const bool adds = fn == Fn::add;
    const ValueId x = n.inputs[0], y = n.inputs[1];
    if (!adds && r.is_minus_zero(x) && r.node(y).shape == n.shape) return turn_into(r, n, Fn::negative, {y});
    if (const ValueId z = negated(r, n, y); z != no_value)
        return turn_into(r, n, adds ? Fn::subtract : Fn::add, {x, z});
    const ValueId z = adds ? negated(r, n, x) : no_value;
    return z != no_value ? turn_into(r, n, Fn::subtract, {y, z}) : no_value;
}

WENGERT_INLINE ValueId gather_factors(Rewrite& r, GraphNode& n)
{
    for (std::size_t k = 0; k < 2; ++k) {
        const ValueId x = n.inputs[k], d = n.inputs[1 - k];
        if (!r.facts(d).one || r.fn_for(n, x) != Fn::multiply) continue;
        for (std::size_t j = 0; j < 2; ++j) {
            const ValueId y = r.node(x).inputs[j], c = r.node(x).inputs[1 - j];
            if (!r.facts(c).one || !(r.node(y).shape == n.shape)) continue;
            const double product = number(*r.facts(c).one) * number(*r.facts(d).one);
            return turn_into(r, n, Fn::multiply, {y, number_like(r, n, product)});
        }
    }
    return no_value;
}

WENGERT_INLINE bool exact_reciprocal(const Block& c)
{
    int exponent = 0;
    const double x = number(c);
    return x - x == 0 && std::abs(std::frexp(x, &exponent)) == 0.5 &&
           std::abs(exponent - 1) <= row_of(c.dtype).exponents;
}

WENGERT_INLINE ValueId simplify_product(Rewrite& r, GraphNode& n, Fn fn)
{
    const bool product = fn == Fn::multiply;
    const ValueId both[] = {negated(r, n, n.inputs[0]), negated(r, n, n.inputs[1])};
    const auto is_number = [&](ValueId c) { return r.facts(c).one && r.node(c).shape.empty(); };
    for (std::size_t k = 0; k < (product ? 2U : 1U); ++k) {
        const ValueId x = n.inputs[k], c = n.inputs[1 - k];
        if (r.is(c, -1) && r.node(x).shape == n.shape) return turn_into(r, n, Fn::negative, {x});
        if (both[0] != no_value && both[1] != no_value) return turn_into(r, n, fn, {both[0], both[1]});
        if (product && both[k] != no_value && is_number(c))
            return turn_into(r, n, fn, {both[k], number_like(r, n, -number(*r.facts(c).one))});
        if (!product && is_number(c) && !r.is(c, 0) &&
            (exact_reciprocal(*r.facts(c).one) || r.options.allow_reassociation))
            return turn_into(r, n, Fn::multiply, {x, number_like(r, n, 1 / number(*r.facts(c).one))});
    }
    return product && r.options.allow_reassociation ? gather_factors(r, n) : no_value;
}

WENGERT_INLINE ValueId simplify_where(Rewrite& r, GraphNode& n)
{
    if (n.inputs[1] == n.inputs[2]) return instead(r, n, n.inputs[1]);
    const Ref<Block> c = r.facts(n.inputs[0]).one;
    return c ? instead(r, n, n.inputs[number(*c) != 0 ? 1 : 2]) : no_value;
}

WENGERT_INLINE ValueId simplify_cast(Rewrite& r, GraphNode& n)
{
    const ValueId y = n.inputs[0];
    if (r.fn_for(n, y) != Fn::cast) return no_value;
    const ValueId x = r.node(y).inputs[0];
    const DType from = r.node(x).dtype, by = r.node(y).dtype;
    return holds_all(by, from) ? instead(r, n, x) : no_value;
}

WENGERT_INLINE ValueId simplify_negative(Rewrite& r, GraphNode& n)
{
    const ValueId x = negated(r, n, n.inputs[0]);
    return x == no_value ? x : instead(r, n, x);
}

WENGERT_INLINE ValueId simplify_even(Rewrite& r, GraphNode& n, Fn fn)
{
    const ValueId x = n.inputs[0];
    if (fn == Fn::abs && r.facts(x).has(Facts::no_minus)) return instead(r, n, x);
    if (const ValueId y = negated(r, n, x); y != no_value) {
        n.inputs = {y};
        r.edited = true;
    }
    return no_value;
}

WENGERT_INLINE ValueId simplify_elementwise(Rewrite& r, GraphNode& n, Fn fn)
{
    const bool floating = wengert::differentiable(n.dtype);
    switch (fn) {
    case Fn::identity: return instead(r, n, n.inputs[0]);
    case Fn::add:
    case Fn::subtract:
    case Fn::multiply:
    case Fn::divide: {
        const ValueId v = drop_neutral(r, n, fn, floating);
        if (v != no_value || !floating) return v;
        return fn == Fn::add || fn == Fn::subtract ? simplify_addition(r, n, fn) : simplify_product(r, n, fn);
    }
    case Fn::negative: return simplify_negative(r, n);
    case Fn::abs:
    case Fn::square: return simplify_even(r, n, fn);
    case Fn::where: return simplify_where(r, n);
    case Fn::cast: return simplify_cast(r, n);
    case Fn::maximum:
    case Fn::minimum: return n.inputs[0] == n.inputs[1] ? instead(r, n, n.inputs[0]) : no_value;
    case Fn::logical_not: {
        const ValueId x = n.inputs[0];
        return r.fn_for(n, x) == Fn::logical_not ? instead(r, n, r.node(x).inputs[0]) : no_value;
    }
    default: return no_value;
    }
}

WENGERT_INLINE ValueId simplify_rule(Rewrite& r, GraphNode& n)
{
    if (n.kind != Graph::Kind::operation) return no_value;
    const Fn fn = r.here;
    if (fn == Fn::unknown) return no_value;
    return n.primitive->value ? simplify_elementwise(r, n, fn) : simplify_shape(r, n, fn);
}

}  // namespace wengert::passes::detail
