// Tasks of a plan as the schedule sees them: the memory that they use, what they take, and which let nothing by.
#pragma once

#include "kernel_cost.hpp"
#include "risks.hpp"
#include "waves.hpp"

namespace wengert::tiling::detail {

struct KernelUses {
    const Graph& graph;
    const Layouts& layouts;
    const std::vector<Task>& tasks;
    const std::vector<Placed>& values;
    const std::vector<Store>& stores;
    const std::vector<ValueId>& donors;
    ValueId last_risk;

    std::vector<KernelUse> list(std::size_t team) const
    {
        const auto guarded = Risks::guarded_values(graph, layouts);
        const auto memory = memories();
        std::vector<KernelUse> uses(tasks.size());
        for (std::size_t t = 0; t < tasks.size(); ++t) {
            KernelUse& use = uses[t];
            for (ValueId o : tasks[t].group.operands)
                if (const std::uint32_t m = memory[layouts[o].root]; m != no_value) use.reads.push_back(m);
            for (ValueId r : tasks[t].group.results) use.writes.push_back(memory[r]);
            use.work = kernel_work(graph, layouts, tasks[t]);
            use.length =
                is_divided(graph, layouts, tasks[t]) ? use.work / static_cast<double>(team) : use.work;
            use.alone = stays_alone(t, guarded);
        }
        return uses;
    }

private:
    /// The memory that each value has a part in, by number: an output that takes over an input's is the same as that.
    std::vector<std::uint32_t> memories() const
    {
        std::vector<std::uint32_t> memory(values.size(), no_value);
        for (ValueId v = 0; v < values.size(); ++v) {
            const Home home = values[v].home;
            if (home == Home::arena || home == Home::output) memory[v] = values[v].store;
            if (home == Home::input) memory[v] = static_cast<std::uint32_t>(stores.size() + v);
        }
        for (std::size_t k = 0; k < donors.size(); ++k) {
            const ValueId made = layouts[graph.outputs()[k]].root;
            if (donors[k] == no_value || values[made].home != Home::output) continue;
            const ValueId in = graph.inputs()[donors[k]];
            if (values[in].home == Home::input) memory[in] = memory[made];
        }
        return memory;
    }
    /// What a guard looks at, what may throw for what it is given, and the last task before updates of the caller's memory.
    bool stays_alone(std::size_t t, const std::vector<bool>& guarded) const
    {
        const Group& group = tasks[t].group;
        for (ValueId r : group.results)
            if (guarded[r]) return true;
        if (tasks[t].throws && !graph.node(group.nodes[0]).primitive->infallible) return true;
        return t == last_risk &&
               std::any_of(donors.begin(), donors.end(), [](ValueId in) { return in != no_value; });
    }
};

}  // namespace wengert::tiling::detail
