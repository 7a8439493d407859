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
    const bool other = r == Rule::fold || r == Rule::compute || r == Rule::update;  // softmax, random numbers
    const CostModel::Rates& rates = wengert::detail::rates_of(n.dtype, costs);
    return other ? work * rates.transcendental / rates.arithmetic : work;
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
