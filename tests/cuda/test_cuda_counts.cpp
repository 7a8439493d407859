// What operations ask of the driver: launches, copies and their bytes, waits, and what the host computes for the device.
#include "cuda/replays.hpp"

namespace {

Tensor<float, wg::cuda> floats(const wg::Shape& shape, std::uint64_t seed)
{
    return wg::to<wg::cuda>(wg::normal<float>(wg::Key(seed), shape) * 0.1f);
}
/// Two layers, and the mean of squares.
template <class T, class D>
Tensor<T, D> mlp(const Tensor<T, D>& x, const Tensor<T, D>& w1, const Tensor<T, D>& b1,
                 const Tensor<T, D>& w2, const Tensor<T, D>& b2)
{
    return mean(square(matmul(tanh(matmul(x, w1) + b1), w2) + b2));
}
/// One step of training: the new weights.
template <class T, class D>
auto training_step(const Tensor<T, D>& x, const Tensor<T, D>& w1, const Tensor<T, D>& w2)
{
    const auto [g1, g2] = wg::grad<0, 1>([&](const Tensor<T, D>& a, const Tensor<T, D>& b) {
        return mean(square(matmul(tanh(matmul(x, a)), b)));
    })(w1, w2);
    return std::pair(w1 - T(0.1) * g1, w2 - T(0.1) * g2);
}
/// Equal, or both are no numbers.
bool same(const std::vector<double>& a, const std::vector<double>& b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](double x, double y) { return x == y || (x != x && y != y); });
}
/// y = x, the last element first.
struct Backwards {
    static constexpr std::string_view name = "backwards";
    template <class T> wg::Ref<wg::Block> value(const wg::Ref<wg::Block>& x, const wg::Site&) const
    {
        auto y = wg::copy_of(*x);
        std::reverse(y->template as<T>(), y->template as<T>() + y->count);
        return y;
    }
    template <class T>
    Tensor<T> pull(wg::wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const
    {
        return wg::apply<Backwards, T>({}, wg::Site{}, g);
    }
    template <class T> Tensor<T> push(const Tensor<T>& dx, const Tensor<T>&, const Tensor<T>&) const
    {
        return wg::apply<Backwards, T>({}, wg::Site{}, dx);
    }
};
std::int64_t host_calls() { return wg::cuda::counts().host_calls; }

}  // namespace

TEST_CASE("an eager backward pass waits for nothing", "[gpu][libraries]")
{
    const auto x = floats({8, 6}, 1);
    auto w1 = floats({6, 5}, 2), b1 = floats({5}, 3), w2 = floats({5, 4}, 4), b2 = floats({4}, 5);
    for (auto* w : {&w1, &b1, &w2, &b2}) w->requires_grad(true);
    for (int k = 0; k < 3; ++k) {
        const auto loss = mlp(x, w1, b1, w2, b2);
        for (auto* w : {&w1, &b1, &w2, &b2}) w->zero_grad();
        const std::int64_t helped = host_calls();
        const Calls calls = calls_of([&] { wg::backward(loss); });
        CHECK(host_calls() == helped);
        CHECK(calls.waits == 0);
        CHECK(calls.to_host == 0);
        CHECK(calls.to_device == 0);
        if (fake::calls && k > 0) CHECK(calls.launches == 11);
    }
}

TEST_CASE("a frozen step of training makes its products on the device", "[gpu][libraries]")
{
    const auto x = floats({8, 6}, 1), w1 = floats({6, 5}, 2), w2 = floats({5, 4}, 3);
    auto frozen = wg::freeze(
        [](const auto& a, const auto& b, const auto& c) { return training_step(a, b, c); }, on_device(false));
    const auto [v1, v2] = training_step(wg::to<wg::cpu>(x), wg::to<wg::cpu>(w1), wg::to<wg::cpu>(w2));
    for (int k = 0; k < 6; ++k) {
        const std::int64_t helped = host_calls();
        const Calls calls = calls_of([&] {
            const auto [u1, u2] = frozen(x, w1, w2);
            CHECK(is_there(u1));
            CHECK(is_there(u2));
            if (k < 2) return;
            const std::int64_t before = host_calls();
            CHECK(before == helped);
        });
        if (k > 0) {
            CHECK(host_calls() == helped);
            CHECK(calls.to_host == 0);
            CHECK(calls.waits == 0);
            CHECK(calls.bytes_to_device == 0);
        }
        if (k > 3 && fake::calls) CHECK(calls.graphs == 1);
        const auto [u1, u2] = frozen(x, w1, w2);
        CHECK(allclose(wg::to<wg::cpu>(u1), v1, 1e-5));
        CHECK(allclose(wg::to<wg::cpu>(u2), v2, 1e-5));
    }
}

