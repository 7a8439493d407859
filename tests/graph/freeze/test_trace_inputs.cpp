// Inputs of a trace are told apart by their places, not by the elements that they are given.
#include "catch.hpp"

#include <wengert/graph/ir/interpret.hpp>
#include <wengert/graph/ir/trace.hpp>
#include <wengert/ops/elementwise/arithmetic.hpp>
#include <wengert/ops/creation.hpp>

using namespace wengert;
using D = Tensor<double>;

TEST_CASE("a graph of a function whose arguments are one block has two inputs")
{
    const D x{1.0, 2.0}, y{5.0, 7.0};
    const auto f = [](const std::vector<AnyTensor>& in) {
        return std::vector<AnyTensor>{(D(in[0]) - 2.0 * D(in[1])).any()};
    };
    const Graph g = trace_graph(f, {x.any().value, x.any().value});
    const auto values = interpret(g, {x.any().value, y.any().value});
    CHECK(allclose(D(AnyTensor{values[g.outputs()[0]], {}}), x - 2.0 * y, 0.0));
}
