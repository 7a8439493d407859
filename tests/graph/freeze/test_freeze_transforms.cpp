// Frozen functions under transforms and transforms that are frozen.
#include "graph/freeze/frozen_beside.hpp"

namespace {

using D = Tensor<double>;

D model(const D& x, const D& w)
{
    D h = tanh(matmul(x, w));
    if (sum(h) > 0.0) h = h * sigmoid(h);
    return mean(square(h)) + logsumexp(h);
}
const D x0{{0.1, -0.2, 0.3}, {1.0, 0.5, -0.7}}, w0{{0.3, 0.2}, {-0.5, 0.8}, {0.1, -0.9}};

std::vector<std::tuple<D, D>> calls() { return {{x0, w0}, {x0 * -1.5, w0}, {x0 + 0.25, w0 * 2.0}}; }

}  // namespace

TEST_CASE("a gradient frozen with its function has the bits of eager")
{
    const auto first = wg::grad<1>(model);
    auto frozen = wg::freeze(first, unchecked());
    check_beside(frozen, first, calls());
    const auto second = wg::grad<0>([&](const D& x, const D& w) { return sum(square(first(x, w))); });
    auto frozen_second = wg::freeze(second, unchecked());
    check_beside(frozen_second, second, calls());
    const auto pair = wg::value_and_grad<0, 1>(model);
    auto frozen_pair = wg::freeze(pair, unchecked());
    for (int round = 0; round < 3; ++round)
        for (const auto& [x, w] : calls()) {
            const auto [y, g] = frozen_pair(x, w);
            const auto [y0, g0] = pair(x, w);
            CHECK(same_bits(y, y0));
            CHECK(same_bits(std::get<0>(g), std::get<0>(g0)));
            CHECK(same_bits(std::get<1>(g), std::get<1>(g0)));
        }
}

TEST_CASE("jvp, hvp, jacobian and hessian frozen")
{
    const auto one = [](const D& x) { return model(x, w0); };
    const auto forward = [&](const D& x) { return wg::jvp(one, x, cos(x)).second; };
    const auto product = [&](const D& x) { return wg::hvp(one)(x, sin(x)); };
    const auto matrix = [&](const D& x) {
        return wg::jacobian([](const D& t) { return tanh(matmul(t, w0)); })(x);
    };
    const auto second = wg::hessian(one);
    const auto by_pullback = [&](const D& x) {
        const auto [y, back] = wg::vjp([](const D& t) { return matmul(sin(t), w0); }, x);
        return back(y) + back(y * 0.5);
    };
    const std::vector<D> xs{x0, x0 * -2.0, x0 + 1.0};
    auto a = wg::freeze(forward, unchecked());
    check_beside(a, forward, xs);
    auto b = wg::freeze(product, unchecked());
    check_beside(b, product, xs);
    auto c = wg::freeze(matrix, unchecked());
    check_beside(c, matrix, xs);
    auto d = wg::freeze(second, unchecked());
    check_beside(d, second, xs);
    auto e = wg::freeze(by_pullback, unchecked());
    check_beside(e, by_pullback, xs);
}

TEST_CASE("transforms of a frozen function")
{
    auto frozen = wg::freeze([](const D& x) { return model(x, w0); }, unchecked());
    const auto f = [](const D& x) { return model(x, w0); };
    for (int round = 0; round < 3; ++round)
        for (const D& x : {x0, x0 * -2.0, x0 + 1.0}) {
            CHECK(wg::allclose(wg::grad(frozen)(x), wg::grad(f)(x), 1e-14));
            CHECK(wg::allclose(wg::jvp(frozen, x, cos(x)).second, wg::jvp(f, x, cos(x)).second, 1e-14));
            CHECK(wg::allclose(wg::hvp(frozen)(x, x), wg::hvp(f)(x, x), 1e-13));
            CHECK(wg::allclose(wg::hessian(frozen)(x), wg::hessian(f)(x), 1e-13));
            const auto [y, back] = wg::vjp(frozen, x);
            CHECK(wg::allclose(back(y), wg::grad(f)(x) * y, 1e-14));
            D v = x;
            v.requires_grad();
            backward(frozen(v));
            CHECK(wg::allclose(v.grad(), wg::grad(f)(x), 1e-14));
        }
    CHECK(frozen.stats().inlined == 0);
}

TEST_CASE("a frozen function inside of a frozen one and inside of its own")
{
    auto inner = wg::freeze([](const D& x) { return tanh(x) * 2.0; }, unchecked());
    const auto f = [&](const D& x) { return sum(inner(x) * inner(x * 0.5)); };
    auto outer = wg::freeze(wg::grad(f), unchecked());
    check_beside(outer, wg::grad([](const D& x) { return sum((tanh(x) * 2.0) * (tanh(x * 0.5) * 2.0)); }),
                 std::vector{x0, w0});
    CHECK(inner.stats().inlined > 0);

    std::function<D(const D&)> again;
    const auto recursive = [&](const D& x) {
        return x.size() <= 1 ? x : again(view(x, wg::range(1, wg::placeholders::_))) + x(0);
    };
    auto frozen = wg::freeze(recursive, unchecked());
    again = frozen;
    const D v{1.0, 2.0, 4.0, 8.0};
    for (int k = 0; k < 4; ++k) CHECK(frozen(v)(0).item() == 15.0);
}