TEST_CASE("new tensors are filled where they are, and numbers are parameters of kernels", "[gpu][libraries]")
{
    const wg::Shape shape{100, 3};
    const Calls made = calls_of([&] {
        const auto a = wg::ones<float, wg::cuda>(shape);
        const auto b = wg::zeros<double, wg::cuda>(shape);
        const auto c = wg::full<double, wg::cuda>(shape, 0.1);
        const auto d = wg::full<bool, wg::cuda>(shape, true);
        CHECK(is_there(d));
    });
    CHECK(made.to_device == 0);
    CHECK(made.waits == 0);
    CHECK(bits(wg::full<double, wg::cuda>({2}, 0.1)) == std::vector<double>{0.1, 0.1});
    const There x = wg::to<wg::cuda>(some({5, 4}));
    for (int k = 0; k < 2; ++k) {
        const Calls calls = calls_of([&] {
            const There y = x * 2.0;
            const There z = where(y > 0.5, y, -1.0);
            CHECK(is_there(1.0 - z / 3.0));
        });
        if (fake::calls) CHECK(calls.launches == 5);
        CHECK(calls.to_device == 0);
        CHECK(calls.waits == 0);
    }
}

TEST_CASE("the rule of zero cotangents for a whole array is a look at it and one kernel", "[gpu][libraries]")
{
    const double inf = std::numeric_limits<double>::infinity(),
                 nan = std::numeric_limits<double>::quiet_NaN();
    const Tensor<double> r = {{1.0, inf}, {nan, -2.0}}, v = {{5.0, 6.0}, {7.0, 8.0}};
    const auto silent = []<class D>(const Tensor<double, D>& a, const Tensor<double, D>& g) {
        return wg::apply<wg::detail::ZeroWhereNoCotangent, double>({}, wg::Site{}, a, g);
    };
    const auto other = []<class D>(const Tensor<double, D>& a, const Tensor<double, D>& b,
                                   const Tensor<double, D>& g) {
        return wg::apply<wg::detail::ZeroWhereOther, double>({}, wg::Site{}, a, b, g);
    };
    const auto there = [](const Tensor<double>& x) { return wg::to<wg::cuda>(x); };
    for (const double last : {0.0, 0.5, nan}) {
        Tensor<double> g = wg::zeros<double>({300});
        view(g, 299) = last;
        CHECK(same(bits(silent(there(r), there(g))), bits(silent(r, g))));
        CHECK(same(bits(other(there(v), there(r), there(g))), bits(other(v, r, g))));
        CHECK(same(bits(silent(transpose(there(r)), there(g))), bits(silent(transpose(r), g))));
    }
    const There x = there(some({40, 50})), g = there(some({30, 50}));
    const wg::DeviceMemory before = wg::cuda::memory();
    const Calls calls = calls_of([&] { silent(x, g); });
    const wg::DeviceMemory after = wg::cuda::memory();
    if (fake::calls) CHECK(calls.launches == 2);
    CHECK(calls.waits == 0);
    CHECK(after.allocations + after.reuses - before.allocations - before.reuses ==
          2);  // the result, an answer
}

TEST_CASE("what the host computes for a graph on a device is counted and explained", "[gpu][libraries]")
{
    // a function of whole arrays that has no description
    const auto f = [](const Tensor<double>& x) {
        return wg::apply<Backwards, double>({}, wg::Site{}, tanh(x)) * 2.0;
    };
    auto frozen = wg::freeze(f, on_device(false));
    const Tensor<double> x = some({6});
    for (int k = 0; k < 3; ++k) CHECK(bits(frozen(x)) == bits(f(x)));
    CHECK(frozen.stats().transfers == 4);  // x, the operand, the result, the graph's
    CHECK(frozen.stats().transfer_bytes == 4 * 48);
    CHECK_THAT(frozen.explain(), contains("backwards is a host call"));
}

