// Replays that are captured as a graph of the driver: one call, with other arguments, keys, positions and guards each time.
#include "cuda/replays.hpp"

TEST_CASE("a replay on a device launches what was planned, and nobody waits", "[gpu][libraries]")
{
    const auto f = [](const Tensor<double>& x, const Tensor<double>& rate) {
        const Tensor<double> t = tanh(x) * rate;
        return std::pair(exp(t) + Tensor<double>({0.1, 0.2, 0.3, 0.4}), sum(t * t + x, {1}));
    };
    const Tensor<double> x = some({5, 4}), rate(0.3);
    const auto [y, z] = f(x, rate);
    auto frozen = wg::freeze(f, on_device(false));
    for (int k = 0; k < 2; ++k) frozen(x, rate);
    const Calls to_and_fro = calls_of([&] {
        const auto [u, v] = frozen(x, rate);
        CHECK(bits(u) == bits(y));
        CHECK(bits(v) == bits(z));
    });
    CHECK(to_and_fro.to_device == (fake::calls ? 2 : 0));  // the arguments; constants are there
    CHECK(to_and_fro.to_host == (fake::calls ? 2 : 0));
    using There = Tensor<double, wg::cuda>;
    const There on = wg::to<wg::cuda>(x), rate_on = wg::to<wg::cuda>(rate);
    auto all_there = wg::freeze(
        [](const There& u, const There& r) {
            const There t = tanh(u) * r;
            return std::pair(exp(t) + 0.1, sum(t * t + u, {1}) * 2.0);
        },
        on_device(false));
    for (int k = 0; k < 3; ++k) all_there(on, rate_on);
    CHECK(calls_of([&] { all_there(on, rate_on); }).graphs == (fake::calls ? 1 : 0));
    const auto pool = wg::cuda::memory();
    const Calls calls = calls_of([&] {
        const auto [u, v] = all_there(on, rate_on);
        CHECK(is_there(u));
        CHECK(is_there(v));
    });
    if (fake::calls) CHECK(calls.graphs == 1);
    CHECK(calls.to_device == calls.graphs);  // the table of addresses
    CHECK(calls.launches + calls.waits + calls.to_host == 0);
    CHECK(wg::cuda::memory().allocations == pool.allocations);
    CHECK(wg::cuda::memory().live == pool.live);
}

TEST_CASE("a replay that was captured is one call, with other arguments and results each time",
          "[gpu][libraries]")
{
    const auto f = [](const Tensor<double>& x, const Tensor<double>& w) {
        const Tensor<double> y = tanh(x * 1.5) + x, z = matmul(view(y, wg::range(1, 4)), w);
        return std::tuple(y, exp(z) * 0.5, transpose(y), x, cumsum(z, 0));
    };
    auto frozen = wg::freeze(f, on_device(false));
    std::vector<decltype(f(some({4, 3}), some({3, 2})))> results;
    // by its type on the host, as f wants it
    const auto put = [](const Tensor<double>& x) { return wg::detail::on<wg::cpu>(wg::to<wg::cuda>(x)); };
    for (const bool there : {true, false})
        for (std::uint64_t k = 1; k < 8; ++k) {
            const Tensor<double> x = some({4, 3}, k), w = some({3, 2}, 2 * k);
            const Calls calls =
                calls_of([&] { results.push_back(there ? frozen(put(x), put(w)) : frozen(x, w)); });
            if (fake::calls) CHECK(calls.graphs == (k > 3));
        }
    for (std::size_t k = 0; k < results.size(); ++k) {
        const auto right = f(some({4, 3}, k % 7 + 1), some({3, 2}, 2 * (k % 7 + 1)));
        const auto same = [&]<std::size_t... i>(std::index_sequence<i...>) {
            return ((allclose(wg::to<wg::cpu>(std::get<i>(results[k])), std::get<i>(right), 1e-13)) && ...);
        };
        CHECK(same(std::make_index_sequence<5>()));
    }
    // the rule of zero cotangents is a part of what was captured
    auto pulled =
        wg::freeze(wg::grad([](const Tensor<double>& x) { return sum(where(x > 0.0, log(x), 0.0 * x)); }),
                   on_device(false));
    const Tensor<double> at = {0.0, 2.0};
    for (int k = 0; k < 5; ++k) {
        CHECK(pulled(at)(0).item() == 0.0);
        const wg::AllowNaN allowed;
        CHECK(std::isnan(pulled(at)(0).item()));
    }
}

