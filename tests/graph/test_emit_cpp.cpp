// Emitted headers: compiled as C++ and as C without a warning, run, and compared with interpret().
#include "../catch.hpp"

#include <fstream>

#include <wengert/graph/emit/cpp_writer.hpp>
#include <wengert/graph/emit/emit_cpp.hpp>
#include <wengert/graph/emit/shared_object.hpp>
#include <wengert/graph/ir/interpret.hpp>
#include <wengert/graph/ir/trace.hpp>
#include <wengert/wengert.hpp>
#include <wengert/ops/activations.hpp>
#include <wengert/ops/arg_reductions.hpp>
#include <wengert/ops/cast.hpp>
#include <wengert/ops/losses.hpp>
#include <wengert/ops/pairs.hpp>
#include <wengert/ops/random.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/ops/shape.hpp>
#include <wengert/ops/softmax.hpp>
#include <wengert/ops/take.hpp>
#include <wengert/ops/writer.hpp>
#include <wengert/transforms/grad.hpp>

using namespace wengert;
using D = Tensor<double>;
using F = Tensor<float>;

namespace {

struct Program {
    std::string name;
    Graph graph;
    std::vector<Ref<Block>> inputs;
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
    Program p{std::move(name), {}, {}};
    for (const auto& t : x) p.inputs.push_back(t.any().value);
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

/// All of them in one shared object, each behind `int call_name(void** pointers)`.
std::shared_ptr<detail::SharedObject> compiled(const std::vector<Program>& programs,
                                               const std::string& folder)
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
        REQUIRE(detail::run_program({detail::find_program("gcc"), "-std=c11", "-O1", "-x", "c", "-Wall",
                                     "-Wextra", "-Werror", "-pedantic", "-c", header, "-o", folder + "/c.o"},
                                    folder + "/log") == 0);
    }
    source.close();
    REQUIRE(detail::run_program({detail::find_program("g++"), "-std=c++17", "-O1", "-Wall", "-Wextra",
                                 "-Werror", "-pedantic", "-shared", "-fPIC", folder + "/all.cpp", "-o",
                                 folder + "/all.so", "-lopenblas"},
                                folder + "/log") == 0);
    void* handle = ::dlopen((folder + "/all.so").c_str(), RTLD_NOW);
    REQUIRE(handle);
    return std::make_shared<detail::SharedObject>(handle);
}

