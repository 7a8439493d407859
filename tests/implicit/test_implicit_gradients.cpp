// Derivatives of what solvers find: both modes, two orders and three, with a matrix and without one, of captured variables, in float.
#include "implicit/implicit_cases.hpp"

#include <memory>

using namespace implicit_cases;

namespace {

using D = Tensor<double>;

Function<double> loss(const Function<double>& f)
{
    return [f](const D& t) { return sum(sin(f(t))); };
}

struct Pair {
    D a, b;
};

}  // namespace

TEST_CASE("implicit: derivatives of two orders, in both modes")
{
    for (const std::int64_t dense : {256, 0})
        for (const auto& c : all<double>({.dense = dense})) {
            INFO(c.name << ", dense " << dense);
            const auto report = wg::check_grads(loss(c.f), point<double>(), {.order = 2});
            INFO(report.message);
            CHECK(report.ok);
        }
}

TEST_CASE("implicit: the third derivative of a root")
{
    const auto f = [](const D& p) {
        return wg::root([](const D& y, const D& q) { return square(y) - q; }, D(1.0), p);
    };
    const auto third = wg::grad([&](const D& a) {
        return wg::grad([&](const D& b) { return wg::grad([&](const D& c) { return f(c); })(b); })(a);
    });
    CHECK(third(D(4.0)).item() == Approx(0.375 * std::pow(4.0, -2.5)).epsilon(1e-12));
    const auto forward = [&](const D& a) {
        return wg::jvp([&](const D& b) { return wg::grad(f)(b); }, a, D(1.0)).second;
    };
    CHECK(forward(D(4.0)).item() == Approx(-0.25 * std::pow(4.0, -1.5)).epsilon(1e-12));
}

TEST_CASE("implicit: float has the derivatives of double")
{
    const auto single = all<float>();
    const auto cases = all<double>();
    for (std::size_t i = 0; i < cases.size(); ++i) {
        INFO(cases[i].name);
        const auto f = single[i].f;
        const auto g = wg::grad([f](const Tensor<float>& t) { return sum(sin(f(t))); })(point<float>());
        CHECK(allclose(wg::cast<double>(g), wg::grad(loss(cases[i].f))(point<double>()), 2e-3));
    }
}

TEST_CASE("implicit: unknowns and parameters are trees of tensors")
{
    const auto f = [](const Pair& y, const Pair& p, const D& scale) {
        return Pair{y.a * y.a - p.a * sum(y.b), scale * y.b - p.b + 0.1 * sum(y.a)};
    };
    const auto solved = [&](const D& t) {
        const Pair p{exp(t(0)) + 3.0, stack(std::vector<D>{t(1), t(2) + 1.0}, 0)};
        const Pair y = wg::root(f, Pair{D(1.0), D{1.0, 1.0}}, p, 2.0 * t(1));
        return y.a + sum(square(y.b));
    };
    CHECK(wg::check_grads(solved, point<double>(), {.order = 2}).ok);
    const auto pairs = [](const D& t) {
        const auto g = [](const std::pair<D, D>& y, const D& q) {
            return std::pair(exp(y.first) - q, y.second * y.first - 1.0);
        };
        return sum(wg::root(g, std::pair(D{1.0, 1.0, 1.0}, D{1.0, 1.0, 1.0}), t + 1.0).second);
    };
    CHECK(wg::check_grads(pairs, point<double>(), {.order = 2}).ok);
    const auto path = [](const D& t) {
        const auto spin = [](const Pair& y, const D&, const D& w) { return Pair{w(0) * y.b(0), -y.b * y.a}; };
        const Pair y =
            wg::odeint(spin, Pair{D(1.0), D{0.5, 0.2}}, D{0.0, 0.4}, t, {.rtol = 1e-9, .atol = 1e-10});
        CHECK(y.a.shape() == wg::Shape{2});
        CHECK(y.b.shape() == wg::Shape{2, 2});
        return sum(y.a) + sum(y.b);
    };
    CHECK(wg::check_grads(path, point<double>(), {.order = 2}).ok);
}

TEST_CASE("implicit: backward on variables, hooks, checkpoint, AnomalyMode")
{
    for (const auto& c : all<double>()) {
        INFO(c.name);
        const D expected = wg::grad(loss(c.f))(point<double>());
        D x = point<double>();
        x.requires_grad();
        const D y = loss(c.f)(x);
        wg::backward(y);
        CHECK(allclose(x.grad(), expected, 1e-12));
        CHECK(allclose(wg::grad(wg::checkpoint(loss(c.f)))(point<double>()), expected, 1e-12));
        const wg::AnomalyMode anomaly;
        CHECK(allclose(wg::grad(loss(c.f))(point<double>()), expected, 1e-12));
        const wg::SavedTensorHooks hooks(wg::save_as_float32());
        CHECK(allclose(wg::grad(loss(c.f))(point<double>()), expected, 1e-5));
    }
}

