// Programs as headers: compiled as C++ and as C without a warning, run, and compared with what they are eagerly.
#pragma once

#include "catch.hpp"

#include <cmath>
#include <fstream>
#include <sstream>

#include <wengert/graph/c/cpp_writer.hpp>
#include <wengert/graph/c/emit_cpp.hpp>
#include <wengert/base/compiler/shared_object.hpp>
#include <wengert/graph/ir/trace.hpp>
#include <wengert/transforms/grad.hpp>

using namespace wengert;

struct Program {
    std::string name;
    Graph graph;
    std::vector<Ref<Block>> inputs = {}, expected = {};
};

/// Numbers between -1 and 1.
template <class T> Tensor<T> numbers(const Shape& shape, int seed)
{
    auto b = make_block(dtype_of<T>(), shape);
    for (std::size_t i = 0; i < b->count; ++i)
        b->template as<T>()[i] = static_cast<T>(std::sin(static_cast<double>(i + 1) * (1.3 + 0.17 * seed)));
    return Tensor<T>(AnyTensor{b, {}});
}

template <class T, class Fn> Program program(std::string name, const std::vector<Tensor<T>>& x, Fn f)
{
    Program p{std::move(name), {}, {}, {}};
    for (const auto& t : x) p.inputs.push_back(t.any().value);
    f(x, [&](const auto& y) { p.expected.push_back(readable(y.any().value)); });
    p.graph = trace_graph(
        [&](const std::vector<AnyTensor>& in) {
            std::vector<Tensor<T>> tensors;
            for (const AnyTensor& a : in) tensors.push_back(Tensor<T>(a));
            std::vector<AnyTensor> out;
            f(tensors, [&](const auto& y) { out.push_back(y.any()); });
            return out;
        },
        p.inputs);
    return p;
}

/// The loss and its gradients.
template <class T, class Fn> Program gradient(std::string name, const std::vector<Tensor<T>>& x, Fn f)
{
    return program<T>(std::move(name), x, [f](const std::vector<Tensor<T>>& in, const auto& out) {
        const auto [loss, grads] = value_and_grad(f)(in);
        out(loss);
        for (const auto& g : grads) out(g);
    });
}

inline void run_compiler(const std::vector<std::string>& command, const std::string& folder)
{
    const int status = detail::run_program(command, folder + "/log");
    std::stringstream said;
    said << std::ifstream(folder + "/log").rdbuf();
    INFO(said.str());
    REQUIRE(status == 0);
}

/// All of them in one shared object, each behind `int call_name(void** pointers)`. C is compiled for its warnings; `briefly`, those
/// that need no optimizer.
inline std::shared_ptr<detail::SharedObject> compiled(const std::vector<Program>& programs,
                                                      const std::string& folder, bool briefly,
                                                      const std::vector<std::string>& options = {"-O1"},
                                                      const char* compiler = "g++")
{
    std::ofstream source(folder + "/all.cpp");
    for (const Program& p : programs) {
        const std::string header = folder + "/" + p.name + ".h";
        std::ofstream(header) << emit_cpp(p.graph, p.name);
        source << "#include \"" << header << "\"\n";
        std::string arguments;
        const std::size_t n = p.graph.inputs().size(), m = p.graph.outputs().size();
        for (std::size_t i = 0; i < n + m; ++i) {
            const GraphNode& node = p.graph.node(i < n ? p.graph.inputs()[i] : p.graph.outputs()[i - n]);
            arguments += std::string(i ? ", (" : "(") + (i < n ? "const " : "") +
                         detail::c_type(node.dtype, detail::Dialect::numbers) + "*)p[" + std::to_string(i) +
                         "]";
        }
        source << "extern \"C\" int call_" << p.name << "(void** p) { return " << p.name << "(" << arguments
               << "); }\n";
        INFO(p.name);
        for (const char* standard : {"-std=c99", "-std=c11"})
            run_compiler({detail::find_program("gcc"), standard, briefly ? "-fsyntax-only" : "-O1", "-x", "c",
                          "-Wall", "-Wextra", "-Werror", "-pedantic", "-c", header, "-o", folder + "/c.o"},
                         folder);
    }
    source.close();
    std::vector<std::string> command = {detail::find_program(compiler),
                                        "-std=c++17",
                                        "-Wall",
                                        "-Wextra",
                                        "-Werror",
                                        "-pedantic",
                                        "-shared",
                                        "-fPIC",
                                        folder + "/all.cpp"};
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), {"-o", folder + "/all.so", "-lopenblas"});
    run_compiler(command, folder);
    void* handle = ::dlopen((folder + "/all.so").c_str(), RTLD_NOW);
    REQUIRE(handle);
    return std::make_shared<detail::SharedObject>(handle);
}

