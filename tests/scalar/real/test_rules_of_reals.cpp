// Rules of the user's own, sections kept as Jacobians and loops with checkpoints, on functions of reals.
#include "catch.hpp"

#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/scalar.hpp>

#include <filesystem>
#include <thread>

namespace wg = wengert;
using R = wg::Real<double>;
using F = wg::Real<float>;
using D = wg::Tensor<double>;
using Reals = std::vector<R>;

namespace {

struct Body {
    R mass;
    std::array<R, 2> x;
    D drag;
    int id = 0;
};
const Body body{2.0, {0.3, 0.7}, {0.5, 1.5}, 7};

/// mass·Σ x² + Σ drag·x₀, and its gradient by hand, doubled so that it is told apart.
const auto energy = [](const Body& b) {
    return b.mass * (b.x[0] * b.x[0] + b.x[1] * b.x[1]) + wg::real(sum(b.drag * b.x[0]));
};
const auto doubled = [](const R& g, const R&, const Body& b) {
    Body out = b;
    out.mass = 2.0 * g * (b.x[0] * b.x[0] + b.x[1] * b.x[1]);
    out.x = {2.0 * g * (2.0 * b.mass * b.x[0] + wg::real(sum(b.drag))), 4.0 * g * b.mass * b.x[1]};
    out.drag = 2.0 * g * b.x[0] * wg::ones_like(b.drag);
    return out;
};

/// Root of u³ + x u = 1 by Newton's iteration, and the rule of implicit functions.
R root(const R& x)
{
    R u = 0.5;
    for (int k = 0; k < 20; ++k) u -= (u * u * u + x * u - 1.0) / (3.0 * u * u + x);
    return u;
}
const auto implicit = [](const R& g, const R& u, const R& x) { return -g * u / (3.0 * u * u + x); };
const auto along = [](const R& dot, const R& u, const R& x) { return -dot * u / (3.0 * u * u + x); };

std::string text_of(const auto& f)
{
    try {
        static_cast<void>(f());
    } catch (const wg::Error& e) {
        return e.what();
    }
    return "nothing thrown";
}

std::uint32_t recorded() { return wg::ScalarStream::of(wg::Tape::current()).size() - 1; }

template <class Number> std::vector<Number> stepped(const std::vector<Number>& u, double dt)
{
    std::vector<Number> v = u;
    for (std::size_t i = 0; i < u.size(); ++i) {
        const Number& left = u[(i + u.size() - 1) % u.size()];
        v[i] -= dt * u[i] * (u[i] > 0.0 ? u[i] - left : u[(i + 1) % u.size()] - u[i]);
    }
    return v;
}

}  // namespace

TEST_CASE("A reverse rule for a function of reals")
{
    const auto f = wg::custom_vjp(root, implicit);
    CHECK(f(R(0.7)).value() == root(R(0.7)).value());
    CHECK(!f(R(0.7)).is_active());
    CHECK(wg::grad(f)(R(0.7)).value() == Approx(wg::grad(root)(R(0.7)).value()));
    const auto more = [&](const Reals& x) { return f(x[0] * x[1]) * f(x[1]); };
    const auto report = wg::check_grads(more, Reals{0.7, 1.2}, {.order = 2});
    INFO(report.message);
    CHECK(report.ok);
    CHECK(report.modes == wg::Modes::reverse);
    CHECK(wg::check_grads(wg::checkpoint(more), Reals{0.7, 1.2}).ok);
    CHECK_THROWS_AS(wg::jvp(f, R(0.7), R(1.0)), wg::NoForwardMode);
    double other = 0;
    std::thread([&] { other = wg::grad(f)(R(0.7)).value(); }).join();
    CHECK(other == wg::grad(f)(R(0.7)).value());
    {
        R a = 0.7;
        a.requires_grad();
        {
            const wg::NoGrad off;
            CHECK(!f(a).is_active());
        }
        wg::backward(f(a) * 2.0);
        CHECK(a.grad() == Approx(2 * wg::grad(root)(R(0.7)).value()));
        a.requires_grad(false);
    }
    const auto single = wg::custom_vjp([](const F& x) { return x * x; },
                                       [](const F& g, const F&, const F& x) { return 3.0f * g * x; });
    CHECK(wg::grad(single)(F(2.0f)).value() == 6.0f);
    CHECK(recorded() == 0);
    CHECK(wg::Tape::current().size() == 0);
}

