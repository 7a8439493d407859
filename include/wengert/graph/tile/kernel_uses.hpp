// Tasks of a plan as the schedule sees them: the memory that they use, what they take, and which let nothing by.
#pragma once

#include "kernel_cost.hpp"

namespace wengert::tiling {

namespace detail {

/// The memory that each value has a part in, by number: an output that takes over an input's is the same as that.
inline std::vector<std::uint32_t> memories_of(const Planned& p)
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
/// What a guard looks at, what may throw for what it is given, and the last task before updates of the caller's memory.
inline bool stays_alone(const Planned& p, std::size_t t)
{
    const Task& task = p.tasks[t];
    if (task.guarded || (task.throws && !p.graph.node(task.group.nodes[0]).primitive->infallible))
        return true;
    return t == p.last_risk &&
           std::any_of(p.donors.begin(), p.donors.end(), [](ValueId in) { return in != no_value; });
}

}  // namespace detail

inline std::vector<KernelUse> kernel_uses(const Planned& p, std::size_t team)
{
    const auto memory = detail::memories_of(p);
    std::vector<KernelUse> uses(p.tasks.size());
    for (std::size_t t = 0; t < p.tasks.size(); ++t) {
        KernelUse& use = uses[t];
        const Task& task = p.tasks[t];
        for (ValueId o : task.group.operands)
            if (const std::uint32_t m = memory[p.root(o)]; m != no_value) use.reads.push_back(m);
        for (ValueId r : task.group.results) use.writes.push_back(memory[r]);
        use.work = kernel_work(p, task);
        use.length = is_divided(p, task) ? use.work / static_cast<double>(team) : use.work;
        use.alone = detail::stays_alone(p, t);
    }
    return uses;
}

}  // namespace wengert::tiling
