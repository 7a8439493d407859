// Memory of a device: its pool and limits, from one device to another, saved values at the host, arrays beyond 2³¹ elements.
#include <thread>

#include "cuda/everywhere.hpp"

TEST_CASE("memory of a device is counted, kept, limited and given back", "[gpu]")
{
    wg::cuda::trim();
    const auto before = wg::cuda::memory();
    {
        const auto x = wg::ones<float, wg::cuda>({1000, 1000});
        CHECK(wg::cuda::memory().live - before.live >= 4000000);
    }
    const auto after = wg::cuda::memory();
    CHECK(after.live == before.live);
    CHECK(after.pooled >= 4000000);
    {
        const auto x = wg::ones<float, wg::cuda>({1000, 1000});
    }
    CHECK(wg::cuda::memory().reuses > after.reuses);
    CHECK(wg::cuda::memory().allocations == after.allocations);
    wg::cuda::trim();
    CHECK(wg::cuda::memory().pooled == 0);
    wg::cuda::set_limit(wg::cuda::memory().live + 1000000);
    CHECK_THROWS_WITH((wg::ones<float, wg::cuda>({1000, 1000})),
                      contains("bytes on cuda:0") && contains("the limit is"));
    CHECK_NOTHROW(wg::ones<float, wg::cuda>({1000}));
    wg::cuda::set_limit(0);
    CHECK_NOTHROW(wg::ones<float, wg::cuda>({1000, 1000}));
}

TEST_CASE("a tensor goes from one device to another without the host, and its cotangent back", "[gpu]")
{
    if (wg::cuda::device_count() < 2) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const auto others = [] { return wg::cuda::counts(0).to_host + wg::cuda::counts(1).from_host; };
    for (const std::int64_t n : {0, 3, 50000}) {
        const Tensor<float> x = wg::arange<float>(static_cast<float>(n));
        Tensor<float, wg::cuda> a = wg::to<wg::cuda>(x, wg::cuda{0});
        a.requires_grad(true);
        const auto before = others();
        const Tensor<float, wg::cuda> b = wg::to<wg::cuda>(a, wg::cuda{1});
        CHECK(b.any().value->device() == wg::detail::gpu::number_of(wg::cuda{1}));
        const Tensor<float, wg::cuda> reversed = wg::to<wg::cuda>(flip(a, {0}), wg::cuda{1});
        wg::backward(sum(b * reversed));
        CHECK(others() == before);
        CHECK(allclose(wg::to<wg::cpu>(b), x, 0.0));
        CHECK(allclose(wg::to<wg::cpu>(reversed), flip(x, {0}), 0.0));
        CHECK(a.grad().any().value->device() == a.any().value->device());
        CHECK(allclose(wg::to<wg::cpu>(a.grad()), flip(x, {0}) * 2.0F, 0.0));
    }
    // memory there is used again only when it has been read
    std::vector<Tensor<float, wg::cuda>> copies;
    for (int k = 0; k < 20; ++k)
        copies.push_back(
            wg::to<wg::cuda>(wg::full<float, wg::cuda>({3000}, static_cast<float>(k)), wg::cuda{1}));
    for (int k = 0; k < 20; ++k)
        CHECK(wg::to<wg::cpu>(copies[static_cast<std::size_t>(k)])(2999).item() == static_cast<float>(k));
}

TEST_CASE("where a device's memory ends the lines that hold most of it are named", "[gpu]")
{
    Tensor<double, wg::cuda> x = wg::ones<double, wg::cuda>({100, 1000});
    x.requires_grad(true);
    const Tensor<double, wg::cuda> y = exp(x), z = sin(y);
    const Tensor<double, wg::cuda> sizes = wg::ones<double, wg::cuda>({3});
    wg::cuda::trim();
    wg::cuda::set_limit(wg::cuda::memory().live + 1000000);
    CHECK_THROWS_WITH((wg::ones<double, wg::cuda>({1000, 1000})),
                      contains("bytes on cuda:0") && contains("exp") && contains("test_cuda_memory.cpp:"));
    wg::cuda::set_limit(0);
    CHECK_NOTHROW(wg::backward(sum(z)));
}

