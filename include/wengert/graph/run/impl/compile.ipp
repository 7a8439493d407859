// What compile.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../../ir/guard_check.hpp"
#include "../compile.hpp"

namespace wengert::tiling::detail {

WENGERT_INLINE void emit_guard(Emitter& e, std::size_t k)
{
    const Guard& guard = e.plan.graph.guards()[k];
    e.program.blocks().push_back(guard.expected);
    e.step([k, value = e.header(guard.value).get(), expected = guard.expected.get()](Run& run) {
        const bool holds = wengert::detail::meets(*value, *expected);
        if (!holds) run.failed = k;
        return holds;
    });
}

WENGERT_INLINE std::string threads_note(unsigned asked, std::size_t team, std::size_t used)
{
    if (asked == 1 || (asked == used && used > 1)) return {};
    if (team > 1 && used == 1)
        return "it runs on one thread: no step is long enough to be worth waking another";
    if (asked == 0) return team > 1 ? std::string() : "it runs on one thread, as there is one processor";
    return "it runs on " + std::to_string(used) + " of the " + std::to_string(asked) +
           " threads asked for: there are no more processors";
}

WENGERT_INLINE void emit_task(Emitter& e, const Task& t)
{
    if (t.kernel) return emit_fused(e, t);
    const GraphNode& n = e.plan.graph.node(t.group.nodes[0]);
    if (!n.primitive->value || element_count(n.shape) > 0) emit_library(e, t.group.nodes[0]);
}

WENGERT_INLINE void emit_outputs(Emitter& e)
{
    const Graph& g = e.plan.graph;
    for (std::size_t k = 0; k < g.outputs().size(); ++k) {
        const ValueId v = g.outputs()[k], from = e.plan.root(v);
        OutputRule& r = e.program.rules()[k];
        r.dtype = g.node(v).dtype;
        r.shape = g.node(v).shape;
        r.count = element_count(r.shape);
        r.small = r.count * size_of(r.dtype) <= Block::inline_bytes && r.shape.size() <= Extents::inline_rank;
        r.donor = e.plan.donors[k];
        const auto before =
            std::find(g.outputs().begin(), g.outputs().begin() + static_cast<std::ptrdiff_t>(k), v);
        const Placed& p = e.plan.values[from];
        const bool made = g.node(from).kind == Graph::Kind::operation;
        if (before != g.outputs().begin() + static_cast<std::ptrdiff_t>(k)) {
            r.kind = OutputRule::same;
            r.index = static_cast<std::uint32_t>(before - g.outputs().begin());
        } else if (v == from && g.node(v).kind == Graph::Kind::input) {
            r.kind = OutputRule::input;
            r.index = g.node(v).index;
        } else if (v == from && g.node(v).kind == Graph::Kind::constant) {
            r.kind = OutputRule::constant;
            r.block = e.header(v);
        } else if (made && e.plan.stores[p.store].output == k) {
            if (!e.plan.stores[p.store].landed) continue;
            r.kind = OutputRule::landed;
            r.block = e.header(from);
        } else if (r.count > 0) {
            Ref<Block> to = make_borrowed(r.dtype, r.shape, placeholder_address());
            e.bind(&to->data, OperandAddress{OperandAddress::output, static_cast<std::uint32_t>(k),
                                             placeholder_address(), 0});
            emit_copy(e, e.header(v).get(), to.get());
            e.program.blocks().push_back(std::move(to));
        }
    }
}

}  // namespace wengert::tiling::detail

namespace wengert::tiling {

WENGERT_INLINE void emit_plan(Emitter& e, PlanWatch* watch, const std::function<void(std::size_t)>& emit)
{
    const Plan& plan = e.plan;
    if (watch) tell(plan, *watch);
    const Graph& g = plan.graph;
    const std::size_t n = plan.tasks.size();
    std::vector<std::vector<std::size_t>> guards(n + 1);  // by the time from which on they hold
    for (std::size_t k = 0; k < g.guards().size(); ++k)
        guards[plan.values[plan.root(g.guards()[k].value)].first].push_back(k);
    for (std::size_t k : guards[0]) detail::emit_guard(e, k);
    auto wave = plan.waves.begin();
    std::size_t strand = 0;
    for (std::size_t t = 0; t < n; ++t) {
        if (wave != plan.waves.end() && wave->cuts[strand] == t) e.begin_strand(strand++);
        emit_tick(e, watch, 2 * t);
        emit(t);
        emit_tick(e, watch, 2 * t + 1);
        if (wave != plan.waves.end() && wave->end() == t + 1) e.end_wave(), ++wave, strand = 0;
        for (std::size_t k : guards[t + 1]) detail::emit_guard(e, k);
    }
    detail::emit_outputs(e);
    e.end_direct_calls();
    for (std::uint32_t i : plan.staged) {
        const ValueId v = g.inputs()[i];
        if (const std::size_t bytes = plan.bytes_of(v)) e.program.staged().push_back({i, nullptr, bytes});
    }
    for (Staged& s : e.program.staged()) e.bind(&s.to, g.inputs()[s.input]);
    e.program.stats = {plan.tasks.size(), plan.arena.bytes, plan.arena.lower_bound, e.threads()};
}

}  // namespace wengert::tiling

namespace wengert {

WENGERT_INLINE std::unique_ptr<Executable> compile_tile(const Graph& g, const PlanOptions& options)
{
    using namespace tiling;
    const Plan plan(g, options);
    auto program = std::make_unique<Program>();
    Emitter e(plan, *program);
    e.divide(options.threads);
    emit_plan(e, options.watch, [&](std::size_t t) { tiling::detail::emit_task(e, plan.tasks[t]); });
    program->note = tiling::detail::threads_note(options.threads, e.team ? e.team->size() : 1, e.threads());
    return program;
}

}  // namespace wengert
