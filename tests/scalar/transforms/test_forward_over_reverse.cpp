// Forward over reverse through scalar code that meets tensors and rules of the user's: adjoints carry their tangents, and the sweep is
// recorded where that is not enough.
#include "catch.hpp"

#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/scalar.hpp>

#include <cmath>
#include <optional>

namespace wg = wengert;
using R = wg::Real<double>;
using Reals = std::vector<R>;

namespace {

bool near(double a, double b, double tolerance = 1e-12)
{
    return std::abs(a - b) <= tolerance * (1 + std::abs(b));
}

wg::ScalarStream& stream() { return wg::ScalarStream::of(wg::Tape::current()); }

/// A long chain of reals: y = y + sin(y) x/64 so many times.
R chain(R y, const R& x, int steps)
{
    for (int i = 0; i < steps; ++i) y = y + sin(y) * x * 0.015625;
    return y;
}

/// y = x₀ x₁ by an external function; `at` is called in its rule.
template <class At> R product_outside(const R& a, const R& b, const At& at)
{
    Reals y(1);
    wg::external(
        Reals{a, b}, y, [](std::span<const double> x, std::span<double> out) { out[0] = x[0] * x[1]; },
        [at]<class N>(std::span<const N> x, std::span<const N>, std::span<const N> g, std::span<N> to) {
            at();
            to[0] += g[0] * x[1];
            to[1] += g[0] * x[0];
        },
        []<class N>(std::span<const N> x, std::span<const N>, std::span<const N> dot, std::span<N> to) {
            to[0] += dot[0] * x[1] + dot[1] * x[0];
        });
    return y[0];
}

}  // namespace

TEST_CASE("The sweep of hvp is not recorded, although a rule of the user's is among the operations")
{
    constexpr int steps = 200;
    wg::ScalarPosition at_rule = 0, after_run = 0;
    const auto f = [&](const Reals& x) {
        const R p = product_outside(x[0], x[1], [&] { at_rule = stream().end(); });
        const R y = chain(p, x[1], steps);
        after_run = stream().end();
        return y;
    };
    const auto by_hand = [](const Reals& x) { return chain(x[0] * x[1], x[1], steps); };
    const Reals x{0.4, 0.9}, v{1.0, -2.0};
    const Reals h = wg::hvp(f)(x, v), hand = wg::hvp(by_hand)(x, v);
    CHECK((near(h[0].value(), hand[0].value()) && near(h[1].value(), hand[1].value())));
    // the rule runs after the sweep of the chain, which would have recorded some entries for each of its own
    CHECK(at_rule - after_run < 100);
    // reverse over reverse has to record it
    static_cast<void>(wg::grad([&](const Reals& z) { return wg::grad(f)(z)[0]; })(x));
    CHECK(at_rule - after_run > static_cast<wg::ScalarPosition>(steps));
}

TEST_CASE("Adjoints get tangents in the middle of a sweep, and are recorded from the middle on")
{
    // x is the variable of reverse mode, p of forward mode around it, q of reverse mode around both
    const auto loss = [](const R& x, const R& p, const R& q) {
        const auto third = wg::stack(Reals{x * x * q, x * q});   // its node's cotangent comes last
        const R e = wg::elements(tanh(wg::stack(Reals{x})))[0];  // what follows is a span of its own
        const auto second = wg::stack(Reals{e * e * p, e * p});
        const auto first = wg::stack(Reals{e * e * e, e * 2.0});
        return sum(third) + sum(second) + sum(first);  // a tensor, so each cotangent is plain
    };
    const auto by_hand = [](const R& x, const R& p, const R& q) {
        const R e = tanh(x);
        return wg::tensor(x * x * q + x * q + e * e * p + e * p + e * e * e + e * 2.0);
    };
    const auto mixed = [](const auto& f) {  // the gradient, and its derivative by p
        return [&f](const R& p, const R& q) {
            const auto slope = [&](const R& s) {
                return wg::grad([&](const R& x) { return f(x, s, q); })(R(0.7));
            };
            const auto [g, dot] = wg::jvp(slope, p, R(1.5));
            return g + dot;
        };
    };
    const auto a = mixed(loss);
    const auto b = mixed(by_hand);
    const R p = 0.3, q = -1.2;
    CHECK(near(a(p, q).value(), b(p, q).value()));
    const auto by_q = [&](const auto& f) {
        return wg::value_and_grad([&](const R& s) { return f(p, s); })(q);
    };
    const auto [y, g] = by_q(a);
    const auto [y0, g0] = by_q(b);
    CHECK((near(y.value(), y0.value()) && near(g.value(), g0.value())));
    CHECK(near(g.value(), 2 * 0.7 + 1));
}