TEST_CASE("what is added into a block is the device's sum, or the host's, counted, if it has more elements",
          "[gpu][libraries]")
{
    const Tensor<double> x = some({3}), y = some({4, 3}, 5);
    const auto added = [](const Tensor<double>& into, const Tensor<double>& what) {
        const There to = wg::to<wg::cuda>(into), from = wg::to<wg::cuda>(what);
        const std::int64_t before = host_calls();
        wg::device_table(to.any().value->device()).add(*to.any().value, *from.any().value);
        return std::pair(bits(to), host_calls() - before);
    };
    CHECK(added(y, y) == std::pair(bits(y + y), std::int64_t{0}));
    const auto [few, helped] = added(x, y);
    CHECK(helped == 1);
    Tensor<double> here = copy(x);
    wg::add_into(*here.any().value, *y.any().value);
    CHECK(few == bits(here));
}

TEST_CASE("what the host does for a device without kernels is counted, each time", "[gpu]")
{
    if (wg::detail::gpu::Kernels::any()) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const There x = wg::to<wg::cuda>(some({4, 3}));
    const wg::Block& b = *x.any().value;
    const wg::DeviceTable& table = wg::device_table(b.device());
    const auto helps = [](const auto& f) {
        const std::int64_t before = host_calls();
        f();
        return host_calls() - before;
    };
    CHECK(helps([&] { table.all_zero(b); }) == 1);
    CHECK(helps([&] { table.all_finite(b); }) == 1);
    CHECK(helps([] { wg::uniform<double, wg::cuda>(wg::Key(1), {5}); }) == 1);
    CHECK(helps([&] { tanh(x); }) == 1);
    CHECK(helps([&] { sum(x); }) == 1);
    CHECK(helps([&] { roll(x, 1, 0); }) == 1);
    CHECK(helps([&] { copy(transpose(x)); }) == 1);
    CHECK(helps([&] { matmul(x, transpose(x)); }) == 1);
    // an operand comes back: it was looked at
    CHECK(helps([&] { wg::apply<wg::detail::ZeroWhereNoCotangent, double>({}, wg::Site{}, x, x); }) == 1);
    // code of the user's, whose arguments are on the host
    auto frozen = wg::freeze(
        [](const Tensor<double>& t) {
            return wg::host_callback<double>(
                {4, 3}, [](const Tensor<double>& u) { return u * 2.0; }, t);
        },
        on_device(false));
    const Tensor<double> here = some({4, 3});
    for (int k = 0; k < 3; ++k) CHECK(bits(frozen(here)) == bits(here * 2.0));
    CHECK(helps([&] { frozen(here); }) == 1);
    CHECK_THAT(frozen.explain(), contains("it runs node by node, on the host, where its arguments are"));
}

TEST_CASE("the toolkit's libraries are those of the driver's version, where a folder is named from there",
          "[gpu]")
{
    using wg::detail::gpu::toolkit_files;
    const auto old = toolkit_files("nvrtc", 12040, ""), now = toolkit_files("nvrtc", 13010, "/opt/cuda");
    CHECK(std::vector(old.begin(), old.begin() + 3) ==
          std::vector<std::string>{"libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc.so"});
    CHECK(std::vector(now.begin(), now.begin() + 4) ==
          std::vector<std::string>{"/opt/cuda/lib64/libnvrtc.so.13", "/opt/cuda/lib64/libnvrtc.so.12",
                                   "/opt/cuda/lib64/libnvrtc.so", "libnvrtc.so.13"});
}

TEST_CASE("pinned memory of the program's may be written again when it has been copied", "[gpu]")
{
    const auto pinned = fake::control<int(void**, std::size_t, unsigned)>("cuMemHostAlloc");
    if (!pinned) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    for (const std::size_t n : {std::size_t{100}, std::size_t{100000}}) {
        void* memory = nullptr;
        REQUIRE(pinned(&memory, 8 * n, 0) == 0);
        auto* const x = static_cast<double*>(memory);
        std::fill_n(x, n, 3.0);
        const There y = wg::to<wg::cuda>(wg::borrow(x, {static_cast<std::int64_t>(n)}));
        std::fill_n(x, n, 4.0);
        CHECK(bits(y) == std::vector<double>(n, 3.0));
    }
}

