// What risks.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../risks.hpp"

namespace wengert::tiling::detail {

WENGERT_INLINE std::vector<ValueId> makers_of(const Planned& p)
{
    std::vector<ValueId> maker(p.graph.size(), no_value);
    for (std::size_t t = 0; t < p.tasks.size(); ++t)
        for (ValueId r : p.tasks[t].group.results) maker[r] = static_cast<ValueId>(t);
    return maker;
}

WENGERT_INLINE std::vector<bool> behind_the_risks(const Planned& p)
{
    const auto maker = makers_of(p);
    std::vector<bool> blocked(p.tasks.size(), false), moved(p.tasks.size(), false);
    for (std::size_t t = p.tasks.size(); t-- > 0;) {
        blocked[t] = blocked[t] || p.tasks[t].is_risk();
        if (!blocked[t]) continue;
        for (ValueId o : p.tasks[t].group.operands)
            if (const ValueId m = maker[p.root(o)]; m != no_value) blocked[m] = true;
    }
    for (ValueId k : p.graph.updates()) {
        if (k == no_value) continue;
        const ValueId t = maker[p.root(p.graph.outputs()[k])];
        if (t != no_value && !blocked[t]) moved[t] = true;
    }
    for (std::size_t t = 0; t < p.tasks.size(); ++t)
        for (ValueId o : p.tasks[t].group.operands)
            if (const ValueId m = maker[p.root(o)]; m != no_value && moved[m]) moved[t] = true;
    return moved;
}

}  // namespace wengert::tiling::detail

namespace wengert::tiling {

WENGERT_INLINE void sink_updates(Planned& p)
{
    std::vector<bool> guarded(p.graph.size(), false);
    for (const Guard& guard : p.graph.guards()) guarded[p.root(guard.value)] = true;
    for (std::size_t t = 0; t < p.tasks.size(); ++t) {
        Task& task = p.tasks[t];
        for (ValueId r : task.group.results) task.guarded = task.guarded || guarded[r];
        if (task.is_risk()) p.last_risk = static_cast<ValueId>(t);
    }
    bool any = false;
    for (ValueId k : p.graph.updates()) any = any || k != no_value;
    if (!any || p.last_risk == no_value) return;
    const std::vector<bool> moved = detail::behind_the_risks(p);
    std::vector<std::uint32_t> order, behind;
    for (std::uint32_t t = 0; t < p.tasks.size(); ++t)
        (t > p.last_risk || moved[t] ? behind : order).push_back(t);
    p.last_risk = static_cast<ValueId>(order.size()) - 1;
    order.insert(order.end(), behind.begin(), behind.end());
    p.reorder(order);
}

}  // namespace wengert::tiling
