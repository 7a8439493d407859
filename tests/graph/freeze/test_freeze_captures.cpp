// Variables that the bodies of loops and branches capture, in frozen functions under a derivative: the same as eager.
#include "catch.hpp"

#include <wengert/graph/control/control.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/elementwise/trigonometry.hpp>
#include <wengert/transforms/checkpoint.hpp>

namespace wg = wengert;
using wg::Tensor;
using T = Tensor<double>;

namespace {

using Function = std::function<T(const T&)>;
using Make = std::function<Function(const T&)>;

T gradient(const Make& make, bool frozen)
{
    return wg::grad([&](const T& x) {
        if (!frozen) return sum(make(x)(x));
        const auto f = wg::freeze(make(x));
        T y = f(x);
        y = f(x);  // what is traced and what is replayed
        return sum(f(x));
    })(T{0.3, 0.4});
}

}  // namespace

TEST_CASE("bodies hand on what they capture")
{
    const auto alone = [](T y) { return std::pair(std::move(y), std::tuple()); };
    const std::pair<const char*, Make> programs[] = {
        {"scan",
         [&](const T& x) {
             return [&, x](const T& a) {
                 return wg::scan([&](const T& s) { return alone(s * x + x); }, a, 3).first;
             };
         }},
        {"scan returns it untouched",
         [](const T& x) {
             return [x](const T& a) {
                 return wg::scan([x](const T& s) { return std::pair(s, x); }, a, 3).second;
             };
         }},
        {"scan makes it the state",
         [&](const T& x) {
             return
                 [&, x](const T& a) { return wg::scan([&](const T&) { return alone(x); }, a, 3).first * a; };
         }},
        {"beside itself without a derivative",
         [&](const T& x) {
             return [&, x, d = x.detach()](const T& a) {
                 return wg::scan([&](const T& s) { return alone(d * s + x * d); }, a, 2).first;
             };
         }},
        {"after itself without a derivative",
         [&](const T& x) {
             return [&, x, d = x.detach()](const T& a) {
                 return wg::scan([&](const T& s) { return alone(x * s + d * x * d); }, a, 2).first;
             };
         }},
        {"while_loop",
         [](const T& x) {
             return [x](const T& a) {
                 return wg::while_loop([](const T& s) { return sum(s) < 2.0; },
                                       [x](const T& s) { return s + x; }, a);
             };
         }},
        {"the condition of a while_loop",
         [](const T& x) {
             return [x](const T& a) {
                 return wg::while_loop([x](const T& s) { return sum(s) < 8.0 * sum(x); },
                                       [x](const T& s) { return s + x * x; }, a);
             };
         }},
        {"cond",
         [](const T& x) {
             return [x](const T& a) {
                 return wg::cond(
                     sum(a) > 0.0, [x](const T& s) { return s + 3.0 * x; }, [x](const T& s) { return s * x; },
                     a);
             };
         }},
        {"cond, one with and one without a derivative",
         [](const T& x) {
             return [x, d = x.detach()](const T& a) {
                 return wg::cond(
                     sum(a) > 0.0, [d](const T& s) { return s * d; }, [x](const T& s) { return s * x; }, a);
             };
         }},
        {"cond in scan in scan",
         [&](const T& x) {
             return [&, x](const T& a) {
                 const auto inner = [x](const T& s) {
                     return wg::cond(
                         sum(s) < 5.0, [x](const T& q) { return q + x; }, [x](const T& q) { return q * x; },
                         s);
                 };
                 const auto outer = [&](const T& s) {
                     return alone(wg::scan([&](const T& q) { return alone(inner(q)); }, s, 2).first * x);
                 };
                 return wg::scan(outer, a, 2).first;
             };
         }},
        {"a gradient in a scan",
         [&](const T& x) {
             return [&, x](const T& a) {
                 const auto step = [&](const T& s) {
                     return alone(wg::grad([&](const T& q) { return sum(q * q * x + tanh(q)); })(s));
                 };
                 return wg::scan(step, a, 2).first;
             };
         }},
        {"a checkpoint in a scan",
         [&](const T& x) {
             return [&, x](const T& a) {
                 const auto step = [&](const T& s) {
                     return alone(wg::checkpoint([x](const T& q) { return sin(q) * x; })(s));
                 };
                 return wg::scan(step, a, 2).first;
             };
         }},
        {"a scan in a checkpoint",
         [&](const T& x) {
             return [&, x](const T& a) {
                 return wg::checkpoint([alone, x](const T& q) {
                     return wg::scan([&](const T& s) { return alone(s * x); }, q, 2).first;
                 })(a);
             };
         }},
        {"a rule in a scan",
         [&](const T& x) {
             return [&, x](const T& a) {
                 const auto rule =
                     wg::custom_vjp([](const T& q) { return q * q; },
                                    [](const T& g, const T&, const T& q) { return 3.0 * g * q; });
                 return wg::scan([&](const T& s) { return alone(rule(x) + rule(s)); }, a, 2).first;
             };
         }},
        {"a frozen function in a scan",
         [&](const T& x) {
             return [&, x](const T& a) {
                 const auto inner = wg::freeze([x](const T& q) { return q * x; });
                 return wg::scan([&](const T& s) { return alone(inner(s) + x); }, a, 2).first;
             };
         }},
    };
    for (const auto& [name, make] : programs) {
        INFO(name);
        CHECK(wg::allclose(gradient(make, true), gradient(make, false), 1e-14));
    }
}

