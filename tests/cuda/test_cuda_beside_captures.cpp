// Streams that the program captures, and memory from its own functions, on the fake driver and on a GPU.
#include "cuda/everywhere.hpp"
#include "cuda/fake_control.hpp"

#include <thread>

namespace {

There some() { return wg::to<wg::cuda>(wg::normal<double>(wg::Key(7), {5, 60})); }

/// Functions of the driver that a program calls.
struct Raw {
    using Address = unsigned long long;
    int (*make_stream)(void**, unsigned) = fake::control<int(void**, unsigned)>("cuStreamCreate");
    int (*wait)(void*) = fake::control<int(void*)>("cuStreamSynchronize");
    int (*begin)(void*, int) = fake::control<int(void*, int)>("cuStreamBeginCapture_v2");
    int (*end)(void*, void**) = fake::control<int(void*, void**)>("cuStreamEndCapture");
    int (*instantiate)(void**, void*, unsigned long long) =
        fake::control<int(void**, void*, unsigned long long)>("cuGraphInstantiateWithFlags");
    int (*launch)(void*, void*) = fake::control<int(void*, void*)>("cuGraphLaunch");
    int (*set)(Address, unsigned, std::size_t,
               void*) = fake::control<int(Address, unsigned, std::size_t, void*)>("cuMemsetD32Async");

    /// A new stream; null where there is no driver.
    void* stream() const
    {
        void* s = nullptr;
        if (!begin) {
            SUCCEED("not on this driver, or not in this build");
            return s;
        }
        wg::cuda::synchronize();  // the device is this thread's
        REQUIRE(make_stream(&s, 1) == 0);
        return s;
    }
    /// Ends the capture of s, and does what was captured.
    void run_captured(void* s) const
    {
        void *graph = nullptr, *exec = nullptr;
        REQUIRE(end(s, &graph) == 0);
        REQUIRE(instantiate(&exec, graph, 0) == 0);
        REQUIRE(launch(exec, s) == 0);
        REQUIRE(wait(s) == 0);
    }
};
constexpr unsigned one = 0x3f800000U, two = 0x40000000U;

/// What is put in streams, and what waits.
long asked_of_the_driver()
{
    long all = 0;
    for (const char* name :
         {"cuLaunchKernel", "cuGraphLaunch", "cuMemAllocAsync", "cuMemFreeAsync", "cuMemcpyHtoDAsync_v2",
          "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2", "cuMemsetD8Async", "cuMemsetD32Async",
          "cuEventRecord", "cuStreamWaitEvent", "cuStreamSynchronize", "cuEventSynchronize"})
        all += fake::calls(name);
    return all;
}

}  // namespace

