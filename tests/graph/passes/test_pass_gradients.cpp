// What traced gradients look like after the passes, and that their values keep every bit.
#include "catch.hpp"
#include "graph/passes/pass_graphs.hpp"

#include <wengert/graph/ir/trace.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/losses.hpp>
#include <wengert/ops/softmax.hpp>
#include <wengert/transforms/derivatives.hpp>

using namespace pass_graphs;
using wg::AnyTensor;
using wg::Tensor;

namespace {

std::size_t count(const Graph& g, std::string_view name)
{
    std::size_t n = 0;
    for (const GraphNode& node : g.nodes()) n += node.primitive && node.primitive->name == name;
    return n;
}

/// The graph of f, a function of one tensor, and of its value at x.
template <class F> Graph traced(const F& f, const Ref<wg::Block>& x)
{
    return wg::trace_graph(
        [&](const std::vector<AnyTensor>& in) -> std::vector<AnyTensor> {
            return {f(Tensor<double>(in[0])).any()};
        },
        {x});
}

template <class F> Graph checked(const F& f, const Ref<wg::Block>& x, const wg::PassOptions& options = {})
{
    const Graph g = traced(f, x), h = wg::optimize(g, options);
    CHECK(same_values(run(g, {x}), run(h, {x})));
    CHECK(same_graph(h, wg::optimize(h, options)));
    for (const wg::passes::Pass& p : wg::passes::all)
        CHECK(same_values(run(g, {x}), run(p(g, options), {x})));
    return h;
}

const std::vector<double> numbers = {0.3, -1.2, 0, 2.5, -0.0, 1, 7, -3};

}  // namespace

TEST_CASE("broadcasts before elementwise operations go, the shape stays")
{
    Builder<double> b;
    const ValueId x = b.input({3, 4}), r = b.input({4}), s = b.input({});
    b.g.output(b.multiply(x, b.broadcast_to(r, {3, 4})));
    b.g.output(b.multiply(b.broadcast_to(b.reshape(s, {1, 1}), {3, 4}), x));
    b.g.output(b.add(b.broadcast_to(r, {3, 4}), b.broadcast_to(s, {3, 4})));
    const ValueId e = b.one<wg::Exp>(b.broadcast_to(r, {3, 4}));
    b.g.output(b.sum(e, {0}, false));
    const Graph h = wg::passes::dead_code(wg::passes::gradients(b.g));
    const auto of = [&](std::size_t k) { return h.node(h.outputs()[k]); };
    CHECK(of(0).inputs == std::vector<ValueId>{h.inputs()[0], h.inputs()[1]});
    CHECK(of(1).inputs == std::vector<ValueId>{h.inputs()[2], h.inputs()[0]});
    CHECK(of(2).shape == Shape{3, 4});
    for (const GraphNode& n : h.nodes())  // 4 exponentials, not 12
        if (n.primitive && n.primitive->name == "exp") CHECK(n.shape == Shape{4});
    const Blocks in = {block<double>({3, 4}, edges), block<double>({4}, numbers), block<double>({}, {-0.0})};
    CHECK(same_values(run(b.g, in), run(h, in)));
}

TEST_CASE("axes that a reshape has taken away do not come back")
{
    Builder<double> b;  // what is broadcast has fewer axes than what it was made of
    const ValueId x = b.input({1, 1, 1, 4}), r = b.reshape(x, {4});
    b.g.output(b.sum(b.one<wg::Square>(b.broadcast_to(r, {2, 4})), {1}, false));
    b.g.output(b.negative(b.one<wg::Exp>(b.broadcast_to(r, {2, 4}))));
    const Graph h = wg::passes::gradients(b.g);
    const Blocks in = {block<double>({1, 1, 1, 4}, numbers)};
    CHECK(same_values(run(b.g, in), run(h, in)));
    for (const GraphNode& n : h.nodes())
        for (ValueId v : n.inputs)
            CHECK(h.node(v).shape.size() <= (n.primitive->name == "reshape" ? 4U : 2U));
}