TEST_CASE("A reverse rule for structs of reals and tensors, and for several arguments")
{
    const auto f = wg::custom_vjp(energy, doubled);
    const Body g = wg::grad(f)(body), plain = wg::grad(energy)(body);
    CHECK(g.mass.value() == Approx(2 * plain.mass.value()));
    for (std::size_t k = 0; k < 2; ++k) {
        CHECK(g.x[k].value() == Approx(2 * plain.x[k].value()));
        CHECK(g.drag(k).item() == Approx(2 * plain.drag(k).item()));
    }
    const auto two = wg::custom_vjp(
        [](const R& a, const Reals& b) {
            return Reals{a * b[0], a * b[1], b[0]};
        },
        [](const Reals& g3, const Reals&, const R& a, const Reals& b) {
            return std::tuple(g3[0] * b[0] + g3[1] * b[1], Reals{g3[0] * a + g3[2], g3[1] * a});
        });
    const auto loss = [&](const std::pair<R, Reals>& p) {
        const Reals y = two(p.first, p.second);
        return y[0] * sin(y[1]) + y[2] * p.first;
    };
    const auto report = wg::check_grads(loss, std::pair<R, Reals>{0.4, {1.1, 0.8}}, {.order = 2});
    INFO(report.message);
    CHECK(report.ok);
}

TEST_CASE("A forward rule for a function of reals, and its transpose")
{
    const auto f = wg::custom_jvp(root, along);
    const auto more = [&](const Reals& x) { return f(x[0] * x[1]) * f(x[1]); };
    const auto report = wg::check_grads(more, Reals{0.7, 1.2}, {.order = 2});
    INFO(report.message);
    CHECK(report.ok);
    CHECK(report.modes == wg::Modes::both);
}

TEST_CASE("What rules for reals cannot do they refuse")
{
    R outside = 2.0;
    outside.requires_grad();
    const auto before = wg::Tape::current().mark();
    const auto captures = wg::custom_vjp([&](const R& x) { return x * outside; }, implicit);
    const std::string captured = text_of([&] { return captures(R(1.0)); });
    INFO(captured);
    CHECK(captured.find("[custom_vjp] the function captures a variable") == 0);
    CHECK(captured.find("test_rules_of_reals.cpp") != std::string::npos);
    wg::Tape::current().rewind(before);
    outside.requires_grad(false);
    const auto longer = wg::custom_vjp([](const Reals& x) { return x[0]; },
                                       [](const R& g, const R&, const Reals&) {
                                           return Reals{g, g, g};
                                       });
    const std::string form = text_of([&] { return wg::grad(longer)(Reals{1.0, 2.0}); });
    INFO(form);
    CHECK(form.find("[custom_vjp] the rule returned a cotangent of another form") == 0);
    CHECK(form.find("test_rules_of_reals.cpp") != std::string::npos);
    const auto throws =
        wg::custom_vjp([](const R& x) -> R { return x; },
                       [](const R&, const R&, const R&) -> R { throw std::runtime_error("no"); });
    CHECK_THROWS_AS(wg::grad(throws)(R(1.0)), std::runtime_error);
    CHECK((recorded() == 0 && wg::Tape::current().size() == 0));
}

