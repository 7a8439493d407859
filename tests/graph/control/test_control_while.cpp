// while_loop and cond in a graph: trip counts and branches that data decide, and their derivatives.
#include "catch.hpp"

#include "graph/control/control_check.hpp"

#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/elementwise/trigonometry.hpp>
#include <wengert/transforms/check_grads.hpp>
#include <wengert/transforms/derivatives.hpp>

using namespace wengert;
using D = Tensor<double>;

namespace {

/// √a by Newton's method: as many steps as it takes.
D root(const D& a, const D& start)
{
    return while_loop([&](const D& x) { return amax(abs(x * x - a)) > 1e-9; },
                      [&](const D& x) { return 0.5 * (x + a / x); }, start);
}

/// x doubled, or multiplied by w, until it is large; and how often.
std::tuple<D, Tensor<std::int64_t>> grow(const D& x, const D& w)
{
    return while_loop([](const auto& s) { return sum(std::get<0>(s)) < 10.0; },
                      [&](const auto& s) {
                          return std::tuple(std::get<0>(s) * w + 0.1 * sin(std::get<0>(s)),
                                            std::get<1>(s) + 1);
                      },
                      std::tuple(x, Tensor<std::int64_t>(std::int64_t{0})));
}

}  // namespace

TEST_CASE("a graph serves every trip count")
{
    const Graph g = graph_of(grow, D{1.0, 2.0}, D(1.5));
    for (const double x : {100.0, 3.0, 1.0, 0.01}) {  // none, a few, many
        const auto values = interpret(g, blocks_of(D{x, 1.0}, D(1.5)));
        const auto [end, n] = grow(D{x, 1.0}, D(1.5));
        CHECK(same_elements(*readable(values[g.outputs()[0]]), *readable(end.any().value)));
        CHECK(same_elements(*readable(values[g.outputs()[1]]), *n.any().value));
    }
}

TEST_CASE("derivatives of a while_loop at trip counts other than the traced one")
{
    const auto f = [](const D& x, const D& w) { return sum(std::get<0>(grow(x, w))); };
    const auto g = grad<0, 1>(f);
    const Graph graph = graph_of(g, D{1.0, 2.0}, D(1.5));
    for (const double x : {100.0, 6.0, 1.0, 0.01}) {
        const auto values = interpret(graph, blocks_of(D{x, 1.0}, D(1.5)));
        const auto [gx, gw] = g(D{x, 1.0}, D(1.5));
        CHECK(allclose(D(AnyTensor{values[graph.outputs()[0]], {}}), gx, 1e-12));
        CHECK(allclose(D(AnyTensor{values[graph.outputs()[1]], {}}), gw, 1e-12));
    }
    check_close(
        [&](const D& x, const D& v) { return jvp([&](const D& y) { return f(y, sum(y)); }, x, v).second; },
        D{1.0, 2.0}, D{0.1, -0.2});
}

TEST_CASE("the traced while_loop passes check_grads to order 2")
{
    const auto f = [](const D& x, const D& w) {
        return sum(square(std::get<0>(grow(x, w)))) + sum(root(w, x));
    };
    check_traced(f, D{1.0, 2.0}, D(1.5));
    const CheckReport checked = check_grads(as_graph(f), std::tuple(D{1.0, 2.0}, D(1.5)), {.order = 2});
    INFO(checked.message);
    CHECK(checked.ok);
    check_close(hvp([&](const D& x) { return f(x, sum(x)); }), D{1.0, 2.0}, D{0.3, 0.1});
    check_close(grad([&](const D& x) { return sum(grad<0>(f)(x, sum(x)) * x); }), D{1.0, 2.0});
}

TEST_CASE("a while_loop in a scan, and the other way round")
{
    const auto f = [](const D& a, const D& xs) {
        const auto [s, ys] = scan(
            [&](const D& s, const D& x) { return std::pair(s * 0.5 + root(a + x, D(1.0)), s * x); }, a, xs);
        const auto t = while_loop(
            [](const D& t) { return t < 20.0; },
            [&](const D& t) {
                return scan([&](const D& u, const D& x) { return std::pair(u + x * a, std::tuple()); }, t, xs)
                    .first;
            },
            s);
        return t * sum(ys);
    };
    check_traced(f, D(2.0), D{0.5, 1.5, 1.0});
    check_close(grad<0, 1>(f), D(2.0), D{0.5, 1.5, 1.0});
    const CheckReport checked = check_grads(as_graph(f), std::tuple(D(2.0), D{0.5, 1.5, 1.0}), {.order = 2});
    INFO(checked.message);
    CHECK(checked.ok);
}

