// Memory of the program's own beside that of the library, on the fake driver and on a GPU.
#include "cuda/everywhere.hpp"
#include "cuda/fake_control.hpp"

namespace {

There some() { return wg::to<wg::cuda>(wg::normal<double>(wg::Key(7), {5, 60})); }

}  // namespace

TEST_CASE("the program's memory is read where it lies, and kept until nobody reads it", "[gpu]")
{
    const There owner = some();
    const wg::cuda::Stream s;
    const auto lent = wg::cuda::lend(owner, s);
    s.synchronize();
    auto kept = std::make_shared<int>(3);
    const std::weak_ptr<int> watched = kept;
    {
        const There x = wg::cuda::borrow(lent.data(), owner.shape(), {.owner = std::move(kept)});
        CHECK(bits(x) == bits(owner));
        CHECK(bits(x * 2.0) == bits(owner * 2.0));
        There y = x;
        y *= 3.0;  // gets elements of its own
        CHECK(bits(x) == bits(owner));
        const There flipped = wg::cuda::borrow(lent.data(), {60, 5}, {.strides = {1, 60}});
        CHECK(bits(flipped) == bits(transpose(owner)));
        CHECK(bits(sum(flipped, {0}) + 1.0) == bits(sum(transpose(owner), {0}) + 1.0));
        CHECK(!watched.expired());
        There w = x;
        w.requires_grad(true);
        wg::backward(sum(square(w)));
        CHECK(bits(w.grad()) == bits(2.0 * owner));
    }
    CHECK(watched.expired());
    CHECK_THROWS_AS(wg::cuda::borrow(static_cast<const double*>(nullptr), {3}), wg::Error);
    const There backwards = wg::cuda::borrow(lent.data() + 299, {300}, {.strides = {-1}});
    CHECK(bits(backwards) == bits(flip(reshape(owner, {300}), 0)));
    const auto reversed = [](const auto& t) { return copy(view(reshape(t, {300}), wg::range(280, 3, -2))); };
    CHECK(bits(reversed(owner)) == bits(wg::to<wg::cuda>(reversed(wg::to<wg::cpu>(owner)))));
    CHECK_THROWS_AS(wg::cuda::borrow(lent.data(), {3}, {.strides = {1, 1}}), wg::ShapeError);
}

TEST_CASE("memory goes from stream to stream, the program's and ours", "[gpu]")
{
    using Set = int(unsigned long long, unsigned, std::size_t, void*);
    using Make = int(void**, unsigned);
    Set* const set = fake::control<Set>("cuMemsetD32Async");
    Make* const make = fake::control<Make>("cuStreamCreate");
    if (!set || !make) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    void* raw = nullptr;
    wg::cuda::synchronize();  // the device is this thread's
    REQUIRE(make(&raw, 1) == 0);
    const auto at = [](const float* p) { return reinterpret_cast<unsigned long long>(p); };
    for (int seed = 1; seed <= 8; ++seed) {
        fake::shuffle(seed);
        const wg::cuda::Stream theirs(raw);
        auto memory = wg::zeros<float, wg::cuda>({1000});
        const auto place = wg::cuda::lend(memory, theirs);
        Tensor<float, wg::cuda> y;
        {  // the program writes 1.0 in its stream, we read it, then it writes again
            REQUIRE(set(at(place.data()), 0x3f800000U, 1000, raw) == 0);
            const auto x = wg::cuda::borrow(place.data(), {1000}, {.stream = &theirs});
            y = x * 2.0F + 1.0F;
        }
        REQUIRE(set(at(place.data()), 0x40000000U, 1000, raw) == 0);
        CHECK(wg::to<wg::cpu>(sum(y)).item() == 3000.0F);
        {  // it reads our result while that is gone, and its memory is not handed out before
            auto z = wg::full<float, wg::cuda>({1000}, 5.0F) * 2.0F;
            auto copies = wg::zeros<float, wg::cuda>({1000});
            using Copy = int(unsigned long long, unsigned long long, std::size_t, void*);
            static Copy* const copy = fake::control<Copy>("cuMemcpyDtoDAsync_v2");
            const auto to = wg::cuda::lend(copies, theirs);
            {
                const auto from = wg::cuda::lend(std::exchange(z, {}), theirs);
                REQUIRE(copy(at(to.data()), at(from.data()), 4000, raw) == 0);
            }
            const auto w = wg::full<float, wg::cuda>({1000}, -1.0F);
            const auto seen = wg::cuda::borrow(to.data(), {1000}, {.stream = &theirs});
            CHECK(wg::to<wg::cpu>(sum(seen)).item() == 10000.0F);
            const wg::cuda::Event done = theirs.record();
            const auto after = wg::cuda::borrow(to.data(), {1000}, {.event = done.raw()});
            CHECK(wg::to<wg::cpu>(amax(after + w)).item() == 9.0F);
        }
        wg::cuda::synchronize();
    }
    fake::shuffle(0);
}

