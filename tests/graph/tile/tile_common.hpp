// What the tests of the tile executor share: graphs from functions of tensors, and the comparison with interpret.
#pragma once

#include <random>

#include "catch.hpp"
#include "same_bits.hpp"
#include "wengert/graph/ir/interpret.hpp"
#include "wengert/graph/freeze/compiler.hpp"
#include "wengert/wengert.hpp"
#include "wengert/graph/ir/trace.hpp"

namespace tile_test {

using namespace wengert;
using Blocks = std::vector<Ref<Block>>;

template <class T> Ref<Block> random_block(const Shape& shape, unsigned seed = 1)
{
    std::mt19937 bits(seed);
    std::uniform_real_distribution<double> some(-2.0, 2.0);
    auto b = make_block(dtype_of<T>(), shape);
    for (std::size_t i = 0; i < b->count; ++i)
        b->template as<T>()[i] = static_cast<T>(some(bits) * (std::is_integral_v<T> ? 10 : 1));
    return b;
}

inline Blocks copies(const Blocks& in)
{
    Blocks out;
    for (const auto& b : in) out.push_back(copy_of(*b));
    return out;
}

/// Runs the graph several times and compares each with interpret, bit for bit; inputs must be as before.
inline std::unique_ptr<Executable> check(const Graph& g, Blocks inputs, int runs = 3)
{
    auto program = Backend(tile).compile(g, {});
    REQUIRE(program->stats.arena_bytes >= program->stats.arena_lower_bound);
    for (int run = 0; run < runs; ++run) {
        const Blocks before = copies(inputs);
        const Blocks expected = interpret(g, inputs);
        Blocks outputs;
        REQUIRE(program->run(inputs, outputs) == g.guards().size());
        REQUIRE(outputs.size() == g.outputs().size());
        for (std::size_t k = 0; k < outputs.size(); ++k) {
            INFO("output " << k << " of run " << run);
            REQUIRE(outputs[k]);
            REQUIRE(identical(*outputs[k], *expected[g.outputs()[k]]));
        }
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            if (!inputs[i] && g.updates()[i] != no_value) inputs[i] = before[i];  // it was lent
            REQUIRE(identical(*inputs[i], *before[i]));
        }
        if (run % 2 == 1) inputs = copies(inputs);  // at other addresses
    }
    return program;
}

/// The graph of f, which takes and gives tensors of one type.
template <class T, class F> Graph graph_of(const F& f, const Blocks& inputs)
{
    return trace_graph(
        [&](const std::vector<AnyTensor>& in) {
            std::vector<Tensor<T>> x;
            for (const AnyTensor& a : in) x.emplace_back(a);
            std::vector<AnyTensor> out;
            for (const Tensor<T>& y : f(x)) out.push_back(y.any());
            return out;
        },
        inputs);
}

template <class T, class F> std::unique_ptr<Executable> check(const F& f, const Blocks& inputs)
{
    return check(graph_of<T>(f, inputs), inputs);
}

}  // namespace tile_test
