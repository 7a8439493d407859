// Frozen functions on a device of CUDA: fused groups, one arena, loops, and what they meet. On the fake driver and on a GPU alike.
#include "cuda/replays.hpp"

#include <wengert/graph/look/text.hpp>

#include <thread>

TEST_CASE("elementwise operations of a graph are one kernel with the host's bits", "[gpu][libraries]")
{
    const Tensor<double> a = some({6, 5, 4}), b = some({5, 4}, 5), c = some({6, 1, 4}, 7);
    const auto one = [](const wg::FreezeStats& s) {
        CHECK(s.kernels == 1);
        CHECK(s.uncompiled == 0);
    };
    one(same_bits(
        [](const auto& x, const auto& y, const auto& z) { return tanh(x) * y - z / (1.0 + square(x)); }, a, b,
        c));
    one(same_bits([](const auto& x, const auto& y) { return transpose(x) * 3.0 + transpose(y); }, b,
                  b * 2.0));
    one(same_bits([](const auto& x) { return view(x, wg::range(1, 5), 2) * view(x, wg::range(5, 1, -1), 1); },
                  a));
    one(same_bits([](const auto& x, const auto& y) { return where(x > y && x > 0.1, pow(x, y), -x * 0.1); },
                  a, b));
    one(same_bits([](const auto& x) { return wg::cast<double>(wg::cast<std::int64_t>(x * 10.0) * 7); }, a));
    one(same_bits([](const auto& x) { return wg::cast<float>(x) * 3.0F + sin(wg::cast<float>(x)); }, a));
    one(same_bits([](const auto& x) { return exp(x) * 2.0; }, Tensor<double>(0.3)));
    const auto s = same_bits(
        [](const auto& x, const auto& y) {
            return wg::concatenate(
                {tanh(x) * y + 1.0, exp(sum(x, {0}, true) * y)});  // sums and parts lie between
        },
        b, b);
    CHECK(s.kernels < 8);
    const auto empty = same_bits([](const auto& x) { return exp(x) * 2.0; }, some({0, 3}));
    CHECK(empty.arena_bytes == 0);
    same_bits(wg::grad([](const Tensor<double>& x) { return sum(where(x > 0.0, log(x), 0.0 * x)); }),
              Tensor<double>{0.0, -1.0, 2.0});
}

TEST_CASE("values of a graph on a device share one arena", "[gpu][libraries]")
{
    const auto f = [](const Tensor<double>& x) {
        Tensor<double> y = x;
        for (int k = 0; k < 6; ++k) y = tanh(y * 1.5) + cumsum(y, 0);  // index programs by themselves
        return y;
    };
    const wg::FreezeStats s = same_bits(f, some({1000}));
    CHECK(s.kernels == 12);
    CHECK(s.arena_bytes == s.arena_lower_bound);
    CHECK(s.arena_bytes <= 3 * 8064);
    auto frozen = wg::freeze(f, on_device());
    const auto plan = wg::inspect(frozen.graph(some({1000})), frozen.backend());
    CHECK(plan.kernels.size() == 12);
    CHECK(plan.arena_bytes == s.arena_bytes);
    for (const wg::MemoryBlock& b : plan.memory) CHECK(b.offset + b.bytes <= plan.arena_bytes);
}

TEST_CASE("a frozen function runs on a device, its derivative beside it", "[gpu][libraries]")
{
    const auto f = []<class D>(const Tensor<double, D>& a, const Tensor<double, D>& b) {
        Tensor<double, D> y = tanh(matmul(a, b)) - 0.5;
        if ((sum(y) > 0.0).item()) y = y * 2.0;
        return mean(square(y));
    };
    const auto x = some({6, 5}), w = some({5, 4});
    auto frozen = wg::freeze(wg::value_and_grad<1>(f), {.device = wg::cuda{}});
    for (int k = 0; k < 4; ++k) {
        const auto [value, gradient] = frozen(x * (1.0 + k), w);
        const auto [v, g] = wg::value_and_grad<1>(f)(x * (1.0 + k), w);
        CHECK(!is_there(gradient));
        CHECK(allclose(value, v, 1e-12));
        CHECK(allclose(gradient, g, 1e-12));
    }
    CHECK(frozen.stats().replays > 0);
    auto plain = wg::freeze(wg::grad<1>(f));
    const Tensor<double, wg::cuda> there = wg::to<wg::cuda>(x), weights = wg::to<wg::cuda>(w);
    Tensor<double, wg::cuda> y;
    for (int k = 0; k < 3; ++k) y = plain(there, weights);
    CHECK(allclose(wg::to<wg::cpu>(y), wg::grad<1>(f)(x, w), 1e-12));
}