inline void check(const Program& p, const detail::SharedObject& object)
{
    INFO(p.name);
    REQUIRE(p.graph.outputs().size() == p.expected.size());
    std::vector<void*> pointers;
    for (const auto& b : p.inputs) pointers.push_back(b->data);
    std::vector<Ref<Block>> out;
    for (ValueId v : p.graph.outputs()) {
        out.push_back(make_block(p.graph.node(v).dtype, p.graph.node(v).shape));
        pointers.push_back(out.back()->data);
    }
    const auto call = reinterpret_cast<int (*)(void**)>(object.symbol(("call_" + p.name).c_str()));
    REQUIRE(call);
    for (int twice = 0; twice < 2; ++twice) {
        REQUIRE(call(pointers.data()) == 0);
        for (std::size_t k = 0; k < out.size(); ++k) {
            INFO("output " << k);
            const Ref<Block>& want = p.expected[k];
            with_dtype(want->dtype, [&]<class T>() {
                const double tolerance = std::is_same_v<T, float>    ? 2e-5
                                         : std::is_same_v<T, double> ? 1e-12
                                                                     : 0;
                std::size_t wrong = 0;
                for (std::size_t i = 0; i < want->count; ++i) {
                    const auto a = static_cast<double>(want->as<T>()[i]),
                               b = static_cast<double>(out[k]->as<T>()[i]);
                    wrong += !(std::abs(a - b) <= tolerance * std::max(1.0, std::abs(a)) ||
                               (a != a && b != b) || a == b);
                }
                CHECK(wrong == 0);
            });
        }
    }
}

/// Programs that have been compiled, while this lives; empty without compilers.
struct Compiled {
    detail::TemporaryFolder folder;
    std::shared_ptr<detail::SharedObject> object;

    explicit Compiled(const std::vector<Program>& list, bool briefly = false,
                      const std::vector<std::string>& options = {"-O1"}, const char* compiler = "g++")
    {
        if (detail::find_program(compiler).empty() || detail::find_program("gcc").empty()) return;
        for (const Program& p : list) folder.file((p.name + ".h").c_str());
        for (const char* f : {"all.cpp", "all.so", "log", "c.o"}) folder.file(f);
        object = compiled(list, folder.path(), briefly, options, compiler);
    }
    /// What the function returns for these inputs, and what it has written.
    int operator()(const Program& p, const std::vector<Ref<Block>>& inputs,
                   std::vector<Ref<Block>>* results = nullptr) const
    {
        std::vector<void*> pointers;
        for (const auto& b : inputs) pointers.push_back(b->data);
        std::vector<Ref<Block>> out;
        for (ValueId v : p.graph.outputs()) {
            out.push_back(make_block(p.graph.node(v).dtype, p.graph.node(v).shape));
            pointers.push_back(out.back()->data);
        }
        if (results) *results = out;
        return reinterpret_cast<int (*)(void**)>(object->symbol(("call_" + p.name).c_str()))(pointers.data());
    }
};

/// Compiled and compared with the results at hand.
inline void check(const std::vector<Program>& list)
{
    const Compiled all(list);
    if (!all.object) return;
    for (const Program& p : list) check(p, *all.object);
}
