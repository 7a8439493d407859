// What a kernel takes, roughly: enough to tell what is worth a thread. The estimates are those of ir/cost.hpp.
#pragma once

#include "../ir/cost.hpp"
#include "library_rules.hpp"
#include "planned.hpp"
#include "schedule.hpp"

namespace wengert::tiling {

namespace detail {

inline double node_work(const Graph& g, const Layouts& layouts, ValueId v, const CostModel& costs)
{
    const GraphNode& n = g.node(v);
    if (layouts[v].is_view(v)) return 0;
    const double work = work_cost(g, n, costs);
    if (n.primitive->value || n.primitive->product) return work;
    const Rule r = rule_of(g, layouts, v);
    const bool sums = r == Rule::fold && (n.primitive->fold->sums || n.primitive->fold->means);
    const bool other =
        (r == Rule::fold && !sums) || r == Rule::compute || r == Rule::update;  // softmax, random numbers
    const CostModel::Rates& rates = wengert::detail::rates_of(n.dtype, costs);
    return other ? work * rates.transcendental / rates.arithmetic : work;
}

}  // namespace detail

/// Nanoseconds on one thread.
inline double kernel_work(const Planned& p, const Task& t)
{
    const CostModel costs;
    double work = 0;
    for (ValueId v : t.group.nodes) work += detail::node_work(p.graph, p.layouts, v, costs);
    for (const auto* list : {&t.group.operands, &t.group.results})
        for (ValueId v : *list) work += load_cost(p.graph.node(v), costs);
    return work;
}

/// Does a team divide the kernel among its threads?
inline bool is_divided(const Planned& p, const Task& t)
{
    if (t.kernel) return t.kernel->elements() >= least_divided;
    const ValueId v = t.group.nodes[0];
    return rule_of(p.graph, p.layouts, v) == Rule::fold &&
           element_count(p.graph.node(p.graph.node(v).inputs[0]).shape) >= least_divided;
}

}  // namespace wengert::tiling