TEST_CASE("Sections of reals kept as their Jacobians")
{
    const auto inside = [](const Reals& x) {
        R s = x[0];
        for (int k = 0; k < 100; ++k) s = sin(s) + 0.1 * x[1] * s;
        return Reals{s, s * x[1]};
    };
    const auto section = wg::preaccumulate(inside);
    std::uint32_t most = 0;
    const auto loss = [&](const auto& f, const Reals& x) {
        Reals u = x;
        for (int k = 0; k < 5; ++k) u = f(u);
        most = recorded();
        return u[0] * u[1];
    };
    const auto kept = [&](const Reals& x) { return loss(section, x); };
    const auto plain = [&](const Reals& x) { return loss(inside, x); };
    const Reals x{0.7, 0.3};
    const Reals want = wg::grad(plain)(x);
    CHECK(most > 1000);
    const Reals g = wg::grad(kept)(x);
    CHECK(most < 50);
    for (std::size_t k = 0; k < 2; ++k) CHECK(g[k].value() == Approx(want[k].value()));
    const auto report = wg::check_grads(kept, x, {.order = 2});
    INFO(report.message);
    CHECK(report.ok);
    const auto mixed = wg::preaccumulate(energy);
    CHECK(wg::grad(mixed)(body).drag(1).item() == Approx(0.3));
    CHECK(wg::grad(wg::checkpoint(kept))(x)[0].value() == Approx(want[0].value()));
    R outside = 2.0;
    outside.requires_grad();
    const auto before = wg::Tape::current().mark();
    const auto captures = wg::preaccumulate([&](const R& a) { return a * outside; });
    const auto silently = wg::preaccumulate([&](const R& a) { return a + sin(outside); });
    CHECK_THROWS_AS(captures(outside), wg::TapeError);
    CHECK_THROWS_AS(wg::grad([&](R a) { return captures(a); })(R(1.0)), wg::TapeError);
    CHECK_THROWS_AS(wg::grad([&](R a) { return silently(a); })(R(1.0)), wg::TapeError);
    wg::Tape::current().rewind(before);
    outside.requires_grad(false);
    CHECK((recorded() == 0 && wg::Tape::current().size() == 0));
}

TEST_CASE("Loops of reals with checkpoints hold few states, and give the same bits")
{
    Reals u0;
    for (int i = 0; i < 40; ++i) u0.push_back(0.5 + 0.1 * i * (i % 3 ? 1.0 : -1.0) / 40);
    std::uint32_t most = 0;
    const auto step = [&](const Reals& u) {
        auto v = stepped(u, 0.05);
        most = std::max(most, recorded());
        return v;
    };
    const auto plain = [&](const Reals& u) {
        Reals v = u;
        for (int k = 0; k < 60; ++k) v = step(v);
        return v[3] * v[7] + v[0];
    };
    const Reals want = wg::grad(plain)(u0);
    const std::uint32_t all = std::exchange(most, 0);
    const std::string folder = std::filesystem::temp_directory_path() / "wengert_reals_loop";
    std::filesystem::create_directories(folder);
    wg::LoopReport told;
    for (const auto& options :
         {wg::LoopOptions<Reals>{.steps = 60, .snapshots = 4, .report = &told},
          wg::LoopOptions<Reals>{.steps = 60, .memory = 4 * 40 * 8, .report = &told},
          wg::LoopOptions<Reals>{.steps = 60, .snapshots = 3, .folder = folder, .report = &told},
          wg::LoopOptions<Reals>{.snapshots = 4,
          .while_ = [n = 0](const Reals&) mutable { return n++ < 60; },
          .report = &told}}) {
        const auto kept = [&](const Reals& u) {
            const Reals v = wg::checkpoint_loop(step, u, options);
            return v[3] * v[7] + v[0];
        };
        most = 0;
        const Reals g = wg::grad(kept)(u0);
        CHECK(told.steps == 60);
        CHECK(most * 10 < all);
        for (std::size_t i = 0; i < u0.size(); ++i) CHECK(g[i].value() == want[i].value());
    }
    std::filesystem::remove_all(folder);
    CHECK((recorded() == 0 && wg::Tape::current().size() == 0));
}

TEST_CASE("Loops of reals: structs, outputs, parts of steps, captures, second order")
{
    struct State {
        R x, v;
        int steps = 0;
    };
    const auto f = [](const std::pair<std::array<R, 2>, Reals>& p) {
        const R k = p.first[0] * p.first[1];  // captured
        const auto [end, out] = wg::checkpoint_loop(
            [k](const State& s, const R& force, std::uint64_t i) {
                const R v = s.v + 0.1 * (force - k * s.x) + (i == 2 ? 0.1 : 0.0) * k;
                const State next{s.x + 0.1 * v, v, s.steps + 1};
                return std::pair(next, next.x * next.v);
            },
            State{p.first[0], 0.0, 0}, p.second, {.steps = 4, .snapshots = 2});
        R work = end.x * end.v * static_cast<double>(end.steps);
        for (const R& w : out) work += w;
        return work;
    };
    const std::pair<std::array<R, 2>, Reals> p{{1.2, 0.7}, {0.5, 0.1, -0.4, 0.2}};
    const auto report = wg::check_grads(f, p, {.order = 2});
    INFO(report.message);
    CHECK(report.ok);
    CHECK(wg::check_grads(wg::checkpoint(f), p).ok);
    const auto mixture = [](const Body& b) {
        const Body end = wg::checkpoint_loop(
            [](const Body& s) {
                Body t = s;
                t.x[0] = s.x[0] + 0.1 * s.x[1] * s.mass;
                t.drag = tanh(s.drag * s.x[0]);
                return t;
            },
            b, {.steps = 5, .snapshots = 2});
        return wg::real(sum(end.drag)) * end.x[0] + static_cast<double>(end.id);
    };
    CHECK(wg::check_grads(mixture, body, {.order = 2}).ok);
    CHECK((recorded() == 0 && wg::Tape::current().size() == 0));
}

