// The backend `native`, behind native.hpp: plans as the default executor does, loops as text.
#pragma once

#include "../native.hpp"
#include "../../../base/compiler/shared_object.hpp"
#include "../../loops/loop_code.hpp"
#include "../../loops/program_body.hpp"
#include "../../run/compile.hpp"
#include "../native_flags.hpp"
#include "../native_plan.hpp"

namespace wengert {

namespace detail {

/// The run of a function, as the text sees it.
struct NativeRun {
    double zero;
    void* const* constants;
    std::int64_t count;
};
/// A compiled function. It returns 0, or another number if an index was out of range.
using NativeCode = int (*)(void* const* addresses, char* arena, const NativeRun* run);

/// A call of a function.
struct NativeStep {
    NativeCode code = nullptr;
    void** addresses = nullptr;
    void* const* constants = nullptr;
    std::byte* arena = nullptr;
    std::int64_t count = 0;
    const tiling::detail::Call* call = nullptr;  ///< of what may fail: says what is wrong with an index
    void operator()(tiling::Run& run) const
    {
        const NativeRun now{kernels::zero_cotangent, constants, count};
        if (code(addresses, reinterpret_cast<char*>(arena), &now) != 0) return call->compute(run.thread);
        if (call && !call->primitive->index) report(*call->primitive->loop(call->op));
    }

private:
    static void report(const LoopParameters& p)
    {
        if (p.snapshots == 0) return;
        const auto steps = static_cast<std::uint64_t>(p.steps);
        const bool back = p.kind == LoopParameters::Kind::scan_pull;
        p.code->forward =
            back ? revolve::forward_steps(steps, static_cast<std::uint64_t>(p.snapshots)) - (steps - 1)
                 : steps;
        if (back) p.code->recorded = steps;
    }
};

/// The graph as tiles, and why.
inline std::unique_ptr<Executable> as_tiles(const Graph& g, const PlanOptions& options, std::string why)
{
    auto executable = compile_tile(g, options);
    executable->note = std::move(why);
    executable->stats.uncompiled = executable->stats.kernels;
    for (const GraphNode& n : g.nodes()) executable->stats.uncompiled_loops += loop_parameters(n) != nullptr;
    return executable;
}

/// `single`: an operation by itself, whose index may be none.
inline void emit_native(tiling::Emitter& e, const NativeFunction& f, NativeCode code, void* const* constants,
                        bool single)
{
    const tiling::detail::Call* const call =
        single ? tiling::detail::make_call(e, f.addresses.back()) : nullptr;
    std::byte* arena = f.workspace ? e.scratch(f.workspace + 64) : nullptr;
    if (arena) arena += (64 - reinterpret_cast<std::uintptr_t>(arena) % 64) % 64;
    e.step(NativeStep{code, e.addresses<void>(f.addresses), constants, arena, f.count, call});
}

/// Binds the table in which the text finds its constants.
inline void* const* bind_constants(tiling::Emitter& e, const std::vector<Ref<Block>>& constants)
{
    void** at = e.program.memory.array<void*>(constants.size());
    for (std::size_t k = 0; k < constants.size(); ++k) {
        at[k] = constants[k]->data;
        e.program.blocks().push_back(constants[k]);
    }
    return at;
}

/// Adds a line that is not there yet; of very many some.
inline void add_note(std::string& note, const std::string& what)
{
    if (!what.empty() && note.size() < 2000 && note.find(what) == std::string::npos)
        note += (note.empty() ? "" : "; ") + what;
}

/// Adds that an elementwise operation is not compiled, because its rule has no text.
inline void note_without_text(std::string& note, const GraphNode& n)
{
    if (!n.primitive->value || element_count(n.shape) == 0) return;
    add_note(note, std::string(n.primitive->name) + " of " + std::string(name_of(n.dtype)) +
                       (n.at.line ? " at " + to_string(n.at) : "") +
                       " has no native form and is a kernel of the library");
}

/// One object of the plans that have functions; no object where none has.
inline Compiled compile_plans(std::vector<const NativePlan*> plans)
{
    std::erase_if(plans, [](const NativePlan* p) { return p->too_long() || p->cpp.functions.empty(); });
    if (plans.empty()) return {};
    const bool quick =
        std::any_of(plans.begin(), plans.end(), [](const NativePlan* p) { return p->cpp.statements > 0; });
    return compile_text(NativePlan::text_of(plans), native_flags(compiler_now(), quick));
}

/// A plan's steps: functions of the object that was made of its text, and the library's for the others.
class NativeEmission {
public:
    NativeEmission(const NativePlan& code, const Compiled& compiled, tiling::Emitter& e)
        : code_(code), compiled_(compiled), e_(e), constants_(bind_constants(e, code.cpp.shared))
    {
        e.program.owned().push_back(compiled.object);
    }
    void task(std::size_t t)
    {
        const tiling::Task& task = code_.plan.tasks[t];
        const GraphNode& n = code_.plan.graph.node(task.group.nodes[0]);
        const LoopParameters* const loop = loop_parameters(n);
        if (const NativeFunction& f = code_.functions[t]; !f.name.empty()) {
            const bool single = !task.group.fused && (loop || n.primitive->index);
            emit_native(e_, f, reinterpret_cast<NativeCode>(compiled_.object->symbol(f.name.c_str())),
                        constants_, single);
            return;
        }
        if (loop) {
            loop->code->make_steps_by(&native_step);
            add_note(note, loop->code->prepare(*loop));
        }
        ++uncompiled;
        loops_left += loop != nullptr;
        note_without_text(note, n);
        tiling::detail::emit_task(e_, task);
    }
    /// The step of a loop that has no text as a whole.
    static std::unique_ptr<BodyPlan> native_step(const std::shared_ptr<const Graph>& g, std::size_t states,
                                                 std::size_t fixed)
    {
        HoistedBody body = hoisted(g, fixed);
        const tiling::Rotation rotation{states, fixed, ProgramBody::least_swapped};
        const NativePlan code(*body.step, "wg", rotation);
        const Compiled compiled = compile_plans({&code});
        if (code.too_long() || !compiled.object) {
            auto made = std::make_unique<ProgramBody>(g, states, fixed);
            const std::string why = code.too_long() ? code.why_too_long() : compiled.message;
            if (!why.empty()) made->note = "of the steps of a loop: " + why;
            return made;
        }
        std::string said;
        auto made =
            std::make_unique<ProgramBody>(std::move(body), code.plan, rotation, [&](tiling::Emitter& e) {
                NativeEmission steps(code, compiled, e);
                for (std::size_t t = 0; t < code.plan.tasks.size(); ++t) steps.task(t);
                said = steps.note;
            });
        made->note = said;
        return made;
    }

