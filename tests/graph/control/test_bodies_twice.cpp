// A body of a loop in a frozen function that changes plain C++ data it depends on: refused in the first call, where eager code and the
// loop would give different numbers.
#include "catch.hpp"

#include <wengert/control.hpp>
#include <wengert/wengert.hpp>

#include <functional>
#include <random>

namespace wg = wengert;
using D = wg::Tensor<double>;

namespace {

std::string refusal(const std::function<D(const D&)>& f, wg::FreezeOptions options = {})
{
    auto frozen = wg::freeze(f, options);
    try {
        static_cast<void>(frozen(D{0.5, -0.3}));
    } catch (const wg::TapeError& e) {
        return e.what();
    }
    return {};
}
void check_refused(const std::function<D(const D&)>& f)
{
    const std::string text = refusal(f);
    CAPTURE(text);
    CHECK(text.find("make what changes a part of the state") != std::string::npos);
    CHECK(text.find("test_bodies_twice.cpp:") != std::string::npos);
}

/// `step` as the body of each kind of loop.
void check_everywhere(const std::function<D(const D&)>& step)
{
    check_refused([=](const D& x) {
        return wg::scan([&](const D& s) { return std::pair(step(s), std::tuple<>()); }, x, 3).first;
    });
    check_refused([=](const D& x) { return wg::vmap([&](const D& s) { return step(s); })(x); });
    check_refused([=](const D& x) {
        return wg::while_loop([](const D& s) { return sum(square(s)) < 9.0; },
                              [&](const D& s) { return 2.0 * s + 0.0 * step(s); }, x);
    });
    check_refused([=](const D& x) {
        return wg::while_loop([&](const D& s) { return sum(square(step(s))) < 1e-9; },
                              [](const D& s) { return 2.0 * s; }, x);
    });
    for (const bool first : {false, true})  // in a branch that is taken
        check_refused([=](const D& x) {
            const D at = first ? x(0) : x(1);
            const auto other = [](const D& s) { return s * 3.0; };
            const auto mine = [&](const D& s) {
                return wg::scan([&](const D& t) { return std::pair(step(t), std::tuple<>()); }, s, 3).first;
            };
            return first ? wg::cond(at > 0.0, mine, other, x) : wg::cond(at > 0.0, other, mine, x);
        });
    check_refused([=](const D& x) {  // a branch in a loop
        const auto row = [&](const D& s) {
            return wg::cond(
                s(0) > 0.0, [&](const D& t) { return step(t); }, [](const D& t) { return t * 3.0; }, s);
        };
        return wg::scan([&](const D& s) { return std::pair(row(s), std::tuple<>()); }, x, 2).first;
    });
    check_refused([=](const D& x) {  // in a loop that calls the host
        const auto row = [&](const D& t) {
            wg::host_callback([](const D&) {}, t);
            return wg::scan([&](const D& s) { return std::pair(step(s), std::tuple<>()); }, t, 2).first;
        };
        return wg::scan([&](const D& s) { return std::pair(row(s), std::tuple<>()); }, x, 2).first;
    });
    check_refused([=](const D& x) {  // inside another one
        const auto row = [&](const D& t) {
            return wg::scan([&](const D& s) { return std::pair(step(s), std::tuple<>()); }, t, 2).first;
        };
        return wg::scan([&](const D& s) { return std::pair(row(s), std::tuple<>()); }, x, 2).first;
    });
    check_refused(wg::grad([=](const D& x) {
        return wg::sum(wg::scan([&](const D& s) { return std::pair(step(s), std::tuple<>()); }, x, 3).first);
    }));
}

}  // namespace

TEST_CASE("bodies: plain C++ data that change from step to step are refused at once", "[control]")
{
    check_everywhere([n = 0](const D& s) mutable { return s * static_cast<double>(++n); });
    check_everywhere([n = 0](const D& s) mutable { return ++n % 2 ? sin(s) : cos(s); });
    check_everywhere([n = 0](const D& s) mutable {
        D y = s;
        for (int i = 0; i <= n; ++i) y = sin(y);
        ++n;
        return y;
    });
    check_everywhere([engine = std::mt19937(1)](const D& s) mutable {
        return s + std::uniform_real_distribution<>()(engine);
    });
    check_everywhere([key = wg::Key(3)](const D& s) mutable {
        const D y = s + sum(wg::normal<double>(key, {2}));
        key = fold_in(key, 1);
        return y;
    });
}

