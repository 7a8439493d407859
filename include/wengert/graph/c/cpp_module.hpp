// CppModule: what the functions of one text share, an emitted header or native code: types, helpers, constants, bodies of loops.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "../loops/loop.hpp"
#include "../plan/plan.hpp"
#include "../text/cpp_helpers.hpp"
#include "../text/native_groups.hpp"
#include "../text/strip_text.hpp"

namespace wengert::detail {

/// A result of the task lies where an operand does.
inline bool overwrites_operand(const tiling::Plan& plan, const tiling::Task& t)
{
    for (ValueId over : t.over)
        if (over != no_value) return true;
    for (ValueId r : t.group.results) {
        const tiling::Placed& p = plan.values[r];
        if (p.home == tiling::Home::output && plan.donors[plan.stores[p.store].output] != no_value)
            return true;
    }
    return false;
}

/// The function over vectors of a fused group.
inline std::string fused_text(const Graph& g, const tiling::Plan& plan, const tiling::Task& t,
                              const NativeGroups& groups)
{
    const bool over = overwrites_operand(plan, t);
    const std::string stencil = groups.stencil_text(t.group, over);
    return stencil.empty() ? LoopText(g, plan.layouts, t.group, over).text() : stencil;
}

/// What the functions of one header have in common, or those of native code (native_plan.hpp).
class CppModule {
public:
    CppModule(std::string_view name, const Graph& g) : prefix(std::string(name) + "_")
    {
        note_types(g);
        types_.erase(DType::boolean);  // a character, which may be an alias of anything
        if (types_.size() < 2) types_.clear();
    }
    /// Functions over vectors, with the bits of the kernels: what differs from these is refused.
    explicit CppModule(std::string_view name) : prefix(std::string(name) + "_"), native(true) {}

    /// A function that runs a graph: `void name(inputs…, outputs…, char* arena)`, or `int`, not 0 where it met an index
    /// that is none. That of a step has no states among these.
    struct Body {
        std::string name;
        std::size_t workspace = 0;  ///< bytes of its arena
        bool fails = false;
        static constexpr std::size_t stays = ~std::size_t{0};
        std::vector<std::size_t> states = {};  ///< of a step: where they lie in the arena, from call to call
        /// Where their next values are made that trade places with them; `stays` for a state whose next value comes to its place.
        std::vector<std::size_t> next = {};
    };
    /// The body of a loop in two functions: what is the same in all steps, and a step, whose inputs are those of the body and
    /// then `before`'s outputs. `before` is null where nothing is the same in all steps.
    struct LoopBody {
        std::shared_ptr<const Graph> before;
        Body first, step;
    };
    /// Bodies, each written once.
    const LoopBody& body(const std::shared_ptr<const Graph>& g, const tiling::Rotation& rotation);
    /// Appends the function of a graph.
    Body function(const Graph& g, std::optional<tiling::Rotation> rotation = {});

    /// What the function of a fused loop begins with.
    static constexpr const char* fused = "#line 1 \"wengert\"\nstatic inline void ";

    /// The name of an element type. Where memory serves one type after another, the names are those of types that compilers
    /// take to be aliases of all others.
    std::string type(DType d) const
    {
        if (native) return c_type(d, Dialect::vectors);
        return types_.contains(d) ? prefix + c_type(d, Dialect::vectors)
                                  : std::string(c_type(d, Dialect::numbers));
    }
    /// Helpers may be for a type that no value of the graph has.
    void name_types_of_helpers()
    {
        if (types_.empty()) return;
        for (const std::string& h : helpers) types_.insert(type_of_helper(h));
        types_.erase(DType::boolean);
    }
    /// The definitions of these names.
    std::string types() const
    {
        if (types_.empty()) return {};
        std::string s = "/* memory serves one type after another */\n#if defined(__GNUC__)\n#define " +
                        prefix + "ALIAS __attribute__((__may_alias__))\n#else\n#define " + prefix +
                        "ALIAS\n#endif\n";
        for (DType d : types_)
            s += std::string("typedef ") + c_type(d, Dialect::numbers) + " " + prefix + "ALIAS " + type(d) +
                 ";\n";
        return s;
    }

    /// A function's name, a letter and a number; where there is none like it, `head`, the name and the rest are written.
    std::string once(char letter, const std::string& head, const std::string& rest)
    {
        const auto [at, fresh] = written_.emplace(head + rest, written_.size());
        const std::string name = prefix + letter + std::to_string(at->second);
        if (fresh) functions += head + name + rest;
        return name;
    }
    /// The place of a constant in native code. Constants are read from there, so other numbers have the same text.
    std::string shared_constant(const Ref<Block>& b)
    {
        std::size_t k = 0;
        while (k < shared.size() && shared[k].get() != b.get()) ++k;
        if (k == shared.size()) shared.push_back(b);
        return "((const " + type(b->dtype) + "*)run->constants[" + std::to_string(k) + "])";
    }

    std::string prefix, constants, functions;
    const bool native = false;
    std::vector<Ref<Block>> shared;  ///< constants of native code
    std::set<std::string> helpers;
    bool allocates = false;      ///< calls malloc
    std::size_t statements = 0;  ///< of native loops in functions of bounded length (strip_text.hpp)

private:
    void note_types(const Graph& g)
    {
        for (const GraphNode& n : g.nodes()) {
            types_.insert(n.dtype);
            if (const LoopParameters* p = loop_parameters(n))
                for (const auto& body : {p->body, p->other, p->pull})
                    if (body) note_types(*body);
        }
    }

    std::set<DType> types_;  ///< those with names of their own
    std::size_t tags_ = 0;

    std::map<std::tuple<const Graph*, std::size_t, std::size_t>, LoopBody> bodies_;
    std::map<std::string, std::size_t> written_;
    std::vector<std::shared_ptr<const Graph>> kept_;  ///< so that addresses stay those of these graphs
};

/// A native loop in functions of bounded length: `void name(void* const* p, char* arena, i64 n, f64 zero)`.
struct StripFunction {
    std::string name;
    std::size_t workspace = 0;  ///< bytes of its arena
    std::int64_t count = 0;     ///< the elements
};
inline StripFunction strip_function(CppModule& m, const Graph& g, const tiling::Layouts& layouts,
                                    const tiling::Group& group)
{
    StripText text(g, layouts, group);
    m.statements += text.statements();
    text.write([&](char letter, const std::string& head, const std::string& rest) {
        return m.once(letter, head, rest);
    });
    return {m.once('f', "#line 1 \"wengert\"\nstatic void ", text.text()), text.workspace(), text.count()};
}

}  // namespace wengert::detail