TEST_CASE("random numbers of a replay that was captured are those of its key", "[gpu][libraries]")
{
    const auto f = [](const Tensor<double>& x, const wg::Key& key) {
        const auto [a, b] = wg::split(key);
        const Tensor<double> noise = wg::normal<double>(a, {5}) + x;
        const auto order = wg::permutation(wg::fold_in(b, 3), 5);
        return std::tuple(tanh(noise), wg::randint<std::int64_t>(b, {3}, 0, 1000) * 2, order,
                          noise * wg::uniform<double>(key, {5}));
    };
    auto frozen = wg::freeze(f, on_device(false));
    for (std::uint64_t k = 1; k < 8; ++k) {
        const auto right = f(some({5}, k), wg::Key(k));
        std::optional<decltype(f(some({5}), wg::Key(0)))> found;
        const Calls calls = calls_of([&] { found = frozen(some({5}, k), wg::Key(k)); });
        if (fake::calls) CHECK(calls.graphs == (k > 3));
        const auto& y = *found;
        CHECK(bits(std::get<0>(y)) == bits(std::get<0>(right)));
        CHECK(bits(std::get<1>(y)) == bits(std::get<1>(right)));
        CHECK(bits(std::get<2>(y)) == bits(std::get<2>(right)));
        CHECK(bits(std::get<3>(y)) == bits(std::get<3>(right)));
    }
    // a guard on what is drawn
    const auto guarded = []<class D>(const Tensor<double, D>& x, const wg::Key& key) {
        const Tensor<double, D> y = wg::normal<double, D>(key, {4}) + x;
        return (sum(y) > 0.0).item() ? tanh(y) : y * 2.0;
    };
    auto drawn_guard = wg::freeze(guarded, on_device(false));
    const Tensor<double, wg::cuda> there = wg::to<wg::cuda>(some({4}));
    for (std::uint64_t k = 1; k < 24; ++k)
        CHECK(bits(drawn_guard(there, wg::Key(k))) == bits(guarded(some({4}), wg::Key(k))));
    CHECK(drawn_guard.stats().guard_failures > 0);
}

TEST_CASE("positions among the arguments are asked about before work that was captured", "[gpu][libraries]")
{
    // an embedding and its derivative, whose elements meet
    const auto f = [](const Tensor<double>& table, const Tensor<std::int64_t>& i) {
        return wg::value_and_grad([&](const Tensor<double>& t) { return sum(square(take(tanh(t), i, 0))); })(
            table);
    };
    auto frozen = wg::freeze(f, on_device(false));
    const Tensor<double> table = some({4, 3});
    const auto put = []<class T>(const Tensor<T>& x) { return wg::detail::on<wg::cpu>(wg::to<wg::cuda>(x)); };
    for (std::int64_t k = 0; k < 8; ++k) {
        const Tensor<std::int64_t> i = {k % 4, -1, k % 3, k % 4};
        const auto right = f(table, i);
        std::optional<decltype(f(table, i))> y;
        const Calls calls = calls_of([&] { y = k % 2 ? frozen(table, i) : frozen(put(table), put(i)); });
        CHECK(allclose(wg::to<wg::cpu>(y->first), right.first, 1e-14));
        CHECK(bits(y->second) == bits(right.second));
        if (fake::calls) CHECK(calls.graphs == (k > 5));  // a graph for either place of the arguments
    }
    const Tensor<std::int64_t> beyond = {0, 4, 1, 1};
    CHECK_THROWS_AS(frozen(table, beyond), wg::IndexError);
    const auto later = [&] {
        static_cast<void>(frozen(put(table), put(beyond)));
        frozen(put(table), put(Tensor<std::int64_t>{0, 1, 2, 3}));
        wg::cuda::synchronize();
    };
    CHECK_THROWS_AS(later(), wg::IndexError);
    const Tensor<std::int64_t> good = {0, 3, 1, 1};
    CHECK(bits(frozen(table, good).second) == bits(f(table, good).second));
}

