// Recompute or store: what the model says is done, the bits stay, no other pass undoes it, and the plan stores less.
#include "catch.hpp"
#include "pass_graphs.hpp"

#include <algorithm>
#include <random>

#include <wengert/graph/compiler.hpp>

using namespace pass_graphs;

namespace {

constexpr std::int64_t rows = 8, columns = 512;

/// (x − m) for the sum of its squares, and again for the result: two passes, because the sum must be complete first.
Graph standardised(bool transcendental)
{
    Builder<float> b;
    const ValueId x = b.input({rows, columns}), m = b.input({rows, 1});
    ValueId d = b.subtract(x, m);
    if (transcendental) d = b.one<wg::Tanh>(d);
    const ValueId s = b.sum(b.multiply(d, d), {1}, true);
    const ValueId product = b.matmul(s, s, true, false);  // a number that no pass can make on its way
    b.g.output(b.sum(b.multiply(d, product), {0, 1}, false));
    return std::move(b.g);
}
const Blocks inputs = {block<float>({rows, columns}, {0.5, -0.25, 2, 0.75, -1}),
                       block<float>({rows, 1}, {0.1, -0.2})};

std::size_t count(const Graph& g, std::string_view name)
{
    return static_cast<std::size_t>(std::count_if(g.nodes().begin(), g.nodes().end(), [&](const auto& n) {
        return n.primitive && n.primitive->name == name;
    }));
}
/// Bytes that fused passes leave to others.
std::size_t stored_bytes(const Graph& g)
{
    std::size_t bytes = 0;
    for (const auto& group : wg::tiling::fuse(g, wg::tiling::layouts_of(g), {}))
        for (ValueId v : group.results) bytes += wg::bytes_of(g.node(v));
    return bytes;
}
/// By tiles.
Blocks replayed(const Graph& g, Blocks in)
{
    Blocks out;
    wg::tile.compile(g, {})->run(in, out);
    return out;
}
/// Maps over (rows, columns), sums of their rows, and products of these, which must be complete before they are read.
Graph random_passes(std::mt19937_64& random)
{
    const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    Builder<float> b;
    const ValueId x0 = b.input({rows, columns});
    std::vector<ValueId> large = {x0}, small = {b.input({rows, 1})};
    const auto recent = [&](const std::vector<ValueId>& list) {
        return list[list.size() - 1 - pick(std::min<std::size_t>(list.size(), 15))];
    };
    for (int k = 0; k < 50; ++k) {
        const ValueId x = recent(large), y = pick(8) ? pick(2) ? recent(small) : x0 : recent(large);
        switch (pick(5)) {
        case 0: large.push_back(b.one<wg::Tanh>(x)); break;
        case 1: large.push_back(b.add(x, y)); break;
        case 2: large.push_back(b.multiply(x, y)); break;
        case 3: large.push_back(b.subtract(y, x)); break;
        default: {
            const ValueId s = b.one<wg::Tanh>(b.sum(x, {1}, true));
            small.push_back(b.matmul(s, b.matmul(small.back(), s, true, false)));
        }
        }
    }
    b.g.output(large.back());
    b.g.output(recent(large));
    b.g.output(b.sum(recent(large), {0, 1}, false));
    b.g.update(0, 1);
    return wg::passes::common_subexpressions(wg::passes::dead_code(b.g));
}
/// A model in which memory or computing costs nothing but what is given.
wg::PassOptions costs(double work, double traffic)
{
    wg::PassOptions o;
    o.costs.f32 = o.costs.f64 = {work, work, work, work};
    o.costs.load = o.costs.store = {traffic, traffic, traffic};
    o.costs.least = 0, o.costs.margin = 1;
    return o;
}

}  // namespace

TEST_CASE("costs are those of the rule's steps and of bytes")
{
    wg::CostModel c;
    c.f64 = {1, 10, 100, 3};
    c.load = {1, 2, 3};
    c.store = {4, 5, 6};
    c.l1_bytes = 800, c.l2_bytes = 1600;
    Builder<double> b;
    const ValueId x = b.input({100}), y = b.input({150}), z = b.input({5, 50});
    const auto work = [&](ValueId v) { return wg::work_cost(b.g, b.g.node(v), c); };
    CHECK(work(b.add(x, x)) == 100);
    CHECK(work(b.divide(x, x)) == 1000);
    CHECK(work(b.one<wg::Exp>(x)) == 10000);
    CHECK(work(b.sum(z, {0, 1}, false)) == 250);
    CHECK(work(b.matmul(z, z, false, true)) == 5 * 5 * 50 * 3);
    CHECK(wg::load_cost(b.g.node(x), c) == 800);
    CHECK(wg::load_cost(b.g.node(y), c) == 1200 * 2);
    CHECK(wg::store_cost(b.g.node(z), c) == 2000 * 6);
}

