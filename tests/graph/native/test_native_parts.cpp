// Stencils in native code: additions to parts and their derivatives are one pass, with the bits of interpret().
#include "catch.hpp"
#include "same_bits.hpp"

#include <wengert/graph/native/native.hpp>
#include <wengert/graph/ir/interpret.hpp>
#include <wengert/graph/ir/trace.hpp>
#include <wengert/ops/view.hpp>
#include <wengert/transforms/grad.hpp>

using namespace wengert;

namespace {

template <class T> Ref<Block> field(const Shape& shape)
{
    auto b = make_block(dtype_of<T>(), shape);
    for (std::size_t i = 0; i < b->count; ++i)
        b->template as<T>()[i] = static_cast<T>(std::sin(1.3 * static_cast<double>(i)));
    b->template as<T>()[b->count / 2] = std::numeric_limits<T>::infinity();
    return b;
}

template <class T, class F> void check(const Shape& shape, const F& steps, std::size_t most_kernels)
{
    std::vector<Ref<Block>> in{field<T>(shape)}, out;
    const Graph g = trace_graph(
        [&](const std::vector<AnyTensor>& x) {
            const auto [loss, gradient] = value_and_grad([&](const Tensor<T>& u) {
                const Tensor<T> v = steps(u);
                return sum(v * v);
            })(Tensor<T>(x[0]));
            return std::vector<AnyTensor>{loss.any(), gradient.any()};
        },
        in);
    const auto native = compile_native(g, {});
    REQUIRE(native->note == "");
    CHECK(native->stats.kernels <= most_kernels);
    const auto want = interpret(g, in);
    for (int twice = 0; twice < 2; ++twice) {
        native->run(in, out);
        for (std::size_t k = 0; k < 2; ++k) CHECK(different_elements(*want[g.outputs()[k]], *out[k]) == 0);
    }
}

}  // namespace

TEST_CASE("native: a stencil and its derivative", "[native]")
{
    const auto heat = []<class T>(const Tensor<T>& u0) {
        const auto rows = u0.shape()[0], columns = u0.shape()[1];
        const auto i = range(1, rows - 1), j = range(1, columns - 1);
        Tensor<T> u = u0;
        for (int s = 0; s < 4; ++s) {
            const Tensor<T> around = view(u, range(0, rows - 2), j) + view(u, range(2, rows), j) +
                                     view(u, i, range(0, columns - 2)) + view(u, i, range(2, columns));
            view(u, i, j) += T(0.1) * (around - T(4) * view(u, i, j));
        }
        return u;
    };
    for (const Shape& s : {Shape{40, 50}, Shape{5, 7}, Shape{9, 300}, Shape{3, 3}}) {
        check<float>(s, heat, 9);
        check<double>(s, heat, 9);
    }
}

TEST_CASE("native: a stencil on a line, with a difference taken away", "[native]")
{
    const auto advect = []<class T>(const Tensor<T>& u0) {
        const auto n = u0.shape()[0];
        Tensor<T> u = u0;
        for (int s = 0; s < 3; ++s)
            view(u, range(1, n)) -= T(0.3) * (view(u, range(1, n)) - view(u, range(0, n - 1)));
        return u;
    };
    check<float>(Shape{1000}, advect, 8);
    check<double>(Shape{18}, advect, 8);
}
