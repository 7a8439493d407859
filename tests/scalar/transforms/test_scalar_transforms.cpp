// Transforms of functions of reals, of structs of them, and of mixtures with tensors.
#include "catch.hpp"

#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/elementwise/choices.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/shape.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/ops/elementwise/pairs.hpp>
#include <wengert/scalar.hpp>

#include <array>
#include <map>
#include <thread>

namespace wg = wengert;
using R = wg::Real<double>;
using F = wg::Real<float>;
using D = wg::Tensor<double>;
using Reals = std::vector<R>;

namespace {

template <class Number> Number relaxed(std::vector<Number> u, int steps)
{
    for (int s = 0; s < steps; ++s) {
        const auto old = u;
        for (std::size_t i = 0; i < u.size(); ++i) {
            const Number &left = old[(i + u.size() - 1) % u.size()], &right = old[(i + 1) % u.size()];
            u[i] += 0.1 * (left - 2.0 * old[i] + right);
            u[i] -= 0.05 * old[i] * (old[i] > 0.0 ? old[i] - left : right - old[i]);
        }
    }
    Number total = 0.0;
    for (const Number& x : u) total += x * x;
    return total;
}

struct Body {
    R mass;
    std::array<R, 2> x;
    D drag;
    int id = 0;
    std::map<std::string, F> extra;
};

R energy(const Body& b)
{
    R e = 0.5 * b.mass * (b.x[0] * b.x[0] + sin(b.x[1]));
    for (const R& d : wg::elements(b.drag)) e -= d * d * b.x[0];
    for (const auto& [name, f] : b.extra) e += f * f;
    return e;
}

const auto mixed = [](const D& x) {
    Reals s = wg::elements(tanh(x));
    for (std::size_t i = 1; i < s.size(); ++i) s[i] = s[i] * s[i - 1] + (s[i] > 0.0 ? R(1.0) : -s[i]);
    D y = wg::stack(s) * x;
    Reals t = wg::elements(y);  // into scalar code again: a span of its own, which reads the first one
    t[0] += s[1] * s[2];
    return sum(square(wg::stack(t))) + wg::tensor(t[1] * s[0]);
};

}  // namespace

TEST_CASE("A gradient of a function of a vector of reals")
{
    std::vector<double> u0(16);
    for (std::size_t i = 0; i < u0.size(); ++i) u0[i] = std::sin(0.3 * static_cast<double>(i)) + 0.2;
    const auto f = [](const Reals& u) { return relaxed(u, 5); };
    const Reals u(u0.begin(), u0.end());
    const auto [value, g] = wg::value_and_grad(f)(u);
    CHECK(value.value() == relaxed(u0, 5));
    CHECK((!value.is_active() && !g[0].is_active()));
    auto plus = u0, minus = u0;
    plus[3] += 1e-6, minus[3] -= 1e-6;
    CHECK(std::abs(g[3].value() - (relaxed(plus, 5) - relaxed(minus, 5)) / 2e-6) < 1e-8);
    CHECK(wg::check_grads(f, u, {.order = 2}).ok);
}

TEST_CASE("Structs of reals and tensors")
{
    const Body b{2.0, {0.3, 0.7}, {0.5, 1.5}, 7, {{"a", 0.25f}}};
    const Body g = wg::grad(energy)(b);
    CHECK(std::abs(g.mass.value() - 0.5 * (0.09 + std::sin(0.7))) < 1e-15);
    CHECK(g.x[0].value() == Approx(0.6 - 2.5));
    CHECK(g.drag(1).item() == Approx(-2 * 1.5 * 0.3));
    CHECK((g.id == 7 && g.extra.at("a").value() == 0.5f));
    Body v = b;
    v.mass = 1.0;
    const auto dot = wg::jvp(energy, b, v).second;
    double inner = g.mass.value() + g.drag(0).item() * 0.5 + g.drag(1).item() * 1.5 + 0.5 * 0.25;
    for (std::size_t i = 0; i < 2; ++i) inner += g.x[i].value() * b.x[i].value();
    CHECK(dot.value() == Approx(inner));
    const auto [first, second] =
        wg::grad<0, 1>([](R a, Reals c) { return a * c[0] * c[1]; })(R(2.0), Reals{3.0, 4.0});
    CHECK((first.value() == 12 && second[0].value() == 8 && second[1].value() == 6));
}