TEST_CASE("A step of a loop of reals has its state for itself")
{
    struct Fields {
        Reals u;
        std::array<R, 2> ends;
    };
    const auto inside = std::make_shared<std::function<void()>>();
    const auto step = [inside](const Fields& s) {
        if (*inside) std::exchange(*inside, nullptr)();  // which runs this step on other states
        Fields t = s;
        for (std::size_t i = 1; i < t.u.size(); ++i) t.u[i] = s.u[i] + 0.1 * sin(s.u[i - 1]) * s.ends[1];
        t.ends = {s.u.back(), s.ends[0] * s.u[1]};
        return t;
    };
    const auto f = [&](const Fields& s) {
        const Fields t = wg::checkpoint_loop(step, s, {.steps = 5, .snapshots = 2});
        return t.u[1] * t.u[2] + t.ends[0] * t.ends[1];
    };
    const Fields s{{0.3, 0.7, 0.9}, {1.1, 0.4}};
    CHECK(wg::check_grads(f, s, {.order = 2}));
    const auto pullback = wg::vjp(f, s).second;
    const Fields want = pullback(R(1.0));
    for (bool once : {false, true}) {
        if (once) *inside = [&] { static_cast<void>(pullback(R(2.0))); };
        const Fields g = pullback(R(1.0));
        for (std::size_t i = 0; i < 3; ++i) CHECK(g.u[i].value() == want.u[i].value());
        for (std::size_t i = 0; i < 2; ++i) CHECK(g.ends[i].value() == want.ends[i].value());
        CHECK(!*inside);
    }
}

TEST_CASE("A pullback runs again what a checkpoint drops, with the reals that it captures")
{
    const auto f = [](const R& x) {
        const R k = x * x;
        return wg::checkpoint([k](const R& z) { return z * k; })(sin(x));
    };
    const auto pullback = wg::vjp(f, R(0.7)).second;
    for (int i = 0; i < 2; ++i)
        CHECK(pullback(R(1.0)).value() ==
              Approx(wg::grad([](const R& x) { return x * x * sin(x); })(R(0.7)).value()));
}

TEST_CASE("Jacobians of functions of structs of reals")
{
    const auto f = [](const Body& b) { return Reals{b.mass * b.x[0], sin(b.x[1]), b.mass}; };
    struct Point {
        R mass;
        std::array<R, 2> x;
    };
    const auto of_point = [&](const Point& p) { return f(Body{p.mass, p.x, D{1.0}, 0}); };
    const D J = wg::jacobian(of_point)(Point{2.0, {0.3, 0.7}});
    CHECK((J.shape() == wg::Shape{3, 3}));
    CHECK((J(0, 0).item() == 0.3 && J(0, 1).item() == 2 && J(1, 2).item() == std::cos(0.7) &&
           J(2, 0).item() == 1));
    const auto S = wg::sparse_jacobian(of_point)(Point{2.0, {0.3, 0.7}});
    CHECK((S.columns == std::vector<std::int64_t>{0, 1, 2, 0}));
    const auto H = wg::sparse_hessian([&](const Point& p) {
        return f(Body{p.mass, p.x, D{1.0}, 0})[0];
    })(Point{2.0, {0.3, 0.7}});
    CHECK((H.columns == std::vector<std::int64_t>{1, 0}));
    const auto y = wg::parallel_for(
        3,
        [](std::size_t i, const Point& p) {
            return Point{p.mass * static_cast<double>(i), p.x};
        },
        Point{2.0, {0.3, 0.7}});
    CHECK((y[2].mass.value() == 4 && y[1].x[1].value() == 0.7));
}