TEST_CASE("variables of backward are captured, too")
{
    T w = {2.0, 3.0};
    w.requires_grad(true);
    const T x = {0.3, 0.4};
    const auto f = wg::freeze([&](const T& a) {
        return wg::scan([&](const T& s) { return std::pair(s * w, std::tuple()); }, a, 2).first;
    });
    for (int call = 0; call < 3; ++call) {
        wg::backward(sum(f(x)));
        CHECK(wg::allclose(w.grad(), 2.0 * w.detach() * x, 1e-15));
        w.zero_grad();
    }
    // where nothing is asked for, they are constants and the graph serves
    const wg::NoGrad none;
    const auto g = wg::freeze([&](const T& a) {
        return wg::scan([&](const T& s) { return std::pair(s * w, std::tuple()); }, a, 2).first;
    });
    for (int call = 0; call < 3; ++call) CHECK(wg::allclose(g(x), x * w * w, 1e-15));
    CHECK(g.stats().replays == 2);
}

TEST_CASE("second derivatives reach what a body captures")
{
    const auto f = [](const T& x) {
        const auto g = wg::freeze([&x](const T& a) {
            return wg::scan([&](const T& s) { return std::pair(s * x + sin(x), std::tuple()); }, a, 3).first;
        });
        return sum(g(x));
    };
    const auto plain = [](const T& x) {
        T s = x;
        for (int k = 0; k < 3; ++k) s = s * x + sin(x);
        return sum(s);
    };
    const T x = {0.3, 0.4}, v = {1.0, -0.5};
    CHECK(wg::allclose(wg::hessian(f)(x), wg::hessian(plain)(x), 1e-13));
    CHECK(wg::allclose(wg::hvp(f)(x, v), wg::hvp(plain)(x, v), 1e-13));
    CHECK(wg::allclose(wg::jvp(f, x, v).second, wg::jvp(plain, x, v).second, 1e-13));
}

