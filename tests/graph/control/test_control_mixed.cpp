// Loops and branches in each other and in all transforms.
#include "catch.hpp"

#include "graph/control/control_check.hpp"

#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/matmul.hpp>
#include <wengert/ops/elementwise/trigonometry.hpp>
#include <wengert/transforms/check_grads.hpp>
#include <wengert/transforms/derivatives.hpp>

using namespace wengert;
using D = Tensor<double>;

namespace {

/// A while_loop in a cond in a scan; two loops that share what they capture; results that are states, constants, captured.
D program(const D& w, const D& xs)
{
    const auto one = [&](const D& s, const D& x) {
        return cond(
            sum(s) < 2.0,
            [&](const D& a) {
                return while_loop([&](const D& b) { return sum(square(b)) < 3.0; },
                                  [&](const D& b) { return 1.5 * b + 0.1 * sin(w * b); }, a + x + 0.5);
            },
            [&](const D& a) { return a * tanh(w) - 0.3 * x; }, s);
    };
    const auto [s, ys] = scan(
        [&](const D& s, const D& x) { return std::pair(one(s, x), std::tuple(s, x * w, w, D(2.0))); }, w, xs);
    const auto [t, zs] = scan([&](const D& t) { return std::pair(t + 0.1 * w * s, sum(t)); }, s, 3);
    const auto& [states, products, captured, twos] = ys;
    return sum(square(t)) + sum(zs * twos) + sum(states * products) + sum(captured * states);
}

const D w = {0.6, -0.4}, xs = {{0.1, 0.3}, {0.5, 0.2}, {-0.2, 0.4}};

}  // namespace

TEST_CASE("values and derivatives of nested control flow")
{
    check_traced(program, w, xs);
    check_close(grad<0, 1>(program), w, xs);
    const auto f = [](const D& v) { return program(v, xs); };
    check_close(hvp(f), w, D{1.0, -0.5});
    check_close(hessian(f), w);
    check_close(grad([&](const D& v) { return sum(square(grad(f)(v))); }), w);
    check_close(
        [&](const D& v, const D& d) {
            return jvp([&](const D& u) { return jvp(f, u, u * u).second; }, v, d).second;
        },
        w, D{1.0, -0.5});
    check_close(
        [&](const D& v, const D& d) { return grad([&](const D& u) { return jvp(f, u, d).second; })(v); }, w,
        D{1.0, -0.5});
    check_close([&](const D& v) { return grad([&](const D& u) { return sum(hvp(f)(u, u)); })(v); }, w);
}

TEST_CASE("graphs of nested control flow pass check_grads to order 2")
{
    const CheckReport checked = check_grads(as_graph(program), std::tuple(w, xs), {.order = 2});
    INFO(checked.message);
    CHECK(checked.ok);
    const auto gradient = [](const D& v, const D& x) { return sum(square(grad(program)(v, x))); };
    const CheckReport third = check_grads(as_graph(gradient), std::tuple(w, xs), {.order = 2});
    INFO(third.message);
    CHECK(third.ok);
}

TEST_CASE("a pullback may be called again")
{
    check_close(
        [](const D& v) {
            const auto [y, pull] = vjp(
                [](const D& u) {
                    return scan([&](const D& s) { return std::pair(sin(s) * u, s); }, u, 3).second;
                },
                v);
            return sum(pull(y) * pull(2.0 * y));
        },
        w);
    check_close(grad([](const D& v) {
                    const auto [y, pull] = vjp(
                        [](const D& u) {
                            return scan([&](const D& s) { return std::pair(sin(s) * u, s); }, u, 3).second;
                        },
                        v);
                    return sum(pull(y) * pull(2.0 * y));
                }),
                w);
}

TEST_CASE("single precision in loops")
{
    using F = Tensor<float>;
    const auto f = [](const F& a, const F& x) {
        const auto [s, ys] =
            scan([&](const F& s, const F& u) { return std::pair(tanh(a * s + u), s * u); }, a, x);
        const F r = while_loop([](const F& v) { return sum(v) < 3.0F; },
                               [&](const F& v) { return v * 1.1F + square(a); }, 0.1F + s);
        return sum(s) + sum(ys) +
               sum(cond(
                   sum(s) > 0.0F, [](const F& v) { return 0.1F * v * v; }, [](const F& v) { return -v; }, r));
    };
    const F a = {0.5F, 0.7F}, x = {{0.1F, 0.2F}, {0.3F, -0.1F}};
    check_traced(f, a, x);
    check_close(grad<0, 1>(f), a, x);
    const CheckReport checked = check_grads(as_graph(f), std::tuple(a, x), {.order = 2});
    INFO(checked.message);
    CHECK(checked.ok);
}

TEST_CASE("loops on strided, broadcast and integer data")
{
    const auto f = [](const D& m, const D& v) {
        return scan(
                   [&](const D& s, const D& row) {
                       return std::pair(matmul(transpose(m), s) * 0.3 + row, transpose(m)(0));
                   },
                   broadcast_to(sum(v), Shape{2}), transpose(m))
            .second;
    };
    const D m = {{0.1, 0.2}, {0.3, 0.4}}, v = {1.0, 2.0, 3.0};
    check_traced(f, m, v);
    check_close(grad<0, 1>([&](const D& a, const D& b) { return sum(square(f(a, b))); }), m, v);
    const auto g = [](const Tensor<std::int64_t>& n, const D& table) {
        return scan(
                   [&](const Tensor<std::int64_t>& i, const Tensor<std::int64_t>& k) {
                       return std::pair(where(i + k < 3, i + k, Tensor<std::int64_t>(std::int64_t{0})),
                                        wengert::take(table, i, 0));
                   },
                   Tensor<std::int64_t>(std::int64_t{1}), n)
            .second;
    };
    check_traced(g, Tensor<std::int64_t>{1, 2, 0}, D{5.0, 6.0, 7.0});
    check_close(grad<1>([&](const Tensor<std::int64_t>& n, const D& t) { return sum(square(g(n, t))); }),
                Tensor<std::int64_t>{1, 2, 0}, D{5.0, 6.0, 7.0});
}
