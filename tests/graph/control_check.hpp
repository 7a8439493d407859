// Comparing functions as they run with the graphs that a trace makes of them.
#pragma once

#include <wengert/graph/control.hpp>
#include <wengert/ops/cast.hpp>
#include <wengert/ops/creation.hpp>

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

/// The graph's results, interpreted, against f's: the same bits.
template <class F, class... X> void check_traced(const F& f, const X&... x)
{
    std::vector<AnyTensor> expected;
    tree::for_each([&](const auto& t) { expected.push_back(t.any()); }, f(x...));
    const Graph g = graph_of(f, x...);
    const auto values = interpret(g, blocks_of(x...));
    REQUIRE(g.outputs().size() == expected.size());
    for (std::size_t k = 0; k < expected.size(); ++k)
        CHECK(same_elements(*readable(values[g.outputs()[k]]), *readable(expected[k].value)));
}

/// The same for derivatives, whose sums may be added up in another order.
template <class F, class... X> void check_close(const F& f, const X&... x)
{
    std::vector<Tensor<double>> expected;
    const auto add = [&]<class T>(const Tensor<T>& t) { expected.push_back(cast<double>(t)); };
    tree::for_each(add, f(x...));
    const Graph g = graph_of(f, x...);
    const auto values = interpret(g, blocks_of(x...));
    REQUIRE(g.outputs().size() == expected.size());
    for (std::size_t k = 0; k < expected.size(); ++k) {
        Tensor<double> actual;
        with_dtype(values[g.outputs()[k]]->dtype, [&]<class T>() {
            actual = cast<double>(Tensor<T>(AnyTensor{values[g.outputs()[k]], {}}));
        });
        CHECK(allclose(actual, expected[k], g.node(g.outputs()[k]).dtype == DType::float32 ? 1e-5 : 1e-12));
    }
}