namespace {
D bent(const D& x, const D& w)
{
    return cond(
        sum(x) > 0.0, [&](const D& y, const D& z) { return y * w + exp(0.1 * z); },
        [&](const D& y, const D&) { return sin(y) * 2.0 - w * w; }, x, x * w);
}
}  // namespace

TEST_CASE("a graph holds both branches of a cond")
{
    const Graph g = graph_of(bent, D{1.0, 2.0}, D{0.5, -0.5});
    const Graph d = graph_of(
        [](const D& x, const D& w) {
            return grad<0, 1>([](const D& a, const D& b) { return sum(bent(a, b)); })(x, w);
        },
        D{1.0, 2.0}, D{0.5, -0.5});
    for (const double x : {3.0, -3.0}) {
        const D at = {x, 1.0}, w = {0.5, -0.5};
        CHECK(same_elements(*readable(interpret(g, blocks_of(at, w))[g.outputs()[0]]),
                            *bent(at, w).any().value));
        const auto values = interpret(d, blocks_of(at, w));
        const auto [gx, gw] = grad<0, 1>([](const D& a, const D& b) { return sum(bent(a, b)); })(at, w);
        CHECK(allclose(D(AnyTensor{values[d.outputs()[0]], {}}), gx, 1e-12));
        CHECK(allclose(D(AnyTensor{values[d.outputs()[1]], {}}), gw, 1e-12));
        const CheckReport checked = check_grads(as_graph(bent), std::tuple(at, w), {.order = 2});
        INFO(checked.message);
        CHECK(checked.ok);
    }
}

namespace {
/// n steps by recursion.
D recursive(const D& x, int n)
{
    return n == 0 ? x
                  : cond(
                        sum(x) < 8.0, [&](const D& y) { return recursive(y * y, n - 1); },
                        [](const D& y) { return 0.5 * y; }, x);
}
/// As deep as the data say.
D unbounded(const D& x)
{
    return cond(
        sum(x) < 8.0, [](const D& y) { return unbounded(1.5 * y); }, [](const D& y) { return y * y; }, x);
}
}  // namespace

TEST_CASE("conds in conds; a recursion that only data end is guarded from some depth on")
{
    const Graph g = graph_of([](const D& x) { return recursive(x, 5); }, D(1.1));
    for (const double x : {9.0, 2.0, 1.1})
        CHECK(same_elements(*interpret(g, blocks_of(D(x)))[g.outputs()[0]], *recursive(D(x), 5).any().value));
    CHECK(g.guards().empty());
    const Graph deep = graph_of(unbounded, D(7.0));
    for (const double x : {9.0, 7.0, 1e-2})
        CHECK(same_elements(*interpret(deep, blocks_of(D(x)))[deep.outputs()[0]],
                            *unbounded(D(x)).any().value));
    CHECK(deep.guards().size() == 1);
    const auto values = interpret(deep, blocks_of(D(1e-9)));  // deeper than the graph: its guard says so
    CHECK(failed_guard(deep, values) == 0);
}

TEST_CASE("errors of traced branches and loops")
{
    const auto shapes = [](const D& x) {
        return cond(
            sum(x) > 0.0, [](const D& y) { return y; }, [](const D& y) { return sum(y); }, x);
    };
    CHECK_THROWS_AS(graph_of(shapes, D{1.0, 2.0}), ShapeError);
    const auto state = [](const D& x) {
        return while_loop([](const D& y) { return sum(y) < 9.0; },
                          [](const D& y) {
                              return concatenate({y, y});
                          },
                          x);
    };
    CHECK_THROWS_AS(graph_of(state, D{1.0, 2.0}), ShapeError);
    const auto test = [](const D& x) {
        return while_loop([](const D& y) { return y < 9.0; }, [](const D& y) { return y; }, x);
    };
    CHECK_THROWS_AS(graph_of(test, D{1.0, 2.0}), ShapeError);
}
