// Matrix products: transposes as flags, updates folded into them.
#include "catch.hpp"
#include "graph/passes/pass_graphs.hpp"

#include <wengert/graph/ir/trace.hpp>
#include <wengert/transforms/derivatives.hpp>

using namespace pass_graphs;
using wg::AnyTensor;
using wg::Tensor;

namespace {

std::vector<double> wave(std::size_t n, double step)
{
    std::vector<double> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = std::sin(step * static_cast<double>(i + 1));
    return x;
}
Ref<wg::Block> matrix(std::int64_t rows, std::int64_t columns, double step)
{
    return block<double>({rows, columns}, wave(static_cast<std::size_t>(rows * columns), step));
}

wg::PassOptions folding()
{
    wg::PassOptions options;
    options.fold_updates = true;
    return options;
}

/// c − α aᵀ b by its definition, in long double, and how far double arithmetic of any order may be from it.
struct Exact {
    std::vector<long double> value, bound;
    Exact(const wg::Block& c, const wg::Block& a, const wg::Block& b, double alpha)
    {
        const auto k = static_cast<std::size_t>(a.shape[0]), m = static_cast<std::size_t>(a.shape[1]),
                   n = static_cast<std::size_t>(b.shape[1]);
        for (std::size_t i = 0; i < m; ++i)
            for (std::size_t j = 0; j < n; ++j) {
                long double sum = 0, size = 0;
                for (std::size_t p = 0; p < k; ++p) {
                    const long double t =
                        static_cast<long double>(a.as<double>()[p * m + i]) * b.as<double>()[p * n + j];
                    sum += t;
                    size += std::abs(t);
                }
                const long double start = c.as<double>()[i * n + j];
                value.push_back(start - alpha * sum);
                bound.push_back(static_cast<long double>(k + 2) * 0x1p-53L *
                                (std::abs(start) + alpha * size) * 1.01L);
            }
    }
    bool holds(const wg::Block& y) const
    {
        for (std::size_t i = 0; i < value.size(); ++i)
            if (!(std::abs(static_cast<long double>(y.as<double>()[i]) - value[i]) <= bound[i])) return false;
        return y.count == value.size();
    }
};

}  // namespace

TEST_CASE("transposes of operands become flags")
{
    Builder<double> b;
    const ValueId x = b.input({5, 3}), y = b.input({5, 4}), batch = b.input({2, 5, 3}),
                  line = b.input({5, 1}), z = b.input({2, 4});
    b.g.output(b.matmul(b.transpose(x, {1, 0}), y));
    b.g.output(b.matmul(b.transpose(x, {1, 0}), b.transpose(x, {1, 0}), true, false));
    b.g.output(b.matmul(b.transpose(batch, {0, 2, 1}), y));
    b.g.output(b.matmul(b.transpose(batch, {2, 1, 0}), z));  // not a swap of rows and columns
    b.g.output(b.matmul(b.transpose(line, {1, 0}), y));      // a row or a column: both read it
    const Graph h = wg::passes::products(b.g);
    CHECK(names(h) == "matmul matmul matmul transpose matmul transpose matmul");
    const Blocks in = {matrix(5, 3, 0.7), matrix(5, 4, 1.3), block<double>({2, 5, 3}, wave(30, 0.4)),
                       matrix(5, 1, 2), matrix(2, 4, 3)};
    CHECK(same_values(run(b.g, in), run(h, in)));
    CHECK(same_graph(h, wg::passes::products(h)));
}

TEST_CASE("an update is one product, when it is asked for")
{
    Builder<double> b;
    const ValueId w = b.input({3, 4}), x = b.input({5, 3}), g = b.input({5, 4}), rate = b.input({});
    b.g.output(b.subtract(w, b.multiply(rate, b.zero_rule(b.matmul(x, g, true), g))));
    b.g.update(0, 0);
    CHECK(names(wg::optimize(b.g)) == "matmul zero_where_no_cotangent multiply subtract");
    const Graph h = wg::optimize(b.g, folding());
    CHECK(names(h) == "gemm");
    CHECK(h.updates() == b.g.updates());
    const Blocks in = {matrix(3, 4, 0.3), matrix(5, 3, 0.7), matrix(5, 4, 1.3), block<double>({}, {0.01})};
    const Exact exact(*in[0], *in[1], *in[2], 0.01);
    CHECK(exact.holds(*run(b.g, in)[0]));
    CHECK(exact.holds(*run(h, in)[0]));
}