TEST_CASE("loops, branches, keys and rules of the user's in a frozen function on a device", "[gpu]")
{
    const auto on = [](const auto& f, const auto&... x) {
        auto frozen = wg::freeze(f, {.device = wg::cuda{}});
        for (int k = 0; k < 3; ++k) {
            const auto y = frozen(x...);
            CHECK(!is_there(y));
            CHECK(allclose(y, f(x...), 1e-12));
        }
        CHECK(frozen.stats().replays > 0);
    };
    on(
        [](const Tensor<double>& s, const Tensor<double>& xs) {
            return wg::scan([](const Tensor<double>& a,
                               const Tensor<double>& x) { return std::pair(tanh(a + x), sum(a * x)); },
                            s, xs)
                .second;
        },
        some({3}), some({4, 3}));
    on(
        [](const Tensor<double>& x) {
            return wg::cond(
                sum(x) > 0.0, [](const Tensor<double>& t) { return exp(t); },
                [](const Tensor<double>& t) { return t * 2.0; }, x);
        },
        some({5}));
    on([](const wg::Key& key, const Tensor<double>& x) { return x * wg::uniform<double>(key, {5}); },
       wg::Key(3), some({5}));
}

TEST_CASE("bodies of loops and branches run on the device, their conditions come back", "[gpu][libraries]")
{
    const auto on = [](const auto& f, std::size_t left, const auto&... x) {
        auto there = wg::freeze(f, on_device()), here = wg::freeze(f);
        for (int k = 0; k < 3; ++k) CHECK(bits(there(x...)) == bits(here(x...)));
        CHECK(there.stats().replays == 2);
        CHECK(there.stats().uncompiled_loops == left);
        const auto helped = wg::cuda::counts().host_calls.load();
        there(x...);
        CHECK((wg::cuda::counts().host_calls == helped) == (left == 0));
    };
    const auto rnn = [](const Tensor<double>& w, const Tensor<double>& s, const Tensor<double>& xs) {
        const auto step = [&](const Tensor<double>& a, const Tensor<double>& x) {
            const Tensor<double> y = tanh(w * a + x);
            return std::pair(y, sum(y * x));
        };
        const auto [end, ys] = wg::scan(step, s, xs);
        return sum(end) + sum(ys * ys);
    };
    on(rnn, 0, some({3}), some({3}, 5), some({4, 3}));
    on(wg::grad<0>(rnn), 0, some({3}), some({3}, 5), some({4, 3}));
    const auto halved = [](const Tensor<double>& x) {
        return wg::while_loop([](const Tensor<double>& y) { return sum(y * y) > 0.1; },
                              [](const Tensor<double>& y) { return y * 0.5 - 0.001; }, x);
    };
    on(halved, 0, some({7}));
    on(wg::grad([=](const Tensor<double>& x) { return sum(exp(halved(x))); }), 0, some({7}));
    on(wg::grad([=](const Tensor<double>& x) { return sum(exp(halved(x))); }), 0,
       some({7}) * 1e-3);  // no step
    const auto scaled = [](const Tensor<double>& x, const Tensor<double>& c) {
        return sum(wg::while_loop([](const Tensor<double>& y) { return sum(y * y) > 0.1; },
                                  [&](const Tensor<double>& y) { return y * c; }, x));
    };
    on(wg::grad<1>(scaled), 0, some({7}), Tensor<double>(0.7));
    for (const std::uint64_t snapshots : {1, 2, 5}) {
        const auto kept = [=](const Tensor<double>& w, const Tensor<double>& s, const Tensor<double>& xs) {
            const auto step = [&](const Tensor<double>& a, const Tensor<double>& x) {
                return std::pair(tanh(w * a + x), sum(a * x));
            };
            const auto [end, ys] = wg::scan(step, s, xs, {.snapshots = snapshots});
            return sum(end * end) + sum(ys * ys);
        };
        on(kept, 0, some({3}), some({3}, 5), some({9, 3}));
        on(wg::grad<0>(kept), 0, some({3}), some({3}, 5), some({9, 3}));
        on(wg::grad<2>(kept), 0, some({3}), some({3}, 5), some({9, 3}));
    }
    for (const double sign : {1.0, -1.0})
        on(
            [](const Tensor<double>& x) {
                return wg::cond(
                    sum(x) > 0.0, [](const Tensor<double>& t) { return exp(t) * sum(t); },
                    [](const Tensor<double>& t) { return t * 2.0; }, x);
            },
            0, some({5}) * sign);
    on(
        [](const Tensor<double>& x) {
            const auto inner = [](const Tensor<double>& y) {
                return std::pair(wg::cond(
                                     amax(y) > 0.5, [](const Tensor<double>& t) { return sin(t); },
                                     [](const Tensor<double>& t) { return t * 1.5; }, y),
                                 std::tuple());
            };
            return wg::scan(inner, x, 5).first;
        },
        0, some({5}));
}

