// Checkpoints around derivatives and derivatives around checkpoints, of reals and in rules: the second run does what the first did.
#include "catch.hpp"

#include <functional>

#include <wengert/scalar.hpp>
#include <wengert/wengert.hpp>

namespace wg = wengert;
using R = wg::Real<double>;
using V = std::vector<R>;
using D = wg::Tensor<double>;

namespace {

V twisted(const V& x) { return {tanh(x[0]) * x[1], x[1] * x[1]}; }
R one_of(const V& x) { return tanh(x[0]) * x[1]; }

/// The gradient of f and of checkpoint(f) agree.
template <class F> void check_kept(const F& f)
{
    const V x{0.7, 0.4};
    const V plain = wg::grad(f)(x), kept = wg::grad(wg::checkpoint(f))(x);
    for (std::size_t i = 0; i < 2; ++i) CHECK(kept[i].value() == plain[i].value());
    const V bent = wg::hvp(f)(x, V{1.0, -0.5}), kept_bent = wg::hvp(wg::checkpoint(f))(x, V{1.0, -0.5});
    for (std::size_t i = 0; i < 2; ++i) CHECK(std::abs(kept_bent[i].value() - bent[i].value()) < 1e-14);
}

}  // namespace

TEST_CASE("a checkpoint of reals that takes Jacobians, Hessians and pullbacks inside")
{
    check_kept([](const V& x) { return R(sum(wg::jacobian(twisted)(x))); });
    check_kept([](const V& x) { return R(wg::jacobian(twisted)(x)(0, 1)); });
    check_kept([](const V& x) { return R(sum(wg::hessian(one_of)(x))); });
    check_kept([](const V& x) {
        const auto [y, pullback] = wg::vjp(twisted, x);
        return pullback(V{1.0, y[1]})[0];
    });
    check_kept([](const V& x) { return wg::jvp(twisted, x, x).second[0]; });
}

TEST_CASE("a checkpoint of reals whose Jacobians go through tensors and branches")
{
    const auto through = [](const V& u) {
        const D c = D{1.0, 2.0} * D{1.0, 2.0};
        return wg::elements(tanh(wg::stack(u)) * c);
    };
    check_kept([&](const V& x) {
        const D J = wg::jacobian(through)(x);
        return R(sum(J * J));
    });
    check_kept([&](const V& x) {
        const auto one = [&](const V& u) { return u[0] > 0.5 ? through(u)[0] * u[1] : u[0]; };
        const D H = wg::hessian(one)(x);
        return R(sum(H * H));
    });
    check_kept([&](const V& x) {
        const auto [y, pullback] = wg::vjps(through, x);
        const auto rows = pullback({{1.0, 0.0}, {0.0, 1.0}});
        return rows[0][0] * rows[1][1] * y[0];
    });
    check_kept(
        [](const V&
               x) {  // a cotangent of exactly 0 is sent where it is recorded, and not where it is a number
            const auto cancelled = [](const V& u) {
                const R none = u[0] - u[0] * 1.0;
                return V{none, sin(none) + u[1]};
            };
            const D J = wg::jacobian(cancelled)(V{x[0], x[1]});
            return R(sum(J * J)) * x[0];
        });
    check_kept([](const V& x) {
        const auto each = [](std::size_t i, const V& q) { return sin(q[i]) * q[0]; };
        const auto all = [&](const V& u) { return wg::parallel_for(2, each, u); };
        const V dot = wg::jvp(all, x, V{1.0, 2.0}).second;
        return dot[0] * dot[1];
    });
}

TEST_CASE("a checkpoint of reals with Jacobians, whose arguments hooks keep on disk")
{
    const wg::SavedTensorHooks disk(wg::save_on_disk("/tmp"));
    const auto f = [](const V& x) {
        const D J = wg::jacobian(twisted)(x);
        return R(sum(J * J));
    };
    check_kept(f);
    check_kept([](const V& x) {
        const auto [y, pullback] = wg::vjps(twisted, x);
        const auto rows = pullback({{1.0, 0.0}, {0.0, 1.0}});
        return rows[0][0] * rows[1][1] * y[0];
    });
}

TEST_CASE("a kernel whose cells take derivatives, in a checkpoint, under AnomalyMode")
{
    const auto cell = wg::kernel([](R a, R b) { return wg::grad([](R y) { return sin(y) * y; })(a) * b; });
    const auto f = [&](const V& x) { return wg::real(cell(wg::tensor(x[0]), wg::tensor(x[1]))); };
    check_kept(f);
    const wg::AnomalyMode births;
    check_kept(f);
}

