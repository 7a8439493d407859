// wengert_device: what work on a device of CUDA costs, beside the host and, for products, beside cuBLAS called by hand. Each row has the
// launches, copies, waits and bytes that one run asks the driver for. On a GPU it has the time as well, and the share of the bandwidth
// of a copy; on the driver without a GPU (tests/cuda/fake/) arrays are small and there are no times. cuda/device_bench.py makes a table.
#include <wengert/cuda.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cuda/fake_control.hpp"

namespace {

namespace wg = wengert;
template <class D> using F = wg::Tensor<float, D>;
using There = F<wg::cuda>;

const bool on_gpu = !fake::order;

/// On a GPU the first, else the second.
std::int64_t size(std::int64_t large, std::int64_t small) { return on_gpu ? large : small; }

struct Counts {
    long launches = 0, graphs = 0, copies = 0, waits = 0, bytes = 0;
};
Counts counts_now()
{
    const auto sum = [](const auto& f, std::initializer_list<const char*> names) {
        long all = 0;
        for (const char* name : names) all += f(name);
        return all;
    };
    const std::initializer_list<const char*> copies = {"cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2",
                                                       "cuMemcpyDtoDAsync_v2"};
    return {fake::calls("cuLaunchKernel"), fake::calls("cuGraphLaunch"), sum(fake::calls, copies),
            sum(fake::calls, {"cuStreamSynchronize", "cuEventSynchronize"}), sum(fake::bytes, copies)};
}
Counts counts_of(const std::function<void()>& run)
{
    const Counts before = counts_now();
    run();
    const Counts after = counts_now();
    return {after.launches - before.launches, after.graphs - before.graphs, after.copies - before.copies,
            after.waits - before.waits, after.bytes - before.bytes};
}

/// Seconds of one run, of so many that take 20 ms in all; the median of 15.
double seconds_of(const std::function<void()>& run)
{
    using clock = std::chrono::steady_clock;
    const auto some = [&](int times) {
        wg::cuda::synchronize();
        const auto begin = clock::now();
        for (int k = 0; k < times; ++k) run();
        wg::cuda::synchronize();
        return std::chrono::duration<double>(clock::now() - begin).count();
    };
    const int times = std::clamp(static_cast<int>(0.02 / std::max(some(1), 1e-7)), 1, 20000);
    std::vector<double> all;
    for (int k = 0; k < 15; ++k) all.push_back(some(times) / times);
    std::nth_element(all.begin(), all.begin() + 7, all.end());
    return all[7];
}

double copy_bandwidth = 0;  ///< bytes a second, of reading and writing

/// One line of JSON. `bytes` are those that have to be read and written, 0 where there is more to do.
void row(const std::string& name, const std::function<void()>& run, double bytes = 0,
         const std::function<void()>& beside = {})
{
    for (int k = 0; k < 6; ++k) run();  // kernels are compiled, replays written down
    wg::cuda::synchronize();
    const Counts c = counts_of(run);
    std::printf("{\"name\": \"%s\", \"launches\": %ld, \"graphs\": %ld, \"copies\": %ld, \"waits\": %ld, "
                "\"bytes\": %ld",
                name.c_str(), c.launches, c.graphs, c.copies, c.waits, c.bytes);
    if (on_gpu) {
        const double t = seconds_of(run);
        std::printf(", \"seconds\": %.4g", t);
        if (bytes > 0 && copy_bandwidth == 0) copy_bandwidth = bytes / t;
        if (bytes > 0)
            std::printf(", \"bandwidth\": %.4g, \"share\": %.3f", bytes / t, bytes / t / copy_bandwidth);
        if (beside) std::printf(", \"beside\": %.4g", seconds_of(beside));
    }
    std::printf("}\n");
    std::fflush(stdout);
}
/// f of operands on the device, eager and frozen, beside f on the host.
template <class Fn, class... X> void both(const std::string& name, double bytes, const Fn& f, const X&... x)
{
    row(
        name + ", eager", [&] { f(x...); }, bytes,
        [&, here = std::tuple(wg::to<wg::cpu>(x)...)] { std::apply(f, here); });
    auto frozen = wg::freeze([&](const X&... y) { return f(y...); });
    row(
        name + ", frozen", [&] { frozen(x...); }, bytes);
}

There floats(const wg::Shape& shape, std::uint64_t seed = 1)
{
    return wg::normal<float, wg::cuda>(wg::Key(seed), shape) * 0.1f;
}

void moves()
{
    const std::int64_t n = size(10'000'000, 10'000);
    const double all = 4.0 * static_cast<double>(n);
    const There x = floats({n}), y = floats({n}, 2), square = floats({size(3200, 100), size(3200, 100)}),
                line = floats({size(3200, 100)});
    const double area = 4.0 * static_cast<double>(square.size());
    There into = copy(x);
    const auto at = [](const There& t) { return t.any().value->data; };
    row(
        "copy, by the driver",
        [&] { wg::detail::gpu::Gpu::get(0).copy(at(into), at(x), into.any().value->bytes()); }, 2 * all);
    both(
        "copy(x)", 2 * all, [](const auto& a) { return copy(a); }, x);
    both(
        "unary, abs(x)", 2 * all, [](const auto& a) { return abs(a); }, x);
    both(
        "function, tanh(x)", 2 * all, [](const auto& a) { return tanh(a); }, x);
    both(
        "binary, x + y", 3 * all, [](const auto& a, const auto& b) { return a + b; }, x, y);
    both(
        "transposed, x' + x", 3 * area, [](const auto& a) { return transpose(a) + a; }, square);
    both(
        "broadcast, x + line", 2 * area, [](const auto& a, const auto& b) { return a + b; }, square, line);
    both(
        "sums of rows", area, [](const auto& a) { return sum(a, {1}); }, square);
    both(
        "sums of columns", area, [](const auto& a) { return sum(a, {0}); }, square);
    both(
        "sum of all", all, [](const auto& a) { return sum(a); }, x);
    both(
        "softmax of rows", 2 * area, [](const auto& a) { return softmax(a, 1); }, square);
    both(
        "running sums, cumsum(x)", 2 * all, [](const auto& a) { return cumsum(a, 0); }, x);
    both(
        "one launch, x + y of 8", 0, [](const auto& a, const auto& b) { return a + b; }, floats({8}),
        floats({8}, 2));
}

/// Products beside cuBLAS with a handle of its own.
void products()
{
    namespace gpu = wg::detail::gpu;
    const std::int64_t n = size(4096, 32);
    const There a = floats({n, n}), b = floats({n, n}, 2);
    There c = floats({n, n}, 3);
    row("matmul(a, b), eager", [&] { c = matmul(a, b); });
    const gpu::Products& blas = gpu::Products::get();
    if (!blas) return;
    gpu::Blas* handle = nullptr;
    if (blas.make(&handle) != gpu::success) return;
    gpu::Gpu& device = gpu::Gpu::get(0);
    blas.set_stream(handle, device.stream());
    const float one = 1, zero = 0;
    const auto k = static_cast<int>(n);
    const auto at = [](const There& x) { return x.any().value->as<float>(); };
    row("the same by cuBLAS, called by hand",
        [&] { blas.gemm_f32(handle, 0, 0, k, k, k, &one, at(b), k, at(a), k, &zero, at(c), k); });
}

struct Layers {
    template <class D>
    static auto loss(const F<D>& x, const F<D>& y, const F<D>& w1, const F<D>& w2, const F<D>& w3)
    {
        return mean(square(matmul(relu(matmul(relu(matmul(x, w1)), w2)), w3) - y));
    }
    /// The weights after a step of training.
    template <class D>
    static auto step(const F<D>& x, const F<D>& y, const F<D>& w1, const F<D>& w2, const F<D>& w3)
    {
        const auto [g1, g2, g3] = wg::grad<2, 3, 4>(&Layers::loss<D>)(x, y, w1, w2, w3);
        return std::tuple(w1 - 0.1f * g1, w2 - 0.1f * g2, w3 - 0.1f * g3);
    }
};
void models()
{
    const std::int64_t in = size(784, 24), hidden = size(512, 16), batch = size(64, 8);
    both(
        "MLP, a step of training", 0, [](const auto&... x) { return Layers::step(x...); },
        floats({batch, in}), floats({batch, 10}, 2), floats({in, hidden}, 3), floats({hidden, hidden}, 4),
        floats({hidden, 10}, 5));
    const std::int64_t n = size(1024, 32);
    const auto heat = [](const auto& u) {
        auto v = u;
        for (int k = 0; k < 10; ++k)
            v = v + 0.1f * (wg::roll(v, 1, 0) + wg::roll(v, -1, 0) + wg::roll(v, 1, 1) + wg::roll(v, -1, 1) -
                            4.0f * v);
        return v;
    };
    both("heat, ten steps by roll", 0, heat, floats({n, n}));
    const std::int64_t h = size(256, 8), b = size(64, 4);
    const auto lstm = [h](const auto& x, const auto& w, const auto& u) {
        auto s = matmul(x, w), c = view(s, wg::all(), wg::range(0, h)) * 0.0f;
        for (int k = 0; k < 5; ++k) {
            const auto gate = [&](int j) { return view(s, wg::all(), wg::range(j * h, (j + 1) * h)); };
            c = sigmoid(gate(0)) * c + sigmoid(gate(1)) * tanh(gate(2));
            s = matmul(x, w) + matmul(sigmoid(gate(3)) * tanh(c), u);
        }
        return c;
    };
    both("LSTM, five steps", 0, lstm, floats({b, h}), floats({h, 4 * h}, 2), floats({h, 4 * h}, 3));
}

}  // namespace

int main()
{
    if (wg::cuda::device_count() == 0) return std::fprintf(stderr, "%s\n", wg::cuda::reason().c_str()), 1;
    std::printf("{\"device\": \"%s\"}\n", wg::cuda::name().c_str());
    moves();
    products();
    models();
    return 0;
}