TEST_CASE("Pullbacks of reals serve repeatedly, and survive other work")
{
    const auto f = [](const Reals& x) { return Reals{x[0] * x[1], sin(x[0])}; };
    const auto [y, pullback] = wg::vjp(f, Reals{2.0, 3.0});
    CHECK(y[0].value() == 6);
    static_cast<void>(wg::grad([](R x) { return x * x; })(R(1.0)));
    for (int i = 0; i < 2; ++i) {
        CHECK(pullback(Reals{1.0, 0.0})[1].value() == 2);
        CHECK(pullback(Reals{0.0, 1.0})[0].value() == std::cos(2.0));
    }
    CHECK_THROWS_AS(pullback(Reals{1.0}), wg::ShapeError);
}

TEST_CASE("Levels of reals stay apart")
{
    const auto outer = wg::grad([](R x) { return x * wg::grad([&](R y) { return x + y; })(R(1.0)); });
    CHECK(outer(R(1.0)).value() == 1);
    const auto product = [](R x) { return x * wg::grad([&](R y) { return x * y * y; })(x); };
    CHECK(wg::grad(product)(R(1.5)).value() == Approx(6 * 2.25));
    const auto forward = [](R x) { return x * wg::jvp([&](R y) { return x * y * y; }, x, R(1.0)).second; };
    CHECK(wg::grad(forward)(R(1.5)).value() == Approx(6 * 2.25));
    CHECK(wg::jvp(product, R(1.5), R(1.0)).second.value() == Approx(6 * 2.25));
    CHECK(wg::jvp(forward, R(1.5), R(1.0)).second.value() == Approx(6 * 2.25));
    const auto third = wg::grad(wg::grad(wg::grad([](R x) { return sin(x) * exp(x); })));
    CHECK(third(R(0.4)).value() == Approx(2 * std::exp(0.4) * (std::cos(0.4) - std::sin(0.4))));
}

TEST_CASE("Hessians of reals times vectors")
{
    const auto f = [](const Reals& x) { return x[0] * x[0] * x[1] + exp(x[1]); };
    const Reals h = wg::hvp(f)(Reals{2.0, 0.5}, Reals{1.0, -1.0});
    CHECK(h[0].value() == Approx(2 * 0.5 - 2 * 2.0));
    CHECK(h[1].value() == Approx(2 * 2.0 - std::exp(0.5)));
}

TEST_CASE("Reals and tensors in one derivative")
{
    const D x = {0.3, -0.7, 1.1, 0.2};
    const auto report = wg::check_grads(mixed, x, {.order = 3});
    INFO(report.message);
    CHECK(report.ok);
    CHECK(wg::Tape::current().size() == 0);
    const wg::Tensor<float> single = {0.5f, 2.0f};
    const auto g = wg::grad([](const wg::Tensor<float>& t) {
        auto e = wg::elements(t);
        return sum(wg::stack(std::vector<F>{e[0] * e[1], e[1] * e[1]}));
    })(single);
    CHECK((g(0).item() == 2.0f && g(1).item() == 4.5f));
    CHECK_THROWS_AS(wg::real(x), wg::ShapeError);
}