TEST_CASE("a stream that the program captures is refused with the line, before anything is put there",
          "[gpu]")
{
    const Raw raw;
    void* const s = raw.stream();
    if (!s) return;
    const wg::cuda::Stream theirs(s), side;
    There x = some(), w = x * 1.0;
    const auto f = [](const There& t) { return sum(tanh(t * 2.0) + t, {1}); };
    auto frozen = wg::freeze(f);
    const auto noise = wg::uniform<double, wg::cuda>(wg::Key(1), {5});
    const Tensor<double> here = wg::normal<double>(wg::Key(3), {4});
    auto memory = wg::zeros<float, wg::cuda>({1000});
    const auto place = wg::cuda::lend(memory, theirs);
    const auto at = reinterpret_cast<Raw::Address>(place.data());
    const auto step = [&] {
        std::vector<There> all = {tanh(x),
                                  x + w,
                                  sum(x, {0}),
                                  matmul(x, transpose(x)),
                                  transpose(x) * 2.0,
                                  wg::to<wg::cuda>(here),
                                  wg::zeros<double, wg::cuda>({3}),
                                  wg::uniform<double, wg::cuda>(wg::Key(1), {5}),
                                  cumsum(x, 1),
                                  wg::grad([&](const There& t) { return sum(f(t)); })(x),
                                  frozen(x)};
        return all;
    };
    {
        const auto there = wg::cuda::on(theirs);
        for (int k = 0; k < 5; ++k) step();
    }
    auto* const array = wg::to_dlpack(x, side);
    const std::vector<double> expected = bits(f(x));
    int number = 0;
    const auto refused = [&](const auto& call) {
        const long before = asked_of_the_driver();
        INFO(++number);
        CHECK_THROWS_WITH(call(), contains("CUDA: the stream is captured by the program") &&
                                      contains("test_cuda_beside_captures.cpp:"));
        CHECK(asked_of_the_driver() == before);
    };
    const auto silent = [&](const auto& call) {  // what has no line to say
        const long before = asked_of_the_driver();
        CHECK_THROWS_AS(call(), wg::DeviceError);
        CHECK(asked_of_the_driver() == before);
    };
    There kept;
    {
        auto there = std::make_unique<const wg::detail::gpu::OnStream>(theirs);
        kept = tanh(x) * 3.0;  // the program's work after it waits for that, whatever the stream does later
        REQUIRE(raw.begin(s, 0) == 0);
        REQUIRE(raw.set(at, one, 1000, s) == 0);
        refused([&] { tanh(x); });
        refused([&] { x + w; });
        refused([&] { sum(x); });
        refused([&] { matmul(x, transpose(x)); });
        refused([&] { copy(transpose(x)); });
        refused([&] { wg::to<wg::cuda>(here); });
        refused([&] { wg::to<wg::cpu>(x); });
        refused([&] { x(0, 0).item(); });
        refused([&] { w += x; });
        refused([&] { view(w, 0) = 1.0; });
        refused([&] { wg::zeros<double, wg::cuda>({3}); });
        refused([&] { wg::uniform<double, wg::cuda>(wg::Key(1), {5}); });
        refused([&] { cumsum(x, 1); });
        refused([&] { wg::grad(f)(x); });
        refused([&] { take(x, wg::to<wg::cuda>(wg::Indices{0}), 0); });
        refused([&] { wg::scan([](const There& a) { return std::pair(a * 2.0, std::tuple()); }, x, 2); });
        silent([&] { frozen(x); });
        silent([&] { wg::cuda::synchronize(); });
        silent([&] { theirs.record(); });
        silent([&] { theirs.wait(side); });
        silent([&] { side.wait(theirs); });
        there.reset();
    }
    refused([&] { static_cast<void>(wg::cuda::on(theirs)); });
    refused([&] { wg::cuda::lend(x, theirs); });
    refused([&] { wg::cuda::borrow(place.data(), {1000}, {.stream = &theirs}); });
    refused([&] { wg::to_dlpack(x, theirs); });
    refused([&] { wg::from_dlpack<double, wg::cuda>(array, &theirs); });
    CHECK_THROWS_WITH(kept + 1.0, contains("[add] CUDA: the stream is captured"));  // it waits for the stream
    CHECK(bits(x + x) == bits(x * 2.0));
    REQUIRE(raw.set(at, two, 500, s) == 0);
    raw.run_captured(s);  // the program's capture is as it would be without us
    const auto written = wg::cuda::borrow(place.data(), {1000}, {.stream = &theirs});
    CHECK(wg::to<wg::cpu>(sum(written)).item() == 1500.0F);
    CHECK(bits(kept) == bits(tanh(x) * 3.0));
    CHECK(bits(wg::from_dlpack<double, wg::cuda>(array, &theirs)) == bits(x));  // it was the caller's still
    const auto there = wg::cuda::on(theirs);
    CHECK(bits(frozen(x)) == expected);
}

TEST_CASE("a capture of the program's does not see what the library does beside it", "[gpu]")
{
    const Raw raw;
    void* const s = raw.stream();
    if (!s) return;
    auto memory = wg::zeros<float, wg::cuda>({1000});
    wg::cuda::synchronize();
    const wg::cuda::Stream theirs(s);
    const auto place = wg::cuda::lend(memory, theirs);
    const Tensor<double> here = wg::normal<double>(wg::Key(3), {300, 300});
    const auto work = [&] {  // takes memory, waits, copies both ways, captures, makes a handle of cuBLAS
        const There x = wg::to<wg::cuda>(here);
        auto frozen = wg::freeze([](const There& t) { return sum(tanh(matmul(t, t) * 0.01) + t); });
        for (int k = 0; k < 4; ++k) frozen(x);
        const wg::cuda::Stream side;
        const auto there = wg::cuda::on(side);
        CHECK(std::abs(frozen(x).item() - sum(tanh(matmul(here, here) * 0.01) + here).item()) < 1e-8);
        const auto row = [&](std::int64_t i) { return take(x, wg::to<wg::cuda>(wg::Indices{i}), 0); };
        CHECK(bits(row(299))[0] == here(299, 0).item());
        const auto outside = [&] {
            const There nowhere = row(300);
            wg::cuda::synchronize();  // found when the device has looked, or by the host at once
        };
        CHECK_THROWS_AS(outside(), wg::IndexError);
        wg::cuda::synchronize();
        wg::cuda::trim();
    };
    for (const int mode : {0, 1, 2})  // global, of the thread, relaxed
        for (const bool elsewhere : {false, true}) {
            CAPTURE(mode, elsewhere);
            REQUIRE(raw.begin(s, mode) == 0);
            REQUIRE(raw.set(reinterpret_cast<Raw::Address>(place.data()), one, 1000, s) == 0);
            if (elsewhere)
                std::thread(work).join();
            else
                work();
            raw.run_captured(s);
        }
    CHECK(wg::to<wg::cpu>(sum(wg::cuda::borrow(place.data(), {1000}, {.stream = &theirs}))).item() ==
          1000.0F);
}

