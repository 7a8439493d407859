// What inspect.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../inspect.hpp"

namespace wengert::tiling::detail {

WENGERT_INLINE PlanWatch::Value watched_value(const Plan& plan, ValueId v,
                                              const std::vector<std::uint32_t>& buffers)
{
    using Watched = PlanWatch::Home;
    if (plan.layouts[v].is_view(v)) return {Watched::view, plan.root(v)};
    const Placed& p = plan.values[v];
    PlanWatch::Value value{Watched::inside, 0, kernel_at(p.first), kernel_at(p.last)};
    switch (p.home) {
    case Home::input: value.home = Watched::input; break;
    case Home::constant: value.home = Watched::constant; break;
    case Home::arena: value.home = Watched::arena, value.number = buffers[p.store]; break;
    case Home::output: value.home = Watched::output, value.number = plan.stores[p.store].output; break;
    default: break;
    }
    return value;
}

}  // namespace wengert::tiling::detail

namespace wengert::tiling {

WENGERT_INLINE void tell(const Plan& plan, PlanWatch& to)
{
    to.kernels.clear();
    to.buffers.clear();
    for (const Task& t : plan.tasks) to.kernels.emplace_back(t.group.nodes.begin(), t.group.nodes.end());
    to.waves.clear();
    for (const Wave& w : plan.waves) to.waves.push_back(w.cuts);
    std::vector<std::uint32_t> buffers(plan.stores.size());
    for (std::size_t s = 0; s < plan.stores.size(); ++s) {
        const Store& store = plan.stores[s];
        if (store.output != ~0U && !store.landed) continue;
        buffers[s] = static_cast<std::uint32_t>(to.buffers.size());
        to.buffers.push_back({{},
                              store.offset,
                              store.bytes,
                              detail::kernel_at(store.first),
                              detail::kernel_at(store.landed ? plan.end() : store.last)});
    }
    to.values.resize(plan.graph.size());
    for (ValueId v = 0; v < plan.graph.size(); ++v) {
        to.values[v] = detail::watched_value(plan, v, buffers);
        if (to.values[v].home == PlanWatch::Home::arena) to.buffers[to.values[v].number].values.push_back(v);
    }
    to.arena_bytes = plan.arena.bytes;
    to.lower_bound = plan.arena.lower_bound;
    to.ticks.assign(to.timed ? 2 * plan.tasks.size() : 0, 0);
}

WENGERT_INLINE void emit_tick(Emitter& e, PlanWatch* watch, std::size_t k)
{
    if (!watch || !watch->timed) return;
    e.step([to = &watch->ticks[k]](Run&) {
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        *to = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
    });
}

}  // namespace wengert::tiling
