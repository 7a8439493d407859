// Graphs made by hand for the tests of passes, and what is compared of them.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>

#include "same_bits.hpp"

#include <wengert/graph/passes/passes.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/ops/view.hpp>

namespace pass_graphs {

namespace wg = wengert;
using wg::Graph;
using wg::GraphNode;
using wg::Ref;
using wg::Shape;
using wg::ValueId;
using Kind = Graph::Kind;
using Blocks = std::vector<Ref<wg::Block>>;

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

template <class T> Ref<wg::Block> block(const Shape& shape, const std::vector<double>& values)
{
    auto b = wg::make_block(wg::dtype_of<T>(), shape);
    for (std::size_t i = 0; i < b->count; ++i)
        b->template as<T>()[i] = static_cast<T>(values[i % values.size()]);
    return b;
}

/// Builds a graph of T.
template <class T> struct Builder {
    Graph g;

    const Shape& shape(ValueId v) const { return g.node(v).shape; }
    ValueId input(const Shape& s) { return g.input(wg::dtype_of<T>(), s); }
    ValueId constant(const Shape& s, const std::vector<double>& values)
    {
        return g.constant(block<T>(s, values));
    }
    ValueId number(double x) { return constant({}, {x}); }

    Shape broadcast(const std::vector<ValueId>& in) const
    {
        Shape s = shape(in[0]);
        for (ValueId v : in) s = wg::broadcast_shapes("test", s, shape(v), {});
        return s;
    }
    template <class P> ValueId one(ValueId x)
    {
        return g.operation(wg::elementwise_primitive<P, xsimd::default_arch, T, T>, {}, {x}, shape(x));
    }
    template <class P> ValueId two(ValueId a, ValueId b)
    {
        return g.operation(wg::elementwise_primitive<P, xsimd::default_arch, T, T, T>, {}, {a, b},
                           broadcast({a, b}));
    }
    /// The derivative of P with respect to input i, of g and what it reads.
    template <class P, std::size_t n = 2> ValueId pull(std::size_t i, const std::vector<ValueId>& in)
    {
        const wg::Primitive* p = nullptr;
        if constexpr (n == 1)
            p = wg::elementwise_primitive<P, xsimd::default_arch, T, T>.pull[i].primitive;
        else
            p = wg::elementwise_primitive<P, xsimd::default_arch, T, T, T>.pull[i].primitive;
        return g.operation(*p, {}, in, broadcast(in));
    }
    /// A structural operation; its shape is found by running it on zeros.
    ValueId apply(const wg::Primitive& p, const void* op, const std::vector<ValueId>& in)
    {
        Blocks zeros;
        for (ValueId v : in) zeros.push_back(wg::zeros_block(g.node(v).dtype, shape(v)));
        const Shape s = p.compute(op, zeros.data(), zeros.size(), {})->shape;
        return g.operation(p, wg::keep_parameters(p, op), in, s);
    }
    template <class Op> ValueId on(const Op& op, ValueId x)
    {
        return apply(wg::structural_primitive<Op, xsimd::default_arch, T, T>, &op, {x});
    }
    template <class Op> ValueId on(const Op& op, ValueId x, ValueId y)
    {
        return apply(wg::structural_primitive<Op, xsimd::default_arch, T, T, T>, &op, {x, y});
    }

    template <class Op> ValueId on(const Op& op, ValueId x, ValueId y, ValueId z)
    {
        return apply(wg::structural_primitive<Op, xsimd::default_arch, T, T, T, T>, &op, {x, y, z});
    }

    ValueId add(ValueId a, ValueId b) { return two<wg::Add>(a, b); }
    ValueId subtract(ValueId a, ValueId b) { return two<wg::Subtract>(a, b); }
    ValueId multiply(ValueId a, ValueId b) { return two<wg::Multiply>(a, b); }
    ValueId divide(ValueId a, ValueId b) { return two<wg::Divide>(a, b); }
    ValueId negative(ValueId x) { return one<wg::Negative>(x); }
    ValueId reshape(ValueId x, const Shape& s) { return on(wg::Reshape{s, shape(x)}, x); }
    ValueId transpose(ValueId x, const wg::Axes& perm) { return on(wg::Transpose{perm}, x); }
    ValueId broadcast_to(ValueId x, const Shape& s) { return on(wg::BroadcastTo{s, shape(x)}, x); }
    ValueId sum(ValueId x, const wg::Axes& axes, bool keepdims)
    {
        return on(wg::Sum{axes, keepdims, shape(x)}, x);
    }
    ValueId matmul(ValueId x, ValueId y, bool tx = false, bool ty = false)
    {
        return on(wg::MatMul{tx, ty, shape(x), shape(y)}, x, y);
    }
    ValueId view(ValueId x, const wg::Selection& part) { return on(wg::Select{part}, x); }
    ValueId zero_rule(ValueId r, ValueId c) { return on(wg::detail::ZeroWhereNoCotangent{}, r, c); }
    /// v, 0 where r is not finite and all of c is 0.
    ValueId zero_rule(ValueId v, ValueId r, ValueId c) { return on(wg::detail::ZeroWhereOther{}, v, r, c); }
    /// c + x at the selection: what a trace records of a view's cotangent.
    ValueId accumulate(ValueId c, ValueId x, const wg::Selection& part)
    {
        const wg::Select op{part};
        const wg::Primitive& p = *wg::structural_primitive<wg::Select, xsimd::default_arch, T, T>.pull[0].add;
        return g.operation(p, wg::keep_parameters(p, &op), {c, x}, shape(c));
    }
};

/// The outputs, contiguous.
inline Blocks run(const Graph& g, const Blocks& inputs)
{
    const Blocks values = wg::interpret(g, inputs);
    Blocks out;
    for (ValueId v : g.outputs()) out.push_back(wg::readable(values[v]));
    return out;
}

/// Bit for bit, but for NaNs, which are all the same.
inline bool same_values(const Blocks& a, const Blocks& b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const auto& x, const auto& y) { return same_bits(*x, *y); });
}