TEST_CASE("what is moved between the host and a device is shown and counted, keys stay", "[gpu][libraries]")
{
    const auto f = [](const Tensor<double>& x, const wg::Key& key) {
        const auto [first, second] = std::pair(wg::split(key).first, wg::split(key).second);
        const Tensor<double> y = exp(x) * wg::uniform<double>(first, {4}) + wg::normal<double>(second, {4});
        return y + wg::host_callback<double>(
                       {2, 1},
                       [](const Tensor<double>& t) {
                           return wg::full<double>({2, 1}, t(0).item());
                       },
                       y);
    };
    auto frozen = wg::freeze(f, on_device());
    for (std::uint64_t k = 0; k < 3; ++k)
        CHECK(bits(frozen(some({4}), wg::Key(k))) == bits(f(some({4}), wg::Key(k))));
    const wg::FreezeStats s = frozen.stats();
    CHECK(s.replays == 2);
    CHECK(s.transfers == 5);  // the callback's result goes there and, as all that has effects, back
    CHECK(s.transfer_bytes == 8 * (4 + 4 + 2 + 2 + 8));
    const wg::Graph& g = frozen.graph(some({4}), wg::Key(0));
    const std::string text = to_text(g, wg::inspect(g, frozen.backend()).notes);
    for (const char* part : {"| to the device", "to the host for host_callback", "made on the host",
                             "back to where the arguments lie"})
        CHECK_THAT(text, contains(part));
    const auto noise = []<class D>(const Tensor<double, D>& x, const wg::Key& key) {
        return x + wg::uniform<double, D>(wg::fold_in(key, 3), {4});
    };
    auto noisy = wg::freeze(noise, on_device(false));
    const Tensor<double, wg::cuda> x = wg::to<wg::cuda>(some({4}));
    for (std::uint64_t k = 0; k < 3; ++k) noisy(x, wg::Key(k));
    const Calls calls = calls_of([&] { noisy(x, wg::Key(7)); });
    CHECK(calls.waits + calls.to_host == 0);
    CHECK(calls.graphs == (fake::calls ? 1 : 0));
    CHECK(calls.to_device == calls.graphs);  // addresses and the key
    CHECK(bits(noisy(x, wg::Key(7))) == bits(noise(some({4}), wg::Key(7))));
    const auto events = wg::profile(g, frozen.inputs(some({4}), wg::Key(1)), frozen.backend(), 2);
    CHECK(events.size() == 2 * s.kernels);
}

TEST_CASE("frozen functions on a device under derivatives, with other extents, checkpoints and hooks",
          "[gpu]")
{
    const auto f = [](const Tensor<double>& x) { return sum(square(tanh(x) * x + 1.0)); };
    const Tensor<double> x = some({4, 3});
    auto frozen = wg::freeze(f, on_device());
    for (int k = 0; k < 3; ++k) {
        CHECK(allclose(wg::grad(frozen)(x), wg::grad(f)(x), 1e-13));
        CHECK(allclose(wg::grad(wg::checkpoint(frozen))(x), wg::grad(f)(x), 1e-13));
        CHECK(allclose(wg::jvp(frozen, x, x).second, wg::jvp(f, x, x).second, 1e-13));
    }
    {
        const wg::SavedTensorHooks hooks(wg::save_on_disk("/tmp"));
        CHECK(allclose(wg::grad(frozen)(some({40, 30})), wg::grad(f)(some({40, 30})), 1e-13));
    }
    wg::FreezeOptions o = on_device();
    o.dynamic = {0};
    auto rows = wg::freeze([](const Tensor<double>& t) { return exp(t) * sum(t, {1}, true); }, o);
    for (std::int64_t n = 2; n < 9; ++n)
        CHECK(bits(rows(some({n, 3}))) == bits(exp(some({n, 3})) * sum(some({n, 3}), {1}, true)));
    CHECK(rows.stats().specialised > 0);
}

