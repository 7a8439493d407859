// The writer of headers behind emit_cpp.hpp.
#pragma once

#include "cpp_structural.hpp"
#include "emit_cpp.hpp"

namespace wengert {

namespace detail {

/// The whole header; see emit_cpp.
class CppHeader {
public:
    CppHeader(const Graph& g, std::string_view name) : w_(g, name), name_(name)
    {
        check_name();
        if (!g.guards().empty())
            fail<TapeError>(
                "emit_cpp",
                "the graph holds only while a branch or a number read stays what it was when it was "
                "traced; emitted code could not see it change",
                g.guards()[0].at);
        for (const std::uint32_t s : staged()) stage(s);
        for (const tiling::Task& t : w_.plan.tasks) task(t);
        outputs();
        w_.line("return 0;");
    }

    std::string text()
    {
        const Graph& g = w_.graph;
        std::string helpers;
        for (const std::string& h : w_.helpers) helpers += cpp_helper(h, w_.prefix);
        const bool blas = w_.helpers.contains("gemm_f32") || w_.helpers.contains("gemm_f64");
        const std::string arguments = arguments_text(),
                          size = std::to_string(std::max<std::size_t>(w_.plan.arena.bytes, 1));
        return "/* Made by wengert from a graph of " + std::to_string(g.size()) + " values. C and C++; see " +
               name_ + " at the end. */\n#ifndef " + guard() + "\n#define " + guard() +
               "\n\n#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n" +
               (blas ? "#ifndef " + w_.prefix +
                           "NO_CBLAS /* defined: products as plain loops */\n#include <cblas.h>\n#endif\n"
                     : "") +
               linkage() + "\n" + helpers + w_.constants + "\n" + documentation() + w_.prefix +
               "API size_t " + w_.prefix + "workspace(void)\n{\n    return " + size + ";\n}\n\n" + w_.prefix +
               "API int " + w_.prefix + "with(" + arguments +
               ", void* workspace)\n{\n    char* const arena = (char*)workspace;\n    (void)arena;\n" +
               w_.body + "}\n\n" + w_.prefix + "API int " + name_ + "(" + arguments + ")\n{\n    static " +
               w_.prefix + "LOCAL double workspace[" + std::to_string(w_.plan.arena.bytes / 8 + 8) +
               "];\n    char* const from = (char*)workspace;\n    return " + w_.prefix + "with(" +
               names_text() + ", from + (64 - (uintptr_t)from % 64) % 64);\n}\n\n#endif\n";
    }

private:
    void check_name() const
    {
        bool good = !name_.empty() && !std::isdigit(static_cast<unsigned char>(name_[0]));
        for (char c : name_) good = good && (std::isalnum(static_cast<unsigned char>(c)) || c == '_');
        if (!good) fail<TapeError>("emit_cpp", "\"" + name_ + "\" is no name of a function", {});
    }
    std::string guard() const
    {
        std::string s = "WENGERT_";
        for (char c : name_) s += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        return s + "_HPP";
    }
    /// Definitions that several files may hold, and that a linker finds by their name.
    std::string linkage() const
    {
        const std::string api = "#define " + w_.prefix + "API ", local = "#define " + w_.prefix + "LOCAL ";
        return "\n#ifdef __cplusplus\n#define " + w_.prefix + "C extern \"C\"\n" + local +
               "thread_local\n#else\n#define " + w_.prefix + "C\n" + local +
               "_Thread_local\n#endif\n#if defined(__GNUC__)\n" + api + w_.prefix +
               "C __attribute__((weak))\n#elif defined(__cplusplus)\n" + api +
               "extern \"C\" inline\n#else\n" + api + "\n#endif\n";
    }
    std::string documentation() const
    {
        const Graph& g = w_.graph;
        std::string s = "/* Arrays lie in row-major order.\n";
        const auto row = [&](const std::string& n, ValueId v) {
            s += " *   " + n + ": " + std::string(name_of(g.node(v).dtype)) + " " +
                 to_string(g.node(v).shape) + "\n";
        };
        for (std::size_t i = 0; i < g.inputs().size(); ++i) row("in" + std::to_string(i), g.inputs()[i]);
        for (std::size_t k = 0; k < g.outputs().size(); ++k) row("out" + std::to_string(k), g.outputs()[k]);
        return s +
               " * Returns 0, or the number of the node that met an index which is none. Outputs do not "
               "overlap inputs.\n * " +
               w_.prefix + "with works in memory of the caller's, " + w_.prefix +
               "workspace() bytes, aligned to 64. */\n";
    }
    std::string arguments_text() const
    {
        const Graph& g = w_.graph;
        std::string s;
        for (std::size_t i = 0; i < g.inputs().size(); ++i)
            s += (s.empty() ? "const " : ", const ") + std::string(w_.type(g.inputs()[i])) + "* in" +
                 std::to_string(i);
        for (std::size_t k = 0; k < g.outputs().size(); ++k)
            s += (s.empty() ? "" : ", ") + std::string(w_.type(g.outputs()[k])) + "* out" + std::to_string(k);
        return s;
    }
    std::string names_text() const
    {
        std::string s;
        for (std::size_t i = 0; i < w_.graph.inputs().size(); ++i)
            s += (s.empty() ? "in" : ", in") + std::to_string(i);
        for (std::size_t k = 0; k < w_.graph.outputs().size(); ++k)
            s += (s.empty() ? "out" : ", out") + std::to_string(k);
        return s;
    }