inline bool same_graph_node(const GraphNode& a, const GraphNode& b)
{
    if (a.kind != b.kind || a.dtype != b.dtype || a.segment != b.segment || !(a.shape == b.shape))
        return false;
    if (a.kind == Kind::constant) return wg::same_elements(*a.constant, *b.constant);
    return a.inputs == b.inputs && a.index == b.index &&
           (!a.primitive || (wg::same_primitive(*a.primitive, *b.primitive) && wg::same_parameters(a, b)));
}
inline bool same_graph(const Graph& a, const Graph& b)
{
    if (a.size() != b.size() || a.outputs() != b.outputs() || a.inputs() != b.inputs() ||
        a.updates() != b.updates() || a.guards().size() != b.guards().size())
        return false;
    for (ValueId v = 0; v < a.size(); ++v)
        if (!same_graph_node(a.node(v), b.node(v))) return false;
    for (std::size_t k = 0; k < a.guards().size(); ++k)
        if (a.guards()[k].value != b.guards()[k].value) return false;
    return true;
}

/// The names of a graph's operations that its outputs need, in order.
inline std::string names(const Graph& g)
{
    const std::vector<bool> live = wg::live_values(g);
    std::string text;
    for (ValueId v = 0; v < g.size(); ++v)
        if (live[v] && g.node(v).primitive)
            text += (text.empty() ? "" : " ") + std::string(g.node(v).primitive->name);
    return text;
}

/// Numbers at which algebra goes wrong, and some others.
inline const std::vector<double> edges = {0.0,      -0.0,      1.0,          -1.0,   0.3,     -2.5,
                                          infinity, -infinity, not_a_number, 1e-310, -1e-310, 7.0};

}  // namespace pass_graphs
