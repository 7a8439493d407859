// What happens where the driver refuses: each function of it in turn, for once or for good. On the fake driver only.
#include <wengert/cuda.hpp>

#include <csignal>
#include <cstring>

#include <sys/wait.h>
#include <unistd.h>

#include "catch.hpp"
#include "cuda/fake_control.hpp"

namespace wg = wengert;
using wg::Tensor;

namespace {

constexpr int unknown = 999, out_of_memory = 2;

/// There and back, with some work; small and large transfers.
float total(std::int64_t n)
{
    const Tensor<float, wg::cuda> x = wg::to<wg::cuda>(wg::arange<float>(static_cast<float>(n)));
    const Tensor<float, wg::cuda> y = x * 2.0F + 1.0F;
    return wg::to<wg::cpu>(sum(y)).item() + wg::to<wg::cpu>(copy(y))(n - 1).item();
}

}  // namespace

TEST_CASE("an error of the driver names the primitive, the function and the line", "[gpu]")
{
    if (!fake::fail) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const Tensor<float> x = wg::ones<float>({3});
    const auto attempt = [&] {
        const fake::Failing failing("cuMemcpyHtoDAsync_v2", 1, 1, unknown);
        return wg::to<wg::cuda>(x);
    };
    CHECK_THROWS_WITH(attempt(),
                      contains("[to] CUDA: cuMemcpyHtoDAsync failed: CUDA_ERROR_UNKNOWN (") &&
                          contains(wg::detail::gpu::Driver::get().text(unknown) + " (test_cuda_faults.cpp:"));
    const Tensor<float, wg::cuda> y = wg::to<wg::cuda>(x);
    const auto work = [&] {
        const fake::Failing failing("cuMemAllocAsync", 1, 1, unknown);
        wg::cuda::trim();
        return y + y;
    };
    CHECK_THROWS_WITH(work(),
                      contains("[add] CUDA: cuMemAllocAsync failed") && contains("test_cuda_faults.cpp:"));
    CHECK(wg::to<wg::cpu>(y + y)(1).item() == 2.0F);
}

TEST_CASE("each function of the driver may fail once, and the next attempt succeeds", "[gpu]")
{
    if (!fake::fail) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    for (const std::int64_t n : {5, 100000}) {
        const float expected = total(n);
        for (const char* function :
             {"cuMemAllocAsync", "cuMemFreeAsync", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2",
              "cuMemcpyDtoDAsync_v2", "cuMemsetD8Async", "cuMemsetD32Async", "cuStreamSynchronize",
              "cuEventRecord", "cuEventSynchronize", "cuCtxSetCurrent", "cuLaunchKernel"})
            for (int after = 1; after <= 4; ++after) {
                CAPTURE(function, after, n);
                wg::cuda::trim();
                const long before = fake::calls(function);
                try {
                    const fake::Failing failing(function, after, 1, unknown);
                    const float found = total(n);
                    CHECK(found == expected);
                } catch (const wg::DeviceError& e) {
                    CHECK_THAT(std::string(e.what()), contains("CUDA: cu") && contains("CUDA_ERROR_UNKNOWN"));
                    CHECK(fake::calls(function) >= before + after);
                }
                CHECK(total(n) == expected);
            }
    }
}

TEST_CASE("every call may fail, whatever it is of", "[gpu]")
{
    if (!fake::fail) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const auto work = [] {
        const wg::OnDevice there(wg::detail::gpu::number_of(wg::cuda{}));
        const auto x = wg::normal<double>(wg::Key(3), {600, 2});
        const auto places = wg::randint<std::int64_t>(wg::Key(4), {600}, 0, 5);
        Tensor<double> w = wg::full<double>({2, 2}, 0.5);
        w.requires_grad(true);
        wg::backward(sum(wg::segment_sum(tanh(matmul(x, w)), places, 5)) + mean(square(w)));
        return wg::to<wg::cpu>(w.grad())(0, 1).item() +
               wg::to<wg::cpu>(wg::permutation(wg::Key(5), 1500))(7).item();
    };
    const double expected = work();
    const long before = fake::calls("*");
    CHECK(work() == expected);
    const auto calls = static_cast<int>(fake::calls("*") - before);
    CHECK(calls > 50);
    for (int after = 1; after <= calls; ++after) {
        CAPTURE(after, calls);
        try {
            const fake::Failing failing("*", after, 1, unknown);
            const double found = work();
            CHECK(found == expected);
        } catch (const wg::DeviceError& e) {
            CHECK_THAT(std::string(e.what()), contains("CUDA: cu") && contains(" failed: "));
        }
        CHECK(work() == expected);
    }
}

