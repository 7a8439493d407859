// The state that the parts of emit_cpp share while they write one function: the text so far, the addresses of values, loops.
#pragma once

#include <map>

#include "../text/cpp_helpers.hpp"
#include "cpp_module.hpp"

namespace wengert::detail {

/// A value as C sees it: a pointer to its first element, and strides in elements.
struct CppOperand {
    std::string pointer;
    std::string type;
    Shape shape;
    Strides strides;
};

class CppWriter {
public:
    /// `tag`: what the names of this function's constants begin with.
    CppWriter(CppModule& m, const Graph& g, const std::string& tag = "",
              std::optional<tiling::Rotation> rotation = {})
        : cpp(m), graph(g), prefix(m.prefix), groups(g, tiling::layouts_of(g), m.native),
          plan(g, groups.take(), rotation), tag_(m.prefix + tag)
    {}

    CppModule& cpp;
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
    std::string type(ValueId v) const { return cpp.type(graph.node(v).dtype); }
    static const char* suffix(DType d) { return c_type(d, Dialect::vectors); }
    std::string helper(const char* name, DType d)
    {
        const std::string full = std::string(name) + "_" + suffix(d);
        cpp.helpers.insert(full);
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
        default: break;
        }
        bool next = false;
        if (const ValueId i = plan.swapped(p.store, next); i != no_value)
            return "(" + type(v) + "*)" + (next ? "next" : "state") + number(i) + plus;
        return "(" + type(v) + "*)(arena + " + number(plan.stores[p.store].offset) + ")" + plus;
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
        fail<TapeError>(cpp.native ? "native" : "emit_cpp",
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
        if (cpp.native) return cpp.shared_constant(contiguous(graph.node(v).constant));
        const std::string name = tag_ + "c" + number(v);
        if (!written_.insert(v).second) return name;
        std::string& constants = cpp.constants;
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