TEST_CASE("index programs of a frozen function on a device take any number of rows", "[gpu][libraries]")
{
    const auto f = [](const Tensor<double>& x, const Tensor<std::int64_t>& i) {
        const Tensor<double> wide = wg::concatenate({flip(x), roll(x, 1, 0) * 2.0});
        return std::tuple(take(wide, i, 0) + 1.0, cumsum(x, 0) - view(x, wg::range(0, 1)),
                          wg::pad(transpose(x), {{1, 0}, {0, 2}}), scatter_add(x, i, x, 0));
    };
    const auto pulled = [&](const Tensor<double>& x, const Tensor<std::int64_t>& i) {
        return wg::grad([&](const Tensor<double>& t) {
            const auto [a, b, c, d] = f(t, i);
            return sum(a * a) + sum(b * b) + sum(c * c) + sum(d * d);
        })(x);
    };
    for (const bool check : {true, false}) {
        wg::FreezeOptions o = on_device(check);
        o.dynamic = {0, 1};
        auto there = wg::freeze(f, o);
        auto slope = wg::freeze(pulled, o);
        for (int again = 0; again < 2; ++again)
            for (std::int64_t n = 2; n < 8; ++n) {
                CAPTURE(check, n);
                const Tensor<double> x = some({n, 3}, static_cast<std::uint64_t>(n));
                const auto i = wg::arange<std::int64_t>(n) - 1;
                const auto found = there(x, i), right = f(x, i);
                const auto same = [&]<std::size_t... k>(std::index_sequence<k...>) {
                    return ((bits(std::get<k>(found)) == bits(std::get<k>(right))) && ...);
                };
                CHECK(same(std::make_index_sequence<4>()));
                CHECK(allclose(slope(x, i), pulled(x, i), 1e-13));
            }
        CHECK(there.stats().traces <= 2);
        CHECK(there.stats().specialised > 0);
        CHECK(there.stats().uncompiled_loops == 0);
    }
}

TEST_CASE("frozen functions on a device: live tensors, buffers, host callbacks, exceptions", "[gpu]")
{
    Tensor<double> w = some({3});
    auto step = wg::freeze(
                    [&](const Tensor<double>& x) {
                        w -= 0.1 * wg::grad([&](const Tensor<double>& p) { return sum(square(p * x)); })(w);
                        return sum(w);
                    },
                    on_device())
                    .live(w);
    Tensor<double> other = copy(w);
    for (int k = 0; k < 5; ++k) {
        step(some({3}, 9));
        other -=
            0.1 * wg::grad([&](const Tensor<double>& p) { return sum(square(p * some({3}, 9))); })(other);
        CHECK(bits(w) == bits(other));
    }
    auto fields =
        wg::freeze([](const Tensor<double>& x) { return std::pair(sin(x), cos(x) * x); }, on_device());
    std::pair<Tensor<double>, Tensor<double>> out(wg::zeros<double>({50}), wg::zeros<double>({50}));
    const auto fill = fields.into(out);
    for (int k = 0; k < 4; ++k) fill(some({50}, 11));
    CHECK(bits(out.second) == bits(cos(some({50}, 11)) * some({50}, 11)));
    double seen = 0;
    auto calling = wg::freeze(
        [&](const Tensor<double>& x) {
            const Tensor<double> y = exp(x) * 2.0;
            const auto z = wg::host_callback<double>(
                {2},
                [&](const Tensor<double>& t) {
                    if ((seen = t(0).item()) > 100) throw std::runtime_error("too large");
                    return wg::view(t, wg::range(0, 2)) * 3.0;
                },
                y);
            return sum(z) + y;
        },
        on_device());
    for (int k = 0; k < 4; ++k) {
        const Tensor<double> x = some({5}) + static_cast<double>(k), y = exp(x) * 2.0;
        CHECK(allclose(calling(x), sum(view(y, wg::range(0, 2)) * 3.0) + y, 1e-14));
        CHECK(seen == y(0).item());
    }
    CHECK_THROWS_WITH(calling(some({5}) + 10.0), "too large");
    const Tensor<double> scale = {2.0, 3.0};  // of the host, as what the callback is given
    auto scaling = wg::freeze(
        [&](const Tensor<double>& x) {
            return wg::host_callback<double>(
                {2}, [&](const Tensor<double>& t) { return t * scale; }, exp(x));
        },
        on_device());
    for (int k = 0; k < 3; ++k) CHECK(bits(scaling(some({2}))) == bits(exp(some({2})) * scale));
    auto partly = wg::freeze([](const Tensor<double>& x, const Tensor<double>&) { return exp(x) * sum(x); },
                             on_device(false));
    for (int k = 0; k < 5; ++k)
        CHECK(bits(partly(some({2}), some({9}))) == bits(exp(some({2})) * sum(some({2}))));
    if (wg::detail::gpu::Kernels::available()) CHECK(partly.stats().transfers == 2);
    wg::FreezeOptions nodes = on_device();
    nodes.backend = wg::interpret;
    std::size_t seen_nodes = 0;
    nodes.callback = [&](const wg::GraphNode&, wg::ValueId, const wg::Block& b) {
        seen_nodes += b.device() != 0;
    };
    auto interpreted = wg::freeze([](const Tensor<double>& x) { return exp(x) * sum(x); }, nodes);
    for (int k = 0; k < 3; ++k) CHECK(bits(interpreted(some({2}))) == bits(exp(some({2})) * sum(some({2}))));
    CHECK(seen_nodes > 0);
    CHECK(interpreted.stats().kernels == 3);
    auto taking = wg::freeze(
        [](const Tensor<double>& x, const Tensor<std::int64_t>& i) { return exp(take(x * 2.0, i, 0)); },
        on_device());
    const Tensor<std::int64_t> good = {0, 2}, beyond = {0, 7};
    for (int k = 0; k < 3; ++k)
        CHECK(bits(taking(some({3}), good)) == bits(exp(take(some({3}) * 2.0, good, 0))));
    CHECK_THROWS_AS(taking(some({3}), beyond), wg::IndexError);
    CHECK(bits(taking(some({3}), good)) == bits(exp(take(some({3}) * 2.0, good, 0))));
}