TEST_CASE("a rule made in the body of a frozen loop goes on with the step's own array")
{
    const auto rule = [](const T& s) {
        const T c = stop_gradient(tanh(s));
        return wg::custom_vjp([c](const T& x) { return x * c; },
                              [c](const T& g, const T&, const T&) { return g * c; })(s + 1.0);
    };
    const auto of_state = [](const T& s) {
        const T c = stop_gradient(s);  // the very block that the body is given
        return wg::custom_jvp([c](const T& x) { return x * c; },
                              [c](const T& dot, const T&, const T&) { return dot * c; })(s + 1.0);
    };
    const auto scanned = [&](const T& a) {
        return wg::scan([&](const T& s) { return std::pair(s * rule(s), std::tuple<>()); }, a, 3).first;
    };
    const auto scanned_state = [&](const T& a) {
        return wg::scan([&](const T& s) { return std::pair(0.5 * of_state(s), std::tuple<>()); }, a, 3).first;
    };
    const auto looped = [&](const T& a) {
        return wg::while_loop([](const T& s) { return s > 0.05; },
                              [&](const T& s) { return 0.5 * s * rule(s); }, a);
    };
    const auto chosen = [&](const T& a) {
        return wg::cond(
            a > 0.8, [&](const T& s) { return rule(s); }, [&](const T& s) { return 2.0 * rule(s); }, a);
    };
    const auto same = [](const auto& f) {
        auto frozen = wg::freeze(f);
        auto slope = wg::freeze(wg::grad(f));
        for (int i = 0; i < 5; ++i) {
            const T a(0.7 + 0.05 * i);
            CHECK(frozen(a).item() == f(a).item());
            CHECK(slope(a).item() == wg::grad(f)(a).item());
        }
    };
    same(scanned);
    same(scanned_state);
    same(looped);
    same(chosen);
}

TEST_CASE("a captured constant that becomes a variable is noticed in the next call, checked or not")
{
    const T x{3.0, 4.0};
    for (const int replays : {1, 2, 3, 5, 8}) {
        T p{1.0, 2.0};
        const auto f = wg::freeze([&](const T& t) { return sum(t * p); });
        for (int k = 0; k <= replays; ++k) CHECK(f(x).item() == 11.0);
        const auto checks = f.stats().checks;
        T other{5.0};
        other.requires_grad();  // another tensor's change asks for no check
        const bool is_due = (replays & (replays + 1)) == 0;
        CHECK(f(x).item() == 11.0);
        CHECK(f.stats().checks == checks + (is_due ? 1 : 0));
        p.requires_grad();
        for (int k = 0; k < 3; ++k)
            CHECK_THROWS_WITH(f(x), contains("a tensor that the function captures is a variable now"));
        {
            const wg::NoGrad constant;  // a way of its own
            CHECK(f(x).item() == 11.0);
        }
        p.requires_grad(false);
        CHECK(f(x).item() == 11.0);
    }
    // A variable of the same elements asks once; the function does not depend on it.
    T p{1.0, 2.0}, same = p;
    const auto f = wg::freeze([&](const T& t) { return sum(t * p); });
    for (int k = 0; k < 5; ++k) CHECK(f(x).item() == 11.0);
    const auto checks = f.stats().checks;
    same.requires_grad();
    for (int k = 0; k < 2; ++k) CHECK(f(x).item() == 11.0);
    CHECK(f.stats().checks == checks + 1);
    wg::backward(f(same) + sum(same * same));
    CHECK((same.grad()(0).item() == 3.0 && same.grad()(1).item() == 6.0));
}

TEST_CASE("a captured constant that becomes a variable is noticed in the body of a loop and in a branch")
{
    const T x{3.0, 4.0};
    const auto check = [&](const auto& make) {
        T p{1.0, 2.0};
        const auto f = wg::freeze(make(p));
        const double y = f(x).item();
        for (int k = 0; k < 4; ++k) CHECK(f(x).item() == y);
        p.requires_grad();
        CHECK_THROWS_AS(f(x), wg::TapeError);
        p.requires_grad(false);
        CHECK(f(x).item() == y);
    };
    check([](const T& p) {
        return [&](const T& t) {
            const auto step = [&](const T& s, const T& e) { return std::pair(s + sum(e * p), std::tuple()); };
            return wg::scan(step, sum(t), t).first;
        };
    });
    check([](const T& p) {
        return [&](const T& t) {
            const auto grown = [&](const T& s) { return s + p; };
            return sum(wg::while_loop([](const T& s) { return sum(s) < 50.0; }, grown, t));
        };
    });
    check([](const T& p) {
        return [&](const T& t) {
            return sum(wg::cond(
                sum(t) > 0.0, [&](const T& s) { return s * p; }, [](const T& s) { return s; }, t));
        };
    });
}
