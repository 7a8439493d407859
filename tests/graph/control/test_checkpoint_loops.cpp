// Loops and branches inside of checkpoints of a frozen function: one node of the graph in every mode, whatever mode came first.
#include "catch.hpp"

#include <wengert/graph/control/control.hpp>
#include <wengert/graph/native/native.hpp>
#include <wengert/wengert.hpp>
#include <wengert/graph/loops/loop_graphs.hpp>

#include <filesystem>

using namespace wengert;
using D = Tensor<double>;

namespace {

using Function = std::function<D(const D&)>;

/// Sums of what loops and branches make of x, with a captured weight.
std::vector<std::pair<const char*, Function>> kinds(const D& w)
{
    return {{"scan",
             [w](const D& x) {
                 return scan([&](const D& s) { return std::pair(sin(s * w), std::tuple()); }, x, 9).first;
             }},
            {"scan with slices",
             [w](const D& x) {
                 const auto step = [&](const D& s, const D& u) { return std::pair(tanh(s + u * w), s * u); };
                 const auto [last, all] = scan(step, x, x);
                 return last + sum(all, {0});
             }},
            {"scan with snapshots",
             [w](const D& x) {
                 const auto step = [w](const D& s) { return std::pair(sin(s * w), std::tuple()); };
                 return scan(step, x, 9, {.snapshots = 3}).first;
             }},
            {"while_loop",
             [w](const D& x) {
                 return while_loop([](const D& s) { return sum(s * s) > 0.05; },
                                   [&](const D& s) { return s * (0.5 + 0.1 * w); }, x);
             }},
            {"cond",
             [w](const D& x) {
                 return cond(
                     sum(x) > 0.0, [&](const D& p) { return exp(p) * w; },
                     [&](const D& p) { return sin(p) - w; }, x);
             }},
            {"loops in a branch", [w](const D& x) {
                 const auto looped = [&](const D& p) {
                     return scan([&](const D& s) { return std::pair(cos(s) * w, std::tuple()); }, p, 3).first;
                 };
                 return cond(
                     sum(x) > 0.0, looped, [](const D& p) { return p * p; }, x);
             }}};
}

/// Where the checkpoints are.
std::vector<std::pair<const char*, std::function<Function(const Function&)>>> places()
{
    return {{"checkpoint",
             [](const Function& f) -> Function { return [f](const D& x) { return checkpoint(f)(x); }; }},
            {"nested checkpoints",
             [](const Function& f) -> Function {
                 return [f](const D& x) {
                     return checkpoint([f](const D& y) { return sin(checkpoint(f)(y * 0.9)) + f(y); })(x);
                 };
             }},
            {"checkpoint in a body",
             [](const Function& f) -> Function {
                 return [f](const D& x) {
                     return scan([&](const D& s) { return std::pair(0.5 * checkpoint(f)(s), std::tuple()); },
                                 x, 2)
                         .first;
                 };
             }},
            {"steps of a checkpoint_loop",
             [](const Function& f) -> Function {
                 return [f](const D& x) {
                     const auto step = [f](const D& s) { return 0.8 * f(s); };
                     return checkpoint_loop(step, x, {.steps = 3, .snapshots = 1});
                 };
             }},
            {"two checkpoints", [](const Function& f) -> Function {
                 return [f](const D& x) { return checkpoint(f)(checkpoint(f)(x) * 0.7); };
             }}};
}

/// Loops of checkpoint_loop itself.
std::vector<std::pair<const char*, Function>> checkpoint_loops(const D& w)
{
    const auto step = [w](const D& s) { return sin(s * w); };
    const auto shrunk = [w](const D& s) { return s * (0.5 + 0.1 * w); };
    LoopOptions<D> large, disk{.steps = 9, .snapshots = 2, .chunk = 3};
    large.snapshots = 2;
    large.while_ = [](const D& s) { return bool(sum(s * s) > 0.05); };
    disk.folder = std::filesystem::temp_directory_path().string();
    return {{"steps", [step](const D& x) { return checkpoint_loop(step, x, {.steps = 5, .snapshots = 2}); }},
            {"outputs",
             [step](const D& x) {
                 const auto both = [step](const D& s) { return std::pair(step(s), s * 2.0); };
                 const auto [last, all] = checkpoint_loop(both, x, {.steps = 5, .snapshots = 2});
                 return last + sum(all, {0});
             }},
            {"slices",
             [w](const D& x) {
                 const auto forced = [w](const D& s, const D& u) { return sin(s * w + u); };
                 return checkpoint_loop(forced, x, x * 2.0, {.steps = 3, .snapshots = 2});
             }},
            {"while", [shrunk, large](const D& x) { return checkpoint_loop(shrunk, x, large); }},
            {"on disk", [step, disk](const D& x) { return checkpoint_loop(step, x, disk); }},
            {"captured",
             [](const D& x) {
                 const auto captures = [x](const D& s) { return sin(s * x); };
                 return checkpoint_loop(captures, D{0.8, 1.1, 0.6}, {.steps = 5, .snapshots = 2});
             }},
            {"in a checkpoint", [step](const D& x) {
                 const auto looped = [step](const D& y) {
                     return checkpoint_loop(step, y, {.steps = 3, .snapshots = 1});
                 };
                 return checkpoint(looped)(x);
             }}};
}

D scalar(const Function& f, const D& x) { return sum(f(x) * D{1.0, -2.0, 0.5}); }

/// What is asked of a function, from outside.
std::vector<std::pair<const char*, std::function<D(const Function&, const D&)>>> modes()
{
    const D v{0.5, -1.0, 2.0};
    return {{"plain", [](const Function& f, const D& x) { return f(x); }},
            {"grad",
             [](const Function& f, const D& x) { return grad([&](const D& t) { return scalar(f, t); })(x); }},
            {"jvp", [v](const Function& f, const D& x) { return jvp(f, x, v).second; }},
            {"hvp", [v](const Function& f,
                        const D& x) { return hvp([&](const D& t) { return scalar(f, t); })(x, v); }},
            {"jvp of grad", [v](const Function& f, const D& x) {
                 return jvp(grad([&](const D& t) { return scalar(f, t); }), x, v).second;
             }}};
}

std::size_t nodes_of(const Function& f, const D& x) { return freeze(f).recorded(x).size(); }

Function powers(std::int64_t steps)
{
    return [steps](const D& x) {
        return checkpoint([steps](const D& y) {
            return scan([](const D& s) { return std::pair(sin(s), std::tuple()); }, y, steps).first;
        })(x);
    };
}

}  // namespace

