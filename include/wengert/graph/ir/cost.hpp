// What an operation takes, estimated. An elementwise one over n elements takes
//
//     n Σ rate(s)   over the steps s of its rule (base/term.hpp)
//
// where a fused pass carries it out; a value of b bytes that one pass leaves to another one takes b · store there and
// b · load in each that reads it, at the rate of the smallest cache that holds b. A product takes its multiplications, any
// other operation one arithmetic step for each element of its largest operand or result, views nothing.
#pragma once

#include "../../base/term.hpp"
#include "cost_model.hpp"
#include "graph.hpp"

namespace wengert {

namespace detail {

inline double rate_of(TermKind k, const CostModel::Rates& r)
{
    switch (k) {
    case TermKind::input:
    case TermKind::constant:
    case TermKind::zero_cotangent: return 0;
    case TermKind::sqrt:
    case TermKind::divide: return r.division;
    case TermKind::sigmoid: return r.transcendental + r.division;
    case TermKind::hypot: return r.transcendental;
    case TermKind::pow: return 2 * r.transcendental;
    default: return is_long(k) ? r.transcendental : r.arithmetic;
    }
}

inline const CostModel::Rates& rates_of(DType dtype, const CostModel& c)
{
    return size_of(dtype) == 8 ? c.f64 : c.f32;
}

/// The rule of an elementwise operation, step by step. One that is opaque may be anything: it counts as transcendental.
inline double rule_cost(const Primitive& p, const CostModel::Rates& r)
{
    if (!p.describe || p.arity > Primitive::max_elementwise) return r.transcendental;
    double cost = 0;
    for (const TermStep& s : written_rule(p.arity, p.describe)) cost += rate_of(s.kind, r);
    return cost;
}

/// How many products of numbers are summed up in an element of a product of matrices.
inline double inner_extent(const Graph& g, const GraphNode& n)
{
    const MatrixProduct p = product_of(n);
    const Shape& s = g.node(n.inputs[p.a.operand]).shape;
    if (s.empty()) return 1;
    if (s.size() == 1 || p.a.vector)  // a row, or a column
        return p.a.column == p.a.transposed ? static_cast<double>(s.back()) : 1;
    return static_cast<double>(s[s.size() - (p.a.transposed ? 2 : 1)]);
}

inline double tier(const CostModel::Traffic& t, std::size_t bytes, const CostModel& c)
{
    return bytes <= c.l1_bytes ? t.l1 : bytes <= c.l2_bytes ? t.l2 : t.far;
}

}  // namespace detail

inline std::size_t bytes_of(const GraphNode& n) { return element_count(n.shape) * size_of(n.dtype); }

/// Nanoseconds for reading a value that another pass has stored.
inline double load_cost(const GraphNode& n, const CostModel& c)
{
    return static_cast<double>(bytes_of(n)) * detail::tier(c.load, bytes_of(n), c);
}
/// The same for storing it.
inline double store_cost(const GraphNode& n, const CostModel& c)
{
    return static_cast<double>(bytes_of(n)) * detail::tier(c.store, bytes_of(n), c);
}

/// Nanoseconds for the computation alone. Views compute nothing, which this function cannot see.
inline double work_cost(const Graph& g, const GraphNode& n, const CostModel& c)
{
    const CostModel::Rates& r = detail::rates_of(n.dtype, c);
    auto elements = static_cast<double>(element_count(n.shape));
    if (n.primitive->value) return elements * detail::rule_cost(*n.primitive, r);
    if (n.primitive->product) return elements * detail::inner_extent(g, n) * r.product;
    for (ValueId v : n.inputs)
        elements = std::max(elements, static_cast<double>(element_count(g.node(v).shape)));
    return elements * r.arithmetic;
}

}  // namespace wengert
