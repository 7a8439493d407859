// What plan.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../plan.hpp"

namespace wengert::tiling {

WENGERT_INLINE Plan::Plan(const Graph& g, const PlanOptions& options) : Planned(g)
{
    for (Group& group : fuse(g, layouts)) add_pass(std::move(group));
    work_out(Team::size_for(options.threads), options.wake_cost);
}

WENGERT_INLINE Plan::Plan(const Graph& g, const Rotation& rotation) : Planned(g), rotation_(rotation)
{
    for (Group& group : fuse(g, layouts)) add_pass(std::move(group));
    work_out(1, 0);
}

WENGERT_INLINE Plan::Plan(const Graph& g, std::vector<Group> groups, std::optional<Rotation> rotation,
                          bool elsewhere, const std::vector<Inside>& inside)
    : Planned(g), rotation_(rotation), elsewhere_(elsewhere)
{
    for (const Inside& i : inside) layouts[i.part].root = i.whole, layouts[i.part].offset = i.offset;
    for (Group& group : groups)
        if (group.fused || elsewhere)
            add_task(std::move(group));
        else
            add_pass(std::move(group));
    work_out(1, 0);
}

WENGERT_INLINE bool Plan::is_state(ValueId v) const
{
    return rotation_ && graph.node(v).kind == Graph::Kind::input && graph.node(v).index < rotation_->states;
}

WENGERT_INLINE bool Plan::read_before(std::size_t k) const
{
    return rotation_ && k >= rotation_->states && is_state(root(graph.outputs()[k]));
}

WENGERT_INLINE bool Plan::in_place(std::size_t i) const
{
    const ValueId u = graph.inputs()[i], v = graph.outputs()[i];
    return u == v || (root(v) != u && whole(v) && values[root(v)].home == Home::arena &&
                      values[root(v)].store == values[u].store);
}

WENGERT_INLINE void Plan::find_swaps()
{
    if (!rotation_) return;
    for (std::size_t i = 0; i < rotation_->states; ++i) {
        const ValueId u = graph.inputs()[i], v = root(graph.outputs()[i]);
        std::size_t times = 0;
        for (std::size_t k = 0; k < rotation_->states; ++k) times += root(graph.outputs()[k]) == v;
        if (times != 1 || in_place(i) || !whole(graph.outputs()[i]) || bytes_of(u) < rotation_->swaps_from ||
            bytes_of(v) != bytes_of(u))
            continue;
        if (values[v].home != Home::arena || graph.node(v).kind != Graph::Kind::operation) continue;
        Store& s = stores[values[v].store];
        if (graph.node(s.begin).kind != Graph::Kind::operation || stores[values[u].store].values != 1)
            continue;
        s.first = 0, s.last = end();  // all of the time, as the state's
        swapped_.push_back(i);
    }
}

WENGERT_INLINE bool Plan::swaps(std::size_t i) const
{
    return std::find(swapped_.begin(), swapped_.end(), i) != swapped_.end();
}

WENGERT_INLINE ValueId Plan::swapped(std::uint32_t store, bool& next) const
{
    for (const std::size_t i : swapped_) {
        next = values[root(graph.outputs()[i])].store == store;
        if (next || values[graph.inputs()[i]].store == store) return static_cast<ValueId>(i);
    }
    return no_value;
}

WENGERT_INLINE void Plan::work_out(std::size_t team, double wake)
{
    sink_updates(*this);
    find_lifetimes();
    make_stores();
    find_swaps();
    claim_outputs();
    find_donors();
    if (team > 1) spread(team, wake);
    place();
}

WENGERT_INLINE Task& Plan::add_task(Group group)
{
    Task t;
    for (std::size_t r = 0; r < group.results.size(); ++r) t.over.push_back(no_value);
    for (ValueId v : group.nodes)
        t.throws = t.throws ||
                   ((!group.fused || is_described(*graph.node(v).primitive)) && may_throw(graph, layouts, v));
    t.group = std::move(group);
    tasks.push_back(std::move(t));
    return tasks.back();
}

WENGERT_INLINE void Plan::add_pass(Group group)
{
    std::shared_ptr<const FusedKernel> kernel = FusedKernel::compile(graph, layouts, group);
    if (kernel || group.nodes.size() == 1) {
        add_task(std::move(group)).kernel = std::move(kernel);
        return;
    }
    for (ValueId v : group.nodes)
        if (!layouts[v].is_view(v)) add_pass(single_group(graph, v));
}

WENGERT_INLINE void Plan::find_lifetimes()
{
    for (Placed& v : values) v.first = v.last = v.reads = 0;
    for (std::size_t t = 0; t < tasks.size(); ++t) {
        const auto time = static_cast<std::uint32_t>(t + 1);
        for (ValueId o : tasks[t].group.operands) {
            Placed& v = values[root(o)];
            v.last = std::max(v.last, time);
            ++v.reads;
        }
        for (ValueId r : tasks[t].group.results) {
            Placed& v = values[root(r)];
            if (v.first == 0) v.first = time;  // a value begins with the first part that is made inside
            v.last = time;
        }
    }
    for (std::size_t k = 0; k < graph.outputs().size(); ++k)
        if (!read_before(k)) values[root(graph.outputs()[k])].last = end();
}

WENGERT_INLINE bool Plan::is_staged(ValueId v) const
{
    const std::size_t bytes = bytes_of(v);
    if (elsewhere_) return false;
    if (rotation_) return is_state(v) || bytes <= Block::inline_bytes;
    return bytes <= 64 || (bytes <= 1024 && values[v].reads > 1);
}

WENGERT_INLINE std::uint32_t Plan::new_store(ValueId v)
{
    Store s;
    s.bytes = bytes_of(v);
    s.first = values[v].first;
    s.last = values[v].last;
    s.values = 1;
    s.begin = v;
    stores.push_back(s);
    return static_cast<std::uint32_t>(stores.size() - 1);
}

WENGERT_INLINE void Plan::make_stores()
{
    for (ValueId v = 0; v < graph.size(); ++v)
        if (graph.node(v).kind == Graph::Kind::constant) values[v].home = Home::constant;
    for (ValueId v : graph.inputs()) {
        values[v].home = Home::input;
        if (!is_staged(v) || (values[v].reads == 0 && !rotation_)) continue;
        values[v].home = Home::arena;
        values[v].first = 0;
        values[v].store = new_store(v);
        if (is_state(v) || (rotation_ && graph.node(v).index >= rotation_->fixed)) stores.back().last = end();
        staged.push_back(graph.node(v).index);
    }
    for (std::size_t t = 0; t < tasks.size(); ++t) make_stores(tasks[t], static_cast<std::uint32_t>(t + 1));
}

WENGERT_INLINE void Plan::make_stores(Task& task, std::uint32_t time)
{
    std::vector<ValueId> taken;
    for (std::size_t r = 0; r < task.group.results.size(); ++r) {
        const ValueId v = root(task.group.results[r]);
        if (values[v].home != Home::nowhere) continue;  // begun by a part of it
        values[v].home = Home::arena;
        const bool part = v != task.group.results[r];
        ValueId over = part ? no_value : state_before(task, r, time);
        if (over == no_value && !part && !is_update(v)) over = successor_of(task, r, time, taken);
        if (over == no_value) {
            values[v].store = new_store(v);
            continue;
        }
        task.over[r] = over;
        taken.push_back(over);
        values[v].store = values[over].store;
        Store& s = stores[values[v].store];
        s.last = values[v].last;
        ++s.values;
    }
}

WENGERT_INLINE bool Plan::is_update(ValueId v) const
{
    for (std::size_t i = 0; i < graph.updates().size(); ++i) {
        const ValueId k = graph.updates()[i];
        if (k != no_value && graph.outputs()[k] == v && values[graph.inputs()[i]].home == Home::input)
            return true;
    }
    return false;
}

WENGERT_INLINE bool Plan::is_next(ValueId v) const
{
    for (std::size_t i = 0; rotation_ && i < rotation_->states; ++i)
        if (root(graph.outputs()[i]) == v) return true;
    return false;
}

WENGERT_INLINE ValueId Plan::state_before(const Task& task, std::size_t r, std::uint32_t time) const
{
    for (std::size_t i = 0; rotation_ && i < rotation_->states; ++i) {
        const ValueId u = graph.inputs()[i], v = graph.outputs()[i];
        if (root(v) != task.group.results[r] || !whole(v) || stores[values[u].store].values > 1) continue;
        if (values[u].last < time) return u;
        for (std::size_t k = 0; values[u].last == time && k < task.group.operands.size(); ++k)
            if (root(task.group.operands[k]) == u && fits(task, r, k)) return u;
    }
    return no_value;
}

WENGERT_INLINE ValueId Plan::successor_of(const Task& task, std::size_t r, std::uint32_t time,
                                          const std::vector<ValueId>& taken) const
{
    for (std::size_t k = 0; k < task.group.operands.size(); ++k) {
        const ValueId o = task.group.operands[k], from = root(o);
        const Placed& p = values[from];
        if (p.home != Home::arena || p.last != time || stores[p.store].last != time) continue;
        if (elsewhere_ && !(task.group.fused && tasks[p.first - 1].group.fused)) continue;
        if (std::find(taken.begin(), taken.end(), from) != taken.end()) continue;
        if (fits(task, r, k)) return from;
    }
    return no_value;
}

WENGERT_INLINE bool Plan::fits(const Task& task, std::size_t r, std::size_t k) const
{
    const ValueId v = task.group.results[r], o = task.group.operands[k];
    if (!whole(o) || bytes_of(o) != bytes_of(v) || bytes_of(v) == 0) return false;
    if (task.group.fused)
        for (std::size_t i = 0; i < task.group.operands.size(); ++i)
            if (i != k && root(task.group.operands[i]) == root(o)) return false;
    if (task.kernel) return task.kernel->may_share(r, k);
    return task.group.nodes.size() > 1 || graph.node(v).primitive->value ? overwrites_fused(task, v, o)
                                                                         : overwrites(graph, layouts, v, o);
}

WENGERT_INLINE bool Plan::overwrites_fused(const Task& task, ValueId v, ValueId o) const
{
    const GraphNode& n = graph.node(v);
    const bool moves = !task.group.moved.empty() && is_described(*n.primitive);
    if (!(n.primitive->value || moves) || size_of(graph.node(o).dtype) != size_of(n.dtype)) return false;
    for (ValueId i : task.group.moved)
        if (root(i) == root(o)) return false;
    // a device makes an element again where a fold looks at it again, or for all of a row
    for (ValueId u : task.group.nodes)
        if (elsewhere_ &&
            (graph.node(u).primitive->fold || element_count(graph.node(u).shape) > element_count(n.shape)))
            return false;
    for (ValueId i : task.group.operands)
        if (root(i) == root(o) && !(whole(i) && graph.node(i).shape == n.shape)) return false;
    return true;
}

WENGERT_INLINE void Plan::claim_outputs()
{
    constexpr std::size_t inline_bytes = Block::inline_bytes, short_bytes = 16384;
    for (std::size_t k = rotation_ ? rotation_->states : 0; k < graph.outputs().size(); ++k) {
        const ValueId v = graph.outputs()[k], from = root(v);
        if (is_next(from) || values[from].home != Home::arena ||
            graph.node(from).kind == Graph::Kind::input || !whole(v))
            continue;
        Store& s = stores[values[from].store];
        if (s.output != ~0U) continue;
        s.output = static_cast<std::uint32_t>(k);
        s.landed = !elsewhere_ && (s.bytes <= inline_bytes || (s.values >= 8 && s.bytes <= short_bytes) ||
                                   graph.node(s.begin).kind == Graph::Kind::input);
    }
    for (Placed& p : values)
        if (p.home == Home::arena && stores[p.store].output != ~0U && !stores[p.store].landed)
            p.home = Home::output;
}

WENGERT_INLINE void Plan::find_donors()
{
    if (elsewhere_) return;
    for (std::size_t i = 0; i < graph.updates().size(); ++i) {
        const ValueId k = graph.updates()[i], in = graph.inputs()[i];
        if (k == no_value || donors[k] != no_value || handed_out(in)) continue;
        const GraphNode &x = graph.node(in), &y = graph.node(graph.outputs()[k]);
        if (!(x.shape == y.shape) || x.dtype != y.dtype) continue;
        const ValueId from = root(graph.outputs()[k]);
        const Placed& p = values[from];
        if (graph.node(from).kind != Graph::Kind::operation) continue;
        if (p.home != Home::output && !(p.home == Home::arena && stores[p.store].landed)) continue;
        if (stores[p.store].output != k) continue;
        if (p.home == Home::output && !survives(in, stores[p.store])) continue;
        donors[k] = static_cast<ValueId>(i);
    }
}

WENGERT_INLINE bool Plan::handed_out(ValueId in) const
{
    for (ValueId v : graph.outputs())
        if (root(v) == in) return true;
    return false;
}

WENGERT_INLINE bool Plan::survives(ValueId in, const Store& s) const
{
    if (last_risk != no_value && s.first <= last_risk + 1) return false;
    if (values[in].home == Home::arena) return true;  // its copy is read
    if (values[in].last != s.first) return values[in].last < s.first;
    const Task& task = tasks[s.first - 1];
    std::size_t r = 0, meetings = 0;
    while (task.group.results[r] != s.begin) ++r;
    bool fit = false;
    for (std::size_t k = 0; k < task.group.operands.size(); ++k)
        if (root(task.group.operands[k]) == in) {
            ++meetings;
            fit = fits(task, r, k);
        }
    return meetings == 1 && fit;
}

WENGERT_INLINE void Plan::spread(std::size_t team, double wake)
{
    Schedule found = schedule_of(kernel_uses(*this, team), team, wake);
    if (found.waves.empty()) return;
    waves = std::move(found.waves);
    reorder(found.order);
    find_lifetimes();
    for (Store& s : stores) s.first = end(), s.last = 0;
    for (const Placed& p : values) {
        if (p.home != Home::arena && p.home != Home::output) continue;
        Store& s = stores[p.store];
        s.first = std::min(s.first, p.first);
        s.last = std::max(s.last, p.last);
    }
}

WENGERT_INLINE void Plan::place()
{
    std::vector<Buffer> buffers(stores.size());
    for (std::size_t b = 0; b < stores.size(); ++b) {
        const Store& s = stores[b];
        const bool outside = s.output != ~0U && !s.landed;
        buffers[b] = {outside ? 0 : aligned(s.bytes), s.first, s.landed ? end() : s.last, 0};
    }
    arena = place_strands(buffers, end() + 1, waves);
    for (std::size_t b = 0; b < stores.size(); ++b) stores[b].offset = buffers[b].offset;
}

}  // namespace wengert::tiling
