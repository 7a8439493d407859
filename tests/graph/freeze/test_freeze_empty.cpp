// Empty tensors in frozen functions: facts about a call, as numbers are, and never inputs of a graph.
#include "catch.hpp"

#include <wengert/wengert.hpp>

namespace wg = wengert;
using T = wg::Tensor<double>;

namespace {
struct Layer {
    T weight, bias;
};
Layer scaled(const Layer& l) { return {l.bias.defined() ? l.weight * 2.0 + l.bias : l.weight * 2.0, l.bias}; }
}  // namespace

TEST_CASE("empty members of a frozen function's arguments and results", "[freeze]")
{
    const auto f = wg::freeze(scaled);
    const T w = {1.0, 2.0};
    for (int i = 0; i < 3; ++i) {
        const Layer without = f(Layer{w, T()}), with = f(Layer{w, T{1.0, 1.0}});
        CHECK(without.weight.data()[1] == 4.0);
        CHECK_FALSE(without.bias.defined());
        CHECK(with.weight.data()[1] == 5.0);
        CHECK(with.bias.data()[1] == 1.0);
    }
    CHECK(f.stats().traces == 2);

    const auto g = wg::freeze(wg::grad([](const Layer& l) { return sum(l.weight * l.weight); }));
    for (int i = 0; i < 3; ++i) CHECK_FALSE(g(Layer{w, T()}).bias.defined());
    const auto h = wg::grad([&](const Layer& l) { return sum(f(l).weight); });
    CHECK(h(Layer{w, T()}).weight.data()[0] == 2.0);
    CHECK_FALSE(h(Layer{w, T()}).bias.defined());
}

TEST_CASE("an empty tensor that a frozen function captures is refused where it is used", "[freeze]")
{
    const T none;
    const auto f = wg::freeze([none](const T& x) { return x + none; });
    CHECK_THROWS_WITH(f(T{1.0}), contains("[add]") && contains("test_freeze_empty.cpp"));
}

TEST_CASE("a live tensor that is empty gets its value from the function", "[freeze]")
{
    T state;
    auto f = wg::freeze([&state](const T& x) {
        state = state.defined() ? state + x : x;
        return state * 2.0;
    });
    f.live(state);
    const T x = {1.0, 2.0};
    for (int i = 1; i <= 4; ++i) CHECK(f(x).data()[1] == 4.0 * i);
    CHECK(f.stats().replays > 0);
    state = T();
    CHECK(f(x).data()[1] == 4.0);
}

TEST_CASE("empty members of a loop's state and inputs", "[freeze]")
{
    const auto run = [](const Layer& l, const T& xs) {
        const auto step = [](const Layer& s, const Layer& x) {
            return std::pair(Layer{s.weight * x.weight, s.bias}, Layer{s.weight, s.bias});
        };
        const auto [end, y] = wg::scan(step, l, Layer{xs, T()});
        return Layer{end.weight + sum(y.weight), end.bias};
    };
    const Layer l{T(2.0), T()};
    const T xs = {1.0, 2.0, 3.0};
    const Layer eager = run(l, xs);
    CHECK(eager.weight.item() == 12.0 + 2.0 + 2.0 + 4.0);
    const auto f = wg::freeze(run);
    for (int i = 0; i < 2; ++i) {
        CHECK(f(l, xs).weight.item() == eager.weight.item());
        CHECK_FALSE(f(l, xs).bias.defined());
    }
}
