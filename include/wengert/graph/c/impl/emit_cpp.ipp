// The writer of headers behind emit_cpp.hpp.
#pragma once

#include "../cpp_function.hpp"
#include "../emit_cpp.hpp"
#include "../../text/function_text.hpp"

namespace wengert {

namespace detail {

/// The whole header; see emit_cpp.
class CppHeader {
public:
    CppHeader(const Graph& g, std::string_view name)
        : graph_(g), name_(name), module_(checked(name), g), f_(module_, g)
    {}

    std::string text()
    {
        const std::string arguments = f_.arguments(), &p = module_.prefix,
                          comma = arguments.empty() ? "" : ", ";
        const std::size_t size = std::max<std::size_t>(f_.workspace(), 1);
        module_.name_types_of_helpers();
        return "/* Made by wengert from a graph of " + std::to_string(graph_.size()) +
               " values. C and C++; see " + name_ + " at the end. */\n#ifndef " + guard() + "\n#define " +
               guard() + "\n\n" + includes() + linkage() + rounding_begins + "\n" + module_.types() +
               helpers() + module_.constants + "\n" + module_.functions + documentation() + p +
               "API size_t " + p + "workspace(void)\n{\n    return " + std::to_string(size) + ";\n}\n\n" + p +
               "API int " + p + "with(" + arguments + comma +
               "void* workspace)\n{\n    char* const arena = (char*)workspace;\n" + f_.text() +
               "    return 0;\n}\n\n" + p + "API int " + name_ + "(" +
               (arguments.empty() ? "void" : arguments) + ")\n{\n    static " + p +
               "LOCAL double workspace[" + std::to_string(size / 8 + 9) +
               "];\n    char* const from = (char*)workspace;\n    return " + p + "with(" + names() + comma +
               "from + (64 - (uintptr_t)from % 64) % 64);\n}\n" + rounding_ends + "\n#endif\n";
    }

private:
    /// No product is fused into a sum, and no sum is reordered, whatever the file that includes this is compiled with: functions have
    /// the bits of the library's.
    static constexpr const char* rounding_begins = R"wg(
#if defined(__clang__)
#pragma float_control(push)
#pragma float_control(precise, on)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off", "no-unsafe-math-optimizations", "no-associative-math", "no-reciprocal-math", "signed-zeros")
#endif
)wg";
    static constexpr const char* rounding_ends = R"wg(
#if defined(__clang__)
#pragma float_control(pop)
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif
)wg";
    static std::string_view checked(std::string_view name)
    {
        bool good = !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0]));
        for (char c : name) good = good && (std::isalnum(static_cast<unsigned char>(c)) || c == '_');
        if (!good) fail<TapeError>("emit_cpp", "\"" + std::string(name) + "\" is no name of a function", {});
        return name;
    }
    std::string guard() const
    {
        std::string s = "WENGERT_";
        for (char c : name_) s += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        return s + "_HPP";
    }
    std::string includes() const
    {
        const bool blas = module_.helpers.contains("gemm_f32") || module_.helpers.contains("gemm_f64");
        return std::string("#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__\n#error \"this needs "
                           "infinities "
                           "and NaN: add -fno-finite-math-only behind -ffast-math or -Ofast\"\n#endif\n") +
               "#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n" +
               (module_.allocates ? "#include <stdlib.h>\n" : "") + "#include <string.h>\n" +
               (blas ? "#ifndef " + module_.prefix +
                           "NO_CBLAS /* defined: products as plain loops */\n#include <cblas.h>\n#endif\n"
                     : "");
    }
    std::string helpers() const
    {
        return NumberFunctions(module_.prefix, module_.helpers).text(!module_.types().empty());
    }
    /// Definitions that several files may hold, and that a linker finds by their name.
    std::string linkage() const
    {
        const std::string &p = module_.prefix, api = "#define " + p + "API ",
                          local = "#define " + p + "LOCAL ";
        return "\n#ifdef __cplusplus\n#define " + p + "C extern \"C\"\n" + local +
               "thread_local\n#else\n#define " + p + "C\n#if __STDC_VERSION__ >= 201112L\n" + local +
               "_Thread_local\n#elif defined(__GNUC__)\n" + local + "__thread\n#else\n" + local +
               "/* not for several threads at once */\n#endif\n#endif\n" + "#if defined(__GNUC__)\n" + api +
               p + "C __attribute__((weak))\n#elif defined(__cplusplus)\n" + api +
               "extern \"C\" inline\n#else\n" + api + "\n#endif\n";
    }
    std::string documentation() const
    {
        const Graph& g = graph_;
        std::string s = "/* Arrays lie in row-major order; outputs do not overlap inputs.\n";
        f_.each_argument([&](const std::string& n, ValueId v, bool) {
            s += " *   " + n + ": " + std::string(name_of(g.node(v).dtype)) + " " +
                 to_string(g.node(v).shape) + "\n";
        });
        return s + failures() + " * " + module_.prefix + "with works in memory of the caller's, " +
               module_.prefix + "workspace() bytes, aligned to 64. */\n";
    }
    std::string failures() const
    {
        const Graph& g = graph_;
        std::string s = " * Returns 0";
        if (g.guards().empty() && f_.failures().empty()) return s + ".\n";
        s += ", or, with nothing of use in the outputs,\n";
        for (std::size_t k = 0; k < g.guards().size(); ++k)
            s += " *   " + std::to_string(k + 1) + ": the " +
                 (g.guards()[k].what == Read::truth ? "branch" : "value read") + line(g.guards()[k].at) +
                 " is another one than when the program was traced\n";
        for (ValueId v : f_.failures()) {
            const LoopParameters* const loop = loop_parameters(g.node(v));
            s += " *   -" + std::to_string(v) + ": " + std::string(g.node(v).primitive->name) +
                 line(g.node(v).at) + " met an index which is none" +
                 (loop && loop->kind == LoopParameters::Kind::while_pull ? ", or no memory for its states"
                                                                         : "") +
                 "\n";
        }
        return s;
    }
    static std::string line(const Site& at) { return at.line ? " of line " + std::to_string(at.line) : ""; }
    std::string names() const
    {
        std::string s;
        f_.each_argument([&](const std::string& n, ValueId, bool) { s += (s.empty() ? "" : ", ") + n; });
        return s;
    }

    const Graph& graph_;
    std::string name_;
    CppModule module_;
    CppFunction f_;
};

}  // namespace detail

WENGERT_INLINE std::string emit_cpp(const Graph& g, std::string_view name)
{
    const Graph whole = passes::dead_code(passes::composed(g));
    return detail::CppHeader(whole, name).text();
}

}  // namespace wengert
