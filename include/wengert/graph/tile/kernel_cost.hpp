// What a kernel takes, roughly: enough to tell what is worth a thread. The estimates are those of ir/cost.hpp.
#pragma once

#include <cmath>

#include "../ir/cost.hpp"
#include "library_rules.hpp"
#include "planned.hpp"
#include "schedule.hpp"

namespace wengert::tiling {

namespace detail {

inline double elements_of(const Graph& g, ValueId v)
{
    return static_cast<double>(element_count(g.node(v).shape));
}

/// For C = AB of sizes (m, k), (k, n): mkn = √(|A| |B| |C|). A stack of s of them has s √(|A| |B| |C| / s³).
inline double product_size(const Graph& g, const GraphNode& n, ValueId v)
{
    const MatrixProduct p = product_of(n);
    double stack = 1;
    for (std::size_t a = 2; a < n.shape.size(); ++a) stack *= static_cast<double>(n.shape[a - 2]);
    return std::sqrt(elements_of(g, v) * elements_of(g, n.inputs[p.a.operand]) *
                     elements_of(g, n.inputs[p.b.operand]) / std::max(stack, 1.0));
}

inline double node_work(const Graph& g, const Layouts& layouts, ValueId v, const CostModel& costs)
{
    const GraphNode& n = g.node(v);
    const CostModel::Rates& rates = wengert::detail::rates_of(n.dtype, costs);
    double elements = elements_of(g, v);
    if (n.primitive->value) return elements * wengert::detail::rule_cost(*n.primitive, rates);
    if (layouts[v].is_view(v)) return 0;
    if (n.primitive->product) return product_size(g, n, v) * rates.product;
    for (ValueId i : n.inputs) elements = std::max(elements, elements_of(g, i));
    const Rule r = rule_of(g, layouts, v);
    const bool other = r == Rule::fold || r == Rule::compute || r == Rule::update;  // softmax, random numbers
    return elements * (other ? rates.transcendental : rates.arithmetic);
}

}  // namespace detail

/// Nanoseconds on one thread.
inline double kernel_work(const Graph& g, const Layouts& layouts, const Task& t)
{
    const CostModel costs;
    double work = 0;
    for (ValueId v : t.group.nodes) work += detail::node_work(g, layouts, v, costs);
    for (const auto* list : {&t.group.operands, &t.group.results})
        for (ValueId v : *list) work += load_cost(g.node(v), costs);
    return work;
}

/// Does a team divide the kernel among its threads?
inline bool is_divided(const Graph& g, const Layouts& layouts, const Task& t)
{
    const GraphNode& n = g.node(t.group.nodes[0]);
    std::size_t count = 0;
    if (t.kernel)
        count = t.kernel->elements();
    else if (n.primitive->value)
        count = element_count(n.shape);
    else if (const Rule r = rule_of(g, layouts, t.group.nodes[0]); r == Rule::sum)
        count = element_count(g.node(n.inputs[0]).shape);
    return count >= least_divided;
}

}  // namespace wengert::tiling