TEST_CASE("saved values wait in the host's memory", "[gpu]")
{
    const auto f = [](const Tensor<double, wg::cuda>& t) { return sum(exp(sin(t)) * t); };
    const Tensor<double, wg::cuda> x = wg::to<wg::cuda>(some({40, 50}));
    const Tensor<double> exact = wg::to<wg::cpu>(wg::grad(f)(x));
    const wg::SavedTensorHooks hooks(wg::save_on_host());
    const auto live = [&] {
        Tensor<double, wg::cuda> t = copy(x);
        t.requires_grad(true);
        const auto y = f(t);
        const std::int64_t bytes = wg::cuda::memory().live;
        wg::backward(y);
        CHECK(allclose(wg::to<wg::cpu>(t.grad()), exact, 0.0));
        return bytes;
    };
    const std::int64_t packed = live();
    const wg::SavedTensorHooks none(nullptr);
    CHECK(live() - packed >= 16000);
}

TEST_CASE("hooks are given saved values where they lie, and give them back there", "[gpu]")
{
    const auto f = [](const auto& t) { return sum(exp(sin(t)) * t); };
    const Tensor<double> here = some({20, 30});
    const There there = wg::to<wg::cuda>(here);
    const auto slope = [&](const auto& x) { return wg::grad(f)(x); };
    const auto exact = bits(slope(here));
    int packed = 0, unpacked = 0;
    const auto device_of = [](const Tensor<double>& t) { return t.any().value->device(); };
    {
        const wg::SavedTensorHooks hooks(
            [&](const Tensor<double>& t) {
                ++packed;
                CHECK(device_of(t) == there.any().value->device());
                return t * 2.0;
            },
            [&](const Tensor<double>& t) {
                ++unpacked;
                return t * 0.5;
            });
        CHECK(bits(slope(there)) == exact);
        CHECK(packed > 0);
        CHECK(unpacked == packed);
    }
    {
        const wg::SavedTensorHooks hooks(wg::save_on_disk("/tmp"));
        CHECK(bits(slope(there)) == exact);
    }
    for (const auto& make : {&wg::save_as_float32, &wg::save_as_bfloat16}) {
        const wg::SavedTensorHooks hooks(make());
        const auto rounded = slope(there);
        CHECK(is_there(rounded));
        CHECK(bits(rounded) == bits(slope(here)));
        CHECK(bits(rounded) != exact);
    }
}

TEST_CASE("positions beyond 2³¹", "[gpu][libraries]")
{
    const std::int64_t n = std::int64_t{1} << 33;
    const auto long_row = wg::broadcast_to(wg::to<wg::cuda>(Tensor<float>{{1.0F}, {2.0F}}), {2, n});
    const auto far = wg::to<wg::cpu>(take(long_row, wg::to<wg::cuda>(wg::Indices{n - 1, 5}), 1));
    CHECK(far.shape() == wg::Shape{2, 2});
    CHECK(far(1, 0).item() == 2.0F);
    const auto part = copy(view(long_row, wg::all(), wg::range(n - 3, n)));
    CHECK(wg::to<wg::cpu>(sum(part, {1}))(1).item() == 6.0F);
    CHECK_THROWS_AS(wg::to<wg::cpu>(take(long_row, wg::to<wg::cuda>(wg::Indices{n}), 1)), wg::IndexError);
}

TEST_CASE("large transfers go in parts, each by several threads", "[gpu]")
{
    for (const std::int64_t n : {65536, 65537, 400000, 1048576, 3000001}) {
        const Tensor<double> x = wg::arange<double>(static_cast<double>(n)) * 0.5;
        const auto there = wg::to<wg::cuda>(x);
        CHECK(bits(there) == std::vector<double>(x.data(), x.data() + n));
    }
}

TEST_CASE("threads copy both ways between two devices at once", "[gpu]")
{
    if (wg::cuda::device_count() < 2) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const auto work = [](int from, bool& good) {
        const Tensor<double> x = some({500}, static_cast<std::uint64_t>(from) + 1);
        const std::vector<double> expected(x.data(), x.data() + 500);
        for (int k = 0; k < 10; ++k) {
            const auto a = wg::to<wg::cuda>(x, wg::cuda{from});
            const auto b = wg::to<wg::cuda>(a, wg::cuda{1 - from});
            good = good && bits(b) == expected && bits(wg::to<wg::cuda>(b, wg::cuda{from})) == expected;
        }
    };
    std::array<bool, 4> good = {true, true, true, true};
    std::vector<std::thread> threads;
    for (int k = 0; k < 4; ++k)
        threads.emplace_back(work, k % 2, std::ref(good[static_cast<std::size_t>(k)]));
    for (std::thread& t : threads) t.join();
    CHECK(good == std::array<bool, 4>{true, true, true, true});
}