TEST_CASE("a checkpoint of reals around derivatives of sections with captured numbers")
{
    const auto inside = [](const auto& section, const auto& transform) {
        check_kept([=](const V& x) {
            return transform([=](const R& z) { return section(V{z, x[1]}); }, x[0]);
        });
    };
    const auto gradient = [](const auto& f, const R& at) { return wg::grad(f)(at); };
    const auto along = [](const auto& f, const R& at) { return wg::jvp(f, at, R(1.0)).second; };
    const auto pulled = [](const auto& f, const R& at) { return wg::vjp(f, at).second(R(1.0)); };
    inside(wg::preaccumulate(one_of), gradient);
    inside(wg::checkpoint(one_of), gradient);
    inside(wg::preaccumulate(one_of), along);
    inside(wg::checkpoint(one_of), along);
    inside(wg::checkpoint(one_of), pulled);
}

TEST_CASE("derivatives of checkpoints inside of rules")
{
    const auto h = [](const D& x) { return sum(tanh(x) * x); };
    const auto by_rule = [=](const auto& section) {
        return wg::custom_vjp(h, [=](const D& g, const D&, const D& x) { return g * wg::grad(section)(x); });
    };
    const auto by_tangent = [=](const auto& section) {
        return wg::custom_jvp(
            h, [=](const D& dot, const D&, const D& x) { return sum(wg::grad(section)(x) * dot); });
    };
    const D x = {0.7, 0.4};
    const D slope = wg::grad(h)(x);
    CHECK(allclose(wg::grad(by_rule(wg::checkpoint(h)))(x), slope, 0.0));
    CHECK(allclose(wg::grad(by_tangent(wg::checkpoint(h)))(x), slope, 1e-15));
    CHECK(allclose(wg::grad(wg::checkpoint(by_rule(wg::checkpoint(h))))(x), slope, 0.0));
    const auto twice = [](const auto& f) {
        return wg::grad([f](const D& t) { return sum(wg::grad(f)(t) * t); });
    };
    const D bend = twice(h)(x);
    CHECK(allclose(twice(by_rule(wg::checkpoint(h)))(x), bend, 1e-14));
    CHECK(allclose(twice(wg::checkpoint(by_rule(wg::checkpoint(h))))(x), bend, 1e-14));
    CHECK(allclose(wg::grad(wg::checkpoint(
                       [&](const D& t) { return sum(wg::grad(by_rule(wg::checkpoint(h)))(t) * t); }))(x),
                   bend, 1e-14));

    const auto of_reals = [](const R& a) { return sin(a) * a; };
    const auto rule = wg::custom_vjp(of_reals, [=](const R& g, const R&, const R& a) {
        return g * wg::grad(wg::checkpoint(of_reals))(a);
    });
    CHECK(std::abs(wg::grad(rule)(R(0.7)).value() - (0.7 * std::cos(0.7) + std::sin(0.7))) < 1e-15);
}

TEST_CASE("kernels and loops in checkpoints inside of rules inside of checkpoints")
{
    const auto cell = wg::kernel([](const R& a) {
        R y = a;
        while (y < 2.0) y = y * y + a;  // the cells take different ways
        return y;
    });
    const auto looped = [](const D& t) {
        return wg::scan(
                   [&](const D& s) {
                       return std::pair(sin(s) * D{1.5, 0.5} * t, std::tuple());
                   },
                   t, 2)
            .first;
    };
    const auto check = [](const auto& f) {
        const auto h = [f](const D& t) { return sum(f(t) * t); };
        const auto by_rule = wg::custom_vjp(
            h, [h](const D& g, const D&, const D& t) { return g * wg::grad(wg::checkpoint(h))(t); });
        // a checkpoint there runs as it is where nothing is recorded, and in the second run it is one
        const auto slope_of = [f](const D& t) { return f(t) + t * 0.5; };
        const auto own = wg::custom_vjp(
            h, [slope_of](const D& g, const D&, const D& t) { return g * wg::checkpoint(slope_of)(t); });
        const auto own_plain =
            wg::custom_vjp(h, [slope_of](const D& g, const D&, const D& t) { return g * slope_of(t); });
        const auto bent = [](const auto& u) { return [u](const D& t) { return sum(wg::grad(u)(t) * t); }; };
        const D x = {0.7, 0.4}, slope = wg::grad(h)(x), bend = wg::grad(bent(h))(x);
        CHECK(allclose(wg::grad(wg::checkpoint(by_rule))(x), slope, 1e-15));
        CHECK(allclose(wg::grad(wg::checkpoint(bent(by_rule)))(x), bend, 1e-14));
        CHECK(allclose(wg::freeze(wg::grad(wg::checkpoint(bent(by_rule))))(x), bend, 1e-14));
        const D own_bend = wg::grad(bent(own_plain))(x);
        CHECK(allclose(wg::grad(bent(own))(x), own_bend, 1e-14));
        CHECK(allclose(wg::grad(wg::checkpoint(bent(own)))(x), own_bend, 1e-14));
        CHECK(allclose(wg::freeze(wg::grad(wg::checkpoint(bent(own))))(x), own_bend, 1e-14));
    };
    check([](const D& t) { return tanh(t) * 2.0; });
    check(cell);
    check(looped);
}