TEST_CASE("frozen functions on a device from several threads, and on two devices", "[gpu]")
{
    const auto f = [](const auto& x) { return tanh(x * 2.0) + cumsum(exp(x), 0); };
    auto frozen = wg::freeze(f, on_device());
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&, t] {
            const Tensor<double> x = some({30}, static_cast<std::uint64_t>(t + 1));
            const auto right = bits(f(x));
            for (int k = 0; k < 4; ++k) wrong += bits(frozen(x)) != right;
        });
    for (std::thread& t : threads) t.join();
    CHECK(wrong == 0);
    if (wg::cuda::device_count() < 2) return;
    auto anywhere = wg::freeze(f);
    for (int k = 0; k < 3; ++k)
        for (const int device : {0, 1}) {
            const auto y = anywhere(wg::to<wg::cuda>(some({30}), wg::cuda{device}));
            CHECK(y.any().value->device() == wg::detail::gpu::number_of(wg::cuda{device}));
            CHECK(bits(y) == bits(f(some({30}))));
        }
}

TEST_CASE("a graph on a device whose driver refuses: the call ends in an error or with the right numbers",
          "[gpu]")
{
    if (!fake::fail) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const auto f = [](const Tensor<double>& x) {
        Tensor<double> y = tanh(x * 1.25) + 3.0;
        if ((sum(y) > 0.0).item()) y = cumsum(y, 0) * 0.5;
        return y;
    };
    const Tensor<double> x = wg::abs(some({20}));
    const auto right = bits(f(x));
    auto frozen = wg::freeze(f, on_device(false));
    for (int k = 0; k < 2; ++k) CHECK(bits(frozen(x)) == right);
    for (const char* function :
         {"cuMemAllocAsync", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2",
          "cuStreamSynchronize", "cuCtxSetCurrent", "cuLaunchKernel", "cuGraphLaunch"})
        for (int after = 1; after <= 3; ++after) {
            CAPTURE(function, after);
            wg::cuda::trim();
            try {
                const fake::Failing failing(function, after, 1, 999);
                CHECK(bits(frozen(x)) == right);
            } catch (const wg::DeviceError& e) {
                CHECK_THAT(std::string(e.what()), contains("CUDA: cu") && contains("CUDA_ERROR_UNKNOWN"));
            }
            CHECK(bits(frozen(x)) == right);
        }
}

TEST_CASE("a graph whose groups cannot be compiled runs node by node and says why", "[gpu]")
{
    const auto f = [](const Tensor<double>& x) { return tanh(x * 1.375) * 7.0; };
    const auto runs = [&](const std::string& why) {
        auto frozen = wg::freeze(f, on_device());
        for (int k = 0; k < 3; ++k) CHECK(bits(frozen(some({9}))) == bits(f(some({9}))));
        CHECK(frozen.stats().replays == 2);
        CHECK(frozen.stats().uncompiled == frozen.stats().kernels);
        CHECK_THAT(frozen.explain(), contains(why) && contains("it runs node by node"));
    };
    if (!wg::detail::gpu::Kernels::available()) return runs("CUDA: ");
    if (!fake::fail) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const fake::Failing failing("cuModuleLoadDataEx", 1, 2, 209);
    runs("CUDA: cuModuleLoadDataEx failed: CUDA_ERROR_NO_BINARY_FOR_GPU");
}
