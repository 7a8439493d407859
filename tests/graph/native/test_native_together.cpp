// Several graphs as one shared object: each runs as it does by itself.
#include "catch.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>

#include <wengert/wengert.hpp>
#include <wengert/base/compiler/shared_object.hpp>
#include <wengert/graph/native/native.hpp>
#include <wengert/graph/ir/interpret.hpp>
#include <wengert/graph/ir/trace.hpp>

using namespace wengert;

namespace {

using X = Tensor<double>;
using Function = X (*)(const X&);

Ref<Block> numbers(std::int64_t n)
{
    auto b = make_block(DType::float64, {n});
    for (std::size_t i = 0; i < b->count; ++i)
        b->as<double>()[i] = std::sin(1.7 * static_cast<double>(i + 1));
    return b;
}

Graph graph_of(Function f, const Ref<Block>& x)
{
    return trace_graph(
        [&](const std::vector<AnyTensor>& in) { return std::vector<AnyTensor>{f(X(in[0])).any()}; }, {x});
}

/// Equal graphs, graphs with constants, a loop with the same body as another, one without a single loop.
constexpr Function functions[] = {
    [](const X& x) { return tanh(x) * 2.0; },
    [](const X& x) { return tanh(x) * 2.0; },
    [](const X& x) {
        return tanh(x) * 3.0 + X{0.5, 0.25, 4.0};
    },
    [](const X& x) {
        return tanh(x) * 3.0 + X{1.5, -0.25, 8.0};
    },
    [](const X& x) {
        return scan([](const X& s) { return std::pair(sin(s) * 1.5, sum(s)); }, x, std::int64_t(4)).first;
    },
    [](const X& x) {
        return grad([](const X& y) {
            return sum(
                scan([](const X& s) { return std::pair(sin(s) * 1.5, sum(s)); }, y, std::int64_t(4)).first);
        })(x);
    },
    [](const X& x) { return x; },
};

}  // namespace

TEST_CASE("graphs that are compiled together run as by themselves", "[native]")
{
    const Ref<Block> x = numbers(3);
    std::vector<Graph> graphs;
    for (const Function f : functions) graphs.push_back(graph_of(f, x));
    const auto together = compile_native_together(graphs, {});
    REQUIRE(together.size() == graphs.size());
    for (std::size_t k = 0; k < graphs.size(); ++k) {
        INFO("graph " << k);
        if (!detail::compiler_now().command.empty()) CHECK(together[k]->note == "");
        for (int run = 0; run < 2; ++run) {
            std::vector<Ref<Block>> in{numbers(3)}, out;
            REQUIRE(together[k]->run(in, out) == 0);
            const Ref<Block> want = readable(interpret(graphs[k], {x})[graphs[k].outputs()[0]]);
            const Ref<Block> got = readable(out[0]);
            REQUIRE(got->count == want->count);
            CHECK(std::memcmp(got->data, want->data, want->count * sizeof(double)) == 0);
        }
    }
    CHECK(compile_native_together({}, {}).empty());
}

TEST_CASE("graphs that are compiled together become tiles where the compiler fails", "[native]")
{
    const char* const before = std::getenv("CXX");
    const std::string kept = before ? before : "";
    ::setenv("CXX", "/bin/true", 1);  // it says nothing and writes nothing
    const Ref<Block> x = numbers(3);
    const std::vector<Graph> graphs{graph_of(functions[0], x), graph_of(functions[2], x)};
    const auto together = compile_native_together(graphs, {});
    before ? ::setenv("CXX", kept.c_str(), 1) : ::unsetenv("CXX");
    for (std::size_t k = 0; k < graphs.size(); ++k) {
        CHECK(together[k]->note.find("the graph runs as tiles") != std::string::npos);
        std::vector<Ref<Block>> in{numbers(3)}, out;
        REQUIRE(together[k]->run(in, out) == 0);
        const Ref<Block> want = readable(interpret(graphs[k], {x})[graphs[k].outputs()[0]]);
        CHECK(std::memcmp(readable(out[0])->data, want->data, want->count * sizeof(double)) == 0);
    }
}