TEST_CASE("a checkpoint still notices a captured number and a branch that have changed")
{
    double factor = 2.0;
    const D x = {0.7, 0.4};
    const auto f = wg::checkpoint([&](const D& t) { return sum(t * factor * t); });
    const auto late = [&](const D& t) {
        const D y = f(t);
        factor = 3.0;
        return y;
    };
    CHECK_THROWS_AS(wg::grad(late)(x), wg::TapeError);
    factor = 2.0;
    R captured = 2.0;
    const auto of_reals = wg::checkpoint([&](const R& a) { return a * captured * a; });
    const auto late_real = [&](const R& a) {
        const R y = of_reals(a);
        captured = 3.0;
        return y;
    };
    CHECK_THROWS_AS(wg::grad(late_real)(R(0.7)), wg::TapeError);
    bool other = false;
    const auto branching = wg::checkpoint([&](const D& t) {
        const D y = sum(t * t);
        return y.item() > 0.0 && other ? y * 2.0 : sin(y);
    });
    const auto late_branch = [&](const D& t) {
        const D y = branching(t);
        other = true;
        return y;
    };
    CHECK_THROWS_AS(wg::grad(late_branch)(x), wg::TapeError);
}

TEST_CASE("a pullback that outlives the transform in which it was made says so")
{
    std::function<D(D)> later;
    static_cast<void>(wg::grad([&](const D& x) {
        auto [y, pullback] = wg::vjp([&](const D& z) { return z * x; }, D(0.3));
        later = [p = pullback](D c) { return p(c); };
        return y;
    })(D(0.5)));
    CHECK_THROWS_WITH(later(D(1.0)),
                      contains("[vjp]") && contains("the transform that recorded it has ended"));
}

TEST_CASE("a Real that a checkpoint captures lives as long as the pullback, whatever ends levels inside")
{
    const auto square_of = [](R u) { return u * u; };
    const auto f = [&](const std::function<void(const R&)>& inside) {
        return [=](const R& q) {
            const R c = q * q;
            return wg::checkpoint([=](const R& z) {
                inside(z);
                return z * c;
            })(R(0.5));
        };
    };
    const auto check = [&](const auto& g) {
        const auto [y, pull] = wg::vjp(g, R(0.5));
        CHECK(pull(R(1.0)).value() == 0.5);
        CHECK(wg::jacobian(g)(R(0.5)).item() == 0.5);
        CHECK(wg::hessian(g)(R(0.5)).item() == 1.0);
        const auto one = [&](std::size_t, const R& p) { return g(p); };
        const auto in_loop = [&](const R& q) { return wg::parallel_for(1, one, q, {.threads = 1})[0]; };
        CHECK(wg::grad(in_loop)(R(0.5)).value() == 0.5);
    };
    check(f([&](const R& z) { static_cast<void>(wg::grad(square_of)(z)); }));
    check(f([&](const R& z) { static_cast<void>(wg::hessian(square_of)(z)); }));
    check(f([&](const R&) { wg::Tape::current().rewind(wg::Tape::current().mark()); }));
    check([&](const R& q) {
        const R c = q * q;
        const auto step = [=](const R& z) {
            static_cast<void>(wg::grad(square_of)(z));
            return z * c;
        };
        return wg::checkpoint_loop(step, R(0.5), {.steps = 1, .snapshots = 1});
    });
}

TEST_CASE("a checkpoint around a derivative of parallel_for, in whose function sections have literals")
{
    const auto halved = [](const D& y) { return 0.5 * sin(y); };
    const auto check = [&](const std::function<D(const D&)>& section) {
        const auto cell = [=](std::size_t, const R& z) { return wg::real(section(wg::tensor(z))); };
        const auto slope = [=](const R& q) {
            return wg::grad([=](const R& p) { return wg::parallel_for(1, cell, p, {.threads = 1})[0]; })(q);
        };
        CHECK(wg::grad(wg::checkpoint(slope))(R(0.7)).value() == wg::grad(slope)(R(0.7)).value());
    };
    check(wg::checkpoint(halved));
    check([=](const D& y) { return wg::checkpoint_loop(halved, y, {.steps = 2, .snapshots = 1}); });
    const auto step = [=](const D& s, const D&) { return std::pair(halved(s), std::tuple<>()); };
    check([=](const D& y) { return wg::scan(step, y, wg::zeros<double>({2}), {.snapshots = 1}).first; });
}

TEST_CASE("a checkpoint's first run takes no memory for each use of a Real that it captures")
{
    const auto bytes_of = [](int uses) {
        std::int64_t taken = -1;
        const auto f = [&](const R& q) {
            const R c = q * q;
            return wg::checkpoint([=, &taken](const R& z) {
                const std::int64_t before = wg::memory::stats().cell_bytes;
                R s = z;
                for (int i = 0; i < uses; ++i) s = 0.5 * s + c;
                if (taken < 0) taken = wg::memory::stats().cell_bytes - before;
                return s;
            })(R(0.5));
        };
        static_cast<void>(wg::grad(f)(R(0.5)));
        return taken;
    };
    CHECK(bytes_of(20000) < 10'000);
}