TEST_CASE("the zero-cotangent rule holds inside of a folded update")
{
    Builder<double> b;
    const ValueId w = b.input({2, 2}), x = b.input({3, 2}), g = b.input({3, 2}), rate = b.input({});
    b.g.output(b.subtract(w, b.multiply(b.zero_rule(b.matmul(x, g, true), g), rate)));
    const Graph h = wg::optimize(b.g, folding());
    CHECK(names(h) == "gemm");
    const Ref<wg::Block> weights = matrix(2, 2, 1), zeros = wg::zeros_block(wg::DType::float64, {3, 2});
    const Ref<wg::Block> bad = block<double>({3, 2}, {infinity, 1, not_a_number, 2, 3, 4});
    const Blocks zero_rule = {weights, bad, zeros, block<double>({}, {0.5})};
    CHECK(same_values(run(h, zero_rule), {weights}));
    CHECK(same_values(run(b.g, zero_rule), run(h, zero_rule)));
    const Blocks loud = {weights, bad, block<double>({3, 2}, {1, 0, 0, 0, 0, 0}), block<double>({}, {0.5})};
    CHECK(std::isnan(run(h, loud)[0]->as<double>()[0]));
    CHECK(same_values(run(b.g, loud), run(h, loud)));
}

TEST_CASE("what is folded and what is not")
{
    const auto left = [](const auto& f) {
        Builder<double> b;
        const ValueId c = b.input({3, 4}), x = b.input({3, 5}), y = b.input({5, 4}), s = b.input({}),
                      row = b.input({4});
        b.g.output(f(b, c, b.matmul(x, y), s, row));
        return names(wg::optimize(b.g, folding()));
    };
    // clang-format off
    CHECK(left([](auto& b, auto c, auto p, auto, auto) { return b.add(c, p); }) == "gemm");
    CHECK(left([](auto& b, auto c, auto p, auto, auto) { return b.add(p, c); }) == "gemm");
    CHECK(left([](auto& b, auto c, auto p, auto, auto) { return b.subtract(c, p); }) == "gemm");
    CHECK(left([](auto& b, auto c, auto p, auto, auto) { return b.subtract(p, c); }) == "matmul subtract");
    CHECK(left([](auto& b, auto c, auto p, auto s, auto) { return b.add(b.multiply(p, s), c); }) == "gemm");
    CHECK(left([](auto& b, auto, auto p, auto, auto r) { return b.add(p, r); }) == "matmul add");  // a broadcast row
    CHECK(left([](auto& b, auto c, auto p, auto, auto) { b.g.output(p); return b.add(c, p); }) == "matmul add");
    CHECK(left([](auto& b, auto c, auto p, auto, auto) { b.g.output(b.negative(c)); return b.add(c, p); }) == "matmul negative add");
    // clang-format on
}

TEST_CASE("gemm's own derivatives")
{
    const auto primitive =
        &wg::structural_primitive<wg::Gemm, xsimd::default_arch, double, double, double, double, double>;
    const wg::Gemm op{true, false, true, 0, {5, 3}, {5, 4}};
    const auto f = [&](const Tensor<double>& c, const Tensor<double>& a, const Tensor<double>& b,
                       const Tensor<double>& s) {
        const AnyTensor in[] = {c.any(), a.any(), b.any(), s.any()};
        return Tensor<double>(wg::apply_any(*primitive, &op, in, 4, {}));
    };
    const auto plain = [](const Tensor<double>& c, const Tensor<double>& a, const Tensor<double>& b,
                          const Tensor<double>& s) { return c - s * wg::matmul(wg::transpose(a), b); };
    const auto T = [](Ref<wg::Block> x) { return Tensor<double>(AnyTensor{std::move(x), {}}); };
    const Tensor<double> c = T(matrix(3, 4, 0.3)), a = T(matrix(5, 3, 0.7)), b = T(matrix(5, 4, 1.3)), s(0.4);
    const auto loss = [](const auto& h) {
        return [h](const Tensor<double>& x, const Tensor<double>& y, const Tensor<double>& z,
                   const Tensor<double>& w) { return sum(square(h(x, y, z, w))); };
    };
    const auto gradient = wg::grad<0, 1, 2, 3>(loss(f))(c, a, b, s);
    const auto expected = wg::grad<0, 1, 2, 3>(loss(plain))(c, a, b, s);
    CHECK(wg::allclose(std::get<0>(gradient), std::get<0>(expected), 1e-12));
    CHECK(wg::allclose(std::get<1>(gradient), std::get<1>(expected), 1e-12));
    CHECK(wg::allclose(std::get<2>(gradient), std::get<2>(expected), 1e-12));
    CHECK(wg::allclose(std::get<3>(gradient), std::get<3>(expected), 1e-12));
}

