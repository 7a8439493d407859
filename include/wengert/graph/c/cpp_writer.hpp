// The state that the parts of emit_cpp share: the text so far, the places of values, loops.
#pragma once

#include <map>

#include "../loops/loop.hpp"
#include "../plan/plan.hpp"
#include "../text/cpp_helpers.hpp"
#include "../text/native_groups.hpp"
#include "../text/strip_text.hpp"

namespace wengert::detail {

/// A value as C sees it: a pointer to its first element, and strides in elements.
struct CppOperand {
    std::string pointer;
    std::string type;
    Shape shape;
    Strides strides;
};

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
                              const std::vector<PartChain>& chains)
{
    for (const PartChain& c : chains)
        if (c.links.back().node == t.group.nodes.back()) return PartText(g, plan.layouts, t.group, c).text();
    return LoopText(g, plan.layouts, t.group, overwrites_operand(plan, t)).text();
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
        std::vector<std::size_t> states = {};  ///< of a step: where they lie in the arena, from call to call
    };
    /// The body of a loop in two functions: what is the same in all steps, and a step, whose inputs are those of the body and
    /// then `before`'s outputs. `before` is null where all is another one from step to step.
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

class CppWriter {
public:
    /// `tag`: what the names of this function's constants begin with.
    CppWriter(CppModule& m, const Graph& g, const std::string& tag = "",
              std::optional<tiling::Rotation> rotation = {})
        : module(m), graph(g), prefix(m.prefix), groups(g, tiling::layouts_of(g), m.native),
          plan(g, groups.take(), rotation), tag_(m.prefix + tag)
    {}

    CppModule& module;
    const Graph& graph;
    const std::string& prefix;
    NativeGroups groups;
    tiling::Plan plan;
    std::string body;
    std::size_t scratch = 0;     ///< bytes behind the plan's arena, for one operation at a time
    std::set<ValueId> failures;  ///< what may return its number

    std::size_t workspace() const { return scratch_begin() + scratch; }
    std::size_t scratch_begin() const { return tiling::aligned(plan.arena.bytes); }

    template <class N> static std::string number(N n) { return std::to_string(n); }
    std::string type(ValueId v) const { return module.type(graph.node(v).dtype); }
    static const char* suffix(DType d) { return c_type(d, Dialect::vectors); }
    std::string helper(const char* name, DType d)
    {
        const std::string full = std::string(name) + "_" + suffix(d);
        module.helpers.insert(full);
        return prefix + full;
    }
    /// Leaves the function because of node v.
    std::string failure(ValueId v)
    {
        failures.insert(v);
        return "return -" + number(v) + ";";
    }
    std::string indent() const { return std::string(4 * depth_, ' '); }
    /// A line, with the arguments in the places of its $.
    template <class... A> void line(std::string_view text, const A&... arguments)
    {
        body += indent() + filled(text, arguments...) + "\n";
    }
    template <class... A> void open(std::string_view text, const A&... arguments)
    {
        line(text, arguments...);
        ++depth_;
    }
    void close(const char* text = "}")
    {
        --depth_;
        line(text);
    }

    /// A pointer to the first element of v, as text.
    std::string pointer(ValueId v)
    {
        const ValueId from = plan.root(v);
        const tiling::Placed& p = plan.values[from];
        const auto offset = plan.layouts[v].offset / static_cast<std::int64_t>(size_of(graph.node(v).dtype));
        const std::string plus = offset ? " + " + number(offset) : "";
        switch (p.home) {
        case tiling::Home::input: return "in" + number(graph.node(from).index) + plus;
        case tiling::Home::output: return output(plan.stores[p.store].output, v) + plus;
        case tiling::Home::constant: return constant(from) + plus;
        default: return "(" + type(v) + "*)(arena + " + number(plan.stores[p.store].offset) + ")" + plus;
        }
    }
    CppOperand operand(ValueId v)
    {
        return {pointer(v), type(v), graph.node(v).shape, plan.layouts[v].strides};
    }

    /// Declares a pointer that lasts to the end of the block.
    void declare(const std::string& name, const CppOperand& x, bool writes)
    {
        line((writes ? "" : "const ") + x.type + "* const " + name + " = " + x.pointer + ";");
    }