void check(const Program& p, const detail::SharedObject& object)
{
    INFO(p.name);
    std::vector<void*> pointers;
    for (const auto& b : p.inputs) pointers.push_back(b->data);
    std::vector<Ref<Block>> out;
    for (ValueId v : p.graph.outputs()) {
        out.push_back(make_block(p.graph.node(v).dtype, p.graph.node(v).shape));
        pointers.push_back(out.back()->data);
    }
    const auto call = reinterpret_cast<int (*)(void**)>(object.symbol(("call_" + p.name).c_str()));
    REQUIRE(call);
    const auto expected = interpret(p.graph, p.inputs);
    for (int twice = 0; twice < 2; ++twice) {
        REQUIRE(call(pointers.data()) == 0);
        for (std::size_t k = 0; k < out.size(); ++k) {
            INFO("output " << k);
            const Ref<Block> want = contiguous(expected[p.graph.outputs()[k]]);
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

F stencil(const F& u0, int steps)
{
    const auto inner = range(1, 11), before = range(0, 10), after = range(2, 12);
    F u = u0;
    for (int s = 0; s < steps; ++s) {
        const F around =
            view(u, before, inner) + view(u, after, inner) + view(u, inner, before) + view(u, inner, after);
        view(u, inner, inner) += 0.1f * (around - 4.0f * view(u, inner, inner));
    }
    return u;
}

std::vector<Program> programs()
{
    std::vector<Program> list;
    list.push_back(gradient<double>(
        "elementwise", {numbers<double>({300}, 1), numbers<double>({300}, 2)}, [](const std::vector<D>& w) {
            return sum(tanh(w[0] * w[1]) * sigmoid(w[0]) + gelu(w[1]) * where(w[0] > 0.2, exp(w[0]), 0.5) +
                       pow(abs(w[0]) + 1.0, w[1]));
        }));
    list.push_back(gradient<float>("heat", {numbers<float>({12, 12}, 1)}, [](const std::vector<F>& w) {
        const F u = stencil(w[0], 3);
        return sum(u * u);
    }));
    list.push_back(gradient<float>("mlp",
                                   {numbers<float>({5, 7}, 1), numbers<float>({7, 40}, 2),
                                    numbers<float>({40}, 3), numbers<float>({40, 4}, 4)},
                                   [](const std::vector<F>& w) {
                                       const F y = matmul(relu(matmul(w[0], w[1]) + w[2]), w[3]);
                                       Tensor<std::int64_t> labels = {0, 3, 1, 2, 3};
                                       return cross_entropy(y, labels) + mean(square(w[3]));
                                   }));
    list.push_back(gradient<float>("large_product",
                                   {numbers<float>({33, 40}, 1), numbers<float>({40, 30}, 2)},
                                   [](const std::vector<F>& w) { return sum(square(matmul(w[0], w[1]))); }));
    list.push_back(gradient<double>(
        "attention",
        {numbers<double>({2, 6, 4}, 1), numbers<double>({2, 6, 4}, 2), numbers<double>({2, 6, 4}, 3)},
        [](const std::vector<D>& w) {
            const D scores = matmul(w[0], transpose(w[1], {0, 2, 1})) * 0.5;
            return sum(square(matmul(softmax(scores, -1), w[2]))) + sum(log_softmax(w[0], 1) * w[1]);
        }));
    list.push_back(
        gradient<double>("reductions", {numbers<double>({4, 5, 6}, 1)}, [](const std::vector<D>& w) {
            const D& x = w[0];
            return sum(var(x, {1}) * amax(x, {1})) + sum(norm(x, {0, 2})) + mean(logsumexp(x, {2})) +
                   sum(amin(x, {0})) + sum(sum(x, {0, 2}) * mean(x, {0, 2}));
        }));
    list.push_back(gradient<double>(
        "pieces", {numbers<double>({3, 4}, 1), numbers<double>({2, 4}, 2)}, [](const std::vector<D>& w) {
            const D joined = concatenate<double>({w[0], w[1]}, 0),
                    pair = stack<double>({w[0], w[0] * 2.0}, 1);
            const Tensor<std::int64_t> index = {4, 0, -1, 0};
            return sum(square(take(joined, index, 0))) + sum(pair * pair * pair) + w[0](1, 2) * w[1](0, 0) +
                   sum(tril(matmul(w[0], transpose(w[1], {1, 0}))));
        }));
    list.push_back(program<double>("answers", {numbers<double>({4, 6}, 1)},
                                   [](const std::vector<D>& w, const auto& out) {
                                       out(argmax(w[0], 1));
                                       out(w[0] > 0.0);
                                       out(all(w[0] > -0.9, {1}));
                                       out(cast<std::int32_t>(w[0] * 10.0));
                                       out(transpose(w[0], {1, 0}));
                                       out(w[0]);
                                       out(reshape(transpose(w[0], {1, 0}), {4, 6}));
                                       out(prod(w[0], {1}));
                                   }));
    return list;
}

}  // namespace

TEST_CASE("emitted headers give what the graph gives", "[emit]")
{
    if (detail::find_program("g++").empty() || detail::find_program("gcc").empty()) return;
    detail::TemporaryFolder folder;
    const auto list = programs();
    for (const Program& p : list) folder.file((p.name + ".h").c_str());
    for (const char* f : {"all.cpp", "all.so", "log", "c.o"}) folder.file(f);
    const auto object = compiled(list, folder.path());
    for (const Program& p : list) check(p, *object);
}

TEST_CASE("what cannot be emitted is named, with its line", "[emit]")
{
    const auto message = [](const Program& p) -> std::string {
        try {
            static_cast<void>(emit_cpp(p.graph, p.name));
        } catch (const TapeError& e) {
            return e.what();
        }
        return "";
    };
    Graph g;
    const ValueId x = g.input(DType::float64, {4});
    Primitive opaque = elementwise_primitive<Exp, xsimd::default_arch, double, double>;
    opaque.describe = nullptr;
    opaque.name = "mystery";
    g.output(g.operation(opaque, {}, {x}, Shape{4}, Site{"model.cpp", 17}));
    CHECK_THAT(message({"f", g, {}}), contains("node 1, mystery of shape (4)") && contains("model.cpp:17"));
    Graph guarded;
    const ValueId c = guarded.input(DType::boolean, Shape());
    guarded.output(c);
    guarded.guard({c, make_block(DType::boolean, Shape()), Read::truth, Site{"model.cpp", 18}});
    CHECK_THAT(message({"f", guarded, {}}), contains("branch") && contains("model.cpp:18"));
    CHECK_THAT(message({"no name", Graph(), {}}), contains("no name"));
}