TEST_CASE("Cotangents of tensors bring their tangents into scalar code, and take them along")
{
    const auto f = [](const Reals& x) {
        const auto t = wg::stack(Reals{x[0] * x[1], x[1], x[0]});
        const Reals e = wg::elements(tanh(t) * t + square(t));
        const R y = e[0] * e[1] - sin(e[2]) * x[0];
        return wg::real(sum(square(wg::stack(Reals{y, e[1] * y, R(2.0)}))));
    };
    const auto by_hand = [](const Reals& x) {
        const auto g = [](const R& t) { return tanh(t) * t + t * t; };
        const R a = g(x[0] * x[1]), b = g(x[1]), c = g(x[0]), y = a * b - sin(c) * x[0];
        return y * y + b * y * (b * y) + 4.0;
    };
    const Reals x{0.3, -0.8}, v{1.0, 0.7};
    const Reals h = wg::hvp(f)(x, v), hand = wg::hvp(by_hand)(x, v);
    CHECK((near(h[0].value(), hand[0].value()) && near(h[1].value(), hand[1].value())));
    using F = wg::Real<float>;
    const auto narrow = [](const F& z) {
        return wg::real(sum(square(wg::stack(std::vector<F>{z * z, sin(z)}))));
    };
    const double s = std::sin(0.5), k = std::cos(0.5);
    CHECK(near(wg::hvp(narrow)(F(0.5f), F(1.0f)).value(), 12 * 0.25 + 2 * (k * k - s * s), 1e-6));
}

TEST_CASE("Forward over reverse through sections, rules of the user's and chunks of the stream")
{
    const auto inner = [](const R& a, const R& b) { return chain(a, b, 30); };
    const auto f = [&](const Reals& x) {
        R y = wg::checkpoint(inner)(x[0], x[1]);
        y = wg::preaccumulate(inner)(y, x[0] * x[1]) + sin(y);
        return product_outside(y, x[1], [] {}) + wg::checkpoint(inner)(y, y * 0.3);
    };
    const auto by_hand = [&](const Reals& x) {
        R y = inner(x[0], x[1]);
        y = inner(y, x[0] * x[1]) + sin(y);
        return y * x[1] + inner(y, y * 0.3);
    };
    const Reals x{0.4, 0.9}, v{1.0, -2.0}, hand = wg::hvp(by_hand)(x, v);
    for (const std::size_t chunk : {std::size_t{1} << 20, std::size_t{64}, std::size_t{24}}) {
        const wg::ScalarBudget before = stream().set_budget({.chunk = chunk});
        const Reals h = wg::hvp(f)(x, v);
        stream().set_budget(before);
        CAPTURE(chunk);
        CHECK((near(h[0].value(), hand[0].value()) && near(h[1].value(), hand[1].value())));
    }
    const auto curvature = [&](const auto& g) {
        return wg::grad([&](const Reals& z) { return wg::hvp(g)(z, v)[0]; })(x)[1].value();
    };
    CHECK(near(curvature(f), curvature(by_hand)));
}

TEST_CASE("A zero cotangent makes no NaN of an infinite derivative in forward over reverse")
{
    const auto f = [](const Reals& x) {
        const R root = sqrt(x[0]);
        return wg::real(sum(wg::stack(Reals{root * 0.0, x[1] * x[1]}))) + product_outside(x[1], x[1], [] {});
    };
    const Reals h = wg::hvp(f)(Reals{0.0, 2.0}, Reals{1.0, 1.0});
    CHECK((h[0].value() == 0.0 && h[1].value() == 4.0));
    // an adjoint of 0 with a tangent that is not 0
    const auto square_of = [](const Reals& x) {
        const R y = product_outside(x[0] - 1.0, x[1], [] {});
        return y * y;
    };
    CHECK(wg::hvp(square_of)(Reals{1.0, 3.0}, Reals{1.0, 0.0})[0].value() == 18.0);
    const wg::AllowNaN on;
    CHECK(std::isnan(wg::hvp(f)(Reals{0.0, 2.0}, Reals{1.0, 1.0})[0].value()));
}