TEST_CASE("a cotangent of ones multiplies nothing and guards nothing")
{
    Builder<double> b;
    const ValueId x = b.input({4}), ones = b.broadcast_to(b.number(1), {4}),
                  zeros = b.broadcast_to(b.number(0), {4});
    b.g.output(b.pull<wg::Multiply>(0, {ones, x}));
    b.g.output(b.two<wg::ZeroWhereUndefined>(ones, x));
    b.g.output(b.zero_rule(x, ones));
    b.g.output(b.pull<wg::Multiply>(0, {zeros, x}));
    b.g.output(b.zero_rule(x, zeros));
    const Graph h = wg::passes::simplify(wg::passes::gradients(b.g));
    for (std::size_t k = 0; k < 3; ++k) CHECK(h.outputs()[k] == h.inputs()[0]);
    CHECK(h.outputs()[3] != h.inputs()[0]);
    CHECK(h.outputs()[4] != h.inputs()[0]);
    const Blocks in = {block<double>({4}, {infinity, not_a_number, 1, -0.0})};
    CHECK(same_values(run(b.g, in), run(h, in)));
}

TEST_CASE("a guard is needed unless the factor is a finite number")
{
    Builder<double> b;
    const ValueId g = b.input({4});
    b.g.output(b.pull<wg::Multiply>(0, {g, b.number(3)}));
    b.g.output(b.pull<wg::Multiply>(0, {g, b.number(infinity)}));
    b.g.output(b.pull<wg::Divide>(0, {g, b.number(4)}));
    b.g.output(b.pull<wg::Divide>(0, {g, b.number(0)}));
    const Graph h = wg::optimize(b.g);
    CHECK(names(h) == "multiply multiply.pull0 multiply divide.pull0");
    const Blocks in = {block<double>({4}, {0, 1, -0.0, -2})};
    CHECK(same_values(run(b.g, in), run(h, in)));
}

TEST_CASE("the first sum into zeros puts its operand there")
{
    Builder<double> b;
    const ValueId x = b.input({2, 3});
    const wg::Selection row = wg::Selection::at({2, 3}, 0, 1);
    const ValueId v = b.view(x, row), zeros = b.constant({2, 3}, {0.0}), ones = b.constant({2, 3}, {1.0});
    b.g.output(b.accumulate(zeros, v, row));
    b.g.output(b.accumulate(zeros, b.one<wg::Exp>(v), row));
    b.g.output(b.accumulate(ones, v, row));
    b.g.output(b.accumulate(b.accumulate(zeros, v, row), v, row));
    const Graph h = wg::optimize(b.g);
    CHECK(names(h) == "view add embed exp embed view.pull0 view.pull0");
    for (double first : {0.5, 0.0, -0.0}) {
        const Blocks in = {block<double>({2, 3}, {first, 1, -0.0})};
        CHECK(same_values(run(b.g, in), run(h, in)));  // 0 + −0 is +0
    }
}

TEST_CASE("traced gradients keep their bits")
{
    const auto x = block<double>({8}, numbers);
    const auto f = [](const Tensor<double>& t) {
        return wg::grad([](const Tensor<double>& u) {
            const Tensor<double> c = wg::view(u, wg::range(1, -1)), inner = c * 0.25 - tanh(-c) / 2.0;
            return sum(inner * inner) + sum(softmax(u) * u) + sum(exp(u)) / 3.0;
        })(t);
    };
    const Graph g = traced(f, x), h = checked(f, x);
    CHECK(h.size() < g.size());
    CHECK(count(h, "broadcast_to") == 0);
    CHECK(count(h, "multiply.pull1") < count(g, "multiply.pull1"));
}

