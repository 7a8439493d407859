// Loops and branches that are captured with all around them, as conditional nodes of the driver's, and where they are not.
#include "cuda/replays.hpp"

#include <wengert/graph/look/text.hpp>

namespace {

bool has_nodes() { return wg::cuda::device_count() > 0 && wg::detail::gpu::Driver::get().has_conditions(); }

template <class... T> std::vector<double> all_bits(const std::tuple<T...>& t)
{
    std::vector<double> all;
    const auto add = [&](const auto& x) {
        for (const auto b : bits(x)) all.push_back(static_cast<double>(b));
    };
    std::apply([&](const auto&... x) { (add(x), ...); }, t);
    return all;
}
template <class T, class D> std::vector<T> all_bits(const Tensor<T, D>& x) { return bits(x); }

/// Two runs, then the graph is captured: with each of these arguments it is one launch that nobody waits for, and has the bits of
/// the host's replay. `outside`: what stays on the host's side of it, in words of explain().
template <class F, class... X>
wg::FreezeStats written(const F& f, const std::string& outside, const std::vector<std::tuple<X...>>& all)
{
    auto there = wg::freeze(f, on_device(false)), here = wg::freeze(f);
    const bool whole = has_nodes() && outside.empty();
    const auto put = [](const auto& t) { return wg::detail::on<wg::cpu>(wg::to<wg::cuda>(t)); };
    const auto same = [&](const X&... x) {
        const auto right = all_bits(here(x...));
        const auto in = std::tuple(put(x)...);
        std::optional<decltype(there(x...))> y;
        const Calls calls = calls_of([&] { std::apply([&](const auto&... t) { y = there(t...); }, in); });
        CHECK(all_bits(*y) == right);
        return calls;
    };
    for (int k = 0; k < 4; ++k) std::apply(same, all[0]);
    for (int again = 0; again < 2; ++again)
        for (const auto& x : all) {
            const Calls calls = std::apply(same, x);
            if (!fake::calls || !whole) continue;
            CHECK(calls.graphs == 1);
            CHECK(calls.to_device <= 1);  // the table of addresses
            CHECK(calls.launches + calls.waits + calls.to_host == 0);
        }
    CAPTURE(there.explain());
    CHECK(there.stats().traces == 1);
    CHECK((there.stats().host_conditions == 0) == whole);
    if (!whole)
        CHECK_THAT(there.explain(),
                   contains("its condition comes back to the host (" +
                            (has_nodes() ? outside : "driver 12.0 has no conditional nodes")));
    return there.stats();
}
using One = std::tuple<Tensor<double>>;
using Two = std::tuple<Tensor<double>, Tensor<double>>;

const auto halved = [](const Tensor<double>& x) {
    return wg::while_loop([](const Tensor<double>& y) { return sum(y * y) > 0.1; },
                          [](const Tensor<double>& y) { return y * 0.5 - 0.001; }, x);
};
const auto chosen = [](const Tensor<double>& x) {
    return wg::cond(
        sum(x) > 0.0, [](const Tensor<double>& t) { return exp(t) * sum(t); },
        [](const Tensor<double>& t) { return t * 2.0; }, x);
};

}  // namespace

TEST_CASE("a while_loop between other work is one graph with it, for any number of steps", "[gpu][libraries]")
{
    const auto f = [](const Tensor<double>& x, const Tensor<double>& c) {
        const Tensor<double> start = tanh(x) * c;
        const auto end =
            wg::while_loop([](const Tensor<double>& y) { return sum(y * y) > 0.1; },
                           [&](const Tensor<double>& y) { return y * 0.5 - 0.001 * tanh(c); }, start);
        return std::tuple(exp(end) + start, sum(end));
    };
    written<decltype(f)>(f, "",
                         std::vector<Two>{{some({7}), some({7}, 5)},
                                          {some({7}) * 1e-3, some({7}, 5)},  // no step
                                          {some({7}, 9), some({7}, 5) * 1e9},
                                          {some({7}, 2), some({7}, 6)}});
    written(halved, "", std::vector<One>{{some({7})}, {some({7}) * 1e-4}, {some({7}) * 1e6}});
    // never a step before it is captured
    written(halved, "", std::vector<One>{{some({7}) * 1e-4}, {some({7})}, {some({7}) * 1e6}});
}