TEMPLATE_TEST_CASE("arrays of DLPack go both ways, on the host and on a device", "[gpu]", wg::dlpack::Managed,
                   wg::dlpack::Versioned)
{
    namespace dl = wg::dlpack;
    const Tensor<double> x = wg::normal<double>(wg::Key(9), {4, 6});
    {
        TestType* const m = wg::to_dlpack<TestType>(transpose(x));
        CHECK((m->array.rank == 2 && m->array.device.type == dl::host && m->array.type.code == 2));
        CHECK((m->array.type.bits == 64 && m->array.shape[0] == 6 && m->array.strides[0] == 1));
        CHECK_THROWS_WITH(wg::from_dlpack<float>(m),
                          contains("64 bits and 1 lanes, and float32 is asked for"));
        CHECK_THROWS_AS((wg::from_dlpack<double, wg::cuda>(m)), wg::DeviceError);
        Tensor<double> y = wg::from_dlpack<double>(m);
        CHECK(allclose(y, transpose(x), 0.0));
        CHECK(wg::check_grads([](const Tensor<double>& t) { return sum(square(t)); }, y).ok);
        y += 1.0;
        CHECK(allclose(y - 1.0, transpose(x), 1e-15));
    }
    static int ended;
    ended = 0;
    std::vector<std::int32_t> data = {1, 2, 3, 4, 5, 6};
    std::int64_t shape[] = {2, 2}, strides[] = {-3, 2};
    TestType theirs{};
    theirs.array = {data.data(), {dl::host, 0}, 2, {0, 32, 1}, shape, strides, 3 * sizeof(std::int32_t)};
    theirs.end = [](TestType*) { ++ended; };
    {
        const Tensor<std::int32_t> y = wg::from_dlpack<std::int32_t>(&theirs);
        CHECK((y(0, 0).item() == 4 && y(0, 1).item() == 6 && y(1, 0).item() == 1 && y(1, 1).item() == 3));
        CHECK(ended == 0);
    }
    CHECK(ended == 1);
    Tensor<double> w = x;
    w.requires_grad(true);
    CHECK_THROWS_WITH(wg::to_dlpack(w * 2.0), contains("pass x.detach()"));

    const There there = wg::to<wg::cuda>(x);
    const wg::cuda::Stream s;
    for (const wg::cuda::Stream* in : {&s, static_cast<const wg::cuda::Stream*>(nullptr)}) {
        TestType* const m =
            in ? wg::to_dlpack<TestType>(there * 2.0, *in) : wg::to_dlpack<TestType>(there * 2.0);
        CHECK((m->array.device.type == dl::cuda_device && m->array.device.number == 0));
        CHECK_THROWS_AS(wg::from_dlpack<double>(m), wg::DeviceError);
        const There y = wg::from_dlpack<double, wg::cuda>(m, in);
        CHECK(bits(y + 1.0) == bits(there * 2.0 + 1.0));
    }
    wg::cuda::synchronize();
}

