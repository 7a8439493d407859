// A graph planned for native code, and the text of its functions: fused loops, small products and moves, loops, branches and index
// programs. One function runs all steps of a loop, with the states in memory of its own. Its text is that of emit_cpp (cpp_loop.hpp)
// over vectors. Operations without a text run as in the default executor.
#pragma once

#include "../c/cpp_function.hpp"
#include "../text/fold_text.hpp"
#include "../text/function_text.hpp"
#include "native_places.hpp"
#include "native_products.hpp"
#include "../text/vector_text.hpp"

namespace wengert::detail {

/// What the text of loops needs of the standard headers, which it does without.
inline constexpr const char native_prelude[] = R"wg(
#line 1 "wengert"
typedef long ptrdiff_t; typedef unsigned long size_t; typedef i32 int32_t; typedef i64 int64_t;
typedef u32 uint32_t; typedef u64 uint64_t;
#define INT64_MAX __LONG_MAX__
#define memcpy __builtin_memcpy
#define memset __builtin_memset
#define realloc __builtin_realloc
#define free __builtin_free
struct wg_run { f64 zero; void* const* constants; i64 count; };
)wg";

/// A function of the text: its name, the values whose addresses it is given, the bytes that it works in.
struct NativeFunction {
    std::string name;
    std::vector<ValueId> addresses;
    std::size_t workspace = 0;
    std::int64_t count = 0;  ///< of a loop whose text is that of all lengths: its elements
};

struct NativePlan {
    NativeGroups groups;
    tiling::Plan plan;
    CppModule cpp;
    std::vector<NativeFunction> functions;  ///< of each task that is one
    std::string reasons;                    ///< why loops are not among them

    /// Statements of such loops that are compiled; with more of them the graph runs as tiles.
    static constexpr std::size_t most_statements = 100'000;
    bool too_long() const noexcept { return cpp.statements > most_statements; }
    std::string why_too_long() const
    {
        return "the text of its loops has more than " + std::to_string(most_statements) +
               " statements, which would take the compiler too long: the graph runs as tiles";
    }

    /// Names of functions begin with `prefix`. `rotation`: g is a step of a loop.
    explicit NativePlan(const Graph& g, std::string_view prefix = "wg",
                        std::optional<tiling::Rotation> rotation = {})
        : groups(g, tiling::layouts_of(g)), plan(planned(g, rotation)), cpp(prefix),
          functions(plan.tasks.size())
    {
        const ProductWriter products(g, plan.layouts);
        std::set<std::size_t>
            long_ones;  // elements of loops in strips: those beside them have no other text for each length either
        for (const tiling::Task& t : plan.tasks)
            if (groups.in_strips(t.group)) long_ones.insert(count(g, t.group));
        for (std::size_t t = 0; t < functions.size() && !too_long(); ++t) {
            const tiling::Group& group = plan.tasks[t].group;
            const ValueId v = group.nodes[0];
            if (group.fused) {
                functions[t].addresses.assign(group.operands.begin(), group.operands.end());
                const ValueList results = ResultRoots(plan.layouts, group).list;
                functions[t].addresses.insert(functions[t].addresses.end(), results.begin(), results.end());
                if (groups.may_be_in_strips(group) && long_ones.contains(count(g, group)))
                    strips(g, functions[t], group);
                else
                    functions[t].name = called(fused_text(g, plan, plan.tasks[t], groups));
            } else if (ProductCode product = products.write(v, long_ones.empty()); !product.text.empty()) {
                functions[t] = {called(product.text), std::move(product.addresses)};
            } else if (has_text(g, v, long_ones.empty())) {
                try {
                    functions[t] = whole(g, v);
                } catch (const TapeError& refused) {
                    if (!reasons.empty()) reasons += "; ";
                    reasons += std::string(g.node(v).primitive->name) + " at " + to_string(g.node(v).at) +
                               " runs step by step: " + refused.what();
                }
            }
        }
    }
    std::string text() const { return text_of({this}); }
    /// One text for several plans of different prefixes.
    static std::string text_of(const std::vector<const NativePlan*>& plans)
    {
        std::string helpers, all;
        bool in_strips = false;
        for (const NativePlan* p : plans) {
            for (const std::string& h : p->cpp.helpers) helpers += cpp_helper(h, p->cpp.prefix, false);
            all += p->cpp.functions;
            in_strips = in_strips || p->cpp.statements > 0;
        }
        return std::string("#define WG_FUSED ") + (text_is_fused<> ? "1\n" : "0\n") + vector_text +
               VectorFunctions::called_in(all) + fold_text + ProductWriter::head() + native_prelude +
               (in_strips ? strip_text : "") + helpers + all;
    }

private:
    /// Elements up to which a move is text, whose loops know their extents. Larger ones are left to the library, which moves in blocks.
    static constexpr std::size_t most_moved = 4096;
    /// Parts of one move, and moves of one graph, that are text: each has a function of its own.
    static constexpr std::size_t most_parts = 64, most_moves = 256;
    std::size_t moves_ = 0;