TEST_CASE("memory that is refused is asked for again when what lies free has been given back", "[gpu]")
{
    if (!fake::fail) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    {
        const auto kept = wg::ones<float, wg::cuda>({5000});
    }
    const auto before = wg::cuda::memory();
    CHECK(before.pooled > 0);
    {
        const fake::Failing failing("cuMemAllocAsync", 1, 1, out_of_memory);
        CHECK_NOTHROW(wg::ones<float, wg::cuda>({7000}));
    }
    const auto refused = [] {
        const fake::Failing failing("cuMemAllocAsync", 1, 2, out_of_memory);
        return wg::ones<float, wg::cuda>({90000});
    };
    CHECK_THROWS_AS(refused(), wg::MemoryError);
    CHECK_THROWS_WITH(refused(), contains("cannot allocate") && contains("bytes on cuda:0; "));
    CHECK_NOTHROW(wg::ones<float, wg::cuda>({90000}));
}

TEST_CASE("a device that has failed for good leaves the host as it is", "[gpu]")
{
    if (!fake::heal) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    auto x = wg::ones<float, wg::cuda>({100});
    const float one = wg::to<wg::cpu>(x)(0).item();
    fake::break_down();
    CHECK_THROWS_WITH(wg::to<wg::cpu>(x),
                      contains("CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)"));
    CHECK_THROWS_AS(x + x, wg::DeviceError);
    CHECK_THROWS_AS(wg::cuda::synchronize(), wg::DeviceError);
    x = Tensor<float, wg::cuda>();  // gives memory back to a device that takes nothing
    const Tensor<float> here = wg::ones<float>({100}) * 2.0F;
    CHECK(here(7).item() == 2.0F * one);
    fake::heal();
    CHECK(wg::to<wg::cpu>(wg::ones<float, wg::cuda>({100}))(0).item() == 1.0F);
}

TEST_CASE("nobody on the host reads a device's memory", "[gpu]")
{
    if (!fake::heal) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const auto x = wg::ones<float, wg::cuda>({100});
    const float* const p = x.any().value->as<float>();
    const pid_t child = ::fork();
    if (child == 0) {
        ::signal(SIGSEGV, SIG_DFL);
        ::_exit(*static_cast<const volatile float*>(p) == 1.0F ? 1 : 2);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV));
}

TEST_CASE("memory that was not written is full of NaNs", "[gpu]")
{
    if (!fake::heal) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    wg::cuda::trim();
    const auto b = wg::make_elsewhere(wg::current_thread(), wg::detail::gpu::number_of(wg::cuda{}),
                                      wg::DType::float64, {1000}, 1000);
    const double* const x = wg::host_elements<double>(*b);
    CHECK(std::all_of(x, x + 1000, [](double v) { return std::isnan(v); }));
}

TEST_CASE("under the sanitizers a kernel that reads beyond its memory ends the program", "[gpu]")
{
    const char* const flags = std::getenv("WENGERT_FAKE_CUDA_FLAGS");
    if (!fake::heal || !flags || !std::strstr(flags, "address")) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    namespace gpu = wg::detail::gpu;
    gpu::Gpu& device = gpu::Gpu::get(0);
    gpu::Function* const read = gpu::Kernels::of(device).find(device, "read", "read", [] {
        return std::string(
            "extern \"C\" __global__ void read(float* to, const float* from, int i) { *to = from[i]; }\n");
    });
    const auto x = wg::ones<float, wg::cuda>({64}), y = wg::ones<float, wg::cuda>({1});
    wg::cuda::synchronize();
    const auto ends_well = [&](int i) {
        const pid_t child = ::fork();
        if (child == 0) {
            gpu::launch(device, read, 1, y.any().value->as<float>(), x.any().value->as<float>(), i);
            device.synchronize();
            ::_exit(0);
        }
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        return status == 0;
    };
    CHECK(ends_well(63));
    CHECK_FALSE(ends_well(static_cast<int>(x.any().value->capacity / sizeof(float))));
}
