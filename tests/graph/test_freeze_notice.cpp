// What a frozen function notices about a call: types, empty and escaped tensors, another way through it, errors of callbacks.
#include "frozen_beside.hpp"

#include <wengert/graph/look/functions.hpp>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

using D = Tensor<double>;
using S = Tensor<float>;

}  // namespace

TEST_CASE("graphs differentiated while saved values go to disk")
{
    const auto f = [](const D& x) {
        const auto step = [](const D& s) { return std::pair(sin(s) * s, std::tuple<>()); };
        return sum(wg::scan(step, x, 3).first * x);
    };
    auto frozen = wg::freeze(f);
    const D x = wg::linspace<double>(0.1, 2.0, 300), y = wg::linspace<double>(0.5, 1.0, 300);
    const wg::Graph& graph = frozen.graph(x);
    wg::Graph slope;
    {
        const wg::SavedTensorHooks hooks(wg::save_on_disk("."));
        slope = wg::differentiate(graph);
    }
    const D found = wg::run(slope, y).get<double>(1), expected = wg::grad(f)(y);
    CHECK(sum(abs(found - expected)).item() < 1e-9 * sum(abs(expected)).item());
}
