// How a backend runs a graph: its fusion groups, where each value is kept and how long, and what each kernel takes.
#pragma once

#include "../ir/executable.hpp"
#include "../ir/watch.hpp"
#include "chrome_trace.hpp"
#include "text.hpp"

namespace wengert {

/// A step of a run: a fusion group, or a call of a library kernel.
struct PlannedKernel {
    std::string name;            ///< of its operations: "multiply, add, tanh"
    Site at;                     ///< the line of the last one
    std::vector<ValueId> nodes;  ///< views among them
    std::uint32_t strand = 0;    ///< of those that run at once
    std::string at_once = {};    ///< "wave 0, strand 1 of 4", "" where it runs by itself
};

/// What inspect() finds. Kernels are numbered as they run: `notes.group` and the memory blocks' steps are these numbers.
struct GraphPlan {
    std::vector<PlannedKernel> kernels;
    Annotations notes;
    std::vector<MemoryBlock> memory;
    std::size_t arena_bytes = 0, lower_bound = 0;  ///< as PlanStats has them
};

namespace detail {

/// "add", "input 3"
inline std::string value_name(const GraphNode& n)
{
    if (n.primitive) return std::string(n.primitive->name);
    return (n.kind == GraphNode::Kind::input ? "input " : "result ") + std::to_string(n.index);
}

inline PlannedKernel planned_kernel(const Graph& g, const PlanWatch& watch, const std::vector<ValueId>& nodes)
{
    PlannedKernel kernel{{}, {}, nodes};
    for (ValueId v : nodes) {
        if (g.node(v).at.line > 0) kernel.at = g.node(v).at;
        if (watch.values[v].home == PlanWatch::Home::view) continue;
        kernel.name += (kernel.name.empty() ? "" : ", ") + value_name(g.node(v));
    }
    kernel.name = shortened(std::move(kernel.name), 60);
    return kernel;
}

/// "buffer 3 @ 1024, live 5-9"
inline std::string value_note(const PlanWatch& watch, const PlanWatch::Value& value)
{
    const std::string live = ", live " + std::to_string(value.first) + "-" + std::to_string(value.last);
    switch (value.home) {
    case PlanWatch::Home::arena:
        return "buffer " + std::to_string(value.number) + " @ " +
               std::to_string(watch.buffers[value.number].offset) + live;
    case PlanWatch::Home::output: return "in output " + std::to_string(value.number) + live;
    case PlanWatch::Home::view: return "view of %" + std::to_string(value.number);
    default: return {};
    }
}

inline MemoryBlock memory_block(const Graph& g, const PlanWatch::Buffer& b)
{
    MemoryBlock block{b.values.front(), b.offset, b.bytes, b.first, b.last, value_name(g.node(b.values[0]))};
    if (b.values.size() > 1) block.label += " ... " + value_name(g.node(b.values.back()));
    return block;
}

/// Which kernels run at once (PlanOptions::threads).
inline void note_waves(const PlanWatch& watch, GraphPlan& plan)
{
    for (std::size_t w = 0; w < watch.waves.size(); ++w) {
        const auto& cuts = watch.waves[w];
        for (std::uint32_t k = 0; k + 1 < cuts.size(); ++k)
            for (std::uint32_t t = cuts[k]; t < cuts[k + 1]; ++t) {
                plan.kernels[t].strand = k;
                plan.kernels[t].at_once = "wave " + std::to_string(w) + ", strand " + std::to_string(k) +
                                          " of " + std::to_string(cuts.size() - 1);
                plan.notes.group_name[t] += "; " + plan.kernels[t].at_once;
            }
    }
}

inline GraphPlan graph_plan(const Graph& g, const PlanWatch& watch)
{
    GraphPlan plan;
    plan.arena_bytes = watch.arena_bytes;
    plan.lower_bound = watch.lower_bound;
    plan.notes.group.assign(g.size(), -1);
    for (const std::vector<ValueId>& nodes : watch.kernels) {
        for (ValueId v : nodes) plan.notes.group[v] = static_cast<std::int32_t>(plan.kernels.size());
        plan.kernels.push_back(planned_kernel(g, watch, nodes));
        plan.notes.group_name.push_back(plan.kernels.back().name);
    }
    note_waves(watch, plan);
    for (const PlanWatch::Value& value : watch.values) plan.notes.text.push_back(value_note(watch, value));
    for (std::size_t v = 0; v < watch.transfers.size(); ++v)
        if (std::string& text = plan.notes.text[v]; !watch.transfers[v].empty())
            text += (text.empty() ? "" : ", ") + watch.transfers[v];
    for (const PlanWatch::Buffer& b : watch.buffers)
        if (b.bytes > 0 && !b.values.empty()) plan.memory.push_back(memory_block(g, b));
    return plan;
}

/// Throws ShapeError and DTypeError where these are no inputs of g.
inline void check_inputs(const Graph& g, const std::vector<Ref<Block>>& x, const Site& at)
{
    if (x.size() != g.inputs().size())
        fail<ShapeError>(
            "profile",
            std::to_string(x.size()) + " tensors for " + std::to_string(g.inputs().size()) + " inputs", at);
    for (std::size_t i = 0; i < x.size(); ++i) {
        const GraphNode& n = g.node(g.inputs()[i]);
        const std::string which = "input " + std::to_string(i) + " is " + type_text(n.dtype, n.shape) +
                                  ", not " + type_text(x[i]->dtype, x[i]->shape);
        if (x[i]->dtype != n.dtype) fail<DTypeError>("profile", which, at);
        if (!(x[i]->shape == n.shape)) fail<ShapeError>("profile", which, at);
    }
}

/// Inputs for one run that leaves the caller's as they are: those that the graph updates are copies, which it may write to.
inline std::vector<Ref<Block>> inputs_for_run(const Graph& g, const std::vector<Ref<Block>>& inputs)
{
    std::vector<Ref<Block>> in;
    for (std::size_t i = 0; i < inputs.size(); ++i)
        in.push_back(g.updates()[i] != no_value ? copy_of(*on_host(inputs[i])) : readable(inputs[i]));
    return in;
}

}  // namespace detail

/// The plan that a backend makes for a graph: inspect(g, wengert::tile). Of a backend that plans nothing, as `interpret`, it
/// is empty.
inline GraphPlan inspect(const Graph& g, const Backend& backend, PlanOptions options = {})
{
    PlanWatch watch;
    options.watch = &watch;
    static_cast<void>(backend.compile(g, options));
    return detail::graph_plan(g, watch);
}

/// The kernels of so many runs, each with its time: they run one by one as they do otherwise, with a look at the clock between
/// them, which adds some 20 ns to each. One run before these is not counted. `inputs` are as before; what the graph does
/// beside its results (host_callback) it does in each run. Throws ShapeError and DTypeError for inputs that do not fit,
/// TapeError where a guard does not hold for them, and what kernels throw.
inline std::vector<ProfileEvent> profile(const Graph& g, const std::vector<Ref<Block>>& inputs,
                                         const Backend& backend, std::size_t runs = 10,
                                         PlanOptions options = {},
                                         Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::check_inputs(g, inputs, at);
    PlanWatch watch;
    watch.timed = true;
    options.watch = &watch;
    const auto program = backend.compile(g, options);
    const GraphPlan plan = detail::graph_plan(g, watch);
    std::vector<ProfileEvent> events;
    std::int64_t begin = 0;
    for (std::size_t run = 0; run <= runs; ++run) {
        std::vector<Ref<Block>> in = detail::inputs_for_run(g, inputs), out;
        const std::size_t failed = program->run(in, out);
        if (failed < g.guards().size())
            fail<TapeError>("profile", "the graph does not hold for these inputs", g.guards()[failed].at);
        if (run == 0 || watch.ticks.empty()) continue;
        if (run == 1) begin = watch.ticks[0];
        for (std::size_t k = 0; k < plan.kernels.size(); ++k) {
            const PlannedKernel& kernel = plan.kernels[k];
            events.push_back({kernel.name, static_cast<double>(watch.ticks[2 * k] - begin) * 1e-9,
                              static_cast<double>(watch.ticks[2 * k + 1] - watch.ticks[2 * k]) * 1e-9,
                              kernel.strand, kernel.at.line > 0 ? to_string(kernel.at) : std::string(),
                              static_cast<std::int32_t>(k)});
        }
    }
    return events;
}

}  // namespace wengert