TEST_CASE("A pullback from outside that goes within a level of forward mode")
{
    const auto f = [](const wg::Tensor<double>& x) {
        const Reals e = wg::elements(x);
        return wg::stack(Reals{chain(e[0], e[1], 40), e[1] * e[0]});
    };
    const auto x = wg::stack(Reals{0.5, -0.8}), v = wg::stack(Reals{1.0, 2.0}),
               d = wg::stack(Reals{0.3, -0.4});
    const auto tangent = [&](bool goes) {
        auto made = wg::vjp(f, x);
        std::optional pullback(std::move(made.second));
        made.first = {};
        return wg::jvp(
                   [&](const wg::Tensor<double>& w) {
                       const auto g = (*pullback)(w);
                       if (goes) pullback.reset();  // with it go the entries behind which this level began
                       const Reals e = wg::elements(g);
                       return wg::stack(Reals{e[0] * e[0], e[1] * e[0]});
                   },
                   v, d)
            .second;
    };
    CHECK(wg::allclose(tangent(true), tangent(false), 0.0));
}

TEST_CASE("A rule that takes a gradient itself while a gradient by many numbers is on its way")
{
    const auto inner = [] { CHECK(wg::grad([](const R& u) { return u * u * u; })(R(2.0)).value() == 12.0); };
    const auto f = [&](const Reals& x) { return product_outside(x[0], x[1], inner) + x[7] * x[6]; };
    Reals x;
    for (int k = 0; k < 10; ++k) x.emplace_back(k + 1.0);
    const Reals g = wg::grad(f)(x), h = wg::hvp(f)(x, x);
    const std::vector<double> want = {2, 1, 0, 0, 0, 0, 8, 7, 0, 0};
    for (std::size_t k = 0; k < x.size(); ++k) CHECK((g[k].value() == want[k] && h[k].value() == want[k]));
}

TEST_CASE("An exception between the inputs of a sweep leaves no adjoint to later ones")
{
    const auto long_sum = [](const Reals& x) {
        R s = x[0];
        for (int k = 0; k < 100; ++k) s = s * 0.5 + x[1] + x[2];
        return s;
    };
    const Reals x{1.0, 2.0, 3.0}, before = wg::grad(long_sum)(x);
    const auto infinite = [](const wg::Tensor<double>& a, const wg::Tensor<double>& b) {
        const Reals p = wg::elements(a), q = wg::elements(b);
        return wg::tensor(sqrt(p[0]) + p[1] * q[0] + q[1] * q[1] * 7.0 + q[2]);
    };
    const auto a = wg::stack(Reals{0.0, 1.0}), b = wg::stack(Reals{3.0, 4.0, 5.0});
    {
        const wg::AnomalyMode on;
        CHECK_THROWS_AS((wg::grad<0, 1>(infinite)(a, b)), wg::NumericError);
    }
    const Reals after = wg::grad(long_sum)(x);
    for (std::size_t k = 0; k < x.size(); ++k) CHECK(after[k].value() == before[k].value());
    for (const double adjoint : stream().zeros) CHECK(adjoint == 0.0);
}

TEST_CASE("hvp of spans that are longer than the caches is that of short ones")
{
    // x ← x + h (p − x²), q: 90,000 steps are 540,000 operations, which the sweep loads early
    const auto run = [](const Reals& z, int steps) {
        R x = z[0];
        const R& p = z[1];
        for (int i = 0; i < steps; ++i) x += 1e-4 * (p - x * x) * exp(-0.1 * x);
        return x * p;
    };
    using T2 = wg::Tangents<wg::Tangents<double, 2>, 2>;
    const auto by_tangents = [](double x0, double p0, int steps) {
        using T1 = wg::Tangents<double, 2>;
        T2 x = T2::variable(T1::variable(x0, 0), 0);
        const T2 p = T2::variable(T1::variable(p0, 1), 1);
        for (int i = 0; i < steps; ++i) x += T2(1e-4) * (p - x * x) * exp(T2(-0.1) * x);
        const T2 y = x * p;
        return std::array{y.tangent(0).tangent(0), y.tangent(0).tangent(1), y.tangent(1).tangent(1)};
    };
    for (const int steps : {100, 90000}) {
        const auto f = [&](const Reals& z) { return run(z, steps); };
        const Reals at = {0.4, 1.3};
        const auto h = by_tangents(0.4, 1.3, steps);
        const Reals first = wg::hvp(f)(at, Reals{1.0, 0.0}), second = wg::hvp(f)(at, Reals{0.0, 1.0});
        CHECK(near(first[0].value(), h[0], 1e-9));
        CHECK(near(first[1].value(), h[1], 1e-9));
        CHECK(near(second[0].value(), h[1], 1e-9));
        CHECK(near(second[1].value(), h[2], 1e-9));
    }
}