    std::string note;
    std::size_t uncompiled = 0, loops_left = 0;

private:
    const NativePlan& code_;
    const Compiled& compiled_;
    tiling::Emitter& e_;
    void* const* constants_;
};

/// The plan with the functions of the object that was made of its text; without one, tiles.
inline std::unique_ptr<Executable> bind_native(const Graph& g, const NativePlan& code,
                                               const Compiled& compiled, const PlanOptions& options)
{
    if (code.too_long()) return as_tiles(g, options, code.why_too_long());
    if (!code.cpp.functions.empty() && !compiled.object) return as_tiles(g, options, compiled.message);
    auto program = std::make_unique<tiling::Program>();
    program->note = code.reasons;
    if (options.threads != 1)
        program->note += (program->note.empty() ? "" : "; ") + std::string("native code runs on one thread");
    tiling::Emitter e(code.plan, *program);
    NativeEmission steps(code, compiled, e);
    tiling::emit_plan(e, options.watch, [&](std::size_t t) { steps.task(t); });
    if (!steps.note.empty()) program->note += (program->note.empty() ? "" : "; ") + steps.note;
    program->stats.uncompiled = steps.uncompiled;
    program->stats.uncompiled_loops = steps.loops_left;
    return program;
}

}  // namespace detail

WENGERT_INLINE std::string native_text(const Graph& g) { return detail::NativePlan(g).text(); }

WENGERT_INLINE std::unique_ptr<Executable> compile_native(const Graph& g, const PlanOptions& options)
{
    const detail::NativePlan code(g);
    return detail::bind_native(g, code, detail::compile_plans({&code}), options);
}

WENGERT_INLINE std::vector<std::unique_ptr<Executable>> compile_native_together(
    const std::vector<Graph>& graphs, const PlanOptions& options)
{
    std::vector<std::unique_ptr<const detail::NativePlan>> plans;
    std::vector<const detail::NativePlan*> list;
    for (const Graph& g : graphs) {
        const std::string prefix = "wg" + std::to_string(plans.size());
        plans.push_back(std::make_unique<const detail::NativePlan>(g, prefix));
        list.push_back(plans.back().get());
    }
    const detail::Compiled compiled = detail::compile_plans(list);
    std::vector<std::unique_ptr<Executable>> made;
    for (std::size_t k = 0; k < graphs.size(); ++k)
        made.push_back(detail::bind_native(graphs[k], *plans[k], compiled, options));
    return made;
}

}  // namespace wengert
