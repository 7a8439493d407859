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

struct Named {
    std::string name;
    Graph graph;
};

template <class T> using Many = std::vector<Tensor<T>>;

/// All of them.
std::vector<Named> graphs();

}  // namespace look