TEST_CASE("memory is lent, borrowed and handed out between two devices, each in its own streams", "[gpu]")
{
    if (wg::cuda::device_count() < 2) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const wg::cuda::Stream of_0(0), of_1(1);
    const There x = some(), y = wg::to<wg::cuda>(x, wg::cuda{1}) * 2.0;
    const auto refused = [](const auto& call, const std::string& name) {
        CHECK_THROWS_WITH(call(), contains("[" + name + "] CUDA: the elements are on cuda:") &&
                                      contains("and the stream is one of cuda:") &&
                                      contains("test_cuda_interop.cpp:"));
    };
    refused([&] { wg::cuda::lend(y, of_0); }, "lend");
    refused([&] { wg::cuda::lend(x, of_1); }, "lend");
    refused([&] { wg::to_dlpack(y, of_0); }, "to_dlpack");
    const auto on = [](const There& t) { return static_cast<int>(t.any().value->device()); };
    for (const wg::cuda::Stream* s : {&of_1, static_cast<const wg::cuda::Stream*>(nullptr)}) {
        const auto lent = wg::cuda::lend(y, of_1);
        CHECK(lent.ready().raw());
        refused([&] { wg::cuda::borrow(lent.data(), y.shape(), {.stream = &of_0, .device = 1}); }, "borrow");
        const There z = wg::cuda::borrow(lent.data(), y.shape(), {.stream = s, .device = 1});
        CHECK(on(z) == on(y));
        CHECK(bits(z + y) == bits(x * 4.0));
        CHECK(wg::cuda::current() == 0);  // as it was
        CHECK(bits(wg::to<wg::cuda>(z, wg::cuda{0}) - x) == bits(x));

        auto* const m = s ? wg::to_dlpack(y, *s) : wg::to_dlpack(y);
        CHECK((m->array.device.type == wg::dlpack::cuda_device && m->array.device.number == 1));
        refused([&] { wg::from_dlpack<double, wg::cuda>(m, &of_0); }, "from_dlpack");
        const There w = wg::from_dlpack<double, wg::cuda>(m, s);  // it was the caller's still
        CHECK(on(w) == on(y));
        CHECK(bits(w * 0.5) == bits(x));
        const auto there = wg::cuda::on(of_1);
        CHECK(bits(sum(w, {0}) + sum(z, {0})) == bits(sum(x, {0}) * 4.0));
    }
    const wg::cuda::Event made = of_1.record();
    of_0.wait(made);  // one device for another
    of_0.wait(of_1);
    of_0.synchronize(), of_1.synchronize();
    wg::cuda::synchronize(0), wg::cuda::synchronize(1);
}

TEST_CASE("between two devices in any order of their streams", "[gpu]")
{
    if (wg::cuda::device_count() < 2 || !fake::control<int()>("cuMemsetD32Async")) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    using Set = int(unsigned long long, unsigned, std::size_t, void*);
    using Make = int(void**, unsigned);
    static Set* const set = fake::control<Set>("cuMemsetD32Async");
    static Make* const make = fake::control<Make>("cuStreamCreate");
    wg::cuda::synchronize(1);  // of this one is what the program makes now
    void* raw = nullptr;
    REQUIRE(make(&raw, 1) == 0);
    const wg::cuda::Stream theirs(raw, 1);
    for (int seed = 1; seed <= 8; ++seed) {
        fake::shuffle(seed);
        std::vector<Tensor<float, wg::cuda>> seen;
        for (unsigned k = 0; k < 4; ++k) {
            wg::cuda::synchronize(1);
            const auto memory = wg::to<wg::cuda>(wg::zeros<float>({1000}), wg::cuda{1});
            const auto place = wg::cuda::lend(memory, theirs);
            // the program's stream there writes it, ours here have it
            REQUIRE(set(reinterpret_cast<unsigned long long>(place.data()), 0x3f800000U + (k << 23), 1000,
                        raw) == 0);
            const auto x = wg::cuda::borrow(place.data(), {1000}, {.stream = &theirs});
            const wg::cuda::Stream here(0);
            const auto there = wg::cuda::on(here);
            seen.push_back(wg::to<wg::cuda>(x, wg::cuda{0}) * 3.0F);
        }
        for (std::size_t k = 0; k < 4; ++k)
            CHECK(wg::to<wg::cpu>(sum(seen[k])).item() == 3000.0F * static_cast<float>(1 << k));
    }
    fake::shuffle(0);
}
