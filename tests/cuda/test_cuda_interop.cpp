// Memory and kernels of the program's own beside those of the library, on the fake driver and on a GPU.
#include "cuda/everywhere.hpp"
#include "cuda/fake_control.hpp"

namespace {

/// x³ by a kernel of the program's own; its derivative by another one, whose rule is made of operations.
constexpr const char* cubes = R"(
extern "C" __global__ void cube(const double* x, double* y, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i] * x[i];
}
extern "C" __global__ void slope(const double* g, const double* x, double* y, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 3 * x[i] * x[i] * g[i];
}
)";
const auto slope = wg::cuda::kernel<double>(
    {.source = cubes, .entry = "slope"},
    [](const auto& h, const auto&, const auto& g, const auto& x) {
        return std::tuple(3.0 * square(x) * h, 6.0 * x * g * h);
    },
    [](const auto& dg, const auto& dx, const auto&, const auto& g, const auto& x) {
        return 3.0 * square(x) * dg + 6.0 * x * g * dx;
    });
const auto cube = wg::cuda::kernel<double>(
    {.source = cubes, .entry = "cube"}, [](const auto& g, const auto&, const auto& x) { return slope(g, x); },
    [](const auto& dx, const auto&, const auto& x) { return slope(dx, x); });

There some() { return wg::to<wg::cuda>(wg::normal<double>(wg::Key(7), {5, 60})); }

}  // namespace

TEST_CASE("a kernel of the program's own is a primitive with its rules", "[gpu][libraries]")
{
    const There x = some();
    CHECK(bits(cube(x)) == bits(x * x * x));
    CHECK(cube(x).shape() == x.shape());
    CHECK(bits(cube(transpose(x))) == bits(transpose(x) * transpose(x) * transpose(x)));
    const auto f = [](const There& t) { return sum(tanh(cube(t))); };
    CHECK(wg::check_grads(f, x * 0.5, {.order = 2}).ok);
    CHECK(wg::audit(f, x * 0.5).ok);
    const auto plain = [](const There& t) { return sum(tanh(t * t * t)); };
    CHECK(allclose(wg::to<wg::cpu>(wg::grad(f)(x)), wg::to<wg::cpu>(wg::grad(plain)(x)), 1e-14));
    const auto checkpointed = [&](const There& t) { return wg::checkpoint(f)(t * 2.0); };
    CHECK(wg::check_grads(checkpointed, x * 0.3).ok);
}

TEST_CASE("a kernel of the program's own in frozen graphs", "[gpu][libraries]")
{
    const There x = some();
    const auto f = [](const There& t) { return sum(tanh(cube(t * 0.5)) + t, {1}); };
    auto frozen = wg::freeze(f);
    for (int k = 0; k < 4; ++k) CHECK(bits(frozen(x)) == bits(f(x)));
    auto gradient = wg::freeze(wg::grad([&](const There& t) { return sum(f(t)); }));
    const std::vector<double> expected = bits(wg::grad([&](const There& t) { return sum(f(t)); })(x));
    for (int k = 0; k < 4; ++k) CHECK(bits(gradient(x)) == expected);
    auto placed = wg::freeze([](const auto& t) { return cube(t * 0.5) + 1.0; }, {.device = wg::cuda{}});
    const Tensor<double> here = wg::to<wg::cpu>(x);
    CHECK(allclose(placed(here), wg::to<wg::cpu>(cube(x * 0.5) + 1.0), 0.0));
    CHECK(allclose(placed(here * 2.0), wg::to<wg::cpu>(cube(x) + 1.0), 1e-14));
}

TEST_CASE("shapes, launches and errors of a kernel of the program's own", "[gpu][libraries]")
{
    const auto rows = wg::cuda::kernel<float>(
        {.source =
             R"(extern "C" __global__ void rows(const double* x, const long long* from, float* y, long long n)
{
    __shared__ float s[60];
    s[threadIdx.x] = (float)x[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        float sum = (float)from[0];
        for (unsigned k = 0; k < blockDim.x; ++k) sum += s[k];
        y[blockIdx.x] = sum;
    }
})",
         .entry = "rows",
         .block = {60},
         .grid = [](const wg::Shape& y) { return wg::cuda::Kernel::Extents{static_cast<unsigned>(y[0])}; },
         .shape = [](std::span<const wg::Shape> x) { return wg::Shape{x[0][0]}; }});
    const There x = wg::ones<double, wg::cuda>({5, 60});
    CHECK(rows(x, wg::to<wg::cuda>(Tensor<std::int64_t>{3}))(4).item() == 63.0F);
    const auto bad =
        wg::cuda::kernel<double>({.source = "extern \"C\" __global__ void f() { nonsense; }", .entry = "f"});
    CHECK_THROWS_WITH(bad(x), contains("[f] CUDA: nvrtcCompileProgram failed") && contains("nonsense") &&
                                  contains("test_cuda_interop.cpp:"));
    const auto missing = wg::cuda::kernel<double>({.source = cubes, .entry = "cubes"});
    CHECK_THROWS_WITH(missing(x), contains("[cubes] CUDA: cuModuleGetFunction failed"));
    const auto none = wg::cuda::kernel<double>({.source = cubes, .entry = "cube"});
    CHECK_THROWS_WITH(wg::grad([&](const There& t) { return sum(none(t)); })(x),
                      contains("[cube] this kernel has no VJP, which reverse mode asks for"));
    CHECK_THROWS_WITH(wg::jvp([&](const There& t) { return sum(none(t)); }, x, x),
                      contains("[cube] this kernel has no JVP, which forward mode asks for"));
}

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
    if (!set || !make) return;
    void* raw = nullptr;
    REQUIRE(make(&raw, 1) == 0);
    const auto at = [](const float* p) { return reinterpret_cast<unsigned long long>(p); };
    for (int seed = 1; seed <= 8; ++seed) {
        fake::order(("random:" + std::to_string(seed)).c_str());
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
    fake::order("random:0");
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

TEST_CASE("memory of a device from the program's own functions", "[gpu]")
{
    using Take = int(unsigned long long*, std::size_t);
    using Give = int(unsigned long long);
    static Take* const take = fake::control<Take>("cuMemAlloc_v2");
    static Give* const give = fake::control<Give>("cuMemFree_v2");
    if (!take || wg::cuda::memory().live > 0) return;
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
        CHECK_THROWS_AS((wg::ones<double, wg::cuda>({300000})), wg::MemoryError);
        CHECK_THROWS_WITH(wg::cuda::set_allocator({}), contains("bytes of tensors are live on cuda:0") &&
                                                           contains("test_cuda_interop.cpp:"));
    }
    wg::cuda::trim();
    CHECK(given == taken);
    wg::cuda::set_allocator({});
    CHECK(bits(wg::ones<double, wg::cuda>({1000}) + 1.0)[999] == 2.0);
}
