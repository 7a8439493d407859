// A frozen step that is swept right after its call hands its derivative what that reads: nothing is computed twice.

#include "catch.hpp"
#include "same_bits.hpp"

#include <wengert/graph/control/control.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/graph/passes/partial.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/losses.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/matmul.hpp>
#include <wengert/ops/random.hpp>
#include <wengert/ops/selection.hpp>
#include <wengert/ops/shape.hpp>
#include <wengert/ops/view.hpp>
#include <wengert/transforms/checkpoint_loop.hpp>
#include <wengert/transforms/derivatives.hpp>
#include <wengert/graph/ir/trace.hpp>

using namespace wengert;
using D = Tensor<double>;

namespace {

const LoopOptions<D> few{.steps = 23, .snapshots = 3};

/// Σ of the last state's squares, by state and parameter.
template <class F> auto gradients(const F& step, const D& u, const D& w)
{
    const auto loss = [&](const D& u, const D& w) {
        return sum(square(checkpoint_loop([&, w](const D& x) { return step(x, w); }, u, few)));
    };
    return grad<0, 1>(loss)(u, w);
}
/// A derivative that computes everything again: one that has to keep to a limit of memory.
const FreezeOptions again{.memory_limit = std::size_t{1} << 40};

template <class F> void check_bits(const F& step, const D& u, const D& w, FreezeOptions options = {})
{
    const auto eager = gradients(step, u, w), expected = gradients(freeze(step, again), u, w);
    CHECK(allclose(std::get<0>(eager), std::get<0>(expected), 1e-9));
    CHECK(allclose(std::get<1>(eager), std::get<1>(expected), 1e-9));  // sums over steps: in another order
    const auto frozen = freeze(step, std::move(options));
    for (int run = 0; run < 3; ++run) {
        const auto [gu, gw] = gradients(frozen, u, w);
        CHECK(identical(gu, std::get<0>(expected)));
        CHECK(identical(gw, std::get<1>(expected)));
    }
}

}  // namespace

TEST_CASE("a frozen step in a loop with snapshots is computed once where it is swept")
{
    std::size_t sines = 0;
    const FreezeOptions counted{
        .backend = interpret, .check = false, .callback = [&](const GraphNode& n, ValueId, const Block&) {
            sines += n.primitive && n.primitive->name == "sin";
        }};
    const auto step = freeze([](const D& u, const D& w) { return u + w * sin(u); }, counted);
    const D u = linspace<double>(-1.0, 1.0, 7), w(0.1);
    static_cast<void>(gradients(step, u, w));
    sines = 0;
    LoopReport report;
    LoopOptions<D> o = few;
    o.report = &report;
    const auto loss = [&](const D& u) {
        return sum(square(checkpoint_loop([&](const D& x) { return step(x, w); }, u, o)));
    };
    static_cast<void>(grad(loss)(u));
    const std::size_t first = sines;  // its derivative is another one: of the state alone
    sines = 0;
    static_cast<void>(grad(loss)(u));
    CHECK(sines <= first);
    CHECK(sines == report.forward + report.recorded);
}

TEST_CASE("what a step hands to its derivative leaves the bits as they are")
{
    const D u = uniform<double>(Key(3), {9, 9}, -1.0, 1.0), w = uniform<double>(Key(4), {9, 9}, -1.0, 1.0);
    const auto inner = range(1, 8);
    check_bits([](const D& x, const D& p) { return x + 0.1 * p * tanh(x * x) - 0.01 * exp(-x * x); }, u, w);
    check_bits([](const D& x, const D& p) { return tanh(matmul(x, transpose(p * x)) + matmul(p, x)); }, u, w);
    check_bits([](const D& x, const D& p) { return x * softmax(x + p, 1) / (1.0 + sum(square(x), {0})); }, u,
               w);
    check_bits(
        [=](const D& x, const D& p) {
            const D middle = view(x, inner, inner);
            D y = x;
            view(y, inner, inner) =
                middle + 0.1 * view(p, inner, inner) * sin(middle * view(x, range(0, 7), inner));
            return y;
        },
        u, w);
    check_bits([](const D& x, const D& p) { return x.item() > 0.2 ? x * cos(p) : x + sin(p); }, D(0.1),
               D(0.4));
    check_bits([](const D& x, const D&) { return x; }, u, w);
    check_bits([](const D& x, const D& p) { return where(x > 0.0, sqrt(0.1 + abs(x)) * p, 0.5 * x * x); }, u,
               w);
    check_bits(
        [](const D& x, const D& p) {
            return scan([&](const D& s) { return std::pair(s + 0.1 * p * sin(s), std::tuple()); }, x, 4)
                .first;
        },
        u, w);
    check_bits([](const D& x, const D& p) { return tanh(x * p); }, u, w, {.backend = interpret});
    check_bits([](const D& x, const D& p) { return tanh(x * p); }, u, w, {.optimize = false});
    check_bits([](const D& x, const D& p) { return tanh(x * p) + sin(x); }, u, w, {.check = false});
}