TEST_CASE("bodies: a key of the call, or a tensor from outside, that changes is refused, too", "[control]")
{
    const auto of_key = [](const D& x, wg::Key key) {
        const auto step = [&](const D& s) {
            const D y = s + wg::normal<double>(key, {2});
            key = fold_in(key, 1);
            return std::pair(y, std::tuple<>());
        };
        return wg::scan(step, x, 3).first;
    };
    CHECK_THROWS_AS(wg::freeze(of_key)(D{0.5, -0.3}, wg::Key(4)), wg::TapeError);
    check_refused([](const D& x) {
        const std::vector<D> tables{sin(x), cos(x), exp(x)};
        std::size_t i = 0;
        const auto step = [&](const D& s) { return std::pair(s * tables[i++ % 3], std::tuple<>()); };
        return wg::scan(step, x, 3).first;
    });
}

TEST_CASE("bodies: what has no part in the result may change", "[control]")
{
    int steps = 0;
    std::vector<double> seen;
    const auto f = [&](const D& x) {
        const auto step = [&](const D& s) {
            seen.push_back(static_cast<double>(++steps));
            return std::pair(tanh(s) * 1.5, std::tuple<>());
        };
        return wg::scan(step, x, 4).first;
    };
    const D x{0.5, -0.3}, wanted = f(x);
    const auto frozen = wg::freeze(f);
    for (int i = 0; i < 4; ++i) CHECK(wg::allclose(frozen(x), wanted, 0.0));
    CHECK(frozen.stats().eager_calls == 0);
    // branches on values, in plain C++, are decided alike
    check_refused([n = 0](const D& s) mutable {
        return wg::scan(
                   [&](const D& t) { return std::pair(t * (++n + (t(0) > 0.0 ? 1 : 2)), std::tuple<>()); }, s,
                   2)
            .first;
    });
    const auto decided = [](const D& s) {
        return wg::scan([](const D& t) { return std::pair(t(0) > 0.0 ? t * 0.5 : t * 2.0, std::tuple<>()); },
                        s, 3)
            .first;
    };
    CHECK(wg::allclose(wg::freeze(decided)(x), decided(x), 0.0));
}

TEST_CASE("bodies: a level of loops costs the first call one trace more", "[control]")
{
    int inner = 0;
    const std::function<D(const D&, int)> nested = [&](const D& x, int depth) -> D {
        if (depth == 0) return ++inner, sin(x);
        return wg::scan([&](const D& s) { return std::pair(nested(s, depth - 1), std::tuple<>()); }, x, 2)
            .first;
    };
    const auto frozen = wg::freeze([&](const D& x) { return nested(x, 6); });
    const D x{0.5, -0.3}, y = frozen(x);
    CHECK(inner == 7);
    D wanted = x;
    for (int i = 0; i < 64; ++i) wanted = sin(wanted);
    CHECK(wg::allclose(y, wanted, 0.0));
}

TEST_CASE("bodies: one that calls the host is not compared", "[control]")
{
    std::vector<double> seen;
    const auto told = [&](const D& x) {
        const auto step = [&](const D& s) {
            wg::host_callback([&](const D& v) { seen.push_back(v(0).item()); }, s);
            return std::pair(2.0 * s, std::tuple<>());
        };
        const auto steps = [&](const D& s) { return std::pair(wg::scan(step, s, 2).first, std::tuple<>()); };
        const auto half = [](const D& s) { return s * 0.5; };
        const auto minus = [](const D& s) { return -s; };
        return wg::scan(steps, wg::cond(x(0) > 0.0, half, minus, x), 2).first;
    };
    const auto frozen = wg::freeze(told);
    for (int i = 0; i < 3; ++i) {
        seen.clear();
        CHECK(wg::allclose(frozen(D{2.0}), D{16.0}, 0.0));
        CHECK(seen == std::vector<double>{1.0, 2.0, 4.0, 8.0});
    }
}

TEST_CASE("bodies: {.check = false} takes a body as its trace is", "[control]")
{
    const auto counting = [n = 0](const D& x) mutable {
        const auto step = [&](const D& s) { return std::pair(s + static_cast<double>(++n), std::tuple<>()); };
        return wg::scan(step, x, 3).first;
    };
    CHECK(refusal(counting, {.check = false}).empty());
    const auto frozen = wg::freeze(counting, {.check = false});
    CHECK(wg::allclose(frozen(D{0.0}), D{3.0}, 0.0));
    CHECK(wg::allclose(frozen(D{0.0}), D{3.0}, 0.0));
}

