// What a run may touch and what it must leave alone: guards, failing steps, outputs that are no results, lent memory.
#include "graph/tile/tile_common.hpp"
#include "wengert/graph/control/control.hpp"
#include "wengert/ops/arg_reductions.hpp"
#include "wengert/ops/elementwise/math.hpp"
#include "wengert/ops/reductions.hpp"
#include "wengert/ops/shape.hpp"
#include "wengert/ops/take.hpp"

using namespace tile_test;
using D = Tensor<double>;
using List = std::vector<D>;

namespace {

template <class P> const Primitive& binary()
{
    return elementwise_primitive<P, xsimd::default_arch, double, double, double>;
}
const Primitive& tanh_primitive() { return elementwise_primitive<Tanh, xsimd::default_arch, double, double>; }

Ref<Block> scalar(double v)
{
    auto b = make_block(DType::float64, Shape());
    *b->as<double>() = v;
    return b;
}

/// w − g · rate, w being an input that the result takes the place of; the rest of the graph is the caller's.
struct Step {
    Graph graph;
    ValueId w, g, rate, next;
    explicit Step(const Shape& shape)
        : w(graph.input(DType::float64, shape)), g(graph.input(DType::float64, shape)),
          rate(graph.input(DType::float64, Shape())),
          next(graph.operation(binary<Subtract>(), {},
                               {w, graph.operation(binary<Multiply>(), {}, {g, rate}, shape)}, shape))
    {}
};

}  // namespace

TEST_CASE("an output takes over the memory of the input that it updates")
{
    for (std::int64_t n : {3, 20, 3000}) {
        Step s({n});
        s.graph.output(s.next);
        s.graph.update(0, 0);
        const auto program = Backend(tile).compile(s.graph, {});
        Blocks in{random_block<double>({n}), random_block<double>({n}, 2), scalar(0.1)}, out;
        const Blocks expected = interpret(s.graph, copies(in));
        const std::byte* memory = in[0]->data;
        REQUIRE(program->run(in, out) == 0);
        REQUIRE(out[0]->data == memory);
        REQUIRE(!in[0]);
        REQUIRE(identical(*out[0], *expected[s.next]));

        // somebody else sees the weights: they stay as they are
        in[0] = random_block<double>({n}, 5);
        const Ref<Block> seen = in[0];
        const Blocks before = copies(in), again = interpret(s.graph, copies(in));
        REQUIRE(program->run(in, out) == 0);
        REQUIRE(out[0]->data != seen->data);
        REQUIRE(identical(*seen, *before[0]));
        REQUIRE(identical(*out[0], *again[s.next]));
    }
}

TEST_CASE("nothing is written when a guard fails")
{
    for (std::int64_t n : {3, 3000}) {
        Step s({n});
        const ValueId sum = s.graph.operation(structural_primitive<Sum, xsimd::default_arch, double, double>,
                                              std::make_shared<Sum>(Sum{{0}, false, {n}}), {s.g}, Shape());
        const ValueId zero = s.graph.constant(scalar(0));
        const ValueId less = s.graph.operation(
            elementwise_primitive<Less, xsimd::default_arch, bool, double, double>, {}, {zero, sum}, Shape());
        auto yes = make_block(DType::boolean, Shape());
        *yes->as<bool>() = true;
        s.graph.output(s.next);
        s.graph.update(0, 0);
        s.graph.guard({less, yes, Read::truth, {}});
        const auto program = Backend(tile).compile(s.graph, {});
        Blocks in{random_block<double>({n}), random_block<double>({n}, 2), scalar(0.1)}, out{scalar(7)};
        for (std::int64_t i = 0; i < n; ++i) in[1]->as<double>()[i] = -1;
        const Blocks before = copies(in);
        const Ref<Block> kept = out[0];
        REQUIRE(program->run(in, out) == 0);
        REQUIRE(out.size() == 1);
        REQUIRE(out[0].get() == kept.get());
        for (std::size_t i = 0; i < in.size(); ++i) REQUIRE(identical(*in[i], *before[i]));
        in[1]->as<double>()[0] = 1e6;
        const Blocks expected = interpret(s.graph, copies(in));
        const std::byte* memory = in[0]->data;
        REQUIRE(program->run(in, out) == 1);
        REQUIRE(identical(*out[0], *expected[s.next]));
        REQUIRE(out[0]->data == memory);
    }
}

TEST_CASE("nothing is written when a step throws")
{
    Graph g;
    const Shape shape{500};
    const ValueId w = g.input(DType::float64, shape), d = g.input(DType::float64, shape),
                  index = g.input(DType::int64, {2});
    // in the program's order the update comes first
    const ValueId next = g.operation(binary<Subtract>(), {}, {w, d}, shape);
    const ValueId late =
        g.operation(structural_primitive<Take, xsimd::default_arch, double, double, std::int64_t>,
                    std::make_shared<Take>(Take{0, shape}), {d, index}, {2});
    g.output(next);
    g.output(late);
    g.update(0, 0);
    const auto program = Backend(tile).compile(g, {});
    Blocks in{random_block<double>(shape), random_block<double>(shape, 2), random_block<std::int64_t>({2})},
        out;
    in[2]->as<std::int64_t>()[0] = 3;
    in[2]->as<std::int64_t>()[1] = 1000;
    const Blocks before = copies(in);
    REQUIRE_THROWS_AS(program->run(in, out), IndexError);
    REQUIRE(out.empty());
    for (std::size_t i = 0; i < in.size(); ++i) REQUIRE(identical(*in[i], *before[i]));
    in[2]->as<std::int64_t>()[1] = 499;
    const Blocks expected = interpret(g, copies(in));
    const std::byte* memory = in[0]->data;
    REQUIRE(program->run(in, out) == 0);
    REQUIRE(out[0]->data == memory);
    REQUIRE(identical(*out[0], *expected[next]));
    REQUIRE(identical(*out[1], *expected[late]));
}

