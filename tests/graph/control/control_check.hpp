// Comparing functions as they run with the graphs that a trace makes of them.
#pragma once

#include <wengert/graph/freeze/compiler.hpp>
#include <wengert/graph/control/control.hpp>
#include <wengert/graph/ir/interpret.hpp>
#include <wengert/graph/loops/body_plan.hpp>
#include <wengert/ops/elementwise/cast.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/graph/ir/trace.hpp>

using namespace wengert;

template <class... X> std::vector<Ref<Block>> blocks_of(const X&... x) { return {x.any().value...}; }

/// f as a graph, traced once for these arguments, and then run on the tape.
template <class F, class... X> Graph graph_of(const F& f, const X&... x)
{
    return trace_graph(
        [&](const std::vector<AnyTensor>& in) {
            std::size_t i = 0;
            std::tuple<X...> copy(x...);
            std::apply([&](auto&... t) { ((t = std::remove_reference_t<decltype(t)>(in[i++])), ...); }, copy);
            const auto y = std::apply(f, copy);
            std::vector<AnyTensor> out;
            tree::for_each([&](const auto& t) { out.push_back(t.any()); }, y);
            return out;
        },
        blocks_of(x...));
}
/// A function that replays f's graph, traced at its first call.
template <class F> auto as_graph(const F& f)
{
    return [f, graph = std::shared_ptr<Graph>()]<class... T>(const Tensor<T>&... x) mutable {
        if (!graph) graph = std::make_shared<Graph>(graph_of(f, x.detach()...));
        using Y = std::remove_cvref_t<decltype(f(x...))>;
        return Y(replay(*graph, {x.any()...})[0]);
    };
}

/// check(results) of the graph that f is for these arguments: node by node, steps of loops, too, and compiled.
template <class Check, class F, class... X>
void each_way(const std::size_t results, const Check& check, const F& f, const X&... x)
{
    const auto* const compiler = detail::body_compiler().exchange(nullptr);
    {
        const Graph g = graph_of(f, x...);
        REQUIRE(g.outputs().size() == results);
        const auto values = interpret(g, blocks_of(x...));
        std::vector<Ref<Block>> out;
        for (ValueId v : g.outputs()) out.push_back(readable(values[v]));
        check(out);
    }
    detail::body_compiler().store(compiler);
    std::vector<Ref<Block>> in = blocks_of(x...), out;
    for (Ref<Block>& b : in) b = contiguous(on_host(b));  // executables run on the host
    Backend(tile).compile(graph_of(f, x...), {})->run(in, out);
    for (Ref<Block>& b : out) b = readable(b);
    check(out);
}

/// The graph's results against f's: the same bits.
template <class F, class... X> void check_traced(const F& f, const X&... x)
{
    std::vector<AnyTensor> expected;
    tree::for_each([&](const auto& t) { expected.push_back(t.any()); }, f(x...));
    const auto check = [&](const std::vector<Ref<Block>>& out) {
        for (std::size_t k = 0; k < expected.size(); ++k)
            CHECK(same_elements(*out[k], *readable(expected[k].value)));
    };
    each_way(expected.size(), check, f, x...);
}

/// The same for derivatives, whose sums may be added up in another order.
template <class F, class... X> void check_close(const F& f, const X&... x)
{
    std::vector<Tensor<double>> expected;
    const auto add = [&]<class T>(const Tensor<T>& t) { expected.push_back(cast<double>(t)); };
    tree::for_each(add, f(x...));
    const auto check = [&](const std::vector<Ref<Block>>& out) {
        for (std::size_t k = 0; k < expected.size(); ++k) {
            Tensor<double> actual;
            with_dtype(out[k]->dtype, [&]<class T>() {
                actual = cast<double>(Tensor<T>(AnyTensor{out[k], {}}));
            });
            CHECK(allclose(actual, expected[k], out[k]->dtype == DType::float32 ? 1e-5 : 1e-12));
        }
    };
    each_way(expected.size(), check, f, x...);
}
