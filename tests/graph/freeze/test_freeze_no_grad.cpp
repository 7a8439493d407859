// NoGrad and AllowNaN inside of frozen functions, in loops, branches and rules: derivatives are those of eager code.
#include "catch.hpp"

#include <functional>

#include <wengert/native.hpp>
#include <wengert/wengert.hpp>

namespace wg = wengert;
using D = wg::Tensor<double>;

TEST_CASE("a NoGrad in a frozen function is a stop_gradient of its graph")
{
    const auto f = [](const D& a) {
        D s;
        {
            const wg::NoGrad off;
            s = a * a;
        }
        return sum(s * a);
    };
    const auto looped = [](const D& a) {
        const auto body = [](const D& s) {
            D q;
            {
                const wg::NoGrad off;
                q = s * s;
            }
            return std::pair(s + 0.1 * q * s, std::tuple());
        };
        return sum(wg::scan(body, a, 3).first);
    };
    const auto in_place = [](const D& a) {
        D s = a * 1.0;
        {
            const wg::NoGrad off;
            s *= a;
        }
        return sum(s * a);
    };
    const D x = {1.0, 2.0}, way = {1.0, -0.5};
    const std::vector<std::function<D(const D&)>> functions = {f, looped, in_place};
    for (const auto& h : functions) {
        const D slope = wg::grad(h)(x), bend = wg::hvp(h)(x, way), along = wg::jvp(h, x, way).second;
        const auto frozen = wg::freeze(h);
        const auto inner = wg::freeze(wg::grad(h));
        const auto outer = wg::freeze(wg::grad(frozen));
        for (int call = 0; call < 3; ++call) {
            CHECK(allclose(frozen(x), h(x), 1e-15));
            CHECK(allclose(wg::grad(frozen)(x), slope, 1e-15));
            CHECK(allclose(inner(x), slope, 1e-15));
            CHECK(allclose(outer(x), slope, 1e-15));
            CHECK(allclose(wg::hvp(frozen)(x, way), bend, 1e-15));
            CHECK(allclose(wg::jvp(frozen, x, way).second, along, 1e-15));
            CHECK(allclose(wg::grad(wg::checkpoint(frozen))(x), slope, 1e-15));
        }
        CHECK(frozen.stats().eager_calls == 0);
        CHECK(inner.stats().recorded_ops < 40);
    }
    const auto frozen_loop = wg::freeze(looped);
    static_cast<void>(frozen_loop(x));
    const auto training = wg::freeze([](const D& w0) {
        const auto step = [](const D& w) {
            const D slope_of = wg::grad([](const D& v) { return sum(v * v * v); })(w);
            D next = w;
            {
                const wg::NoGrad off;
                next = next - 0.01 * slope_of;
            }
            return std::pair(next, std::tuple());
        };
        return wg::scan(step, w0, 300).first;
    });
    static_cast<void>(training(x));
    CHECK(frozen_loop.stats().recorded_ops < 20);
    CHECK(training.stats().recorded_ops < 20);
}

namespace {

/// u³ whose derivative is taken for u².
D cube_by_square(const D& u)
{
    D z;
    {
        const wg::NoGrad off;
        z = u * u;
    }
    return z * u;
}

}  // namespace

TEST_CASE("a NoGrad in the bodies of loops, branches and rows, frozen and in checkpoints")
{
    const D x = {{1.0, 2.0}, {3.0, 4.0}}, slope = x * x;
    const auto rows = [](const D& t) { return wg::vmap(cube_by_square)(t); };
    const auto columns = [](const D& t) { return wg::vmap(cube_by_square, {.in_axes = {1}})(t); };
    const auto slices = [](const D& t) {
        return wg::scan([](const D& s, const D& u) { return std::pair(s, cube_by_square(u)); }, D(0.0), t)
            .second;
    };
    const auto branch = [](const D& t) {
        return wg::cond(
            sum(t) > 0.0, cube_by_square, [](const D& u) { return u * 1.0; }, t);
    };
    const auto once = [](const D& t) {
        return wg::while_loop([](const D& s) { return sum(s) < 20.0; }, cube_by_square, t);
    };
    const std::vector<std::function<D(const D&)>> functions = {rows, columns, slices, branch, once};
    for (const auto& f : functions) {
        const auto loss = [&](const D& t) { return sum(f(t)); };
        const auto kept = [&](const D& t) { return sum(wg::checkpoint(f)(t)); };
        CHECK(allclose(wg::grad(loss)(x), slope, 0.0));
        for (const wg::Backend& backend :
             {wg::Backend(wg::tile), wg::Backend(wg::interpret), wg::Backend(wg::native)}) {
            const wg::FreezeOptions options{.backend = backend};
            const auto frozen = wg::freeze(loss, options);
            const auto frozen_kept = wg::freeze(kept, options);
            const auto inner = wg::freeze(wg::grad(loss), options);
            const auto inner_kept = wg::freeze(wg::grad(kept), options);
            for (int call = 0; call < 2; ++call) {
                CHECK(allclose(inner(x), slope, 0.0));
                CHECK(allclose(inner_kept(x), slope, 0.0));
                CHECK(allclose(wg::grad(frozen)(x), slope, 0.0));
                CHECK(allclose(wg::grad(frozen_kept)(x), slope, 0.0));
                CHECK(allclose(wg::jvp(frozen, x, ones_like(x)).second, sum(slope), 0.0));
                CHECK(allclose(wg::hvp(frozen)(x, ones_like(x)), wg::hvp(loss)(x, ones_like(x)), 0.0));
            }
        }
    }
}

