// What a body does besides computing: decisions in plain C++, random keys, calls of the host.
#include "catch.hpp"

#include "graph/control/control_check.hpp"

#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/random.hpp>
#include <wengert/ops/elementwise/trigonometry.hpp>
#include <wengert/transforms/grad.hpp>
#include <wengert/graph/ir/trace.hpp>
#include <wengert/graph/loops/loop_graphs.hpp>

using namespace wengert;
using D = Tensor<double>;

namespace {

std::size_t loops_in(const Graph& g)
{
    std::size_t n = 0;
    for (const GraphNode& node : g.nodes()) n += loop_parameters(node) != nullptr;
    return n;
}

/// Doubles small numbers, halves large ones, deciding in plain C++.
D decides(const D& x, std::int64_t steps)
{
    return scan(
               [](const D& s) {
                   if (s < 4.0) return std::pair(2.0 * s, std::tuple());
                   return std::pair(0.5 * s, std::tuple());
               },
               x, steps)
        .first;
}

}  // namespace

TEST_CASE("a body that takes one branch in all steps is a loop, guarded as a whole")
{
    const Graph g = graph_of([](const D& x) { return decides(x, 3); }, D(0.1));
    CHECK(loops_in(g) == 1);
    REQUIRE(g.guards().size() == 1);
    CHECK(failed_guard(g, interpret(g, blocks_of(D(0.2)))) == 1);
    CHECK(interpret(g, blocks_of(D(0.2)))[g.outputs()[0]]->as<double>()[0] == 1.6);
    CHECK(failed_guard(g, interpret(g, blocks_of(D(1.1)))) == 0);  // the third step would halve
}

TEST_CASE("a body that decides differently from step to step is unrolled")
{
    const Graph g = graph_of([](const D& x) { return decides(x, 3); }, D(2.5));
    CHECK(g.guards().size() >= 3);
    CHECK(failed_guard(g, interpret(g, blocks_of(D(2.6)))) == g.guards().size());
    CHECK(interpret(g, blocks_of(D(2.6)))[g.outputs()[0]]->as<double>()[0] == decides(D(2.6), 3).item());
    CHECK(failed_guard(g, interpret(g, blocks_of(D(0.1)))) < g.guards().size());
}

TEST_CASE("what a body reads of captured values is guarded outside of it")
{
    const auto f = [](const D& x, const D& w) {
        return scan([&](const D& s) { return std::pair(s * w.item(), std::tuple()); }, x, 3).first;
    };
    const Graph g = graph_of(f, D(2.0), D(3.0));
    CHECK(loops_in(g) == 1);
    CHECK(g.guards().size() == 1);
    CHECK(failed_guard(g, interpret(g, blocks_of(D(2.0), D(3.0)))) == 1);
    CHECK(failed_guard(g, interpret(g, blocks_of(D(2.0), D(4.0)))) == 0);
}

TEST_CASE("numbers in the state that change make the loop unroll")
{
    struct Counted {
        D x;
        int n;
    };
    const auto f = [](const D& x) {
        return scan(
                   [](const Counted& c) {
                       return std::pair(Counted{c.x * static_cast<double>(c.n), c.n + 1}, c.x);
                   },
                   Counted{x, 1}, 4)
            .second;
    };
    const Graph g = graph_of(f, D(1.0));
    CHECK(loops_in(g) == 0);
    check_traced(f, D(1.0));
}

TEST_CASE("keys in the state and from outside")
{
    const auto f = [](const Key& key, const Key& other, const D& x) {
        return scan(
            [&](const std::tuple<Key, D>& s) {
                const auto [mine, next] = split(std::get<0>(s));
                const D y =
                    std::get<1>(s) + normal<double>(mine, {2}) + normal<double>(fold_in(other, 3), {2});
                return std::pair(std::tuple(next, y), sum(y));
            },
            std::tuple(key, x), 3);
    };
    const auto traced = [&](const Key& key, const Key& other) {
        Trace trace;
        std::vector<Ref<Block>> in;
        const auto input = [&](Key k) {
            in.push_back(detail::block_of_key(k));
            trace.input(in.back(), {});
            trace.enter_key(k, in.back());
            return k;
        };
        const Key first = input(key), second = input(other);
        const auto [s, ys] = f(first, second, D{0.0, 1.0});
        trace.output(std::get<1>(s).any().value, {});
        trace.output(ys.any().value, {});
        trace.output(trace.key(std::get<0>(s).origin), {});
        trace.stop();
        return std::move(trace.graph());
    };
    const Graph g = traced(Key(1), Key(2));
    CHECK(loops_in(g) == 1);
    for (const std::uint64_t seed : {1U, 7U}) {
        const auto values = interpret(g, {detail::block_of_key(Key(seed)), detail::block_of_key(Key(9))});
        const auto [s, ys] = f(Key(seed), Key(9), D{0.0, 1.0});
        CHECK(same_elements(*readable(values[g.outputs()[0]]), *std::get<1>(s).any().value));
        CHECK(same_elements(*readable(values[g.outputs()[1]]), *ys.any().value));
        CHECK(detail::key_of_block(*values[g.outputs()[2]]) == std::get<0>(s));
    }
}

TEST_CASE("the host is called in order, once a step, and not by derivatives")
{
    std::vector<double> seen;
    const auto say = [&](const D& v) { seen.push_back(v.item()); };
    const auto f = [&](const D& x) {
        host_callback(say, 100.0 * x);
        const D y = scan(
                        [&](const D& s) {
                            host_callback(say, s);
                            return std::pair(s * s, std::tuple());
                        },
                        x, 3)
                        .first;
        host_callback(say, -y);
        return y;
    };
    const Graph g = graph_of([&](const D& x) { return value_and_grad(f)(x); }, D(2.0));
    const std::vector<double> once{200.0, 2.0, 4.0, 16.0, -256.0};
    CHECK(seen == once);
    seen.clear();
    const auto values = interpret(g, blocks_of(D(3.0)));
    CHECK(seen == std::vector<double>{300.0, 3.0, 9.0, 81.0, -6561.0});
    CHECK(values[g.outputs()[1]]->as<double>()[0] == 8.0 * 2187.0);
}

TEST_CASE("values from the host")
{
    double outside = 5.0;
    const auto f = [&](const D& x) {
        const D a = host_callback<double>(
            {2}, [&](const D& v) { return v * outside; }, x);
        return scan(
                   [&](const D& s) {
                       return std::pair(s + host_callback<double>({}, [&] { return D(outside++); }) * a,
                                        std::tuple());
                   },
                   x, 2)
            .first;
    };
    const Graph g = graph_of(f, D{1.0, 2.0});
    outside = 1.0;
    const auto values = interpret(g, blocks_of(D{1.0, 2.0}));
    CHECK(values[g.outputs()[0]]->as<double>()[1] == 2.0 + 2.0 * (1.0 + 2.0));
    CHECK(outside == 3.0);
    CHECK_THROWS_AS(graph_of(grad([&](const D& x) {
                                 return scan(
                                            [&](const D& s) {
                                                return std::pair(
                                                    s * host_callback<double>({}, [] { return D(1.0); }),
                                                    std::tuple());
                                            },
                                            x, 2)
                                     .first;
                             }),
                             D(1.0)),
                    TapeError);
}