TEST_CASE("implicit: the continuous adjoint is the derivative of the equation, and takes what is captured "
          "for an error")
{
    const auto swing = [](const D& z, const D& t, const D& q) {
        return stack(std::vector<D>{z(1), -q(0) * sin(z(0)) - 0.1 * q(1) * z(1) + q(2) * cos(t)}, 0);
    };
    const auto path = [&](const auto& solver) {
        return [=](const D& y0, const D& p) {
            const D times = cumsum(0.3 * p);
            return sum(sin(solver(swing, y0, times, p, {.rtol = 1e-10, .atol = 1e-11})));
        };
    };
    const D y0 = {1.0, 0.2};
    const auto a = wg::grad<0, 1>(path(wg::odeint))(y0, point<double>());
    const auto f = path(wg::odeint_adjoint);
    const auto b = wg::grad<0, 1>(f)(y0, point<double>());
    CHECK(allclose(std::get<0>(b), std::get<0>(a), 1e-7));
    CHECK(allclose(std::get<1>(b), std::get<1>(a), 1e-7));
    auto frozen = wg::freeze(wg::grad<0, 1>(f));
    for (int i = 0; i < 2; ++i)
        CHECK(allclose(std::get<1>(frozen(y0, point<double>())), std::get<1>(b), 1e-9));
    const auto only_p = [&](const D& p) { return f(y0, p); };
    CHECK(wg::check_grads(only_p, point<double>(), {.order = 2, .modes = wg::Modes::reverse}).ok);
    CHECK_THROWS_AS(wg::jvp(only_p, point<double>(), point<double>()), wg::NoForwardMode);
    const auto captures = [&](const D& p) {
        const auto g = [&](const D& z, const D&) { return -z * p; };
        return sum(wg::odeint_adjoint(g, point<double>(), D{0.0, 1.0}));
    };
    CHECK_THROWS_AS(wg::grad(captures)(point<double>()), wg::TapeError);
}

TEST_CASE("implicit: what a checkpoint's function keeps of a solver is refused, and serves inside of it")
{
    const D x = {0.3, 0.7, 1.1}, one = wg::ones<double>({3});
    using Make = std::function<D(const D&)>;
    const auto check = [&](const char* what, const Make& make) {
        INFO(what);
        const auto outside = [&](const D& t) {
            const auto kept = std::make_shared<D>();
            const D y = wg::checkpoint([=](const D& u) {
                *kept = make(u);
                return sin(u) * u;
            })(t);
            return sum(y * *kept);
        };
        CHECK_THROWS_AS(wg::grad(outside)(x), wg::TapeError);
        const auto with = [&](const auto& f) { return [&, f](const D& t) { return sum(square(f(t))); }; };
        CHECK(wg::allclose(wg::grad(with(wg::checkpoint(make)))(x), wg::grad(with(make))(x), 1e-10));
    };
    const auto cubic = [](const D& y, const D& p) { return y * y * y - p; };
    check("root", [&](const D& u) { return wg::root(cubic, one, u); });
    check("grad of root",
          [&](const D& u) { return wg::grad([&](const D& p) { return sum(wg::root(cubic, one, p)); })(u); });
    const auto slope = [&](const auto& solver) {
        return [=](const D& u) { return tanh(wg::jvp(solver, u, one).second); };
    };
    check("tangent of root", slope([&](const D& p) { return wg::root(cubic, one, p); }));
    check("tangent of the tangent of root",
          slope(slope([&](const D& p) { return wg::root(cubic, one, p); })));
    check("tangent of cg", slope([&](const D& p) { return wg::cg([&](const D& y) { return y * p; }, one); }));
    check("fixed_point", [&](const D& u) {
        return wg::fixed_point([](const D& y, const D& p) { return 0.5 * cos(y) * p; }, one, u);
    });
    check("minimize", [&](const D& u) {
        return wg::minimize([](const D& y, const D& p) { return sum(square(square(y) - p)); }, one, u);
    });
    check("cg", [&](const D& u) { return wg::cg([&](const D& y) { return y * u; }, one); });
    check("gmres", [&](const D& u) { return wg::gmres([&](const D& y) { return y * u; }, one); });
    check("odeint", [&](const D& u) {
        return wg::odeint([](const D& y, const D&, const D& p) { return -y * p; }, one, D({0.0, 1.0}), u)(-1);
    });
}