TEST_CASE("states of a written loop are exchanged, kept and counted, of any type", "[gpu][libraries]")
{
    using State = std::tuple<Tensor<double>, Tensor<double>, Tensor<std::int64_t>, Tensor<double>>;
    const auto f = [](const Tensor<double>& a, const Tensor<double>& b) {
        const State start(a, b, Tensor<std::int64_t>(0), a + b);
        return wg::while_loop(
            [](const State& s) { return std::get<2>(s) < 5 && sum(abs(std::get<0>(s))) < 1e6; },
            [](const State& s) {
                const auto& [x, y, n, kept] = s;
                return State(y, x + 0.25 * kept, n + 1, kept);
            },
            start);
    };
    // the limit of steps is one of the program's: a state that counts
    written<decltype(f)>(f, "",
                         std::vector<Two>{{some({4}), some({4}, 5)},
                                          {some({4}) * 1e6, some({4}, 6) * 1e6},
                                          {some({4}) * 3e5, some({4}, 7)}});
    const auto swaps = [](const Tensor<double>& a, const Tensor<double>& b) {
        using Both = std::tuple<Tensor<double>, Tensor<double>, Tensor<std::int64_t>>;
        return wg::while_loop([](const Both& s) { return std::get<2>(s) < 3; },
                              [](const Both& s) {
                                  const auto& [x, y, n] = s;
                                  return Both(y, x, n + 1);
                              },
                              Both(a, b, Tensor<std::int64_t>(0)));
    };
    written<decltype(swaps)>(swaps, "",
                             std::vector<Two>{{some({4}), some({4}, 5)}, {some({4}, 8), some({4}, 9)}});
}

TEST_CASE("a branch is a part of a graph, whichever is taken", "[gpu][libraries]")
{
    const auto f = [](const Tensor<double>& x) { return chosen(x * 3.0) - x; };
    written(f, "", std::vector<One>{{some({5})}, {-some({5})}, {wg::abs(some({5}, 4))}});
    written(chosen, "", std::vector<One>{{wg::abs(some({5}))}, {-wg::abs(some({5}))}});
    // its derivative is one, too
    const auto slope = wg::grad([](const Tensor<double>& x) { return sum(square(chosen(x))); });
    written<decltype(slope)>(slope, "", std::vector<One>{{wg::abs(some({5}))}, {-wg::abs(some({5}))}});
}

TEST_CASE("branches that are equal, or whose derivatives are, and what they return untouched",
          "[gpu][libraries]")
{
    const auto twice = [](const Tensor<double>& t) { return t * 2.0; };
    const auto itself = [](const Tensor<double>& t) { return t; };
    const auto either = [](const auto& f, const auto& g) {
        return [f, g](const Tensor<double>& x) { return wg::cond(sum(x) > 0.0, f, g, x); };
    };
    const std::vector<One> points = {{wg::abs(some({5}))}, {-wg::abs(some({5}))}};
    const auto slope_of = [](const auto& f) {
        return wg::grad([f](const Tensor<double>& x) { return sum(f(x)) * 3.0; });
    };
    written(either(twice, twice), "", points);
    written(either(itself, itself), "", points);
    written(either(itself, twice), "", points);
    const auto above = [](const Tensor<double>& t) { return t * 0.5 + 2.0; };
    const auto below = [](const Tensor<double>& t) { return t * 0.5 - 2.0; };
    const auto slope = slope_of(either(above, below));
    written<decltype(slope)>(slope, "", points);
    const auto tangent = [f = either(above, below)](const Tensor<double>& x) {
        return wg::jvp(f, x, x).second;
    };
    written(tangent, "", points);
    // what all steps and both branches capture is one value, and so are two states
    const auto captured = [](const Tensor<double>& x) {
        const Tensor<double> w = tanh(x);
        const auto given = [&](const Tensor<double>&) { return w; };
        using Both = std::tuple<Tensor<double>, Tensor<double>>;
        const auto [a, b] = wg::while_loop([](const Both& s) { return sum(abs(std::get<0>(s))) > 0.1; },
                                           [&](const Both& s) {
                                               const auto& [p, q] = s;
                                               return Both(p * 0.5, wg::cond(sum(p) > 0.0, given, given, q));
                                           },
                                           Both(x, x));
        return a + b;
    };
    written(captured, "", points);
}

TEST_CASE("loops and branches in written loops and branches", "[gpu][libraries]")
{
    const std::vector<One> points = {{some({5})}, {some({5}) * 1e-3}, {some({5}, 4) * 1e3}, {-some({5})}};
    const auto nested = [](const Tensor<double>& x) {
        return wg::while_loop([](const Tensor<double>& y) { return amax(abs(y)) > 0.05; },
                              [](const Tensor<double>& y) { return halved(y) * 0.8; }, x);
    };
    written(nested, "", points);
    const auto choosing = [](const Tensor<double>& x) {
        return wg::while_loop([](const Tensor<double>& y) { return amax(abs(y)) > 0.01; },
                              [](const Tensor<double>& y) {
                                  return wg::cond(
                                      sum(y) > 0.0, [](const Tensor<double>& t) { return t * 0.5 - 0.01; },
                                      [](const Tensor<double>& t) { return t * -0.25; }, y);
                              },
                              x);
    };
    written(choosing, "", points);
    const auto within = [](const Tensor<double>& x) {
        return wg::cond(
            sum(x) > 0.0, [](const Tensor<double>& t) { return halved(t); },
            [](const Tensor<double>& t) { return chosen(t + 1.0); }, x);
    };
    written(within, "", points);
    const auto tested = [](const Tensor<double>& x) {
        return wg::while_loop([](const Tensor<double>& y) { return sum(abs(halved(y))) < sum(abs(y)); },
                              [](const Tensor<double>& y) { return y * 0.7; }, x);
    };
    written(tested, "", points);
}

