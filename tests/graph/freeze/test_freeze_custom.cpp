// Functions with a rule of their own in frozen graphs: the rule holds for derivatives, the body fuses, and what a graph
// cannot see of a body keeps it one operation that each replay calls.
#include "graph/freeze/frozen_beside.hpp"

#include <wengert/graph/c/emit_cpp.hpp>
#include <wengert/graph/ir/interpret.hpp>
#include <wengert/graph/native/native.hpp>

#include <functional>

namespace {

using D = Tensor<double>;

const D x0{{0.5, -1.0, 2.0}, {0.25, 3.0, -0.75}};

/// softplus, whose rule is wrong by a factor of ten: what a gradient is made of can be told.
const auto soft = wg::custom_vjp([](const D& x) { return log1p(exp(-abs(x))) + relu(x); },
                                 [](const D& g, const D&, const D& x) { return 10.0 * g * sigmoid(x); });

/// y = 2x as a structural operation with the name of another one.
struct Reversed {
    static constexpr std::string_view name = "sum";
    static constexpr bool linear = true;
    template <class T> wg::Ref<wg::Block> value(const wg::Ref<wg::Block>& x, const wg::Site&) const
    {
        auto out = wg::copy_of(*x);
        for (std::size_t i = 0; i < out->count; ++i) out->template as<T>()[i] *= T(2);
        return out;
    }
    template <class T>
    Tensor<T> pull(wg::wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const
    {
        return g * T(2);
    }
};

std::size_t custom_nodes(const wg::Graph& g)
{
    std::size_t n = 0;
    for (const auto& node : g.nodes()) n += node.primitive && node.primitive->name.substr(0, 6) == "custom";
    return n;
}

}  // namespace

TEST_CASE("the body of a function with a rule fuses with what is around it")
{
    const auto f = [](const D& x) { return tanh(soft(x * 2.0)) - 1.0; };
    auto frozen = wg::freeze(f, unchecked());
    check_beside(frozen, f, std::vector{x0, x0 * 3.0, x0 - 1.0});
    CHECK(frozen.stats().kernels == 1);
    CHECK(custom_nodes(frozen.recorded(x0)) == 1);
    CHECK(custom_nodes(frozen.graph(x0)) == 0);
    wg::FreezeOptions off = unchecked();
    off.passes.off = {"inlining"};
    auto whole = wg::freeze(f, off);
    check_beside(whole, f, std::vector{x0, x0 * 3.0});
    CHECK(custom_nodes(whole.graph(x0)) == 1);
}

TEST_CASE("a graph holds both branches: a rule without forward mode is refused also where it is not taken")
{
    const D v{{1.0, -2.0, 0.5}, {0.5, 1.0, 2.0}}, taken{{1.0, 0.5, 0.25}, {2.0, 0.5, 1.0}};
    using Function = std::function<D(const D&)>;
    const auto chosen = [](const D& x, const Function& f, const Function& g) {
        return wg::cond(sum(x) > 0.0, f, g, x);
    };
    const auto squared = [](const D& y) { return y * y; };
    const auto half = [](const D&) { return wg::full<double>({2, 3}, 0.5); };
    const std::pair<const char*, Function> functions[] = {
        {"in the other branch",
         [&](const D& x) { return chosen(x, squared, [](const D& y) { return soft(y); }); }},
        {"beside others",
         [&](const D& x) { return chosen(x, squared, [](const D& y) { return soft(y) * y; }); }},
        {"of what is captured",
         [&](const D& x) { return chosen(x, squared, [x](const D&) { return soft(x); }); }},
        {"of the result", [&](const D& x) { return soft(chosen(x, half, squared)); }}};
    wg::FreezeOptions threads = unchecked();
    threads.threads = 3;
    std::vector<wg::FreezeOptions> executors(3, unchecked());
    executors[1].backend = wg::interpret;
    executors[2].backend = wg::native;
    executors.push_back(threads);
    for (const auto& [name, f] : functions) {
        const Function pushed = [&f = f, v](const D& x) { return wg::jvp(f, x, v).second; };
        const Function both = [&f = f, v](const D& x) {
            return wg::hvp([&](const D& y) { return sum(f(y)); })(x, v);
        };
        for (const auto& options : executors) {
            INFO(name << ", " << options.backend.name);
            const auto inside = wg::freeze(pushed, options), second = wg::freeze(both, options);
            const auto frozen = wg::freeze(f, options);
            const auto line = contains("(test_freeze_custom.cpp:");
            for (int k = 0; k < 2; ++k) {
                CHECK_NOTHROW(pushed(taken));  // eager code runs what is taken
                CHECK_THROWS_WITH(inside(taken), line);
                CHECK_THROWS_WITH(second(taken), line);
                CHECK_THROWS_WITH(wg::jvp(frozen, taken, v), line);
                CHECK(same_bits(frozen(taken), f(taken)));
            }
        }
    }
}

TEST_CASE("its rule holds for every derivative")
{
    const auto f = [](const D& x) { return sum(soft(x) * x); };
    const D want = soft(x0) + x0 * 10.0 * sigmoid(x0);
    auto frozen = wg::freeze(f);
    auto gradient = wg::freeze(wg::grad(f));
    for (int k = 0; k < 4; ++k) {
        CHECK(wg::allclose(wg::grad(frozen)(x0), want, 1e-14));
        CHECK(wg::allclose(gradient(x0), want, 1e-14));
    }
    const auto second = [&](const auto& g) { return wg::grad([&](const D& x) { return sum(g(x) * x0); }); };
    for (int k = 0; k < 4; ++k) CHECK(wg::allclose(second(gradient)(x0), second(wg::grad(f))(x0), 1e-13));
    auto wrapped = wg::freeze([&](const D& x) { return frozen(x) * 2.0; });
    for (int k = 0; k < 4; ++k) CHECK(wg::allclose(wg::grad(wrapped)(x0), 2.0 * want, 1e-14));
}

TEST_CASE("a forward rule: the body fuses, tangents come from the rule")
{
    const auto cube = wg::custom_jvp([](const D& x) { return x * x * x; },
                                     [](const D& dot, const D&, const D& x) { return 7.0 * dot * x; });
    const auto f = [&](const D& x) { return sum(cube(x) + x); };
    auto frozen = wg::freeze(f);
    auto gradient = wg::freeze(wg::grad(f));
    for (int k = 0; k < 4; ++k) {
        CHECK(same_bits(frozen(x0), f(x0)));
        CHECK(wg::allclose(gradient(x0), 7.0 * x0 + 1.0, 1e-14));
        CHECK(wg::allclose(wg::jvp(frozen, x0, x0).second, sum(x0 * (7.0 * x0 + 1.0)), 1e-13));
    }
    CHECK(custom_nodes(frozen.graph(x0)) == 0);
}

TEST_CASE("rules within rules, in loops, and handed through")
{
    const auto outer = wg::custom_vjp([](const D& x) { return soft(x) + soft(2.0 * x); },
                                      [](const D& g, const D&, const D&) { return g; });
    const auto same =
        wg::custom_vjp([](const D& x) { return x; }, [](const D& g, const D&, const D&) { return -g; });
    const auto turned = wg::custom_vjp([](const D& x) { return transpose(x); },
                                       [](const D& g, const D&, const D&) { return 3.0 * transpose(g); });
    const auto f = [&](const D& x) {
        const D y =
            wg::scan([&](const D& s) { return std::pair(outer(s) * 0.125, std::tuple()); }, x, 5).first;
        return sum(same(y) * x) + sum(matmul(turned(x), y));
    };
    auto frozen = wg::freeze(f);
    auto gradient = wg::freeze(wg::grad(f));
    for (int k = 0; k < 4; ++k) {
        CHECK(wg::allclose(frozen(x0), f(x0), 1e-14));
        CHECK(wg::allclose(gradient(x0), wg::grad(f)(x0), 1e-13));
    }
    CHECK(custom_nodes(frozen.graph(x0)) == 0);
}

TEST_CASE("a body that plain C++ computes is called in each replay")
{
    int calls = 0;
    const auto external = wg::custom_vjp(
        [&](const D& x) {
            ++calls;
            std::vector<double> squares(x.data(), x.data() + x.size());
            for (double& v : squares) v *= v;
            return D(x.shape(), squares);
        },
        [](const D& g, const D&, const D& x) { return g * 2.0 * x; });
    const auto f = [&](const D& x) { return sum(external(x + 1.0) * 0.5); };
    auto frozen = wg::freeze(f, unchecked());
    auto gradient = wg::freeze(wg::grad(f), unchecked());
    const int before = calls;
    for (int k = 0; k < 5; ++k) {
        const D x = x0 * (k + 1.0);
        CHECK(wg::allclose(frozen(x), f(x), 1e-14));
        CHECK(wg::allclose(gradient(x), x + 1.0, 1e-14));
    }
    CHECK(calls - before >= 10);
    CHECK(frozen.stats().traces == 1);
    CHECK(frozen.stats().guard_failures == 0);
}

TEST_CASE("branches, captured arrays, live tensors and tape state inside of a body stay as they are eagerly")
{
    D w{1.0, 2.0, 3.0}, live{1.0, 1.0, 1.0};
    const auto rule = [](const D& g, const D&, const D&) { return g; };
    const auto branches = wg::custom_vjp([](const D& x) { return sum(x) > 0.0 ? x * 2.0 : x * -3.0; }, rule);
    const auto captures = wg::custom_vjp([&](const D& x) { return x * w; }, rule);
    const auto lives = wg::custom_vjp([&](const D& x) { return x * live; }, rule);
    const auto sweeps = wg::custom_vjp(
        [](const D& x) {
            D v = x;
            v.requires_grad();
            wg::backward(sum(v * v));
            return v.grad();
        },
        rule);
    const auto f = [&](const D& x) { return branches(x) + captures(x) + lives(x) + sweeps(x); };
    auto frozen = wg::freeze(f, unchecked());
    frozen.live(live);
    for (int k = 0; k < 6; ++k) {
        const D x = x0 * (k % 2 ? 1.0 : -1.0);
        CHECK(same_bits(frozen(x), f(x)));
        w = w + 1.0;
        live = live * 2.0;
    }
    CHECK(frozen.stats().traces == 1);
    CHECK(custom_nodes(frozen.graph(x0)) == 4);
}

TEST_CASE("an extent that is free, a checkpoint, and C++ text")
{
    const auto f = [](const D& x) { return sum(soft(x), {0}); };
    wg::FreezeOptions dynamic;
    dynamic.dynamic = {0};
    auto frozen = wg::freeze(f, dynamic);
    for (std::int64_t n : {2, 3, 5, 7, 4, 2}) {
        const D x = wg::normal<double>(wg::Key(static_cast<std::uint64_t>(n)), {n, 3});
        CHECK(same_bits(frozen(x), f(x)));
    }
    CHECK(frozen.stats().traces == 2);
    const auto kept = [](const D& x) {
        return sum(wg::checkpoint([](const D& t) { return soft(t) * t; })(x));
    };
    auto gradient = wg::freeze(wg::grad(kept));
    for (int k = 0; k < 4; ++k) CHECK(wg::allclose(gradient(x0), soft(x0) + x0 * 10.0 * sigmoid(x0), 1e-14));
    auto plain = wg::freeze(wg::grad([](const D& x) { return sum(soft(x)); }));
    CHECK(wg::emit_cpp(plain.graph(x0), "soft_gradient").find("int soft_gradient(") != std::string::npos);
}

TEST_CASE("a rule that is made anew in each call, with what it captures")
{
    const D k = {3.0, 4.0, 5.0};
    const auto made = [k](double factor) {
        return wg::custom_vjp([k, factor](const D& x) { return x * k * factor; },
                              [k](const D& g, const D&, const D&) { return g * k; });
    };
    const auto once = [made](const D& x) { return sum(x * made(2.0)(x)); };
    const auto looped = [made](const D& x) {
        const auto step = [&](const D& s) { return std::pair(made(0.5)(s), std::tuple()); };
        return sum(wg::scan(step, x, 3).first);
    };
    const auto check = [](const auto& f) {
        auto value = wg::freeze(f), gradient = wg::freeze(f);
        auto frozen = wg::freeze(wg::grad(f));
        for (int i = 0; i < 5; ++i) {
            const D x = x0 + double(i);
            CHECK(wg::allclose(value(x), f(x), 1e-14));
            CHECK(wg::allclose(frozen(x), wg::grad(f)(x), 1e-14));
            CHECK(wg::allclose(wg::grad(gradient)(x), wg::grad(f)(x), 1e-14));
        }
        CHECK(value.stats().replays == 4);
    };
    check(once);
    check(looped);

    // one that is another one each time is still noticed: by what it computes, or by what is seen of its inside
    double factor = 1.0;
    auto changes = wg::freeze([&](const D& x) { return sum(made(factor)(x)); });
    changes(x0);
    factor = 2.0;
    CHECK_THROWS_AS(changes(x0), wg::TapeError);
}

TEST_CASE("a function of the program's own that is called like one of the library's")
{
    const auto twice = [](const D& x) {
        return wg::apply<Reversed, double>(Reversed{}, {__FILE__, __LINE__}, x);
    };
    const auto f = [&](const D& x) { return sum(square(twice(x * x)) + twice(x) * x); };
    auto value = wg::freeze(f);
    auto gradient = wg::freeze(wg::grad(f));
    for (int i = 0; i < 4; ++i) {
        const D x = x0 + double(i);
        CHECK(wg::allclose(value(x), f(x), 1e-14));
        CHECK(wg::allclose(gradient(x), wg::grad(f)(x), 1e-14));
    }
}

TEST_CASE("the rule of an identity is in derivatives of a frozen function, at second order too")
{
    const auto identity = [](const D& x) { return x; };
    const auto check = [&](const auto& scaled) {
        const auto f = [&](const D& x) { return sum(sin(scaled(x)) * x); };
        const auto twice = [](auto& g) {
            return wg::grad([&g](const D& x) { return sum(square(wg::grad(g)(x))); });
        };
        const D x = {0.3, -0.5};
        for (const bool optimize : {true, false}) {
            auto frozen = wg::freeze(f, {.optimize = optimize});
            auto of_twice = wg::freeze(twice(f), {.optimize = optimize});
            for (int call = 0; call < 2; ++call) {
                CHECK(wg::allclose(wg::grad(frozen)(x), wg::grad(f)(x), 1e-14));
                CHECK(wg::allclose(twice(frozen)(x), twice(f)(x), 1e-14));
                CHECK(wg::allclose(of_twice(x), twice(f)(x), 1e-14));
            }
        }
    };
    check(wg::custom_vjp(identity, [](const D& g, const D&, const D& x) { return -g * x; }));
    check(wg::custom_jvp(identity, [](const D& dx, const D&, const D& x) { return -dx * x; }));
}