TEST_CASE("a custom rule holds for derivatives of the frozen function")
{
    const auto reversed =
        wg::custom_vjp([](const D& x) { return x; }, [](const D& g, const D&, const D&) { return -g; });
    const auto clipped =
        wg::custom_vjp([](const D& x) { return x * 3.0; },
                       [](const D& g, const D&, const D&) { return wg::clip(g, -0.1, 0.1); });
    const auto f = [&](const D& x) { return sum(sin(reversed(x)) + clipped(x) * x); };
    auto frozen = wg::freeze(f, unchecked());
    for (int k = 0; k < 3; ++k) {
        CHECK(same_bits(frozen(x0), f(x0)));
        CHECK(wg::allclose(wg::grad(frozen)(x0), wg::grad(f)(x0), 1e-14));
    }
    auto gradient = wg::freeze(wg::grad(f), unchecked());
    check_beside(gradient, wg::grad(f), std::vector{x0, x0 * 2.0, x0 - 1.0});
}

TEST_CASE("a captured variable makes the function run eagerly, so that it gets its gradient")
{
    D v{1.0, 2.0};
    auto frozen = wg::freeze([&](const D& x) { return sum(x * v); });
    const D x{3.0, 5.0};
    CHECK(frozen(x).item() == 13.0);  // a constant so far
    CHECK(frozen.stats().traces == 1);
    v.requires_grad();
    CHECK_THROWS_AS(frozen(x), wg::TapeError);  // the first replay is checked
    auto other = wg::freeze([&](const D& t) { return sum(t * v); });
    for (int k = 1; k < 4; ++k) {
        backward(other(x));
        CHECK(same_bits(v.grad(), x * static_cast<double>(k)));
    }
    CHECK(other.stats().traces == 0);
    CHECK_THAT(other.explain(), contains("captures"));
    {
        const wg::NoGrad off;
        CHECK(other(x).item() == 13.0);
        CHECK(other(x).item() == 13.0);
        CHECK(other.stats().traces == 1);
    }
    backward(other(x));
    CHECK(same_bits(v.grad(), x * 4.0));
}

TEST_CASE("what a frozen function captures of an enclosing derivative keeps its derivative")
{
    const D x{3.0, 5.0};
    const auto f = [&](const D& w) {
        auto frozen = wg::freeze([&](const D& t) { return sum(t * w * w); });
        return frozen(x) + frozen(x * 2.0) + frozen(w);
    };
    const auto g = [&](const D& w) { return sum(x * w * w) + sum(x * 2.0 * w * w) + sum(w * w * w); };
    const D w{0.5, -1.0};
    CHECK(wg::allclose(wg::grad(f)(w), wg::grad(g)(w), 1e-14));
}

TEST_CASE("AnomalyMode and NoGrad")
{
    auto frozen = wg::freeze([](const D& x) { return log(x) * 2.0; }, unchecked());
    const D bad{-1.0, 1.0};
    CHECK(std::isnan(frozen(bad)(0).item()));
    CHECK(std::isnan(frozen(bad)(0).item()));
    {
        const wg::AnomalyMode anomaly;
        CHECK_THROWS_AS(frozen(bad), wg::NumericError);
        CHECK(frozen.stats().inlined == 1);
    }
    D v{1.0, 2.0};
    v.requires_grad();
    const wg::NoGrad off;
    CHECK_FALSE(frozen(v).any().node);
    CHECK_FALSE(frozen(v).any().node);
}

TEST_CASE("backward() inside of a frozen function is refused with its reason, and leaves nothing behind")
{
    auto frozen = wg::freeze([](const D& x) {
        D v = x;
        v.requires_grad();
        backward(sum(square(v)));
        return v.grad();
    });
    CHECK_THROWS_AS(frozen(x0), wg::TapeError);
    CHECK(wg::recorder() == nullptr);
}

TEST_CASE("forward over reverse through a branch that was not selected, frozen in each order")
{
    const D x = {0.0, 2.0}, v = {1.0, 0.5};
    const auto f = [](const D& t) {
        const D step = wg::scan([](const D& s) { return std::pair(s * sqrt(s), s); }, t, 2).first;
        return sum(where(t > 0.0, step, 0.0 * t)) + sum(where(t > 5.0, dot(t, sqrt(t)), 0.0 * t));
    };
    const D want = matmul(wg::hessian(f)(x), v);
    REQUIRE(all(is_finite(want)).item());
    for (const wg::Backend& backend : {wg::Backend(wg::tile), wg::Backend(wg::interpret)}) {
        wg::FreezeOptions o;
        o.backend = backend;
        auto product = wg::freeze([&](const D& t) { return wg::hvp(f)(t, v); }, o);
        auto gradient = wg::freeze(wg::grad(f), o);
        auto value = wg::freeze(f, o);
        for (int call = 0; call < 3; ++call) {
            CHECK(wg::allclose(product(x), want));
            CHECK(wg::allclose(wg::jvp(gradient, x, v).second, want));
            CHECK(wg::allclose(wg::hvp(value)(x, v), want));
        }
    }
}