namespace {

/// u³ with the slope 3 u², held constant, by a forward and by a reverse rule.
D held_slope(const D& u)
{
    const wg::NoGrad off;
    return 3.0 * (u * u);
}
D cube(const D& u) { return u * u * u; }
D by_forward_rule(const D& t)
{
    return wg::custom_jvp(cube, [](const D& d, const D&, const D& u) { return held_slope(u) * d; })(t);
}
D by_reverse_rule(const D& t)
{
    return wg::custom_vjp(cube, [](const D& g, const D&, const D& u) { return held_slope(u) * g; })(t);
}
using Function = D (*)(const D&);
auto twice(const std::function<D(const D&)>& f)
{
    return wg::grad([f](const D& t) { return wg::grad(f)(t); });
}

}  // namespace

TEST_CASE("a NoGrad in a rule of one's own holds for the rule's derivatives")
{
    const D x(2.0);
    for (const Function f : {by_forward_rule, by_reverse_rule}) {
        const auto frozen = wg::freeze(f);
        CHECK(wg::grad(frozen)(x).item() == 12.0);
        CHECK(twice(f)(x).item() == 0.0);
        CHECK(twice(frozen)(x).item() == 0.0);
        CHECK(wg::freeze(twice(f))(x).item() == 0.0);
        CHECK(wg::grad(wg::freeze(wg::grad(f)))(x).item() == 0.0);
    }
    CHECK(wg::hvp(wg::freeze(by_forward_rule))(x, D(1.0)).item() == 0.0);
}

TEST_CASE("a NoGrad in a rule of one's own, in loops that are differentiated twice")
{
    const D x(2.0);
    for (const Function f : {by_forward_rule, by_reverse_rule}) {
        const auto looped = [f](const D& t) {
            return wg::scan([f](const D& s) { return std::pair(f(s), std::tuple()); }, t, 1).first;
        };
        CHECK(twice(looped)(x).item() == 0.0);
        CHECK(wg::freeze(twice(looped))(x).item() == 0.0);
        CHECK(twice(wg::freeze(looped))(x).item() == 0.0);
    }
}

TEST_CASE("live tensors that are updated without a derivative stay constants, also where the call is "
          "differentiated")
{
    const auto under_scope = [](D& w, const D& x) {
        const D slope = wg::grad([&](const D& t) { return sum(square(t * x)); })(w);
        {
            const wg::NoGrad off;
            w -= 0.1 * slope;
        }
        return sum(w * x);
    };
    const auto by_stop = [](D& w, const D& x) {
        w -= stop_gradient(0.1 * x);
        return sum(w * x);
    };
    const auto by_itself = [](D& w, const D& x) {  // no argument in it
        w *= 0.5;
        return sum(w * x);
    };
    const auto check = [](const auto& f) {
        D w = {0.5, 0.25}, eager = w;
        auto frozen = wg::freeze([&](const D& x) { return f(w, x); });
        frozen.live(w);
        for (int call = 0; call < 6; ++call) {
            const D x = {1.0 + call, 2.0};
            if (call % 2) {
                const D slope = wg::grad([&](const D& t) { return frozen(t); })(x);
                CHECK(allclose(slope, wg::grad([&](const D& t) { return f(eager, t); })(x), 1e-15));
            } else {
                CHECK(allclose(frozen(x), f(eager, x), 1e-15));
            }
            CHECK(allclose(w, eager, 1e-15));
        }
        CHECK(frozen.stats().eager_calls == 0);
    };
    check(under_scope);
    check(by_stop);
    check(by_itself);
}

