// Algebra: what is exact in IEEE 754, bit for bit, signed zeros, infinities and NaNs included (but for a NaN's sign and
// payload). Rules that round otherwise only where they are allowed. Those of shapes are in simplify_shapes.hpp.
#pragma once

#include "simplify_shapes.hpp"

namespace wengert::passes {

namespace detail {

/// x in the place of n, if it has n's shape and type, and a layout that no product can tell from n's.
inline ValueId instead(const Rewrite& r, const GraphNode& n, ValueId x)
{
    const GraphNode& to = r.node(x);
    const bool fits = to.shape == n.shape && to.dtype == n.dtype &&
                      (r.facts(x).has(Facts::row_major) || r.options.allow_reassociation);
    return fits ? x : no_value;
}

/// n becomes another elementwise operation of the same result; no_value.
inline ValueId turn_into(Rewrite& r, GraphNode& n, Fn fn, std::vector<ValueId> inputs)
{
    n.primitive = &primitive_of(fn, n.dtype);
    n.inputs = std::move(inputs);
    n.op = {};
    r.edited = true;
    return no_value;
}

inline ValueId number_like(Rewrite& r, const GraphNode& n, double x)
{
    auto b = make_block(n.dtype, Shape());
    with_dtype(n.dtype, [&]<class T>() { *b->as<T>() = static_cast<T>(x); });
    return r.constant(std::move(b), n.at);
}

/// v = −x: x, or no_value.
inline ValueId negated(const Rewrite& r, const GraphNode& n, ValueId v)
{
    return r.fn_for(n, v) == Fn::negative ? r.node(v).inputs[0] : no_value;
}

/// x + (−0) = x always, x + 0 = x where x is not −0; x + (−y) = x − y.
inline ValueId simplify_add(Rewrite& r, GraphNode& n, bool floating)
{
    for (std::size_t k = 0; k < 2; ++k) {
        const ValueId x = n.inputs[k], c = n.inputs[1 - k];
        if (r.is(c, 0) && (!floating || r.is_minus_zero(c) || r.facts(x).has(Facts::no_minus_zero)))
            if (const ValueId v = instead(r, n, x); v != no_value) return v;
    }
    if (!floating) return no_value;
    for (const std::size_t k : {std::size_t{1}, std::size_t{0}})
        if (const ValueId y = negated(r, n, n.inputs[k]); y != no_value)
            return turn_into(r, n, Fn::subtract, {n.inputs[1 - k], y});
    return no_value;
}

/// x − 0 = x, x − (−0) = x where x is not −0, −0 − x = −x, x − (−y) = x + y.
inline ValueId simplify_subtract(Rewrite& r, GraphNode& n, bool floating)
{
    const ValueId x = n.inputs[0], y = n.inputs[1];
    if (r.is(y, 0) && (!floating || !r.is_minus_zero(y) || r.facts(x).has(Facts::no_minus_zero)))
        if (const ValueId v = instead(r, n, x); v != no_value) return v;
    if (!floating) return no_value;
    if (r.is_minus_zero(x) && r.node(y).shape == n.shape)
        turn_into(r, n, Fn::negative, {y});
    else if (const ValueId z = negated(r, n, y); z != no_value)
        turn_into(r, n, Fn::add, {x, z});
    return no_value;
}

/// (x c) d = x (c d), where that is allowed.
inline ValueId gather_factors(Rewrite& r, GraphNode& n)
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

/// x 1 = x, x (−1) = −x, (−x) (−y) = x y, (−x) c = x (−c).
inline ValueId simplify_multiply(Rewrite& r, GraphNode& n, bool floating)
{
    for (std::size_t k = 0; k < 2; ++k) {
        const ValueId x = n.inputs[k], c = n.inputs[1 - k];
        if (r.is(c, 1))
            if (const ValueId v = instead(r, n, x); v != no_value) return v;
        if (!floating) continue;
        if (r.is(c, -1) && r.node(x).shape == n.shape) return turn_into(r, n, Fn::negative, {x});
        const ValueId y = negated(r, n, x);
        if (y == no_value) continue;
        if (const ValueId z = negated(r, n, c); z != no_value) return turn_into(r, n, Fn::multiply, {y, z});
        if (r.facts(c).one && r.node(c).shape.empty())
            return turn_into(r, n, Fn::multiply, {y, number_like(r, n, -number(*r.facts(c).one))});
    }
    return floating && r.options.allow_reassociation ? gather_factors(r, n) : no_value;
}

/// Is 1/c exact, so that x / c and x (1/c) are the same real number rounded once?
inline bool exact_reciprocal(const Block& c)
{
    int exponent = 0;
    const double x = number(c);
    return x - x == 0 && std::abs(std::frexp(x, &exponent)) == 0.5 &&
           std::abs(exponent - 1) <= row_of(c.dtype).exponents;
}

/// x / 1 = x, x / (−1) = −x, x / 2ᵏ = x 2⁻ᵏ, (−x) / (−y) = x / y.
inline ValueId simplify_divide(Rewrite& r, GraphNode& n)
{
    const ValueId x = n.inputs[0], c = n.inputs[1];
    if (r.is(c, 1))
        if (const ValueId v = instead(r, n, x); v != no_value) return v;
    const ValueId y = negated(r, n, x), z = negated(r, n, c);
    if (r.is(c, -1) && r.node(x).shape == n.shape)
        turn_into(r, n, Fn::negative, {x});
    else if (y != no_value && z != no_value)
        turn_into(r, n, Fn::divide, {y, z});
    else if (r.facts(c).one && r.node(c).shape.empty() && !r.is(c, 0) &&
             (exact_reciprocal(*r.facts(c).one) || r.options.allow_reassociation))
        turn_into(r, n, Fn::multiply, {x, number_like(r, n, 1 / number(*r.facts(c).one))});
    return no_value;
}

/// where(c, a, a) = a; where(true, a, b) = a.
inline ValueId simplify_where(Rewrite& r, GraphNode& n)
{
    if (n.inputs[1] == n.inputs[2]) return instead(r, n, n.inputs[1]);
    const Ref<Block> c = r.facts(n.inputs[0]).one;
    return c ? instead(r, n, n.inputs[number(*c) != 0 ? 1 : 2]) : no_value;
}

/// A cast there and back is nothing where the way there keeps every number.
inline ValueId simplify_cast(Rewrite& r, GraphNode& n)
{
    const ValueId y = n.inputs[0];
    if (r.fn_for(n, y) != Fn::cast) return no_value;
    const ValueId x = r.node(y).inputs[0];
    const DType from = r.node(x).dtype, by = r.node(y).dtype;
    return holds_all(by, from) ? instead(r, n, x) : no_value;
}

inline ValueId simplify_negative(Rewrite& r, GraphNode& n)
{
    const ValueId x = negated(r, n, n.inputs[0]);
    return x == no_value ? x : instead(r, n, x);
}

/// |x| = x where x has no sign; |−x| = |x| and (−x)² = x².
inline ValueId simplify_even(Rewrite& r, GraphNode& n, Fn fn)
{
    const ValueId x = n.inputs[0];
    if (fn == Fn::abs && r.facts(x).has(Facts::no_minus)) return instead(r, n, x);
    if (const ValueId y = negated(r, n, x); y != no_value) {
        n.inputs = {y};
        r.edited = true;
    }
    return no_value;
}

/// Exact whatever the elements are.
inline ValueId simplify_elementwise(Rewrite& r, GraphNode& n, Fn fn)
{
    const bool floating = wengert::differentiable(n.dtype);
    switch (fn) {
    case Fn::identity: return instead(r, n, n.inputs[0]);
    case Fn::add: return simplify_add(r, n, floating);
    case Fn::subtract: return simplify_subtract(r, n, floating);
    case Fn::multiply: return simplify_multiply(r, n, floating);
    case Fn::divide: return floating ? simplify_divide(r, n) : no_value;
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

inline ValueId simplify_rule(Rewrite& r, GraphNode& n)
{
    if (n.kind != Graph::Kind::operation) return no_value;
    const Fn fn = r.here;
    if (fn == Fn::unknown) return no_value;
    return n.primitive->value ? simplify_elementwise(r, n, fn) : simplify_shape(r, n, fn);
}

}  // namespace detail

/// Operations that algebra makes unnecessary or cheaper. Exact by default; with allow_reassociation also factors
/// gathered, x (c d) for (x c) d, and divisions by a constant as products.
inline constexpr Pass simplify{"simplify", detail::simplify_rule};

}  // namespace wengert::passes