TEST_CASE("one frozen function used in several ways by a step that is swept")
{
    const D u = linspace<double>(-1.0, 1.0, 6), w = linspace<double>(0.2, 0.7, 6);
    const auto f = [](const D& x, const D& p) { return std::tuple(tanh(x * p), sin(x) + p, x * x); };
    const auto loss = [&](const auto& f) {
        return [&](const D& u, const D& w) {
            const auto step = [&, w](const D& x) {
                const auto [a, b, unused] = f(x, w);         // by both arguments
                const auto [c, d, e] = f(a, D(w.detach()));  // by the first, from other results
                return 0.5 * (a + b) + 0.1 * c * e;
            };
            return sum(square(checkpoint_loop(step, u, few)));
        };
    };
    const auto frozen = freeze(f);
    const auto expected = grad<0, 1>(loss(freeze(f, again)))(u, w);
    CHECK(allclose(std::get<1>(grad<0, 1>(loss(f))(u, w)), std::get<1>(expected), 1e-12));
    for (int run = 0; run < 3; ++run) {
        const auto [gu, gw] = grad<0, 1>(loss(frozen))(u, w);
        CHECK(identical(gu, std::get<0>(expected)));
        CHECK(identical(gw, std::get<1>(expected)));
    }
    // A derivative of a derivative sweeps the rule itself.
    const auto small = [&](const D& x) { return loss(frozen)(x, w); };
    const auto plain = [&](const D& x) { return loss(f)(x, w); };
    CHECK(allclose(hvp(small)(u, w), hvp(plain)(u, w), 1e-9));
    // A pullback that is called twice.
    const auto [value, pull] = vjp(small, u);
    const D once = pull(ones_like(value));
    CHECK(identical(once, pull(ones_like(value))));
    CHECK(identical(once, std::get<0>(expected)));
}

TEST_CASE("a graph is cut into what can run early and the rest")
{
    // x, w early, g late: y = tanh(w x), ȳ = g ((1 − y²) w + 2 x): what does not follow from g is arithmetic on y, which is there
    Graph g;
    Trace trace;
    const D x = linspace<double>(0.0, 1.0, 400000), w = linspace<double>(1.0, 2.0, 400000), late = x + w;
    const auto f = [](const D& x, const D& w, const D& g) {
        const D y = tanh(w * x), twice = 2.0 * x;
        return std::pair(y, g * (1.0 - y * y) * w + g * twice);
    };
    D a, b;
    {
        trace.input(x.any().value, {});
        trace.input(w.any().value, {});
        trace.input(late.any().value, {});
        std::tie(a, b) = f(x, w, late);
        trace.output(a.any().value, {});
        trace.output(b.any().value, {});
        trace.stop();
        g = std::move(trace.graph());
    }
    const auto parts = passes::cut(g, 2, 1);
    REQUIRE(parts);
    CHECK(parts->early.inputs().size() == 2);
    CHECK(parts->early.outputs().size() == 1);
    CHECK(parts->handed == std::vector<std::size_t>{0});
    std::vector<Ref<Block>> in = {x.any().value, w.any().value};
    const auto values = interpret(parts->early, in);
    in.push_back(values[parts->early.outputs()[0]]);
    in.push_back(late.any().value);
    const auto rest = interpret(parts->late, in);
    CHECK(identical(D(AnyTensor{rest[parts->late.outputs()[0]], {}}), b));
}
