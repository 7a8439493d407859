// Loops, branches and index programs in native code. Of a loop one function runs all steps, its states in memory that it alone knows. The text is that of
// emit_cpp (cpp_loop.hpp, cpp_scan_pull.hpp) over vectors. Bodies that do more than elementwise operations, moves and sums of
// rows run step by step as in the default executor; `reasons` says so.
#pragma once

#include "../tile/call_steps.hpp"
#include "cpp_function.hpp"

namespace wengert::detail {

/// What the text of loops needs of the standard headers, which it does without.
inline constexpr const char loop_prelude[] = R"wg(
#line 1 "wengert"
typedef long ptrdiff_t; typedef unsigned long size_t; typedef i32 int32_t; typedef i64 int64_t;
typedef u32 uint32_t; typedef u64 uint64_t;
#define INT64_MAX __LONG_MAX__
#define memcpy __builtin_memcpy
#define memset __builtin_memset
#define realloc __builtin_realloc
#define free __builtin_free
struct wg_run { f64 zero; void* const* constants; };
)wg";

/// As the text knows it.
struct NativeRun {
    double zero;
    void* const* constants;
};
/// Not 0 where it met an index that is none.
using NativeLoop = int (*)(void* const* addresses, char* arena, const NativeRun* run);

/// The loops, branches and index programs of a graph as functions of one text.
class NativeLoops {
public:
    struct Made {
        std::string name;
        std::vector<ValueId> operands;  ///< whose addresses it is given, then that of the result
        std::size_t workspace = 0;
    };

    NativeLoops(const Graph& g, const tiling::Plan& plan) : g_(g), layouts_(plan.layouts)
    {
        for (const tiling::Task& t : plan.tasks) {
            const ValueId v = t.group.nodes[0];
            if (t.group.fused || !(loop_parameters(g.node(v)) || g.node(v).primitive->index)) continue;
            if (g.node(v).primitive->index && moves_boxes(g, g.node(v)))
                continue;  // there are steps for that
            try {
                add(v);
            } catch (const TapeError& refused) {
                if (!reasons.empty()) reasons += "; ";
                reasons += std::string(g.node(v).primitive->name) + " at " + to_string(g.node(v).at) +
                           " runs step by step: " + refused.what();
            }
        }
    }
    /// The function of a node, null where there is none.
    const Made* find(ValueId v) const
    {
        const auto at = made_.find(v);
        return at == made_.end() ? nullptr : &at->second;
    }
    const std::vector<Ref<Block>>& constants() const noexcept { return module_.shared; }
    std::string text() const
    {
        if (made_.empty()) return {};
        std::string helpers;
        for (const std::string& h : module_.helpers) helpers += cpp_helper(h, module_.prefix, false);
        return loop_prelude + helpers + module_.functions;
    }
    std::string reasons;  ///< why loops are not among them

private:
    void add(ValueId v)
    {
        Made made;
        for (ValueId i : g_.node(v).inputs)  // the views that it reads are made inside
            if (const ValueId x = layouts_[i].root;
                std::find(made.operands.begin(), made.operands.end(), x) == made.operands.end())
                made.operands.push_back(x);
        const CppModule::Body f = module_.function(graph_between(g_, made.operands, {v}));
        made.workspace = f.workspace;
        made.name = module_.prefix + (g_.node(v).primitive->index ? "index" : "loop") + std::to_string(v);
        std::string list;
        for (std::size_t k = 0; k <= made.operands.size(); ++k) {
            const DType d = g_.node(k < made.operands.size() ? made.operands[k] : v).dtype;
            list += std::string("(") + c_type(d, Dialect::numbers) + "*)p[" + std::to_string(k) + "], ";
        }
        module_.functions += "extern \"C\" int " + made.name +
                             "(void* const* p, char* arena, const wg_run* run)\n{\n    " +
                             (f.fails ? "return " : "") + f.name + "(" + list + "arena, run);\n" +
                             (f.fails ? "}\n" : "    return 0;\n}\n");
        made_[v] = std::move(made);
    }
    const Graph& g_;
    const tiling::Layouts& layouts_;
    CppModule module_{"wg"};
    std::map<ValueId, Made> made_;
};

/// One run of a loop; its addresses lie behind it.
struct NativeLoopStep {
    NativeLoop loop = nullptr;
    void** addresses = nullptr;
    void* const* constants = nullptr;
    std::byte* arena = nullptr;
    const tiling::detail::Call* call = nullptr;  ///< says what is wrong with an index
    static bool run(const void* self, tiling::Run& run)
    {
        const auto& s = *static_cast<const NativeLoopStep*>(self);
        const NativeRun now{kernels::zero_cotangent, s.constants};
        if (s.loop(s.addresses, reinterpret_cast<char*>(s.arena), &now) != 0)
            return tiling::detail::Call::run_compute(s.call, run);
        if (!s.call->primitive->index) report(*s.call->primitive->loop(s.call->op));
        return true;
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

inline void emit_native_loop(tiling::Emitter& e, ValueId v, const NativeLoops::Made& made, NativeLoop loop,
                             void* const* constants)
{
    const tiling::detail::Call* call = tiling::detail::make_call(e, v);
    std::byte* arena = e.scratch(made.workspace + 64);
    arena += (64 - reinterpret_cast<std::uintptr_t>(arena) % 64) % 64;
    NativeLoopStep& s = *e.step<NativeLoopStep>();
    s = {loop, e.program.memory.array<void*>(made.operands.size() + 1), constants, arena, call};
    for (std::size_t k = 0; k < made.operands.size(); ++k) e.bind(&s.addresses[k], made.operands[k]);
    e.bind(&s.addresses[made.operands.size()], v);
}

/// Where the text finds its constants.
inline void* const* bind_constants(tiling::Emitter& e, const NativeLoops& loops)
{
    void** at = e.program.memory.array<void*>(loops.constants().size());
    for (std::size_t k = 0; k < loops.constants().size(); ++k) {
        at[k] = loops.constants()[k]->data;
        e.program.blocks().push_back(loops.constants()[k]);
    }
    return at;
}

}  // namespace wengert::detail