TEST_CASE("folds, products, moves and shapes of all kinds in the bodies of written loops", "[gpu][libraries]")
{
    const auto f = [](const Tensor<double>& x, const Tensor<double>& w) {
        return wg::while_loop([](const Tensor<double>& y) { return amax(abs(y)) > 1e-3; },
                              [&](const Tensor<double>& y) {
                                  const Tensor<double> z = matmul(w, y) * 0.05 + cumsum(y, 0) * 0.01;
                                  return z - mean(z, {0}, true) + roll(transpose(y), 1, 0) * 0.1;
                              },
                              x);
    };
    auto there = wg::freeze(f, on_device(false)), here = wg::freeze(f);
    for (int k = 0; k < 7; ++k) {
        const Tensor<double> x = some({4, 4}, static_cast<std::uint64_t>(k)), w = some({4, 4}, 20);
        CHECK(allclose(there(x, w), here(x, w), 1e-12));  // cuBLAS adds in its own order
    }
    CHECK((there.stats().host_conditions == 0) == has_nodes());
    const auto counts = [](const Tensor<double>& x) {
        const auto big = wg::cast<float>(x);
        return wg::cast<double>(wg::while_loop([](const Tensor<float>& y) { return any(y > 0.5F); },
                                               [](const Tensor<float>& y) { return softmax(y, 0) * 0.9F; },
                                               big));
    };
    written(counts, "", std::vector<One>{{some({6})}, {some({6}, 7) * 3.0}, {some({6}) * 0.0}});
}

TEST_CASE("a handle of cuBLAS for products in a branch is made before the capture", "[gpu][libraries]")
{
    const auto make = fake::control<int(void**, unsigned)>("cuStreamCreate");
    if (!make || !has_nodes()) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const auto f = [](const Tensor<double>& x) {
        return wg::cond(
            sum(x) > 0.0, [](const Tensor<double>& t) { return matmul(t, t); },
            [](const Tensor<double>& t) { return t * 2.0; }, x);
    };
    const auto put = [](const Tensor<double>& t) { return wg::detail::on<wg::cpu>(wg::to<wg::cuda>(t)); };
    const Tensor<double> more = wg::abs(some({4, 4}));
    const auto above = put(more), below = put(-more);
    auto frozen = wg::freeze(f, on_device(false));
    for (int k = 0; k < 3; ++k)
        frozen(below);  // the next is captured, in a stream where nothing has been multiplied
    void* raw = nullptr;
    REQUIRE(make(&raw, 1) == 0);
    const auto there = wg::cuda::on(wg::cuda::Stream(raw));
    CHECK(bits(frozen(below)) == bits(more * -2.0));
    std::optional<Tensor<double>> y;
    const Calls calls = calls_of([&] { y = frozen(above); });
    if (fake::calls) CHECK(calls.graphs == 1);
    CHECK(frozen.stats().host_conditions == 0);
    CHECK(allclose(wg::to<wg::cpu>(*y), matmul(more, more), 1e-13));
}

TEST_CASE("what an element of a written loop's step may not be: a position beyond the end",
          "[gpu][libraries]")
{
    using State = std::tuple<Tensor<std::int64_t>, Tensor<double>>;
    const auto f = [](const Tensor<double>& x, const Tensor<std::int64_t>& last) {
        const auto end = wg::while_loop([&](const State& s) { return sum(std::get<0>(s)) < sum(last); },
                                        [&](const State& s) {
                                            const auto& [i, y] = s;
                                            return State(i + 1, y + take(x, i, 0) * 2.0);
                                        },
                                        State(last * 0, view(x, wg::range(0, 1)) * 0.0));
        return std::get<1>(end);
    };
    auto there = wg::freeze(f, on_device(false));
    const auto put = []<class T>(const Tensor<T>& t) { return wg::detail::on<wg::cpu>(wg::to<wg::cuda>(t)); };
    const Tensor<double> x = some({6});
    const auto at = [](std::int64_t n) { return Tensor<std::int64_t>{n}; };
    for (int k = 0; k < 5; ++k) CHECK(bits(there(put(x), put(at(k % 4)))) == bits(f(x, at(k % 4))));
    for (const std::int64_t n : {0, 6, 2}) CHECK(bits(there(put(x), put(at(n)))) == bits(f(x, at(n))));
    for (int k = 0; k < 2; ++k) {
        const auto beyond = [&] {
            static_cast<void>(there(put(x), put(at(8))));
            wg::cuda::synchronize();
        };
        CHECK_THROWS_AS(beyond(), wg::IndexError);
        wg::cuda::synchronize();
        CHECK(bits(there(put(x), put(at(5)))) == bits(f(x, at(5))));
    }
}