TEST_CASE("a difference is made again where a pass reads it")
{
    const Graph g = standardised(false);
    // as it is: 4 bytes stored and 4 loaded for an element; again: one subtraction, x and m loaded
    const Graph h = wg::passes::recompute(g, costs(0.01, 1));
    CHECK(count(g, "subtract") == 1);
    CHECK(count(h, "subtract") == 2);
    CHECK(stored_bytes(h) == stored_bytes(g) - 4 * rows * columns);
    CHECK(same_values(run(g, inputs), run(h, inputs)));
    CHECK(same_graph(h, wg::passes::recompute(h, costs(0.01, 1))));
    CHECK(same_graph(h, wg::passes::common_subexpressions(h)));
    CHECK(same_graph(h, wg::optimize(h, costs(0.01, 1))));
}

TEST_CASE("the model decides")
{
    for (const bool transcendental : {false, true}) {
        const Graph g = standardised(transcendental);
        // traffic of an element: 4 bytes stored, 4 loaded; again: 4 bytes of x loaded, m's few, the operations
        const double operations = transcendental ? 2 : 1, m = 4.0 / columns;
        const double enough = (8 - 4 - m) / operations;
        CHECK(same_graph(g, wg::passes::recompute(g, costs(1.01 * enough, 1))));
        const Graph h = wg::passes::recompute(g, costs(0.99 * enough, 1));
        CHECK(h.size() == g.size() + static_cast<std::size_t>(operations));
        CHECK(same_values(run(g, inputs), run(h, inputs)));
    }
    wg::PassOptions off = costs(0.01, 1);
    off.off = {"recompute"};
    CHECK(count(wg::optimize(standardised(false), off), "subtract") == 1);
}

TEST_CASE("what is stored anyway is not made again")
{
    Builder<float> b;
    b.g = standardised(false);
    const auto d = static_cast<ValueId>(2);
    REQUIRE(b.g.node(d).primitive->name == "subtract");
    b.g.output(d);
    CHECK(same_graph(b.g, wg::passes::recompute(b.g, costs(0.01, 1))));
    b.g = standardised(false);
    b.g.update(0, 0);  // the result may lie where x does
    CHECK(same_graph(b.g, wg::passes::recompute(b.g, costs(0.01, 1))));
}

TEST_CASE("what lies where a result will lie takes no memory of its own")
{
    Builder<float> b;
    const ValueId x = b.input({rows, columns}), m = b.input({rows, 1}), d = b.subtract(x, m);
    const ValueId s = b.sum(b.multiply(d, d), {1}, true);
    b.g.output(b.multiply(d, b.matmul(s, s, true, false)));
    CHECK(same_graph(b.g, wg::passes::recompute(b.g, costs(0.01, 1))));
}

TEST_CASE("small values and narrow gains are left alone")
{
    const Graph g = standardised(false);
    wg::PassOptions o = costs(0.01, 1);
    o.costs.least = 2 * 4 * rows * columns;
    CHECK(count(wg::passes::recompute(g, o), "subtract") == 2);
    o.costs.least += 1;
    CHECK(same_graph(g, wg::passes::recompute(g, o)));
    o = costs(0.01, 1);
    o.costs.margin = 0.5;  // 4 bytes of x instead of 8
    CHECK(same_graph(g, wg::passes::recompute(g, o)));
}

TEST_CASE("random passes keep their bits and store less")
{
    std::mt19937_64 random(11);
    std::size_t copies = 0;
    for (int k = 0; k < 400; ++k) {
        INFO("graph " << k);
        const Graph g = random_passes(random);
        const wg::PassOptions o = costs(0.01 * static_cast<double>(1 + random() % 200), 1);
        const Graph h = wg::passes::recompute(g, o);
        REQUIRE(same_graph(h, wg::passes::recompute(h, o)));
        REQUIRE(same_graph(h, wg::passes::common_subexpressions(h)));
        REQUIRE(same_graph(h, wg::passes::dead_code(h)));
        REQUIRE(stored_bytes(h) <= stored_bytes(g));
        const Blocks expected = run(g, inputs);
        REQUIRE(same_values(expected, run(h, inputs)));
        REQUIRE(same_values(expected, replayed(h, inputs)));
        for (const wg::GraphNode& n : h.nodes()) copies += n.primitive && n.index;
    }
    CHECK(copies > 20);
}
