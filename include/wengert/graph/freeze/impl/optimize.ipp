// The bodies of optimize.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../../../base/separate.hpp"
#include "../background.hpp"
#include "../check.hpp"
#include "../compiler.hpp"
#include "../dynamic.hpp"
#include "../../ir/placed.hpp"
#include "../frozen_families.hpp"
#include "../optimize.hpp"

namespace wengert {

namespace detail {

/// Moves guarded values that need nothing of the host before the calls of the host. If their guard fails, the host has not been
/// called in vain.
inline Graph guards_before_effects(const Graph& g)
{
    std::vector<bool> guarded(g.size()), late(g.size());
    for (const Guard& guard : g.guards()) guarded[guard.value] = true;
    for (ValueId v = static_cast<ValueId>(g.size()); v-- > 0;)
        for (ValueId i : g.node(v).inputs) guarded[i] = guarded[i] || guarded[v];
    for (ValueId v = 0; v < g.size(); ++v) {
        late[v] = g.node(v).primitive && g.node(v).primitive->effects;
        for (ValueId i : g.node(v).inputs) late[v] = late[v] || late[i];
    }
    std::vector<ValueId> map;
    Graph out = g.like(map);
    for (const bool early : {true, false})
        for (ValueId v = 0; v < g.size(); ++v)
            if (map[v] == no_value && (guarded[v] && !late[v]) == early) map[v] = out.copy(g.node(v), map);
    out.finish(g, map);
    return out;
}

WENGERT_INLINE Graph optimized(const Graph& g, const FreezeOptions& options)
{
    const OnDevice host(0);  // where constants of graphs are
    PassOptions passes = options.passes;
    passes.allow_reassociation = passes.allow_reassociation || options.allow_reassociation;
    Graph fast = options.optimize ? graph_compiler().optimize(g, passes) : g;
    return has_effects(fast) && !fast.guards().empty() ? guards_before_effects(fast) : fast;
}

WENGERT_INLINE std::vector<std::uint64_t> reaching_inputs(const Graph& g)
{
    std::vector<std::uint64_t> reached(g.size()), outputs;
    for (ValueId v = 0; v < g.size(); ++v) {
        const GraphNode& n = g.node(v);
        if (!differentiable(n.dtype) || stops_gradient(n)) continue;
        if (n.kind == Graph::Kind::input) reached[v] = bit_of_input(n.index);
        for (const ValueId i : n.inputs) reached[v] |= reached[i];
    }
    for (const ValueId v : g.outputs()) outputs.push_back(reached[v]);
    return outputs;
}

WENGERT_INLINE const Backend& FrozenCore::backend() const noexcept
{
    if (options.backend.compile) return options.backend;
    const DeviceTable* const table =
        options.device.chosen && options.device.number ? &device_table(options.device.number) : nullptr;
    return table && table->backend ? *table->backend : tile;
}

WENGERT_INLINE std::unique_ptr<Executable> FrozenCore::compile(const Graph& g) const
{
    const OnDevice host(0);
    const Backend& chosen = options.backend.compile ? options.backend : tile;
    const bool later = options.background && chosen.compile != Backend(tile).compile;
    const auto on_host = [chosen, later, plan = plan_options()](const Graph& graph) {
        return later ? std::make_unique<BackgroundExecutable>(graph, chosen, plan)
                     : chosen.compile(graph, plan);
    };
    if (!has_devices()) return on_host(g);
    return std::make_unique<PlacedExecutable>(g, options.device, plan_options(),
                                              chosen.compile == interpret.compile, on_host);
}

WENGERT_INLINE std::shared_ptr<FrozenPath> FrozenCore::make_path(const FrozenTrace& t, Graph recorded) const
{
    auto p = std::make_shared<FrozenPath>();
    p->recorded = std::move(recorded);
    p->optimized = optimized(p->recorded, options);
    p->reached_from = reaching_inputs(p->recorded);
    p->effects = has_effects(p->recorded);
    p->communicates = communicates(p->recorded);
    static_cast<FrozenOutcome&>(*p) = t;
    note_variables(*p);
    p->executable = compile(p->optimized);
    if (options.memory_limit && p->executable->stats.arena_bytes > options.memory_limit) fit_memory(*p, t.at);
    return p;
}

/// Fusion and memory shared in place make a plan smaller than what is alive node by node, so the aim of the
/// rematerialisation moves until the plan fits.
WENGERT_INLINE void FrozenCore::fit_memory(FrozenPath& p, const Site& at) const
{
    const Graph whole = p.optimized;
    std::size_t aim = options.memory_limit, least = p.executable->stats.arena_bytes;
    for (int attempt = 0; attempt < 8; ++attempt) {
        RematReport report;
        try {
            p.optimized = graph_compiler().rematerialise(whole, aim, report, options.passes.costs, at);
        } catch (const MemoryError&) {
            if (report.peak_after == 0 || report.peak_after == aim) break;
            aim =
                report
                    .peak_after;  // the plan for the least that can be reached tells the limit that can be kept
            continue;
        }
        p.executable = compile(p.optimized);
        p.recomputed = report.recomputed;
        p.extra_work = report.work > 0 ? report.extra_work / report.work : 0;
        const std::size_t arena = p.executable->stats.arena_bytes;
        if (arena <= options.memory_limit) return;
        least = std::min(least, arena);
        aim =
            static_cast<std::size_t>(0.95 * static_cast<double>(aim) *
                                     static_cast<double>(options.memory_limit) / static_cast<double>(arena));
    }
    fail<MemoryError>("freeze",
                      "a memory limit of " + std::to_string(options.memory_limit) +
                          " bytes cannot be kept: " + std::to_string(least) + " is the smallest plan found",
                      at);
}

/// What a path's executable is and why, now or since its last run.
WENGERT_INLINE void FrozenCore::note_plan(const FrozenPath& p)
{
    static_cast<PlanStats&>(stats) = p.executable->stats;
    p.executable->stats_changed = false;
    if (!p.executable->note.empty()) reason += "; " + p.executable->note;
    reason += host_calls(p.optimized);
}

/// The first guard on what depends on a communication, or null. Where it failed on one process alone, that one would communicate
/// again and the others not.
inline const Guard* guard_after_communication(const Graph& g)
{
    std::vector<bool> after(g.size());
    for (ValueId v = 0; v < g.size(); ++v) {
        const GraphNode& n = g.node(v);
        after[v] = n.primitive && n.primitive->communicates;
        for (const ValueId i : n.inputs) after[v] = after[v] || after[i];
    }
    for (const Guard& guard : g.guards())
        if (after[guard.value]) return &guard;
    return nullptr;
}

WENGERT_INLINE std::shared_ptr<FrozenPath> FrozenCore::add(FrozenEntry& e, FrozenTrace t, const Words& family,
                                                           std::int64_t extent)
{
    const Guard* const late = guard_after_communication(t.graph);
    if (late)
        e.why = "it reads a value that depends on a communication, at " + to_string(late->at) +
                ": where that differed on one rank alone, it would communicate again and the others would "
                "not. It "
                "runs eagerly (use where, cond or while_loop)";
    if (t.depends)
        e.why =
            "its result depends on a variable that it captures, which a graph would take for a constant: it "
            "runs eagerly (pass that variable as an argument)";
    if (const GraphNode* n = t.escaped != no_value && !t.depends ? &t.graph.node(t.escaped) : nullptr)
        e.why =
            "a tensor outside of the function holds " +
            (n->primitive ? "the result of " + std::string(n->primitive->name) : std::string("an argument")) +
            " at " + to_string(n->at) +
            ", which a replay could not give it: it runs eagerly (declare that tensor live)";
    const auto count = [&] { signatures_ += !std::exchange(e.traced, true); };
    if (late || t.depends || t.escaped != no_value) {
        count();
        e.eager = true;
        reason = e.why;
        ++stats.eager_calls;
        return nullptr;
    }
    if (!options.dynamic.empty() && confirm(e, t)) return e.paths.front();
    Graph recorded = options.dynamic.empty() ? std::move(t.graph) : t.graph;
    e.paths.insert(e.paths.begin(), make_path(t, std::move(recorded)));
    const FrozenPath& p = *e.paths.front();
    count();
    ++stats.traces;
    stats.recorded_ops = 0;
    for (const GraphNode& n : p.recorded.nodes()) stats.recorded_ops += n.kind == Graph::Kind::operation;
    note_plan(p);
    stats.constant_bytes = 0;
    for (const GraphNode& n : p.optimized.nodes())
        stats.constant_bytes += n.constant ? n.constant->bytes() : 0;
    stats.recomputed_ops = p.recomputed;
    stats.extra_work = p.extra_work;
    if (options.dynamic.empty()) return e.paths.front();
    auto f = std::find_if(families_.begin(), families_.end(),
                          [&](const auto& x) { return x.signature == family; });
    if (f == families_.end()) {
        if (families_.size() >= std::max<std::size_t>(options.shapes, 1)) families_.erase(families_.begin());
        f = families_.insert(families_.end(), {family, {}});
    }
    if (f->samples.size() < FrozenFamily::max_samples) f->samples.push_back({extent, std::move(t)});
    return e.paths.front();
}

WENGERT_INLINE bool FrozenCore::confirm(FrozenEntry& e, const FrozenTrace& t)
{
    const auto says_so = [&](const std::shared_ptr<FrozenPath>& p) {
        return !p->confirmed && p->numbers == t.numbers && p->live == t.live &&
               same_trace(p->recorded, t.graph);
    };
    const auto found = std::find_if(e.paths.begin(), e.paths.end(), says_so);
    const bool any = found != e.paths.end();
    if (any) {
        (*found)->confirmed = true;
        std::rotate(e.paths.begin(), found, found + 1);
        ++stats.specialised;
    }
    std::erase_if(e.paths, [](const auto& p) { return !p->confirmed; });
    return any;
}

/// The path for these inputs that two traces give, or null.
WENGERT_INLINE std::shared_ptr<FrozenPath> FrozenCore::derived(const FrozenSample& a, const FrozenSample& b,
                                                               std::int64_t extent) const
{
    if (a.extent == b.extent || a.trace.numbers != b.trace.numbers || a.trace.live != b.trace.live) return {};
    auto graph = graph_for_extent(a.trace.graph, a.extent, b.trace.graph, b.extent, extent);
    if (!graph || !fits_inputs(*graph, call.arguments.inputs) || !descriptions_hold(*graph)) return {};
    try {
        auto path = make_path(a.trace, std::move(*graph));
        path->confirmed = !options.check;
        return path;
    } catch (const Error&) {
        return {};  // shapes that do not fit, memory that does not suffice: f will say
    }
}

WENGERT_INLINE void FrozenCore::specialise(FrozenEntry& e, const Words& family, std::int64_t extent)
{
    const auto f = std::find_if(families_.begin(), families_.end(),
                                [&](const auto& x) { return x.signature == family; });
    if (f == families_.end()) return;
    for (std::size_t j = 1; j < f->samples.size(); ++j)
        for (std::size_t i = 0; i < j && e.paths.size() < options.paths; ++i)
            if (auto path = derived(f->samples[i], f->samples[j], extent)) {
                if (path->confirmed) ++stats.specialised;
                e.paths.push_back(std::move(path));
                break;
            }
}

}  // namespace detail
}  // namespace wengert