TEST_CASE("bodies: what runs once a call may use up what it holds", "[control]")
{
    const auto once = [](const D& x) {
        std::vector<D> weights{sin(x), cos(x), exp(x), tanh(x)};
        std::size_t i = 0;
        const auto yes = [&](const D& s) { return s * weights[i++] + 1.0; };
        const auto no = [&](const D& s) { return s - weights[i++]; };
        const D y = wg::cond(x(0) > 0.0, yes, no, x);
        return wg::scan([&](const D& s) { return std::pair(s * weights[i++], std::tuple<>()); }, y, 1).first;
    };
    const auto frozen = wg::freeze(once);
    const D x{0.5, -0.3};
    const D wanted = (x * sin(x) + 1.0) * exp(x);
    for (int k = 0; k < 3; ++k) CHECK(wg::allclose(frozen(x), wanted, 0.0));
    // whose change is found by the next call that is checked
    const auto counting = wg::freeze([n = 0](const D& s) mutable {
        const auto yes = [&](const D& t) { return t * static_cast<double>(++n); };
        return wg::cond(
            s(0) > 0.0, yes, [](const D& t) { return t; }, s);
    });
    CHECK(wg::allclose(counting(x), x, 0.0));
    CHECK_THROWS_AS(counting(x), wg::TapeError);
}

TEST_CASE("bodies: the second trace does not use up the branches that a call may have", "[control]")
{
    // an adaptive rule: 2 * (2^8 - 1) branches in a step, of 1,000 that one graph may have
    const std::function<D(const D&, int)> adaptive = [&](const D& s, int depth) -> D {
        if (depth == 0) return sin(s);
        return wg::cond(
            s(0) > 0.0,
            [&](const D& t) { return adaptive(t * 0.5, depth - 1) + adaptive(t * 0.25, depth - 1); },
            [&](const D& t) { return t * 0.5; }, s);
    };
    const auto f = [&](const D& x) {
        const auto steps = [&](const D& y) {
            return wg::scan([&](const D& s) { return std::pair(adaptive(s, 8), std::tuple<>()); }, y, 2)
                .first;
        };
        return wg::cond(
            x(0) > 0.0, steps, [](const D& y) { return y; }, x);
    };
    const D x{0.5, 0.3};
    const auto frozen = wg::freeze(f);
    for (int i = 0; i < 3; ++i) CHECK(wg::allclose(frozen(x), f(x), 1e-14));
}

TEST_CASE("bodies: a checkpoint's notes of a loop hold for both traces", "[control]")
{
    const auto f = [](const D& x) {
        const D rate(0.25);                      // of eight bytes: noted as often as it is met
        const auto steps = [rate](const D& y) {  // which is run again when f has ended
            return wg::scan([&](const D& s) { return std::pair(s - rate * sin(s), std::tuple<>()); }, y, 3)
                .first;
        };
        return wg::checkpoint(steps)(x);
    };
    const auto rows = [&](const D& x) {
        const auto [y, pull] = wg::vjp(f, x);
        const auto row = [&](const D& g) { return pull(g); };
        return wg::vmap(row)(wg::stack({y, 2.0 * y, x}));
    };
    const D x{0.5, -0.3}, wanted = rows(x);
    const auto frozen = wg::freeze(rows);
    for (int i = 0; i < 3; ++i) CHECK(wg::allclose(frozen(x), wanted, 1e-15));
}

TEST_CASE("bodies: {.check = false} holds for rules of the user's and for derivatives, too", "[control]")
{
    int n = 0;
    const auto counted = [&](const D& x) {
        const auto step = [&](const D& s) { return std::pair(s + static_cast<double>(++n), std::tuple<>()); };
        return wg::scan(step, x, 3).first;
    };
    const auto rule =
        wg::custom_vjp(counted, [&](const D& g, const D&, const D&) { return g + 0.0 * counted(g); });
    const auto f = wg::freeze([&](const D& x) { return wg::sum(rule(x)); }, {.check = false});
    const D x{0.5, -0.3};
    CHECK_NOTHROW(f(x));
    CHECK(wg::allclose(wg::grad(f)(x), wg::ones<double>({2}), 0.0));
}