TEST_CASE("guards of a graph on a device come back in one copy", "[gpu][libraries]")
{
    const auto f = []<class D>(const Tensor<double, D>& x) {
        Tensor<double, D> y = x * 2.0;
        if ((sum(y) > 0.0).item()) y = y + 1.0;
        if ((amax(y) > 100.0).item()) y = y / 100.0;
        return y * static_cast<double>(wg::cast<std::int64_t>(sum(round(x * 0.0)) + 2.0).item());
    };
    auto frozen = wg::freeze(f, on_device(false));
    const Tensor<double, wg::cuda> x = wg::to<wg::cuda>(wg::abs(some({40})));
    for (int k = 0; k < 4; ++k) frozen(x);
    const Calls calls = calls_of([&] { frozen(x); });
    CHECK(calls.to_host == (fake::calls ? 1 : 0));
    CHECK(calls.graphs == (fake::calls ? 1 : 0));  // the guards are a part of what was captured
    CHECK(calls.launches == 0);
    for (const double factor : {1.0, -1.0, 1000.0, 1.0, -3.0})
        CHECK(bits(frozen(x * factor)) == bits(f(wg::to<wg::cpu>(x * factor))));
    CHECK(frozen.stats().traces == 3);
    CHECK(frozen.stats().guard_failures > 0);
    CHECK(frozen.stats().eager_calls == 0);
}

TEST_CASE("what a checkpoint makes again is a part of what is captured", "[gpu][libraries]")
{
    const auto block = [](const Tensor<double>& t) { return tanh(t * 1.5) * sum(t, {1}, true); };
    const auto kept = wg::grad([=](const Tensor<double>& x) { return sum(block(block(x))); });
    const auto again = wg::grad([=](const Tensor<double>& x) {
        return sum(wg::checkpoint([=](const Tensor<double>& t) { return block(block(t)); })(x));
    });
    auto frozen = wg::freeze(again, on_device(false));
    const auto put = [](const Tensor<double>& x) { return wg::detail::on<wg::cpu>(wg::to<wg::cuda>(x)); };
    for (std::uint64_t k = 1; k < 7; ++k) {
        const Tensor<double> x = some({4, 3}, k), there = put(x);
        std::optional<Tensor<double>> y;
        const Calls calls = calls_of([&] { y = frozen(there); });
        if (fake::calls) CHECK(calls.graphs == (k > 3));
        if (k > 1) CHECK(calls.waits + calls.to_host == 0);
        CHECK(bits(*y) == bits(kept(x)));
    }
    // a checkpoint around a function that is captured
    auto inner = wg::freeze(block, on_device(false));
    for (std::uint64_t k = 1; k < 7; ++k) {
        const Tensor<double> x = some({4, 3}, k);
        const auto f = [](const auto& g) {
            return wg::grad([&](const Tensor<double>& t) { return sum(g(t)); });
        };
        CHECK(allclose(f(wg::checkpoint(inner))(x), f(block)(x), 1e-14));
    }
}

TEST_CASE("a replay that cannot be captured is launched as before", "[gpu][libraries]")
{
    if (!fake::fail) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const auto f = [](const Tensor<double>& x) { return tanh(x * 1.5) + cumsum(x, 0); };
    const auto right = bits(f(some({7})));
    for (const char* function : {"cuStreamBeginCapture_v2", "cuStreamEndCapture",
                                 "cuGraphInstantiateWithFlags", "cuMemAllocAsync"}) {
        auto frozen = wg::freeze(f, on_device(false));
        for (int k = 0; k < 3; ++k) CHECK(bits(frozen(some({7}))) == right);
        wg::cuda::trim();
        {
            const fake::Failing failing(function, 1, 1, 999);
            const long before = fake::calls("cuGraphLaunch");
            CHECK(bits(frozen(some({7}))) == right);
            CHECK(fake::calls("cuGraphLaunch") == before);
        }
        const auto live = wg::cuda::memory().live;
        for (int k = 0; k < 3; ++k) CHECK(bits(frozen(some({7}))) == right);
        CHECK(wg::cuda::memory().live == live);
    }
}
