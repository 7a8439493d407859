// Where the code of kernels comes from: the cache, what was compiled ahead (of which only test_cuda_ahead has any), NVRTC.
#include <wengert/cuda.hpp>
#include <wengert/graph/freeze/freeze.hpp>

#include "catch.hpp"
#include "cuda/fake_control.hpp"

namespace wg = wengert;
using wg::Tensor;
using wg::detail::gpu::Ahead;
using wg::detail::gpu::AheadImage;
using wg::detail::gpu::Kernels;

namespace {

constexpr int no_binary = 209;

/// f, and where the code of the kernels came from that it needed for the first time.
template <class F> wg::KernelSources sources_of(const F& f)
{
    const wg::KernelSources before = wg::cuda::kernels();
    f();
    const wg::KernelSources after = wg::cuda::kernels();
    return {after.cached - before.cached, after.ahead - before.ahead, after.compiled - before.compiled};
}

}  // namespace

TEST_CASE("code compiled ahead is tried as a device can run it: the nearest first, then PTX", "[gpu]")
{
    std::string file;
    for (const auto& [ptx, architecture] : {std::pair(true, 80), {false, 80}, {false, 90}, {false, 86}})
        AheadImage{ptx, architecture, (ptx ? "ptx " : "code ") + std::to_string(architecture)}.write("key",
                                                                                                     file);
    AheadImage{false, 90, "other\n0"}.write("other", file);
    Ahead ahead;
    CHECK(ahead.empty());
    ahead.add(file);
    const auto tried = [&](const char* hash, int device) {
        std::string all;
        for (const AheadImage& image : ahead.of(hash, device)) {
            CHECK(image.code.data()[image.code.size()] == '\0');
            (all += image.code) += ';';
        }
        return all;
    };
    CHECK(tried("key", 80) == "code 80;ptx 80;");
    CHECK(tried("key", 89) == "code 86;code 80;ptx 80;");
    CHECK(tried("key", 90) == "code 90;ptx 80;");
    CHECK(tried("key", 100) == "ptx 80;");
    CHECK(tried("key", 75).empty());
    CHECK(tried("other", 90) == "other\n0;");
    CHECK(tried("none", 90).empty());
}

TEST_CASE("a driver alone runs kernels that were compiled ahead, and graphs node by node", "[gpu]")
{
    if (Ahead::get().empty() || Kernels::available()) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const Tensor<double> x = wg::normal<double>(wg::Key(1), {40, 3});
    const auto f = [](const auto& t) { return sum(atan(t) * wg::roll(t, 1, 0)); };
    const auto used = sources_of([&] {
        const auto before = wg::cuda::counts().host_calls.load();
        const auto there = wg::to<wg::cuda>(x);
        CHECK(allclose(wg::to<wg::cpu>(wg::grad(f)(there)), wg::grad(f)(x), 0.0));
        CHECK(wg::cuda::counts().host_calls == before);
    });
    CHECK(used.ahead >= 2);  // of atan and its derivative, if nothing else
    CHECK(used.compiled + used.cached == 0);
    auto frozen = wg::freeze([&](const Tensor<double, wg::cuda>& t) { return wg::grad(f)(t); });
    for (int i = 0; i < 3; ++i)
        CHECK(allclose(wg::to<wg::cpu>(frozen(wg::to<wg::cuda>(x))), wg::grad(f)(x), 0.0));
    CHECK_THAT(frozen.explain(), contains("CUDA: ") && contains("it runs node by node"));
    CHECK(frozen.stats().uncompiled > 0);
    const auto own = wg::cuda::kernel<double>(
        {.source = "extern \"C\" __global__ void f(const double*, double*, long long) {}", .entry = "f"});
    CHECK_THROWS_WITH(own(wg::to<wg::cuda>(x)), contains("[f] CUDA: ") && contains("nvrtc"));
}

TEST_CASE("what the driver refuses of code compiled ahead is looked for elsewhere, or reported", "[gpu]")
{
    if (!fake::fail || Ahead::get().empty() || Kernels::available()) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const Tensor<double, wg::cuda> x = wg::to<wg::cuda>(wg::ones<double>({5}));
    const double wanted = asin(wg::ones<double>({5}))(2).item();
    const auto refused = [&](int times) {
        const fake::Failing failing("cuModuleLoadDataEx", 1, times, no_binary);
        return wg::to<wg::cpu>(asin(x))(2).item();
    };
    CHECK_THROWS_WITH(refused(2),
                      contains("[asin] CUDA: cuModuleLoadDataEx failed: CUDA_ERROR_NO_BINARY_FOR_GPU") &&
                          contains("test_cuda_ahead.cpp:"));
    const auto used = sources_of([&] { CHECK(refused(1) == wanted); });  // its PTX
    CHECK(used.ahead == 1);
}

TEST_CASE("a file of the cache that the driver refuses is compiled again", "[gpu]")
{
    if (!fake::fail || !Kernels::available()) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    wg::detail::gpu::Gpu& gpu = wg::detail::gpu::Gpu::get(0);
    const auto load = [&](const char* key) {
        CHECK(Kernels::of(gpu).find(gpu, key, "nothing", [] {
            return std::string("extern \"C\" __global__ void nothing(int) {}\n");
        }));
    };
    load("nothing, first");  // on disk from now on
    CHECK(sources_of([&] { load("nothing, kept"); }).cached == 1);
    const fake::Failing failing("cuModuleLoadDataEx", 1, 1, no_binary);
    CHECK(sources_of([&] { load("nothing, refused"); }).compiled == 1);
}