TEST_CASE("what is composed of operations that have descriptions runs as these, with the same bits")
{
    const auto x = block<double>({2, 4}, numbers);
    const wg::Indices labels = {3, 0};
    const auto loss = [&](const Tensor<double>& t) { return cross_entropy(t, labels); };
    const auto product = [](const Tensor<double>& t) { return sum(square(prod(t, {1}))); };
    CHECK(names(checked(loss, x)) == "log_softmax at_labels subtract mean");
    const wg::Indices only = {0};  // a row that is certain: a loss of 0, not of −0
    checked([&](const Tensor<double>& t) { return cross_entropy(t, only); }, block<double>({1, 1}, {0.5}));
    CHECK(count(checked(wg::grad(loss), x), "cross_entropy_pull") == 0);
    const Graph g = traced(wg::grad(product), x), h = checked(wg::grad(product), x);
    CHECK(count(g, "exclusive_product") == 1);
    CHECK(count(h, "exclusive_product") == 0);
    CHECK(count(h, "cumprod") == 2);
    checked([&](const Tensor<double>& t) { return wg::hvp(loss)(t, t) + wg::hvp(product)(t, t); }, x);
}

TEST_CASE("second derivatives lose the guards that say nothing")
{
    const auto x = block<double>({8}, numbers);
    const auto hessian = [](const Tensor<double>& t) {
        const auto q = [](const Tensor<double>& u) { return sum(tanh(u) * u / (u * u + 2.0)); };
        return wg::grad([q](const Tensor<double>& u) { return sum(wg::grad(q)(u) * u); })(t);
    };
    const Graph g = traced(hessian, x), h = checked(hessian, x);
    CHECK(count(h, "zero_where_undefined") < count(g, "zero_where_undefined"));
    CHECK(count(h, "broadcast_to") == 0);
}

TEST_CASE("a guard of a cotangent by itself goes, and a truth value that decides")
{
    Builder<double> b;
    const ValueId x = b.input({4}), y = b.input({4}), g = b.two<wg::ZeroWhereUndefined>(x, x);
    using A = xsimd::default_arch;
    const wg::Primitive& less = wg::elementwise_primitive<wg::Less, A, bool, double, double>;
    const auto both = [&](const wg::Primitive& p, bool one) {
        auto number = wg::make_block(wg::DType::boolean, Shape());
        *number->as<bool>() = one;
        const ValueId c =
            b.g.operation(p, {}, {b.g.constant(number), b.g.operation(less, {}, {x, y}, {4})}, {4});
        b.g.output(b.g.operation(wg::elementwise_primitive<wg::Where, A, double, bool, double, double>, {},
                                 {c, x, y}, {4}));
    };
    b.g.output(g);
    both(wg::elementwise_primitive<wg::LogicalAnd, A, bool, bool, bool>, false);
    both(wg::elementwise_primitive<wg::LogicalOr, A, bool, bool, bool>, true);
    CHECK(names(wg::optimize(b.g)) == "");
    both(wg::elementwise_primitive<wg::LogicalAnd, A, bool, bool, bool>, true);
    both(wg::elementwise_primitive<wg::LogicalOr, A, bool, bool, bool>, false);
    const Graph h = wg::optimize(b.g);
    CHECK(count(h, "where") == 2);
    const Blocks in = {block<double>({4}, {0, infinity, not_a_number, -0.0}),
                       block<double>({4}, {1, 2, -3, 0})};
    CHECK(same_values(run(b.g, in), run(h, in)));
}

TEST_CASE("a sum of ones is their number, where that is allowed")
{
    Builder<double> b;
    const ValueId s = b.input({});
    b.g.output(b.sum(b.broadcast_to(s, {3, 4}), {0, 1}, false));
    b.g.output(b.sum(b.broadcast_to(s, {3, 4}), {0}, false));
    CHECK(names(wg::passes::gradients(b.g)) == "broadcast_to sum broadcast_to sum");
    wg::PassOptions options;
    options.allow_reassociation = true;
    const Graph h = wg::passes::gradients(b.g, options);
    CHECK(names(h) == "multiply multiply broadcast_to");
    const Blocks out = run(h, {block<double>({}, {2})});
    CHECK(*out[0]->as<double>() == 24);
    CHECK(out[1]->shape == Shape{4});
    CHECK(out[1]->as<double>()[3] == 6);
}
