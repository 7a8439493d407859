// The backend `native`, behind native.hpp: plans as the default executor does, loops as text.
#pragma once

#include "native.hpp"
#include "../tile/compile.hpp"
#include "fold_text.hpp"
#include "function_text.hpp"
#include "native_groups.hpp"
#include "native_loops.hpp"
#include "native_products.hpp"
#include "../../base/compiler/shared_object.hpp"
#include "vector_text.hpp"

namespace wengert {

namespace detail {

/// (addresses of operands and results, kernels::zero_cotangent)
using NativeKernel = void (*)(void* const* addresses, double zero);

/// A call of a loop; the addresses lie behind it.
struct NativeStep {
    NativeKernel loop = nullptr;
    void** addresses = nullptr;
    static bool run(const void* self, tiling::Run&)
    {
        const auto& s = *static_cast<const NativeStep*>(self);
        s.loop(s.addresses, kernels::zero_cotangent);
        return true;
    }
};

inline std::vector<std::string> native_flags(const Compiler& compiler)
{
    // the first: the compiler's command may come with such options, from the environment
    std::vector<std::string> flags = {"-fno-fast-math",
                                      "-fno-unsafe-math-optimizations",
                                      "-fno-associative-math",
                                      "-fno-reciprocal-math",
                                      "-fsigned-zeros",
                                      "-fno-finite-math-only",
                                      "-std=c++17",
                                      "-O2",
                                      "-march=native",
                                      "-ffp-contract=off",
                                      "-fno-math-errno",
                                      "-fno-trapping-math",
                                      "-fwrapv",
                                      "-fno-strict-aliasing",
                                      "-g1",
                                      "-w",
                                      "-shared",
                                      "-fPIC"};
    if (compiler.identity.find("clang") == std::string::npos) flags.emplace_back("-Wno-psabi");
    return flags;
}

inline void emit_native(tiling::Emitter& e, const std::vector<ValueId>& values, NativeKernel loop)
{
    NativeStep& s = *e.step<NativeStep>();
    s.loop = loop;
    s.addresses = e.program.memory.array<void*>(values.size());
    for (std::size_t k = 0; k < values.size(); ++k) e.bind(&s.addresses[k], values[k]);
}

/// Adds that an elementwise operation is not compiled, because its rule has no text; the same line once, of very many some.
inline void note_untold(std::string& note, const GraphNode& n)
{
    if (!n.primitive->value || element_count(n.shape) == 0) return;
    const std::string what = std::string(n.primitive->name) + " of " + std::string(name_of(n.dtype)) +
                             (n.at.line ? " at " + to_string(n.at) : "") +
                             " has no native form and is a kernel of the library";
    if (note.size() < 2000 && note.find(what) == std::string::npos) note += (note.empty() ? "" : "; ") + what;
}

/// A graph planned for native code: its groups, and the text of their loops.
struct NativePlan {
    NativeGroups groups;
    tiling::Plan plan;
    NativeLoops loops;
    CppModule module{"wg"};
    std::vector<std::string> functions;           ///< of each task that is one, its name
    std::vector<std::vector<ValueId>> addresses;  ///< that it is given

    NativePlan(const Graph& g, const PlanOptions& options)
        : groups(g, tiling::layouts_of(g)), plan(g, options, groups.take()), loops(g, plan),
          functions(plan.tasks.size()), addresses(plan.tasks.size())
    {
        const ProductWriter products(g, plan.layouts);
        for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
            const tiling::Group& group = plan.tasks[t].group;
            if (!group.fused) {
                ProductCode product = products.write(group.nodes[0]);
                if (product.text.empty()) continue;
                functions[t] = function(product.text);
                addresses[t] = std::move(product.addresses);
                continue;
            }
            addresses[t].assign(group.operands.begin(), group.operands.end());
            addresses[t].insert(addresses[t].end(), group.results.begin(), group.results.end());
            functions[t] = function(fused_text(g, plan, plan.tasks[t], groups.chains()));
        }
        module.functions += loops.text();
    }
    std::string text() const
    {
        return std::string("#define WG_FUSED ") + (text_is_fused<> ? "1\n" : "0\n") + vector_text +
               VectorFunctions::called_in(module.functions) + fold_text + ProductWriter::head() +
               module.functions;
    }

private:
    /// Those that differ in their addresses only are one.
    std::string function(const std::string& body)
    {
        return module.once('k', "#line 1 \"wengert\"\nextern \"C\" void ", body);
    }
};

}  // namespace detail

WENGERT_INLINE std::string native_text(const Graph& g, const PlanOptions& options)
{
    return detail::NativePlan(g, options).text();
}

WENGERT_INLINE std::unique_ptr<Executable> compile_native(const Graph& g, const PlanOptions& options)
{
    const detail::NativePlan code(g, options);
    detail::Compiled compiled;
    if (!code.module.functions.empty()) {
        compiled = detail::compile_text(code.text(), detail::native_flags(detail::compiler_now()));
        if (!compiled.object) {
            auto tiles = compile_tile(g, options);
            tiles->note = compiled.message;
            tiles->stats.uncompiled = tiles->stats.kernels;
            for (const GraphNode& n : g.nodes())
                tiles->stats.uncompiled_loops += loop_parameters(n) != nullptr;
            return tiles;
        }
    }
    auto program = std::make_unique<tiling::Program>();
    program->owned().push_back(compiled.object);
    program->note = code.loops.reasons;
    std::size_t uncompiled = 0, loops_left = 0;
    if (options.threads != 1)
        program->note += (program->note.empty() ? "" : "; ") + std::string("native code runs on one thread");
    tiling::Emitter e(code.plan, *program);
    void* const* const constants = detail::bind_constants(e, code.loops);
    tiling::emit_plan(e, options.watch, [&](std::size_t t) {
        const tiling::Task& task = code.plan.tasks[t];
        const detail::NativeLoops::Made* whole = code.loops.find(task.group.nodes[0]);
        if (!code.functions[t].empty())
            detail::emit_native(
                e, code.addresses[t],
                reinterpret_cast<detail::NativeKernel>(compiled.object->symbol(code.functions[t].c_str())));
        else if (whole)
            detail::emit_native_loop(
                e, task.group.nodes[0], *whole,
                reinterpret_cast<detail::NativeLoop>(compiled.object->symbol(whole->name.c_str())),
                constants);
        else {
            ++uncompiled;
            loops_left += loop_parameters(g.node(task.group.nodes[0])) != nullptr;
            detail::note_untold(program->note, g.node(task.group.nodes[0]));
            tiling::detail::emit_task(e, task);
        }
    });
    program->stats.uncompiled = uncompiled;
    program->stats.uncompiled_loops = loops_left;
    return program;
}

}  // namespace wengert