    /// Opens a loop for each axis that has more than one element: `i0`, `i1`, … with another letter for another nest.
    void open_loops(const Shape& shape, char letter = 'i')
    {
        for (std::size_t d = 0; d < shape.size(); ++d) {
            if (shape[d] == 1) continue;
            const std::string i = letter + number(d);
            open("for (ptrdiff_t " + i + " = 0; " + i + " < " + number(shape[d]) + "; ++" + i + ") {");
        }
    }
    void close_loops(const Shape& shape)
    {
        for (auto e : shape)
            if (e != 1) close();
    }
    /// i0 * s0 + i1 * s1 + …
    static std::string index(const Shape& shape, const Strides& strides, char letter = 'i')
    {
        std::string at;
        for (std::size_t d = 0; d < shape.size(); ++d) {
            if (shape[d] == 1 || strides[d] == 0) continue;
            at += (at.empty() ? "" : " + ") + std::string(1, letter) + number(d);
            if (strides[d] != 1) at += " * " + number(strides[d]);
        }
        return at.empty() ? "0" : at;
    }

    /// to[…] op from[…] over a box that both have, each by its own strides.
    void copy(const CppOperand& from, const std::string& to, const Strides& to_strides, const char* op = "=")
    {
        open("{");
        declare("x", from, false);
        line(from.type + "* const y = " + to + ";");
        open_loops(from.shape);
        line("y[" + index(from.shape, to_strides) + "] " + op + " x[" + index(from.shape, from.strides) +
             "];");
        close_loops(from.shape);
        close();
    }
    void fill(ValueId v, const std::string& value)
    {
        open("{");
        declare("y", operand(v), true);
        line("for (ptrdiff_t i = 0; i < " + number(element_count(graph.node(v).shape)) +
             "; ++i) y[i] = " + value + ";");
        close();
    }
    [[noreturn]] void refuse(ValueId v, const std::string& why) const
    {
        const GraphNode& n = graph.node(v);
        fail<TapeError>(module.native ? "native" : "emit_cpp",
                        "node " + number(v) + ", " + std::string(n.primitive ? n.primitive->name : "value") +
                            " of shape " + to_string(n.shape) + ": " + why,
                        n.at);
    }

private:
    /// An output's memory; a value of another type may lie in it before.
    std::string output(std::uint32_t k, ValueId v) const
    {
        const std::string out = "out" + number(k);
        const bool same = graph.node(graph.outputs()[k]).dtype == graph.node(v).dtype;
        return same ? out : "(" + type(v) + "*)" + out;
    }
    std::string constant(ValueId v)
    {
        const Block& b = *graph.node(v).constant;
        if (module.native) return module.shared_constant(contiguous(graph.node(v).constant));
        const std::string name = tag_ + "c" + number(v);
        if (!written_.insert(v).second) return name;
        std::string& constants = module.constants;
        constants += std::string("static const ") + type(v) + " " + name + "[" +
                     number(std::max<std::size_t>(b.count, 1)) + "] = {";
        for (std::size_t i = 0; i < b.count; ++i)
            constants += (i ? (i % 8 ? ", " : ",\n    ") : "") + element(b, i);
        constants += b.count ? "};\n" : "0};\n";
        return name;
    }
    static std::string element(const Block& b, std::size_t i)
    {
        if (b.dtype == DType::int64)
            return std::to_string(b.as<std::int64_t>()[i]) +
                   (b.as<std::int64_t>()[i] == std::numeric_limits<std::int64_t>::min() ? " /* least */"
                                                                                        : "");
        const double value =
            with_dtype(b.dtype, [&]<class T>() { return static_cast<double>(b.as<T>()[i]); });
        if (differentiable(b.dtype) && value - value != 0)
            return value != value ? "NAN" : value < 0 ? "-INFINITY" : "INFINITY";
        return literal_text(value, b.dtype);
    }

    std::string tag_;
    std::size_t depth_ = 1;
    std::set<ValueId> written_;
};

}  // namespace wengert::detail