TEST_CASE("a NoGrad in a function that is frozen for every length")
{
    const auto loss = [](const D& x) { return sum(cube_by_square(x)); };
    const auto frozen = wg::freeze(loss, {.dynamic = {{0, 0}}});
    const auto inner = wg::freeze(wg::grad(loss), {.dynamic = {{0, 0}}});
    for (int n = 1; n < 9; ++n) {
        const D x = wg::linspace<double>(0.5, 2.0, n), one = ones_like(x);
        CHECK(allclose(frozen(x), loss(x), 0.0));
        CHECK(allclose(wg::grad(frozen)(x), x * x, 0.0));
        CHECK(allclose(inner(x), x * x, 0.0));
        CHECK(allclose(wg::hvp(frozen)(x, one), wg::hvp(loss)(x, one), 0.0));
    }
}

TEST_CASE("AllowNaN inside of a frozen function is refused, and around its call heeded")
{
    const auto f = [](const D& t) { return sum(where(t > 0.0, log(t), 0.0 * t)); };
    const auto inside = [&](const D& t) {
        const wg::AllowNaN on;
        return wg::grad(f)(t);
    };
    const D x = {0.0, 2.0};
    CHECK_THROWS_AS(wg::freeze(inside)(x), wg::TapeError);
    const auto frozen = wg::freeze(wg::grad(f));
    CHECK(allclose(frozen(x), D{0.0, 0.5}, 0.0));
    {
        const wg::AllowNaN on;
        CHECK(std::isnan(frozen(x)(0).item()));
        CHECK(std::isnan(inside(x)(0).item()));
    }
    CHECK(allclose(frozen(x), D{0.0, 0.5}, 0.0));
}

TEST_CASE("what a loop or a branch hands through under NoGrad is a constant, eager and frozen")
{
    const D x = {0.3, -0.4};
    const auto check = [&](const auto& made) {
        const auto f = [&](const D& t) {
            D y;
            {
                const wg::NoGrad none;
                y = made(t);
            }
            return sum(y * t);
        };
        CHECK(allclose(wg::grad(f)(x), x, 0.0));
        CHECK(allclose(wg::freeze(wg::grad(f))(x), x, 0.0));
        CHECK(allclose(wg::grad(wg::freeze(f))(x), x, 0.0));
    };
    const auto falls = [](const D& s) { return 0.3 * s; };
    const auto same = [](const D& s) { return std::pair(s, s * 2.0); };
    check([&](const D& t) { return wg::while_loop([](const D& s) { return sum(s * s) > 0.5; }, falls, t); });
    check([&](const D& t) { return wg::scan(same, t, 0).first; });
    check([&](const D& t) { return wg::scan(same, t, 3).first; });
    check([&](const D& t) {
        const auto step = [&](const D& s) { return std::pair(s * 2.0, t); };
        return reshape(wg::scan(step, t, 1).second, {2});
    });
    check([&](const D& t) {
        return wg::cond(
            sum(t) < 1.0, [](const D& s) { return s; }, falls, t);
    });
}

TEST_CASE("derivatives that are begun under NoGrad go through loops and branches")
{
    const D x = {0.3, -0.4};
    const auto falls = [](const D& s) { return sin(s) * 0.5 + s; };
    const auto step = [&](const D& s) { return std::pair(falls(s), sum(s * s)); };
    const auto check = [&](const auto& f) {
        const D want = wg::grad(f)(x), curved = wg::hvp(f)(x, x);
        const wg::NoGrad none;
        CHECK(allclose(wg::grad(f)(x), want, 0.0));
        CHECK(allclose(wg::hvp(f)(x, x), curved, 1e-15));
        CHECK(allclose(wg::jvp(f, x, x).second, sum(want * x), 1e-15));
        CHECK(allclose(wg::freeze(wg::grad(f))(x), want, 1e-15));
        D w = x;  // the usual step
        w -= 0.1 * wg::grad(f)(w);
        CHECK(allclose(w, x - 0.1 * want, 0.0));
    };
    check([&](const D& t) { return sum(square(wg::scan(step, t, 2).first)); });
    check([&](const D& t) { return sum(wg::scan(step, t, 3).second); });
    check([&](const D& t) {
        return sum(square(wg::while_loop([](const D& s) { return sum(s * s) < 0.6; }, falls, t)));
    });
    check([&](const D& t) {
        return sum(wg::cond(
            sum(t) < 1.0, falls, [](const D& s) { return s; }, t));
    });
    check([&](const D& t) { return sum(wg::vmap([](const D& s) { return s * s * s; })(t)); });
}
