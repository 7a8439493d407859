// scan in a graph: one node for all steps, values and derivatives as those of the plain loop.
#include "catch.hpp"

#include "graph/control/control_check.hpp"

#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/matmul.hpp>
#include <wengert/ops/random.hpp>
#include <wengert/ops/elementwise/trigonometry.hpp>
#include <wengert/transforms/check_grads.hpp>
#include <wengert/transforms/derivatives.hpp>
#include <wengert/graph/ir/trace.hpp>

using namespace wengert;
using D = Tensor<double>;

namespace {

struct Oscillator {
    D q, p;
};

/// Σ of the end and of all positions of an oscillator with a spring k.
D oscillator(const D& k, const D& start, std::int64_t steps)
{
    const auto [end, path] = scan(
        [&](const Oscillator& o) {
            const D p = o.p - 0.1 * k * sin(o.q), q = o.q + 0.1 * p;
            return std::pair(Oscillator{q, p}, q);
        },
        Oscillator{start, zeros_like(start)}, steps);
    return sum(end.q * end.p) + sum(square(path));
}

}  // namespace

TEST_CASE("a scan is one operation however many steps there are")
{
    const auto size = [](std::int64_t steps) {
        return trace_graph(
                   [&](const std::vector<AnyTensor>& in) {
                       return std::vector{oscillator(D(in[0]), D(in[1]), steps).any()};
                   },
                   blocks_of(D(2.0), D{0.3, -0.2}))
            .size();
    };
    CHECK(size(1) == size(1000));
    CHECK(size(0) == size(1000));
}

TEST_CASE("values have the bits of the plain loop")
{
    for (const std::int64_t steps : {0, 1, 2, 7}) {
        const auto f = [&](const D& k, const D& s) { return oscillator(k, s, steps); };
        check_traced(f, D(2.0), D{0.3, -0.2});
        check_traced(f, D{2.0, 0.5}, D{0.3, -0.2});
    }
}

TEST_CASE("gradients are those of the plain loop, of captured variables too")
{
    for (const std::int64_t steps : {0, 1, 2, 7}) {
        const auto f = [&](const D& k, const D& s) { return oscillator(k, s, steps); };
        check_close(grad<0, 1>(f), D(2.0), D{0.3, -0.2});
        check_close(
            grad([&](const D& s) { return sum(grad<0>(f)(D(2.0), s) * 3.0) + sum(grad<1>(f)(D(2.0), s)); }),
            D{0.3, -0.2});
        const auto push = [&](const D& s, const D& v) {
            return jvp([&](const D& x) { return f(x * x, x); }, s, v).second;
        };
        check_close(push, D{0.3, -0.2}, D{1.0, 0.5});
        check_close(hvp([&](const D& x) { return f(sum(x), x); }), D{0.3, -0.2}, D{1.0, 0.5});
    }
}

TEST_CASE("the traced loop passes check_grads to order 2")
{
    const D xs = {{0.1, 0.2}, {0.3, -0.4}, {0.5, 0.6}}, w = {{0.7, -1.1}, {0.2, 0.4}}, s = {0.0, 0.5};
    const auto f = [](const D& weights, const D& start, const D& inputs) {
        const auto [last, ys] = scan(
            [&](const D& state, const D& x) {
                const D next = tanh(matmul(weights, state) + x);
                return std::pair(next, std::tuple(next * x, sum(next)));
            },
            start, inputs);
        return sum(last * start) + sum(square(std::get<0>(ys))) + sum(std::get<1>(ys));
    };
    check_traced(f, w, s, xs);
    check_close(grad<0, 1, 2>(f), w, s, xs);
    const CheckReport checked = check_grads(as_graph(f), std::tuple(w, s, xs), {.order = 2});
    INFO(checked.message);
    CHECK(checked.ok);
}