TEST_CASE("Operators and functions of tensors take reals")
{
    const auto f = [](const std::pair<D, R>& p) {
        const auto& [x, a] = p;
        D y = x * a + a / x - (1.0 - x) / a + (a - x);
        y += a;
        y *= a * a;
        return sum(wg::where(x < a, y, maximum(y, a) * 2.0)) * a;
    };
    const std::pair<D, R> p{D{0.3, 0.7, 1.1}, R(0.9)};
    const auto report = wg::check_grads(f, p, {.order = 2});
    INFO(report.message);
    CHECK(report.ok);
    CHECK(wg::check_grads(wg::checkpoint(f), p).ok);
    const D x = {1.0, 2.0};
    CHECK((!(x * R(3.0)).is_leaf() && (x * R(3.0))(1).item() == 6 && (R(3.0) > x)(0).item()));
    R a = 2.0;
    a.requires_grad();
    wg::backward(sum(x * a));
    CHECK(a.grad() == 3);
    a.requires_grad(false);
    try {
        static_cast<void>(D{1.0, 2.0} * (a * R(1.0)) / D{1.0, 2.0, 3.0});
        FAIL("shapes");
    } catch (const wg::ShapeError& e) {
        CHECK(std::string(e.what()).find("test_scalar_transforms.cpp") != std::string::npos);
    }
}

TEST_CASE("A real is a first operand of functions of tensors, too")
{
    const auto f = [](const std::pair<D, R>& p) {
        const auto& [x, a] = p;
        const D sizes = wg::minimum(a, x) * wg::maximum(a, x) + wg::minimum(x, a) + wg::clip(x, -a, a);
        const D sums = wg::add(a, x) / wg::subtract(a, x) + wg::multiply(a, x) - wg::divide(a, x);
        const D powers = wg::pow(a, x) + wg::hypot(a, x) + wg::atan2(a, x);
        return sum(wg::where(x < a, a, x) * wg::where(x < a, x, a) + sizes + sums * powers);
    };
    const std::pair<D, R> p{D{0.3, -0.7, 1.1}, R(0.9)};
    const auto report = wg::check_grads(f, p, {.order = 2});
    INFO(report.message);
    CHECK(report.ok);
    const D x = {0.3, -0.7, 1.1};
    CHECK(wg::allclose(wg::minimum(R(0.9), x), wg::minimum(0.9, x), 0.0));
    CHECK(wg::allclose(wg::where(x < 0.9, R(0.9), x), wg::where(x < 0.9, 0.9, x), 0.0));
    CHECK((wg::maximum(F(0.5f), wg::Tensor<float>{0.25f, 2.0f})(0).item() == 0.5f));
    try {
        static_cast<void>(wg::where(x < 0.0, R(1.0), D{1.0, 2.0}));
        FAIL("shapes");
    } catch (const wg::ShapeError& e) {
        CHECK(std::string(e.what()).find("test_scalar_transforms.cpp") != std::string::npos);
    }
}

TEST_CASE("Checkpoints around reals, and around mixtures")
{
    const D x = {0.3, -0.7, 1.1, 0.2};
    CHECK(wg::allclose(wg::grad(wg::checkpoint(mixed))(x), wg::grad(mixed)(x), 1e-14));
    const auto step = wg::checkpoint([](const Reals& u) { return Reals{u[1] * 0.9, sin(u[0]) + u[1]}; });
    const auto run = [&](Reals u) {
        for (int i = 0; i < 20; ++i) u = step(u);
        return u[0] * u[1];
    };
    const auto plain = [](Reals u) {
        for (int i = 0; i < 20; ++i) u = Reals{u[1] * 0.9, sin(u[0]) + u[1]};
        return u[0] * u[1];
    };
    const Reals u{0.3, 0.4}, g = wg::grad(run)(u), want = wg::grad(plain)(u);
    CHECK((g[0].value() == Approx(want[0].value()) && g[1].value() == Approx(want[1].value())));
    CHECK(wg::check_grads(run, u, {.order = 2}).ok);
    const auto pullback = wg::vjp(run, u).second;
    const auto nodes = wg::Tape::current().size();
    for (int i = 0; i < 3; ++i) CHECK(pullback(R(1.0))[0].value() == Approx(want[0].value()));
    CHECK(wg::Tape::current().size() == nodes);
}

TEST_CASE("Nothing is left of checkpoints around reals")
{
    CHECK(wg::Tape::current().size() == 0);
    CHECK(wg::ScalarStream::of(wg::Tape::current()).size() == 1);
}