TEST_CASE("memory that was lent or borrowed before a capture began, and ends in it", "[gpu]")
{
    const Raw raw;
    void* const s = raw.stream();
    if (!s) return;
    for (int seed = 1; seed <= 6; ++seed) {
        fake::shuffle(seed);
        const wg::cuda::Stream theirs(s);
        auto memory = wg::full<float, wg::cuda>({1000}, 5.0F);
        auto target = wg::zeros<float, wg::cuda>({1000});
        const auto place = wg::cuda::lend(memory, theirs), to = wg::cuda::lend(target, theirs);
        Tensor<float, wg::cuda> y;
        {
            const auto x = wg::cuda::borrow(place.data(), {1000}, {.stream = &theirs});
            y = x * 2.0F + 1.0F;
            REQUIRE(raw.begin(s, 0) == 0);
        }  // the stream cannot wait for us: the host has
        void* graph = nullptr;
        REQUIRE(raw.end(s, &graph) == 0);
        REQUIRE(raw.set(reinterpret_cast<Raw::Address>(place.data()), two, 1000, s) == 0);
        REQUIRE(raw.wait(s) == 0);
        CHECK(wg::to<wg::cpu>(sum(y)).item() == 11000.0F);

        // the program's stream reads elements of ours, whose tensor and whose loan end while it captures
        auto gone = wg::full<float, wg::cuda>({1000}, 7.0F);
        {
            const auto from = wg::cuda::lend(std::exchange(gone, {}), theirs);
            using Copy = int(Raw::Address, Raw::Address, std::size_t, void*);
            static Copy* const copy = fake::control<Copy>("cuMemcpyDtoDAsync_v2");
            REQUIRE(copy(reinterpret_cast<Raw::Address>(to.data()),
                         reinterpret_cast<Raw::Address>(from.data()), 4000, s) == 0);
            REQUIRE(raw.begin(s, 0) == 0);
        }
        REQUIRE(raw.end(s, &graph) == 0);
        const auto over = wg::full<float, wg::cuda>({1000}, -1.0F);
        wg::cuda::Stream().synchronize();
        wg::cuda::synchronize();
        CHECK(wg::to<wg::cpu>(amax(wg::cuda::borrow(to.data(), {1000}, {.stream = &theirs}) + over)).item() ==
              6.0F);
    }
    fake::shuffle(0);
}

TEST_CASE("memory of a device from the program's own functions", "[gpu]")
{
    using Take = int(unsigned long long*, std::size_t);
    using Give = int(unsigned long long);
    static Take* const take = fake::control<Take>("cuMemAlloc_v2");
    static Give* const give = fake::control<Give>("cuMemFree_v2");
    if (!take || wg::cuda::memory().live > 0) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    std::size_t taken = 0, given = 0;
    std::size_t left = 1 << 20;
    wg::cuda::set_allocator({.take = [&](std::size_t bytes, void* stream) -> void* {
                                 unsigned long long p = 0;
                                 CHECK(stream);
                                 if (bytes > left || take(&p, bytes) != 0) return nullptr;
                                 left -= bytes, taken += bytes;
                                 return reinterpret_cast<void*>(p);
                             },
                             .give =
                                 [&](void* p, std::size_t bytes, void*) {
                                     CHECK(give(reinterpret_cast<unsigned long long>(p)) == 0);
                                     left += bytes, given += bytes;
                                 }});
    {
        const There x = wg::ones<double, wg::cuda>({1000});
        const wg::cuda::Stream s;
        const auto there = wg::cuda::on(s);
        CHECK(bits(x + 1.0)[999] == 2.0);
        CHECK(taken > 0);
        const Raw raw;
        if (void* const captured = raw.stream())  // whose capture sees none of these calls
            for (const int mode : {0, 1, 2}) {
                const std::size_t before = taken;
                REQUIRE(raw.begin(captured, mode) == 0);
                CHECK(bits(wg::ones<double, wg::cuda>({20000}) + x(0))[19999] == 2.0);
                wg::cuda::trim();  // gives memory back
                CHECK(taken > before);
                raw.run_captured(captured);
            }
        CHECK_THROWS_AS((wg::ones<double, wg::cuda>({300000})), wg::MemoryError);
        CHECK_THROWS_WITH(wg::cuda::set_allocator({}), contains("bytes of tensors are live on cuda:0") &&
                                                           contains("test_cuda_beside_captures.cpp:"));
    }
    wg::cuda::trim();
    CHECK(given == taken);
    wg::cuda::set_allocator({});
    CHECK(bits(wg::ones<double, wg::cuda>({1000}) + 1.0)[999] == 2.0);
}
