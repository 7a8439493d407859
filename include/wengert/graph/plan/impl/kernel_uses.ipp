// What kernel_uses.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../kernel_uses.hpp"

namespace wengert::tiling::detail {

WENGERT_INLINE double node_work(const Graph& g, const Layouts& layouts, ValueId v, const CostModel& costs)
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

WENGERT_INLINE double kernel_work(const Planned& p, const Task& t)
{
    const CostModel costs;
    double work = 0;
    for (ValueId v : t.group.nodes) work += node_work(p.graph, p.layouts, v, costs);
    for (const auto* list : {&t.group.operands, &t.group.results})
        for (ValueId v : *list) work += load_cost(p.graph.node(v), costs);
    return work;
}

WENGERT_INLINE bool is_divided(const Planned& p, const Task& t)
{
    if (t.kernel) return t.kernel->elements() >= least_divided;
    const ValueId v = t.group.nodes[0];
    return rule_of(p.graph, p.layouts, v) == Rule::fold &&
           element_count(p.graph.node(p.graph.node(v).inputs[0]).shape) >= least_divided;
}

WENGERT_INLINE std::vector<std::uint32_t> memories_of(const Planned& p)
{
    std::vector<std::uint32_t> memory(p.values.size(), no_value);
    for (ValueId v = 0; v < p.values.size(); ++v) {
        const Home home = p.values[v].home;
        if (home == Home::arena || home == Home::output) memory[v] = p.values[v].store;
        if (home == Home::input) memory[v] = static_cast<std::uint32_t>(p.stores.size() + v);
    }
    for (std::size_t k = 0; k < p.donors.size(); ++k) {
        const ValueId made = p.root(p.graph.outputs()[k]);
        if (p.donors[k] == no_value || p.values[made].home != Home::output) continue;
        const ValueId in = p.graph.inputs()[p.donors[k]];
        if (p.values[in].home == Home::input) memory[in] = memory[made];
    }
    return memory;
}

WENGERT_INLINE bool stays_alone(const Planned& p, std::size_t t)
{
    const Task& task = p.tasks[t];
    if (task.guarded || (task.throws && !p.graph.node(task.group.nodes[0]).primitive->infallible))
        return true;
    return t == p.last_risk &&
           std::any_of(p.donors.begin(), p.donors.end(), [](ValueId in) { return in != no_value; });
}

}  // namespace wengert::tiling::detail

namespace wengert::tiling {

WENGERT_INLINE std::vector<KernelUse> kernel_uses(const Planned& p, std::size_t team)
{
    const auto memory = detail::memories_of(p);
    std::vector<KernelUse> uses(p.tasks.size());
    for (std::size_t t = 0; t < p.tasks.size(); ++t) {
        KernelUse& use = uses[t];
        const Task& task = p.tasks[t];
        for (ValueId o : task.group.operands)
            if (const std::uint32_t m = memory[p.root(o)]; m != no_value) use.reads.push_back(m);
        for (ValueId r : task.group.results) use.writes.push_back(memory[r]);
        use.work = detail::kernel_work(p, task);
        use.length = detail::is_divided(p, task) ? use.work / static_cast<double>(team) : use.work;
        use.alone = detail::stays_alone(p, t);
    }
    return uses;
}

}  // namespace wengert::tiling
