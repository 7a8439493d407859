// Products that are added to what is there, and parts that are added row by row.
#include <limits>

#include "graph/tile/tile_common.hpp"
#include "wengert/graph/passes/passes.hpp"
#include "wengert/ops/elementwise/math.hpp"
#include "wengert/ops/reductions.hpp"
#include "wengert/ops/shape.hpp"
#include "wengert/transforms/grad.hpp"

using namespace tile_test;
using D = Tensor<double>;
using List = std::vector<D>;

namespace {

/// A training step of a linear model: (w, x, rate) → w − rate · gradient.
Graph training_step(const Blocks& in, bool transposed)
{
    const Graph traced = graph_of<double>(
        [&](const List& x) {
            const auto loss = [&](const D& w) {
                return sum(matmul(x[1], transposed ? transpose(w) : w) * x[3]);
            };
            return List{x[0] - x[2] * grad(loss)(x[0])};
        },
        in);
    Graph g = optimize(traced, {.fold_updates = true});
    g.update(0, 0);
    return g;
}

bool holds(const Graph& g, std::string_view name)
{
    for (const GraphNode& n : g.nodes())
        if (n.primitive && n.primitive->name == name) return true;
    return false;
}

}  // namespace

TEST_CASE("weights are updated by the product itself, where they lie")
{
    for (const bool transposed : {false, true})
        for (const double factor : {1.0, 0.0}) {
            const Shape w = transposed ? Shape{11, 30} : Shape{30, 11};
            Blocks in{random_block<double>(w), random_block<double>({6, 30}, 2),
                      random_block<double>(Shape(), 3), random_block<double>({6, 11}, 4)};
            // a cotangent of zeros makes products with what is not finite vanish
            for (std::size_t i = 0; i < in[3]->count; ++i) in[3]->as<double>()[i] *= factor;
            if (factor == 0.0) in[1]->as<double>()[7] = std::numeric_limits<double>::infinity();
            const Graph g = training_step(in, transposed);
            REQUIRE((transposed || holds(g, "gemm")));
            check(g, in);
            const auto program = Backend(tile).compile(g, {});
            const Blocks expected = interpret(g, copies(in));
            Blocks out;
            const std::byte* memory = in[0]->data;
            REQUIRE(program->run(in, out) == 0);
            REQUIRE(out[0]->data == memory);
            REQUIRE(identical(*out[0], *expected[g.outputs()[0]]));
        }
}

TEST_CASE("cotangents of zeros add nothing that is not finite")
{
    Blocks in{random_block<double>({5, 4}), random_block<double>({6, 5}, 2), random_block<double>({6, 4}, 3)};
    for (std::size_t i = 0; i < in[2]->count; ++i) in[2]->as<double>()[i] = 0;
    in[1]->as<double>()[3] = std::numeric_limits<double>::infinity();
    const auto f = [](const List& x) {
        const auto loss = [&](const D& w) {
            return sum(matmul(x[1], w) * x[2]) + sum(matmul(x[1], w) * x[2]) + sum(w * w);
        };
        return List{grad(loss)(x[0])};
    };
    check<double>(f, in);
}

TEST_CASE("parts of arrays of several ranks add up in order")
{
    const Blocks in{random_block<double>({7, 8, 9}), random_block<double>({40}, 2),
                    random_block<double>({6, 6}, 3)};
    const auto loss = [](const List& w) {
        const auto a = range(1, 6), b = range(0, 5), c = range(2, 7);
        D u = w[0] * 2.0, v = w[1] * 3.0, t = w[2] * 1.0;
        const D inner =
            view(u, a, a, a) + view(u, b, a, a) + view(u, c, a, a) + view(u, a, b, a) + view(u, a, a, c);
        view(u, a, a, a) += inner * inner;
        view(u, 3) -= view(u, 2);
        const D line = view(v, range(1, 39)) * view(v, range(0, 38)) - view(v, range(2, 40));
        view(v, range(0, 38)) += line;
        view(v, range(0, 40, 2)) += view(v, range(1, 40, 2));
        view(t, all(), range(1, 3)) += transpose(view(t, range(1, 3), all()));
        view(t, all(), all()) += view(t, 0);
        return sum(u * u) + sum(v * v) + sum(t * t);
    };
    check<double>(
        [loss](const List& x) {
            const auto [value, g] = value_and_grad(loss)(x);
            return List{value, g[0], g[1], g[2]};
        },
        in);
}