TEST_CASE("what is no part of a written graph stays as it was and says so", "[gpu][libraries]")
{
    const std::vector<One> points = {{some({5})}, {some({5}) * 1e-3}, {some({5}, 4) * 1e2}};
    const auto slope = wg::grad([](const Tensor<double>& x) { return sum(exp(halved(x))); });
    written<decltype(slope)>(slope, "its derivative keeps the states of all steps", points);
    const auto scanned = [](const Tensor<double>& x) {
        return wg::while_loop(
            [](const Tensor<double>& y) { return sum(y * y) > 0.1; },
            [](const Tensor<double>& y) {
                return wg::scan([](const Tensor<double>& z) { return std::pair(z * 0.8, std::tuple()); }, y,
                                40)
                    .first;
            },
            x);
    };
    written(scanned, "a scan runs step by step", points);
    // a branch in a scan's body is captured with that body
    const auto inside = [](const Tensor<double>& x) {
        return wg::scan([](const Tensor<double>& z) { return std::pair(chosen(z) * 0.1, std::tuple()); }, x,
                        6)
            .first;
    };
    auto there = wg::freeze(inside, on_device(false)), here = wg::freeze(inside);
    for (int k = 0; k < 5; ++k) CHECK(bits(there(some({5}))) == bits(here(some({5}))));
    const auto guarded = [](const Tensor<double>& x) { return (sum(x) > 0.0).item() ? halved(x) : x * 2.0; };
    auto g = wg::freeze(guarded, on_device(false));
    for (const double sign : {1.0, 1.0, 1.0, -1.0, 1.0, -1.0, 1.0})
        CHECK(bits(g(wg::abs(some({5})) * sign)) == bits(guarded(wg::abs(some({5})) * sign)));
}

TEST_CASE("a driver that refuses conditional nodes: graphs run as before, and say why", "[gpu][libraries]")
{
    if (!fake::fail || !has_nodes()) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const auto f = [](const Tensor<double>& x) { return exp(chosen(halved(x * 2.0))); };
    auto here = wg::freeze(f);
    const auto right = [&](const Tensor<double>& x) { return bits(here(x)); };
    for (const char* function :
         {"cuGraphConditionalHandleCreate", "cuGraphAddNode_v2", "cuStreamBeginCaptureToGraph",
          "cuStreamGetCaptureInfo_v2", "cuStreamUpdateCaptureDependencies", "cuStreamEndCapture",
          "cuStreamBeginCapture_v2", "cuGraphInstantiateWithFlags", "cuStreamCreate", "cuMemcpyDtoDAsync_v2",
          "cuLaunchKernel", "cuMemsetD32Async"})
        for (int after = 1; after <= 4; ++after) {
            CAPTURE(function, after);
            auto there = wg::freeze(f, on_device(false));
            for (int k = 0; k < 3; ++k) CHECK(bits(there(some({5}))) == right(some({5})));
            try {
                const fake::Failing failing(function, after, 1, 999);
                CHECK(bits(there(some({5}, 4))) == right(some({5}, 4)));
            } catch (const wg::DeviceError&) {  // of what is done outside
            }
            CHECK(bits(there(some({5}, 6))) == right(some({5}, 6)));
            if (std::string(function) == "cuGraphAddNode_v2" && after == 1)
                CHECK(there.stats().host_conditions == 2);
            if (there.stats().host_conditions)
                CHECK_THAT(there.explain(), contains("comes back to the host (") && contains("failed"));
        }
    // each launch of the graph, and after it
    auto there = wg::freeze(f, on_device(false));
    for (int k = 0; k < 4; ++k) CHECK(bits(there(some({5}))) == right(some({5})));
    {
        const fake::Failing failing("cuGraphLaunch", 1, 1, 999);
        CHECK(bits(there(some({5}))) == right(some({5})));  // f runs by itself
    }
    CHECK(bits(there(some({5}, 8))) == right(some({5}, 8)));
    CHECK(there.stats().host_conditions == 0);
}