TEST_CASE("several dtypes, integer states, empty states")
{
    const auto mixed = [](const D& x, const Tensor<float>& y) {
        const auto [end, out] = scan(
            [&](const std::tuple<D, Tensor<float>, Tensor<std::int64_t>, Tensor<bool>>& s) {
                const auto& [a, b, n, odd] = s;
                const D c = a * x + cast<double>(b);
                return std::pair(std::tuple(c, b * cast<float>(c), n + 1, !odd),
                                 std::tuple(where(odd, c, -c), n * n, odd));
            },
            std::tuple(x, y, Tensor<std::int64_t>(std::int64_t{5}), Tensor<bool>(false)), 4);
        const auto& [ys, squares, odds] = out;
        return sum(std::get<0>(end)) + sum(cast<double>(std::get<1>(end))) + sum(ys * cast<double>(squares)) +
               sum(cast<double>(odds)) + cast<double>(std::get<2>(end));
    };
    check_traced(mixed, D(0.6), Tensor<float>(0.3F));
    check_close(grad<0>(mixed), D(0.6), Tensor<float>(0.3F));
    const auto stateless = [](const D& x) {
        return scan([&](const std::tuple<>& s, const D& v) { return std::pair(s, v * v); }, std::tuple<>(), x)
            .second;
    };
    check_traced(stateless, D{1.0, 2.0, 3.0});
    check_close(grad([&](const D& x) { return sum(stateless(x)); }), D{1.0, 2.0, 3.0});
    const auto integers = [](const Tensor<std::int64_t>& n) {
        return scan([](const Tensor<std::int64_t>& i) { return std::pair(i + 1, i * i); }, n, 3).second;
    };
    check_traced(integers, Tensor<std::int64_t>(std::int64_t{3}));
}

TEST_CASE("loops in loops, states that swap, results that are states")
{
    const auto nested = [](const D& w, const D& xs) {
        const auto [s, ys] = scan(
            [&](const std::tuple<D, D>& s, const D& x) {
                const auto [a, b] = s;
                const auto [c, inner] =
                    scan([&](const D& u) { return std::pair(sin(u * w + x), u * x); }, a, 3);
                return std::pair(std::tuple(b, c), std::tuple(a, sum(inner)));
            },
            std::tuple(0.5 * w, w), xs);
        return sum(std::get<0>(s) * std::get<1>(s)) + sum(std::get<0>(ys)) + sum(square(std::get<1>(ys)));
    };
    const D w = {0.3, -0.7}, xs = {0.1, 0.2, 0.3};
    check_traced(nested, w, xs);
    check_close(grad<0, 1>(nested), w, xs);
    const CheckReport checked = check_grads(as_graph(nested), std::tuple(w, xs), {.order = 2});
    INFO(checked.message);
    CHECK(checked.ok);
}

TEST_CASE("transforms in a body; variables of other levels are told apart")
{
    const auto f = [](const D& x) {  // D of y -> x y² at y = x, a few times
        const auto [s, none] = scan(
            [&](const D& y) {
                return std::pair(grad([&](const D& z) { return sum(x * z * z * 0.5); })(y), std::tuple());
            },
            x, 3);
        return sum(s);
    };
    check_traced(f, D{0.5, 1.5});
    check_close(grad(f), D{0.5, 1.5});
    const auto g = [](const D& x) {
        return sum(x * grad([&](const D& y) {
                       return sum(
                           scan([&](const D& s) { return std::pair(s + x * y, std::tuple()); }, y, 2).first);
                   })(x));
    };
    check_traced(g, D{0.5, 1.5});
    check_close(grad(g), D{0.5, 1.5});
}

TEST_CASE("stop_gradient in a body stops gradients")
{
    const auto f = [](const D& w, const D& x) {
        return sum(scan(
                       [&](const D& s) {
                           return std::pair(s * stop_gradient(w) + stop_gradient(s) * w, std::tuple());
                       },
                       x, 3)
                       .first);
    };
    check_traced(f, D{0.5, 1.5}, D{2.0, 3.0});
    check_close(grad<0, 1>(f), D{0.5, 1.5}, D{2.0, 3.0});
}

TEST_CASE("scan over slices of no tensors is refused")
{
    const auto body = [](const D& s, const std::vector<D>&) { return std::pair(s, std::tuple<>()); };
    CHECK_THROWS_WITH(scan(body, D(1.0), std::vector<D>()),
                      contains("[scan] xs hold no tensors") && contains("test_control_scan.cpp"));
    CHECK_THROWS_WITH(scan(body, D(1.0), std::vector<D>(2)), contains("[scan] xs hold no tensors"));
}