    tiling::Plan planned(const Graph& g, std::optional<tiling::Rotation> rotation)
    {
        std::vector<tiling::Group> made = groups.take();
        std::vector<tiling::Inside> inside;
        if (!rotation) inside = PartsInPlace(g, groups).of(made);
        return {g, std::move(made), rotation, false, inside};
    }

    static constexpr const char* arguments = "(void* const* p, char* arena, const wg_run* run)\n{\n    ";

    /// A function of addresses alone. Those that differ in these only are one.
    std::string called(const std::string& body)
    {
        const std::string f = cpp.once('f', CppModule::fused, body);
        return cpp.once('k', "#line 1 \"wengert\"\nextern \"C\" int ",
                        arguments + f + "(p, run->zero);\n    return 0;\n}\n");
    }
    /// Is node v text by itself? Moves are where the text has its extents (`extents_known`): it need not serve all lengths.
    bool has_text(const Graph& g, ValueId v, bool extents_known)
    {
        const GraphNode& n = g.node(v);
        if (!is_described(*n.primitive) || !moves_boxes(g, n))
            return loop_parameters(n) || n.primitive->index;
        if (!extents_known || element_count(n.shape) > most_moved || n.inputs.size() > most_parts ||
            moves_ == most_moves)
            return false;
        const bool text = each_program(g, n, [](const Index& p, std::span<const ValueId>) {
            return p.start != Index::Start::operand;  // what is added in place stays where it is
        });
        moves_ += text;
        return text;
    }
    static std::size_t count(const Graph& g, const tiling::Group& group)
    {
        return element_count(g.node(group.nodes[0]).shape);
    }
    /// A long loop. Its length is an argument.
    void strips(const Graph& g, NativeFunction& made, const tiling::Group& group)
    {
        const StripFunction f = strip_function(cpp, g, plan.layouts, group);
        made.workspace = f.workspace;
        made.count = f.count;
        made.name = cpp.once('k', "#line 1 \"wengert\"\nextern \"C\" int ",
                             arguments + f.name + "(p, arena, run->count, run->zero);\n    return 0;\n}\n");
    }
    /// A node by itself; the views that it reads are made inside.
    NativeFunction whole(const Graph& g, ValueId v)
    {
        NativeFunction made;
        for (ValueId i : g.node(v).inputs)
            if (const ValueId x = plan.layouts[i].root;
                std::find(made.addresses.begin(), made.addresses.end(), x) == made.addresses.end())
                made.addresses.push_back(x);
        const CppModule::Body f = cpp.function(graph_between(g, made.addresses, {v}));
        made.addresses.push_back(v);
        made.workspace = f.workspace;
        made.name = cpp.prefix + (loop_parameters(g.node(v)) ? "loop" : "index") + std::to_string(v);
        std::string list;
        for (std::size_t k = 0; k < made.addresses.size(); ++k)
            list += filled("($*)p[$], ", c_type(g.node(made.addresses[k]).dtype, Dialect::numbers), k);
        cpp.functions +=
            "extern \"C\" int " + made.name + arguments +
            filled(f.fails ? "return $($arena, run);\n}\n" : "$($arena, run);\n    return 0;\n}\n", f.name,
                   list);
        return made;
    }
};

}  // namespace wengert::detail