TEST_CASE("a frozen function with a loop in a checkpoint, in one mode after another")
{
    const D w{0.8, 1.1, 0.6}, x{0.3, -0.1, 0.5};
    for (const auto& [kind, plain] : kinds(w))
        for (const auto& [place, put] : places()) {
            const Function f = put(plain);
            for (const auto& [first, ask] : modes())
                for (const auto& [second, then] : modes()) {
                    INFO(kind << ", " << place << ", " << first << ", then " << second);
                    const auto frozen = freeze(f);
                    for (int twice = 0; twice < 2; ++twice) {
                        CHECK(allclose(ask(frozen, x), ask(f, x), 1e-12));
                        CHECK(allclose(then(frozen, x), then(f, x), 1e-12));
                    }
                    CHECK(frozen.stats().traces == 1);
                }
        }
}

TEST_CASE("a frozen function with derivatives of a checkpoint_loop inside, in one mode after another")
{
    const D w{0.8, 1.1, 0.6}, x{0.3, -0.1, 0.5};
    for (const auto& [kind, f] : checkpoint_loops(w))
        for (const auto& [first, ask] : modes())
            for (const auto& [second, then] : modes()) {
                INFO(kind << ", " << first << ", then " << second);
                const Function g = [f = f, ask = ask, then = then](const D& t) {
                    return ask(f, t) + then(f, t * 0.5);
                };
                const auto frozen = freeze(g);
                for (int twice = 0; twice < 2; ++twice) {
                    CHECK(allclose(ask(frozen, x), ask(g, x), 1e-10));
                    CHECK(allclose(then(frozen, x), then(g, x), 1e-10));
                }
                CHECK(frozen.stats().traces == 1);
            }
}

TEST_CASE("derivatives that are frozen, of loops in checkpoints")
{
    const D w{0.8, 1.1, 0.6}, x{0.3, -0.1, 0.5};
    for (const auto& [kind, plain] : kinds(w))
        for (const auto& [place, put] : places())
            for (const auto& [mode, ask] : modes()) {
                INFO(kind << ", " << place << ", " << mode);
                const Function f = put(plain), g = [f, ask](const D& t) { return ask(f, t); };
                const auto frozen = freeze(g);
                for (int k = 0; k < 3; ++k) CHECK(allclose(frozen(x), g(x), 1e-12));
            }
}

TEST_CASE("a loop in a checkpoint is one node of the graph in every mode")
{
    const D x{0.3, -0.1, 0.5};
    for (const auto& [mode, ask] : modes()) {
        INFO(mode);
        const auto of = [ask](std::int64_t steps) -> Function {
            return [f = powers(steps), ask](const D& t) { return ask(f, t); };
        };
        CHECK(nodes_of(of(1000), x) == nodes_of(of(10), x));
    }
    const auto f = freeze(powers(1000));
    std::size_t loops = 0;
    for (const GraphNode& n : f.recorded(x).nodes()) loops += loop_parameters(n) != nullptr;
    CHECK(loops == 1);
}

