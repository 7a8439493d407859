// What cost.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../../../functions/rules/kinds.hpp"
#include "../cost.hpp"

namespace wengert::detail {

WENGERT_INLINE double rate_of(TermKind k, const CostModel::Rates& r)
{
    switch (k) {
    case TermKind::input:
    case TermKind::constant:
    case TermKind::zero_cotangent: return 0;
    case TermKind::sqrt:
    case TermKind::divide: return r.division;
    default: break;
    }
    if (!is_function(k)) return r.arithmetic;
    const FunctionFacts& facts = function_facts(k);
    return facts.transcendentals * r.transcendental + facts.divisions * r.division;
}

WENGERT_INLINE const CostModel::Rates& rates_of(DType dtype, const CostModel& c)
{
    return size_of(dtype) == 8 ? c.f64 : c.f32;
}

WENGERT_INLINE double rule_cost(const Primitive& p, const CostModel::Rates& r)
{
    if (!p.describe || p.arity > Primitive::max_elementwise) return r.transcendental;
    double cost = 0;
    for (const TermStep& s : written_rule(p.arity, p.describe)) cost += rate_of(s.kind, r);
    return cost;
}

WENGERT_INLINE double inner_extent(const Graph& g, const GraphNode& n)
{
    const MatrixProduct p = product_of(n);
    const Shape& s = g.node(n.inputs[p.a.operand]).shape;
    if (s.empty()) return 1;
    if (s.size() == 1 || p.a.vector)  // a row, or a column
        return p.a.column == p.a.transposed ? static_cast<double>(s.back()) : 1;
    return static_cast<double>(s[s.size() - (p.a.transposed ? 2 : 1)]);
}

WENGERT_INLINE double tier(const CostModel::Traffic& t, std::size_t bytes, const CostModel& c)
{
    return bytes <= c.l1_bytes ? t.l1 : bytes <= c.l2_bytes ? t.l2 : t.far;
}

}  // namespace wengert::detail

namespace wengert {

WENGERT_INLINE double load_cost(const GraphNode& n, const CostModel& c)
{
    return static_cast<double>(bytes_of(n)) * detail::tier(c.load, bytes_of(n), c);
}

WENGERT_INLINE double store_cost(const GraphNode& n, const CostModel& c)
{
    return static_cast<double>(bytes_of(n)) * detail::tier(c.store, bytes_of(n), c);
}

WENGERT_INLINE double work_cost(const Graph& g, const GraphNode& n, const CostModel& c)
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