TEST_CASE("a product that only guards is the product of one line")
{
    for (const bool left : {false, true})
        for (const bool ta : {false, true})
            for (const bool tb : {false, true}) {
                CAPTURE(left, ta, tb);
                const Shape of_a = ta ? Shape{3, 2} : Shape{2, 3}, of_b = tb ? Shape{4, 3} : Shape{3, 4};
                const Shape &of_g = left ? of_a : of_b, &of_x = left ? of_b : of_a;
                Builder<double> b;
                const ValueId to = b.input({2, 4}), x = b.input(of_x), g = b.input(of_g);
                b.g.output(b.zero_rule(to, left ? b.matmul(g, x, ta, tb) : b.matmul(x, g, ta, tb), g));
                const Graph h = wg::optimize(b.g);
                const std::vector<bool> live = wg::live_values(h);
                std::size_t products = 0;
                for (ValueId k = 0; k < h.size(); ++k) {
                    if (!live[k] || !h.node(k).primitive || h.node(k).primitive->name != "matmul") continue;
                    CHECK(wg::element_count(h.node(k).shape) == (left ? 4 : 2));
                    const Shape cut =
                        left ? (ta ? Shape{3, 1} : Shape{1, 3}) : (tb ? Shape{1, 3} : Shape{3, 1});
                    CHECK(h.node(h.node(k).inputs[left ? 0 : 1]).shape == cut);
                    ++products;
                }
                CHECK(products == 1);
                const Ref<wg::Block> v = matrix(2, 4, 0.4), none = wg::zeros_block(wg::DType::float64, of_g),
                                     some = block<double>(of_g, {0, 0, 0, 0, 0.5, 0}),
                                     bad = block<double>(of_x, {1, infinity, 2, 3, 4, not_a_number, 5, 6}),
                                     good = block<double>(of_x, {1, -2, 3});
                CHECK(same_values(run(b.g, {v, bad, none}), run(h, {v, bad, none})));
                CHECK(!same_values({v}, run(h, {v, bad, none})));
                CHECK(same_values({v}, run(h, {v, bad, some})));
                CHECK(same_values({v}, run(h, {v, good, none})));
                CHECK(names(h) == names(wg::optimize(h)));
            }
}

TEST_CASE("a product that is needed stays whole beside the guard that reads it")
{
    Builder<double> b;
    const ValueId to = b.input({3, 3}), x = b.input({3, 3}), g = b.input({3, 3}), r = b.matmul(x, g);
    b.g.output(b.zero_rule(to, r, g));
    b.g.output(r);
    CHECK(names(wg::optimize(b.g)) == "matmul zero_where_other");
}

TEST_CASE("a traced training step updates its weights with one product each")
{
    const auto step = [](const std::vector<AnyTensor>& in) -> std::vector<AnyTensor> {
        const Tensor<double> x(in[2]), rate(in[3]);
        Tensor<double> w1(in[0]), w2(in[1]);
        const auto loss = [&](const Tensor<double>& u, const Tensor<double>& v) {
            return mean(square(matmul(tanh(matmul(x, u)), v) - 1.0));
        };
        const auto [g1, g2] = wg::grad<0, 1>(loss)(w1, w2);
        w1 -= rate * g1;
        w2 -= rate * g2;
        return {w1.any(), w2.any()};
    };
    const Blocks in = {matrix(4, 3, 0.3), matrix(3, 2, 0.7), matrix(6, 4, 1.3), block<double>({}, {0.1})};
    const Graph g = wg::trace_graph(step, in), h = wg::optimize(g, folding()), same = wg::optimize(g);
    CHECK(same_values(run(g, in), run(same, in)));
    std::size_t folded = 0;
    for (const GraphNode& n : h.nodes()) folded += n.primitive && n.primitive->name == "gemm";
    CHECK(folded == 2);
    const Blocks expected = run(g, in), got = run(h, in);
    for (std::size_t k = 0; k < 2; ++k)
        for (std::size_t i = 0; i < got[k]->count; ++i)
            CHECK(got[k]->as<double>()[i] ==
                  Approx(expected[k]->as<double>()[i]).epsilon(1e-14).margin(1e-15));
}