TEST_CASE("an input that is read after its update is written is not lent")
{
    for (std::int64_t n : {3, 3000}) {
        Graph g;
        const Shape shape{n};
        const ValueId w = g.input(DType::float64, shape), d = g.input(DType::float64, shape);
        const ValueId next = g.operation(binary<Add>(), {}, {w, d}, shape);
        const ValueId both = g.operation(binary<Multiply>(), {}, {next, w}, shape);
        g.output(next);
        g.output(both);
        g.update(0, 0);
        const auto program = Backend(tile).compile(g, {});
        Blocks in{random_block<double>(shape), random_block<double>(shape, 2)}, out;
        const Blocks expected = interpret(g, copies(in));
        REQUIRE(program->run(in, out) == 0);
        REQUIRE(identical(*out[0], *expected[next]));
        REQUIRE(identical(*out[1], *expected[both]));
    }
}

TEST_CASE("outputs that are inputs, constants, the same value twice, or parts of one another")
{
    for (std::int64_t n : {4, 40, 4000}) {
        Graph g;
        const Shape shape{n, 2};
        const ValueId x = g.input(DType::float64, shape), c = g.constant(random_block<double>(shape, 9));
        const ValueId y = g.operation(binary<Add>(), {}, {x, c}, shape);
        const auto reshaped = [&](ValueId v) {
            return g.operation(structural_primitive<Reshape, xsimd::default_arch, double, double>,
                               std::make_shared<Reshape>(Reshape{{2 * n}, shape}), {v}, {2 * n});
        };
        const auto turned = [&](ValueId v) {
            return g.operation(structural_primitive<Transpose, xsimd::default_arch, double, double>,
                               std::make_shared<Transpose>(Transpose{{1, 0}}), {v}, {2, n});
        };
        for (ValueId v :
             {x, c, y, y, reshaped(y), turned(y), reshaped(x), turned(x), turned(c), x, c, reshaped(c)})
            g.output(v);
        check(g, {random_block<double>(shape)});
    }
    Graph none;
    none.input(DType::float64, {3});
    check(none, {random_block<double>({3})});
}

TEST_CASE("guards on inputs, constants and views")
{
    Graph g;
    const Shape shape{4, 2};
    const ValueId x = g.input(DType::float64, shape);
    const ValueId t = g.operation(structural_primitive<Transpose, xsimd::default_arch, double, double>,
                                  std::make_shared<Transpose>(Transpose{{1, 0}}), {x}, {2, 4});
    const ValueId y = g.operation(tanh_primitive(), {}, {t}, {2, 4});
    for (ValueId v : {x, t, y}) g.output(v);
    const Ref<Block> value = random_block<double>(shape);
    const Blocks at = interpret(g, {value});
    for (ValueId v : {x, t, y}) g.guard({v, copy_of(*at[v]), Read::elements, {}});
    check(g, {value});
    const auto program = Backend(tile).compile(g, {});
    Blocks in{random_block<double>(shape, 3)}, out;
    REQUIRE(program->run(in, out) == 0);
    REQUIRE(out.empty());
}

TEST_CASE("indices, integers, bools and choices")
{
    const Blocks in{random_block<double>({6, 5}), random_block<std::int64_t>({4}, 2)};
    for (int i = 0; i < 4; ++i) in[1]->as<std::int64_t>()[i] = (i * 7) % 6;
    const Graph g = trace_graph(
        [](const std::vector<AnyTensor>& x) {
            const D a(x[0]);
            const Tensor<std::int64_t> i(x[1]);
            const D rows = take(a, i, 0);
            const auto large = a > 0.5;
            return std::vector<AnyTensor>{rows.any(),
                                          large.any(),
                                          where(large, a, -a).any(),
                                          (i * i + i).any(),
                                          sum(large).any(),
                                          cast<float>(a).any(),
                                          sum(i).any(),
                                          cast<double>(i).any(),
                                          (cast<float>(a) * 2.0F).any(),
                                          scatter_add(a, i, rows, 0).any(),
                                          argmax(a, {1}).any()};
        },
        in);
    check(g, in);
}

TEST_CASE("the host may keep what it is given and what it gives")
{
    const auto kept = std::make_shared<std::vector<D>>();
    const Blocks in{random_block<double>({300})};
    const Graph g = trace_graph(
        [&](const std::vector<AnyTensor>& x) {
            const D a = tanh(D(x[0]));
            const D b = host_callback<double>(
                {300},
                [kept](const D& y) {
                    kept->push_back(y);
                    kept->push_back(y + 1.0);
                    return kept->back();
                },
                a);
            return std::vector<AnyTensor>{exp(exp(b * 0.1) * 0.1).any()};
        },
        in);
    const auto program = Backend(tile).compile(g, {});
    const Blocks expected = interpret(g, in);
    const std::vector<D> seen = *kept;
    for (int run = 0; run < 3; ++run) {
        kept->clear();
        Blocks inputs = in, out;
        REQUIRE(program->run(inputs, out) == 0);
        Blocks others{random_block<double>({300}, 7)}, ignored;
        const std::vector<D> held = *kept;
        REQUIRE(program->run(others, ignored) == 0);
        REQUIRE(identical(*out[0], *expected[g.outputs()[0]]));
        for (std::size_t i = 0; i < 2; ++i) REQUIRE(identical(*held[i].any().value, *seen[i].any().value));
    }
}