TEST_CASE("A checkpointed loop of reals holds one step at a time")
{
    wg::ScalarStream& stream = wg::ScalarStream::of(wg::Tape::current());
    std::uint32_t most = 0;
    const auto step = wg::checkpoint([&](const Reals& u) {
        Reals v = u;
        for (int k = 0; k < 1000; ++k) v[0] = v[0] * 0.999 + 0.001 * u[0];
        most = std::max(most, stream.size());
        return v;
    });
    const auto run = [&](Reals u) {
        for (int i = 0; i < 50; ++i) u = step(u);
        return u[0];
    };
    static_cast<void>(wg::grad(run)(Reals{1.0}));
    CHECK((most > 3000 && most < 3500));
}

TEST_CASE("A checkpoint of reals refuses a second run that gives something else")
{
    double drawn = 0.0;
    bool longer = false;
    const auto scaled = wg::checkpoint([&](const R& x) { return sin(x) * (drawn += 0.25); });
    const auto vector = wg::checkpoint([&](const R& x) { return Reals(longer ? 3 : 2, x * 2.0); });
    const auto refuses = [](const auto& f, const char* what) {
        try {
            f();
            FAIL_CHECK("not refused: " << what);
        } catch (const wg::TapeError& e) {
            INFO(e.what());
            CHECK(std::string(e.what()).find(what) != std::string::npos);
            CHECK(std::string(e.what()).find("test_scalar_transforms.cpp") != std::string::npos);
        }
    };
    refuses([&] { wg::grad([&](const R& x) { return scaled(x); })(R(0.3)); }, "it gives 0.147760");
    drawn = NAN;
    CHECK(std::isnan(wg::grad([&](const R& x) { return scaled(x); })(R(0.3)).value()));
    refuses(
        [&] {
            wg::grad([&](const R& x) {
                const Reals y = vector(x);
                longer = true;
                return y[0] + y[1];
            })(R(0.3));
        },
        "it gives shape (3), the first run gave (2)");
    longer = false;
    double rounding = 1.0;  // what is recorded may be compiled otherwise
    const auto rounded = wg::checkpoint([&](const R& x) { return x * (rounding += 1e-14); });
    CHECK(wg::grad([&](const R& x) { return rounded(x); })(R(0.3)).value() == Approx(1.0));
    CHECK(wg::grad([&](const R& x) { return vector(x)[1]; })(R(0.3)).value() == 2.0);
    CHECK(wg::Tape::current().size() == 0);
}

TEST_CASE("hvp of functions of several reals gives the part of each")
{
    const auto f = [](const R& a, const Reals& b) { return a * a * b[0] + b[0] * b[1] * b[1]; };
    const auto [by_a, by_b] =
        wg::hvp(f)(std::tuple(R(2.0), Reals{3.0, 5.0}), std::tuple(R(1.0), Reals{1.0, 0.0}));
    CHECK(by_a.value() == 2.0 * 3.0 + 2.0 * 2.0);
    CHECK(by_b[0].value() == 2.0 * 2.0);
    CHECK(by_b[1].value() == 2.0 * 5.0);
}

TEST_CASE("A zero cotangent makes no NaN in scalar code")
{
    const auto f = [](R x) { return x * 0.0 + (x > 0.0 ? sqrt(x) : R(1.0)); };
    CHECK(wg::grad(f)(R(0.0)).value() == 0);
    const auto silent = [](R x) { return 0.0 * sqrt(x) + x; };
    CHECK(wg::grad(silent)(R(0.0)).value() == 1);
    CHECK(wg::jvp(silent, R(0.0), R(0.0)).second.value() == 0);
    const wg::AllowNaN as_elsewhere;
    CHECK(std::isnan(wg::grad(silent)(R(0.0)).value()));
    const auto flat = [](R x) { return tanh(x) * tanh(x); };
    CHECK(wg::grad(wg::grad(flat))(R(0.0)).value() == 2);
}
