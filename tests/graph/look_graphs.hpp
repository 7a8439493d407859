/// Graphs of programs that together use every structural primitive, derivatives included.
#pragma once

#include <wengert/graph/control/control.hpp>
#include <wengert/graph/look/text.hpp>
#include <wengert/ops/gemm.hpp>
#include <wengert/wengert.hpp>
#include <wengert/graph/ir/trace.hpp>

#include "catch.hpp"

namespace look {

namespace wg = wengert;
using wg::AnyTensor;
using wg::Graph;
using wg::Tensor;

/// What f does with inputs like these. f is a function from vectors of type-erased tensors to such vectors.
template <class F> Graph traced(F f, const std::vector<AnyTensor>& inputs)
{
    std::vector<wg::Ref<wg::Block>> blocks;
    for (const auto& x : inputs) blocks.push_back(wg::copy_of(*x.value));
    return wg::trace_graph(f, blocks);
}

/// Numbers that are neither equal nor large.
template <class T> Tensor<T> numbers(const wg::Shape& shape, double from = 0.3)
{
    Tensor<T> x = wg::zeros<T>(shape);
    for (std::size_t i = 0; i < x.size(); ++i)
        x.any().value->template as<T>()[i] =
            static_cast<T>(from + 0.37 * static_cast<double>((i * 7) % 11) - 1.1);
    return x;
}

/// f's value and its gradients with respect to all inputs, of type T: the sum of the squares of what f returns.
template <class T, class F> Graph with_gradients(F f, const std::vector<Tensor<T>>& inputs)
{
    std::vector<AnyTensor> any;
    for (const auto& x : inputs) any.push_back(x.any());
    return traced(
        [&](const std::vector<AnyTensor>& in) {
            std::vector<Tensor<T>> x;
            for (const auto& a : in) x.push_back(Tensor<T>(a));
            const auto loss = [&](const std::vector<Tensor<T>>& v) { return wg::sum(wg::square(f(v))); };
            const auto [value, gradients] = wg::value_and_grad(loss)(x);
            std::vector<AnyTensor> out{value.any()};
            for (const Tensor<T>& g : gradients) out.push_back(g.any());
            return out;
        },
        any);
}

/// Two graphs, part by part: what differs first, "" where nothing does. Lines of source are not looked at.
inline std::string difference(const Graph& a, const Graph& b)
{
    const auto same_guard = [](const wg::Guard& x, const wg::Guard& y) {
        return x.value == y.value && x.what == y.what && wg::same_elements(*x.expected, *y.expected);
    };
    if (a.size() != b.size() || a.inputs() != b.inputs() || a.outputs() != b.outputs() ||
        a.updates() != b.updates())
        return "values, inputs, outputs or updates";
    for (wg::ValueId v = 0; v < a.size(); ++v) {
        const wg::GraphNode &x = a.node(v), &y = b.node(v);
        const char* what = x.kind != y.kind || x.index != y.index           ? "kind"
                           : x.primitive != y.primitive                     ? "primitive"
                           : x.dtype != y.dtype || !(x.shape == y.shape)    ? "type"
                           : x.inputs != y.inputs || x.segment != y.segment ? "operands"
                           : wg::fields_text(x) != wg::fields_text(y)       ? "parameters"
                           : !x.constant                                    ? nullptr
                           : !wg::same_elements(*wg::contiguous(x.constant), *wg::contiguous(y.constant))
                               ? "elements"
                               : nullptr;
        if (what) return std::string(what) + " of %" + std::to_string(v);
    }
    const bool guards =
        std::equal(a.guards().begin(), a.guards().end(), b.guards().begin(), b.guards().end(), same_guard);
    return guards ? "" : "guards";
}

/// The outputs of a graph.
inline std::vector<wg::Ref<wg::Block>> outputs_of(const Graph& g,
                                                  const std::vector<wg::Ref<wg::Block>>& inputs)
{
    const auto values = wg::interpret(g, inputs);
    std::vector<wg::Ref<wg::Block>> out;
    for (wg::ValueId v : g.outputs()) out.push_back(wg::readable(values[v]));
    return out;
}

struct Named {
    std::string name;
    Graph graph;
};

template <class T> using Many = std::vector<Tensor<T>>;

/// All of them.
std::vector<Named> graphs();

}  // namespace look