TEST_CASE("a graph with large operands of products is captured", "[gpu][libraries]")
{
    const auto x = floats({2, 784}, 1), w1 = floats({784, 512}, 2), w2 = floats({512, 10}, 3);
    auto frozen = wg::freeze(
        [](const auto& a, const auto& b, const auto& c) { return training_step(a, b, c); }, on_device(false));
    const auto [right1, right2] = training_step(x, w1, w2);
    for (int k = 0; k < 5; ++k) frozen(x, w1, w2);
    const Calls calls = calls_of([&] { frozen(x, w1, w2); });
    if (fake::calls) {
        CHECK(calls.graphs == 1);
        CHECK(calls.launches == 0);
        CHECK(calls.bytes_on_device == 0);
        CHECK(calls.bytes_to_device == 0);
    }
    const auto [u1, u2] = frozen(x, w1, w2);
    CHECK(allclose(wg::to<wg::cpu>(u1), wg::to<wg::cpu>(right1), 1e-5));
    CHECK(allclose(wg::to<wg::cpu>(u2), wg::to<wg::cpu>(right2), 1e-5));
    // a course of training: the new weights are the next arguments, in a few places in turn
    auto a = w1, b = w2, c = w1, d = w2;
    for (int k = 0; k < 12; ++k) {
        CAPTURE(k);
        const Calls step = calls_of([&] { std::tie(a, b) = frozen(x, a, b); });
        if (k > 5 && fake::calls) CHECK(step.graphs == 1);
        if (k > 5) CHECK(step.launches == 0);
        std::tie(c, d) = training_step(x, c, d);
        CHECK(allclose(wg::to<wg::cpu>(a), wg::to<wg::cpu>(c), 1e-4));
        CHECK(allclose(wg::to<wg::cpu>(b), wg::to<wg::cpu>(d), 1e-4));
    }
    // arguments from the host, and results that are all kept
    std::vector<decltype(frozen(x, w1, w2))> kept;
    for (int k = 0; k < 8; ++k) {
        kept.push_back(frozen(x, w1 * static_cast<float>(k + 1), w2));
        const auto [now1, now2] = training_step(x, w1 * static_cast<float>(k + 1), w2);
        CHECK(allclose(wg::to<wg::cpu>(kept.back().first), wg::to<wg::cpu>(now1), 1e-4));
    }
    const auto [first1, first2] = training_step(x, w1, w2);
    CHECK(allclose(wg::to<wg::cpu>(kept[0].first), wg::to<wg::cpu>(first1), 1e-4));
    CHECK(allclose(wg::to<wg::cpu>(kept[0].second), wg::to<wg::cpu>(first2), 1e-4));
    CHECK_THAT(frozen.explain(), contains("its arguments lie elsewhere each time"));
}

TEST_CASE("products that are added to something are made on the device", "[gpu][libraries]")
{
    const auto f = [](const Tensor<double>& c, const Tensor<double>& a, const Tensor<double>& b,
                      const Tensor<double>& rate) {
        return std::tuple(c + matmul(a, b) * 1.0, c - 0.5 * matmul(a, b), c - rate * matmul(a, b),
                          matmul(transpose(a), c) + matmul(b, b));
    };
    const Tensor<double> c = some({4, 4}), a = some({4, 4}, 5), b = some({4, 4}, 6), rate(0.25);
    wg::FreezeOptions o = on_device(false);
    o.allow_reassociation = true;
    auto frozen = wg::freeze(f, o);
    const auto right = f(c, a, b, rate);
    for (int k = 0; k < 6; ++k) {
        const std::int64_t helped = host_calls();
        const auto y = frozen(c, a, b, rate);
        CHECK(host_calls() == helped);
        const auto close = [&]<std::size_t... i>(std::index_sequence<i...>) {
            return (allclose(std::get<i>(y), std::get<i>(right), 1e-12) && ...);
        };
        CHECK(close(std::make_index_sequence<4>()));
    }
    // where all of the cotangent is 0, what is not finite counts as 0
    const auto step = [](const Tensor<double>& x, const Tensor<double>& w) {
        return w - 0.1 * wg::grad([&](const Tensor<double>& u) { return sum(matmul(x, u) * 0.0); })(w);
    };
    auto quiet = wg::freeze(step, on_device(false));
    const Tensor<double> wild = {{1.0, std::numeric_limits<double>::infinity()}, {2.0, 3.0}},
                         w = some({2, 2});
    for (int k = 0; k < 5; ++k) CHECK(bits(quiet(wild, w)) == bits(w));
}