TEST_CASE("steps of checkpoint_loop hold loops as one node each")
{
    const D x{0.3, -0.1, 0.5};
    const auto of = [](std::int64_t inner) -> Function {
        return [inner](const D& t) {
            const auto step = [inner](const D& s) {
                return scan([](const D& u) { return std::pair(sin(u), std::tuple()); }, s, inner).first;
            };
            return checkpoint_loop(step, t, {.steps = 6, .snapshots = 2});
        };
    };
    for (const auto& [mode, ask] : modes()) {
        INFO(mode);
        const auto inside = [ask](const Function& f) -> Function {
            return [f, ask](const D& t) { return ask(f, t); };
        };
        CHECK(nodes_of(inside(of(500)), x) == nodes_of(inside(of(5)), x));
        const auto frozen = freeze(inside(of(5)));
        for (int k = 0; k < 2; ++k) CHECK(allclose(frozen(x), ask(of(5), x), 1e-12));
    }
}

TEST_CASE("a loop in a checkpoint whose second run would read another constant is refused")
{
    const D x{0.3, -0.1, 0.5};
    const auto f = [](const D& t) {
        const auto w = std::make_shared<D>(D{1.0, 2.0, 3.0});
        const auto run = [w](const D& y) {
            const D now = *w;
            *w = now + 1.0;
            return scan([&](const D& s) { return std::pair(s * now, std::tuple()); }, y, 3).first;
        };
        return grad([&](const D& y) { return sum(checkpoint(run)(y)); })(t);
    };
    CHECK_THROWS_AS(f(x), TapeError);
    CHECK_THROWS_AS(freeze(f)(x), TapeError);
}

TEST_CASE("branches that read values are guarded from inside of a checkpoint")
{
    const auto f = [](const D& x) {
        return checkpoint([](const D& y) {
            const auto step = [&](const D& s) {
                return std::pair(bool(sum(y) > 0.0) ? sin(s) : cos(s), std::tuple());
            };
            return scan(step, y, 4).first;
        })(x);
    };
    const auto slope = [f](const D& x) { return grad([&](const D& t) { return sum(f(t)); })(x); };
    auto frozen = freeze(f);
    auto derived = freeze(slope);
    for (int k = 0; k < 3; ++k)
        for (const D& x : {D{0.3, -0.1, 0.5}, D{-0.3, 0.1, -0.5}}) {
            CHECK(allclose(frozen(x), f(x), 1e-12));
            CHECK(allclose(derived(x), slope(x), 1e-12));
        }
    CHECK(frozen.stats().traces == 2);
}

TEST_CASE("calls of the host in a loop in a checkpoint come in their turn")
{
    std::vector<int> log;
    const auto say = [&](int number, const D& x) {
        host_callback([&log, number](const D&) { log.push_back(number); }, x);
    };
    const auto f = [&](const D& x) {
        say(1, x);
        const D y = checkpoint([&](const D& s) {
            say(2, s);
            const auto step = [&](const D& t) {
                say(3, t);
                return std::pair(0.5 * t, std::tuple());
            };
            return scan(step, s, 2).first;
        })(x);
        say(4, x);
        return y;
    };
    auto frozen = freeze(f);
    for (int k = 0; k < 4; ++k) {
        log.clear();
        frozen(D{1.0, 2.0});
        CHECK(log == std::vector<int>{1, 2, 3, 3, 4});
    }
    // one where another comes first, and one that is the first in its second run
    const auto slope = [&](const D& x) { return grad([&](const D& t) { return sum(square(f(t))); })(x); };
    CHECK(allclose(freeze(slope)(D{1.0, 2.0}), slope(D{1.0, 2.0}), 1e-12));
}

TEST_CASE("A frozen function that captures a variable has the gradient of the loops and branches inside of "
          "its checkpoints")
{
    const D x = {0.3, 0.6}, b = {0.7, -0.4};
    for (const auto& [name, unused] : kinds(x)) {
        INFO(name);
        const std::string kind = name;
        const auto value = [&](const D& captured) -> Function {
            for (const auto& [other, f] : kinds(captured))
                if (other == kind) return f;
            return {};
        };
        const auto frozen = [&](const D& c) { return sum(freeze(checkpoint(value(c)))(x)); };
        const auto plain = [&](const D& c) { return sum(value(c)(x)); };
        CHECK(allclose(grad(frozen)(b), grad(plain)(b), 1e-14));
    }
}