namespace {

/// Three steps that halve w, each adding it to the state.
D halving(const D& a, D w)
{
    const auto body = [&](const D& s) {
        w *= 0.5;
        return std::pair(s + w, std::tuple());
    };
    return sum(wg::scan(body, a, 3).first);
}

/// Functions whose bodies and branches change a tensor from outside, which the graph's one run of a body cannot repeat.
const std::vector<std::pair<std::string, std::function<D(const D&)>>> changers = {
    {"a product in place", [](const D& a) { return halving(a, a * 1.0); }},
    {"a constant in place",
     [](const D& a) {
         return halving(a, {1.0, 1.0});
     }},
    {"a list",
     [](const D& a) {
         std::vector<D> all;
         D y = sum(wg::scan(
                       [&](const D& s) {
                           all.push_back(s);
                           return std::pair(s * 0.5, std::tuple());
                       },
                       a, 3)
                       .first);
         for (const D& x : all) y += sum(x);
         return y;
     }},
    {"while_loop",
     [](const D& a) {
         D w = a * 1.0;
         const auto below = [](const D& s) { return sum(s) < 50.0; };
         return sum(wg::while_loop(
             below,
             [&](const D& s) {
                 w *= 1.5;
                 return s + w;
             },
             a));
     }},
    {"vmap",
     [](const D& a) {
         D w = a * 1.0;
         return sum(wg::vmap([&](const D& r) {
             w *= 0.5;
             return r * sum(w);
         })(a));
     }},
    {"a loop in a loop",
     [](const D& a) {
         D w = a * 1.0;
         const auto inner = [&](const D& r) {
             w *= 0.5;
             return std::pair(r + w, std::tuple());
         };
         const auto outer = [&](const D& s) { return std::pair(wg::scan(inner, s, 2).first, std::tuple()); };
         return sum(wg::scan(outer, a, 2).first);
     }},
    {"cond",
     [](const D& a) {
         D w = a * 1.0;
         const auto twice = [&](const D& t) {
             w *= 2.0;
             return t * w;
         };
         const auto thrice = [&](const D& t) {
             w *= 3.0;
             return t + w;
         };
         return sum(wg::cond(sum(a) > 0.0, twice, thrice, a) + w);
     }},
};

/// Those that a graph may hold, or that run as they are.
const std::vector<std::pair<std::string, std::function<D(const D&)>>> keepers = {
    {"the last step",
     [](const D& a) {
         D last;
         const auto body = [&](const D& s) {
             last = s * 2.0;
             return std::pair(s * 0.5, std::tuple());
         };
         const D y = wg::scan(body, a, 3).first;
         return sum(y + last);
     }},
    {"a branch's own",
     [](const D& a) {
         D w = a * 1.0;
         const auto twice = [&](const D& t) {
             w = t * 2.0;
             return t * w;
         };
         const auto thrice = [&](const D& t) {
             w = t * 3.0;
             return t + w;
         };
         return sum(wg::cond(sum(a) > 0.0, twice, thrice, a) + w);
     }},
    {"a constant made once",
     [](const D& a) {
         D k;
         const auto body = [&](const D& s) {
             if (!k.defined()) k = D{1.0, 2.0} * 3.0;
             return std::pair(s * k, std::tuple());
         };
         return sum(wg::scan(body, a, 3).first);
     }},
};

}  // namespace

TEST_CASE("freeze: what a body has put into a variable from outside is not read as a constant")
{
    const D a = {1.0, 2.0};
    for (const auto& [name, f] : changers) {
        INFO(name);
        CHECK_THROWS_AS(freeze(f)(a), wg::TapeError);
        CHECK_THROWS_AS(freeze(grad(f))(a), wg::TapeError);
        CHECK_THROWS_AS(freeze(f, {.check = false})(a), wg::TapeError);
        CHECK_THROWS_AS(freeze(wg::checkpoint(f))(a), wg::TapeError);
    }
    for (const auto& [name, f] : keepers) {
        INFO(name);
        const auto frozen = freeze(f);
        const auto slope = freeze(grad(f));
        for (const D& x : {a, D{-1.0, 0.5}, a}) {
            CHECK(allclose(frozen(x), f(x), 1e-14));
            CHECK(allclose(slope(x), grad(f)(x), 1e-14));
        }
    }
}