    void stage(std::uint32_t i)
    {
        const ValueId v = w_.graph.inputs()[i];
        w_.line("memcpy(" + w_.pointer(v) + ", in" + std::to_string(i) + ", " +
                std::to_string(w_.plan.bytes_of(v)) + ");");
    }
    const std::vector<std::uint32_t>& staged() const { return w_.plan.staged; }

    void task(const tiling::Task& t)
    {
        if (t.group.fused) return loop(t);
        const ValueId v = t.group.nodes[0];
        if (element_count(w_.graph.node(v).shape) == 0) return;
        if (w_.graph.node(v).primitive->value) w_.refuse(v, "its rule is no program of numbers");
        CppStructural(w_).write(v, !t.over.empty() && t.over[0] != no_value &&
                                       w_.plan.root(w_.graph.node(v).inputs[0]) == t.over[0]);
    }
    void loop(const tiling::Task& t)
    {
        const Graph& g = w_.graph;
        const Shape& shape = g.node(t.group.nodes[0]).shape;
        std::vector<Strides> of;
        for (ValueId v : t.group.operands)
            of.push_back(broadcast_strides(g.node(v).shape, w_.plan.layouts[v].strides, shape));
        for (std::size_t k = 0; k < t.group.results.size(); ++k) of.push_back(row_major(shape));
        const LoopSpace space(shape, of, 0);
        w_.open("{");
        std::unordered_map<ValueId, std::string> names;
        std::vector<std::string> loads;
        Shape box;
        for (auto e : space.extents) box.push_back(e);
        const auto place = [&](std::size_t k) {
            Strides s;
            for (auto x : space.strides[k]) s.push_back(x);
            return CppWriter::index(box, s);
        };
        for (std::size_t k = 0; k < t.group.operands.size(); ++k) {
            const ValueId v = t.group.operands[k];
            double value = 0;
            if (text_literal(g, w_.plan.layouts, v, value, true)) {
                names[v] = literal_text(value, g.node(v).dtype);
                continue;
            }
            names[v] = "x" + std::to_string(k);
            w_.declare("a" + std::to_string(k), w_.operand(v), false);
            loads.push_back("const " + std::string(w_.type(v)) + " x" + std::to_string(k) + " = a" +
                            std::to_string(k) + "[" + place(k) + "];");
        }
        for (std::size_t k = 0; k < t.group.results.size(); ++k)
            w_.declare("o" + std::to_string(k), w_.operand(t.group.results[k]), true);
        w_.open_loops(box);
        for (const std::string& l : loads) w_.line(l);
        statements(t, names);
        for (std::size_t k = 0; k < t.group.results.size(); ++k)
            w_.line("o" + std::to_string(k) + "[" + place(t.group.operands.size() + k) +
                    "] = " + names[t.group.results[k]] + ";");
        w_.close_loops(box);
        w_.close();
    }
    void statements(const tiling::Task& t, std::unordered_map<ValueId, std::string>& names)
    {
        TermCode code(w_.body, w_.indent(), w_.prefix, w_.helpers);
        for (ValueId v : t.group.nodes) {
            std::vector<std::string> in;
            for (ValueId i : w_.graph.node(v).inputs) in.push_back(names[i]);
            names[v] = code.write(program_of(w_.graph, w_.plan.layouts, v, true), in);
        }
    }

    /// What is no output's own memory is copied there.
    void outputs()
    {
        const Graph& g = w_.graph;
        for (std::size_t k = 0; k < g.outputs().size(); ++k) {
            const ValueId v = g.outputs()[k], from = w_.plan.root(v);
            const tiling::Placed& p = w_.plan.values[from];
            const bool in_place =
                p.home == tiling::Home::output && w_.plan.stores[p.store].output == k && w_.plan.whole(v);
            if (in_place || element_count(g.node(v).shape) == 0) continue;
            const CppOperand x = w_.operand(v);
            w_.copy(x, "out" + std::to_string(k), row_major(x.shape));
        }
    }

    CppWriter w_;
    std::string name_;
};

}  // namespace detail

WENGERT_INLINE std::string emit_cpp(const Graph& g, std::string_view name)
{
    return detail::CppHeader(g, name).text();
}

}  // namespace wengert
