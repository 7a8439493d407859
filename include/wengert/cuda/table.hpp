// The tables of functions of CUDA's devices (array/device.hpp), one for each device that is used.
#pragma once

#include "../ops/arg_reductions.hpp"
#include "driver/gpu.hpp"
#include "driver/host_side.hpp"
#include "driver/ordered.hpp"
#include "eager/draws.hpp"
#include "eager/folds.hpp"
#include "replay/frozen.hpp"
#include "eager/index.hpp"
#include "eager/products.hpp"

namespace wengert::detail::gpu {

/// By the number of a device that blocks have: its ordinal among CUDA's devices plus 1, or 0 where it is none of them.
inline std::array<std::atomic<int>, DeviceList::most>& ordinals()
{
    static std::array<std::atomic<int>, DeviceList::most> all{};
    return all;
}
inline Gpu& gpu_of(const Block& b)
{
    return Gpu::get(ordinals()[b.device()].load(std::memory_order_relaxed) - 1);
}
inline bool is_cuda(const Block& b) noexcept
{
    return ordinals()[b.device()].load(std::memory_order_relaxed) > 0;
}

inline Gpu& gpu_with(std::uint8_t device)
{
    return Gpu::get(ordinals()[device].load(std::memory_order_relaxed) - 1);
}

inline void copy(const Block& from, Block& to)
{
    if (from.count == 0) return;
    Gpu& gpu = gpu_of(to);
    Ordered order(gpu);
    order.reads(from).writes(to);
    if (!from.strided && !to.strided) return gpu.copy(to.data, from.data, from.bytes());
    if (run_move(gpu, "copy", to, &from, 0)) return;
    written_on_host(to, [&](Block& image) { copy_elements(*image_of(from), image); });
}
/// From one GPU to another.
inline bool from_device(const Block& from, Block& to)
{
    if (!is_cuda(from)) return false;
    if (from.count == 0) return true;
    Gpu &there = gpu_of(from), &here = gpu_of(to);
    Ordered reading(there), writing(here);
    reading.reads(from), writing.writes(to);
    here.from_peer(to.data, there, from.data, from.bytes());
    return true;
}
/// Fills contiguous memory with an element that is one byte or word over and over; false where it is not.
inline bool fill_words(const Block& to, const void* element)
{
    const std::size_t size = size_of(to.dtype);
    const Driver& d = Driver::get();
    const auto at = reinterpret_cast<Address>(to.data);
    const Gpu& gpu = gpu_of(to);
    if (size == 1) {
        const auto byte = *static_cast<const unsigned char*>(element);
        check(d.set_bytes(at, byte, to.count, gpu.stream()), "cuMemsetD8Async");
        gpu.asked();
        return true;
    }
    std::uint32_t words[2] = {};
    std::memcpy(words, element, size);
    if (size == 8 && words[0] != words[1]) return false;
    check(d.set_words(at, words[0], to.count * (size / 4), gpu.stream()), "cuMemsetD32Async");
    gpu.asked();
    return true;
}
inline void fill(Block& to, const void* element)
{
    if (to.count == 0) return;
    Gpu& gpu = gpu_of(to);
    Ordered order(gpu);
    order.writes(to);
    if (!to.strided && fill_words(to, element)) return;
    long long bits = 0;
    std::memcpy(&bits, element, size_of(to.dtype));
    if (run_move(gpu, "fill", to, nullptr, bits)) return;
    written_on_host(to, [&](Block& image) {
        const Strides s = Strides::filled(to.shape.size()), d = image.strides();
        kernels::copy_strided(to.shape.size(), to.shape.data(), s.data(),
                              static_cast<const std::byte*>(element), d.data(), image.data,
                              size_of(to.dtype));
    });
}
inline bool all_zero(const Block& b)
{
    Ordered order(gpu_of(b));
    order.reads(b);
    const std::optional<bool> wrong = any_wrong(gpu_of(b), "zero", b);
    return wrong ? !*wrong : wengert::all_zero(*read_on_host(b));
}
inline bool all_finite(const Block& b)
{
    if (!differentiable(b.dtype)) return true;
    Ordered order(gpu_of(b));
    order.reads(b);
    const std::optional<bool> wrong = any_wrong(gpu_of(b), "finite", b);
    return wrong ? !*wrong : wengert::all_finite(*read_on_host(b));
}
inline void elementwise(const Primitive& p, const Block* const* in, Block& out)
{
    Gpu& gpu = gpu_of(out);
    Ordered order(gpu);
    for (std::size_t k = 0; k < p.arity; ++k)
        if (!is_number_here(*in[k])) order.reads(*in[k]);
    order.writes(out);
    if (!run_elementwise(gpu, p, in, out)) elementwise_on_host(p, in, out);
}
/// The result of f, which applies operations that have descriptions. They are not recorded, and none writes to the planned result.
template <class F> Ref<Block> by_operations(std::uint8_t device, const Site& at, const F& f)
{
    const detail::Unrecorded unrecorded;
    const Restore<PlannedResult> unplanned(current_thread().planned, {});
    const OnDevice there(device);
    Tape& tape = Tape::current();
    const Restore<Recorder*> recorder(current_thread().recorder, nullptr);
    const Restore<Site> line(tape.site_override, line_now(at));
    const Restore<bool> anomaly(tape.anomaly, false);
    return f().value;
}
inline Ref<Block> composed(std::uint8_t device, const Primitive& p, const void* op, const Ref<Block>* in,
                           std::size_t n, const Site& at)
{
    return by_operations(device, at, [&] {
        std::vector<AnyTensor> operands(n);
        for (std::size_t k = 0; k < n; ++k) operands[k].value = in[k];
        return p.composed(op, operands.data());
    });
}
/// A cotangent that is there already, plus a contribution (Primitive::expand), by operations.
inline Ref<Block> expanded(std::uint8_t device, const Primitive& p, const void* op, const Ref<Block>* in,
                           std::size_t n, const Site& at)
{
    return by_operations(device, at, [&] {
        const Restore<bool> allow_nan(Tape::current().allow_nan, kernels::zero_cotangent != 0.0);
        std::vector<AnyTensor> operands(n);
        for (std::size_t k = 0; k < n; ++k) operands[k].value = in[k];
        return p.expand(op, operands.data(), n);
    });
}
inline Ref<Block> structural(std::uint8_t device, const Primitive& p, const void* op, const Ref<Block>* in,
                             std::size_t n, const Site& at)
{
    Gpu& gpu = gpu_with(device);
    Ordered order(gpu);
    for (std::size_t k = 0; k < n; ++k)
        if (in[k]->device() == device) order.reads(*in[k]);
    Ref<Block> y;
    if (p.index)
        y = index_program(gpu, p, op, in, n, at);
    else if (p.part && n > 0)
        y = index_parts(gpu, p, op, in, n, at);
    else if (p.fold)
        y = run_fold(gpu, p, op, in);
    else if (p.product)
        y = DeviceProduct(gpu, p.product(op), p.dtype, in).run();
    else if (p.composed && Kernels::any())
        y = composed(device, p, op, in, n, at);
    else if (p.zero_rule && Kernels::any())
        y = with_zero_rule(gpu, in, n);
    if (!y && p.expand && Kernels::any()) y = expanded(device, p, op, in, n, at);
    if (!y) y = structural_on_host(device, p, op, in, n, at);
    order.made(*y);
    return y;
}
inline bool draw(const RandomDraw& what, const std::uint64_t* key, Block& out)
{
    Ordered order(gpu_of(out));
    order.writes(out);
    const bool drawn = DeviceDraw(gpu_of(out), what, key, out).run();
    if (!drawn) count_host_call(out.device());  // who asked draws, and copies
    return drawn;
}
/// The sum of two blocks of one shape is an operation; where `to` is broadcast, the host adds.
inline void add(Block& to, const Block& from)
{
    Ordered order(gpu_of(to));
    order.reads(from).writes(to);
    if (to.shape == from.shape) {
        const Block* in[] = {&to, &from};
        const auto sum = [&]<class T>() -> const Primitive& {
            return elementwise_primitive<Add, xsimd::default_arch, T, T, T>;
        };
        if (run_elementwise(gpu_of(to), with_real(to.dtype, sum), in, to)) return;
    }
    written_on_host(to, [&](Block& image) { add_into(image, *image_of(from)); });
}

template <int ordinal> std::uint8_t number();

/// The backend that runs graphs on a device.
template <int ordinal>
inline constexpr Backend backend{"cuda", [](const Graph& g, const PlanOptions& options) {
                                     return compile_replay(g, options, number<ordinal>());
                                 }};

/// Functions without a block among their arguments exist once for each device.
template <int ordinal> const DeviceTable& table()
{
    static DeviceCounts counts;
    static const std::string name = "cuda:" + std::to_string(ordinal);
    static const DeviceTable all{
        .name = name,
        .take = [](std::size_t bytes,
                   std::size_t& capacity) { return Gpu::get(ordinal).pool().take(bytes, capacity); },
        .give =
            [](std::byte* p, std::size_t capacity) noexcept {
                try {
                    Gpu::get(ordinal).pool().give(p, capacity);
                } catch (const Error&) {  // the device has failed for good: its memory is gone with it
                }
            },
        .to_host =
            [](void* to, const std::byte* from, std::size_t bytes) {
                Gpu& gpu = Gpu::get(ordinal);
                Ordered order(gpu);
                order.reads(from, bytes);
                gpu.to_host(to, from, bytes);
            },
        .from_host =
            [](std::byte* to, const void* from, std::size_t bytes) {
                Gpu& gpu = Gpu::get(ordinal);
                Ordered order(gpu);
                order.writes(to, bytes);
                gpu.from_host(to, from, bytes);
            },
        .copy = gpu::copy,
        .fill = gpu::fill,
        .add = gpu::add,
        .all_zero = gpu::all_zero,
        .all_finite = gpu::all_finite,
        .elementwise = elementwise,
        .host_call = [](HostFunction f, void* context, const Ref<Block>* in,
                        std::size_t n) { return host_call(number<ordinal>(), f, context, in, n); },
        .structural = [](const Primitive& p, const void* op, const Ref<Block>* in, std::size_t n,
                         const Site& at) { return gpu::structural(number<ordinal>(), p, op, in, n, at); },
        .counts = &counts,
        .takes_numbers = true,
        .replays = true,
        .draw = gpu::draw,
        .backend = &backend<ordinal>,
        .from_device = gpu::from_device};
    return all;
}

template <int ordinal> std::uint8_t number()
{
    static const std::uint8_t one = [] {
        const std::uint8_t n = add_device(table<ordinal>());
        ordinals()[n].store(ordinal + 1, std::memory_order_relaxed);
        return n;
    }();
    return one;
}

/// The number that blocks on a device have. Throws DeviceError where there is no such device.
inline std::uint8_t number_of(int ordinal)
{
    static_cast<void>(Gpu::get(ordinal));
    using Number = std::uint8_t (*)();
    static constexpr auto numbers = []<int... k>(std::integer_sequence<int, k...>) {
        return std::array<Number, sizeof...(k)>{number<k>...};
    }(std::make_integer_sequence<int, Gpu::most>());
    return numbers[static_cast<std::size_t>(ordinal)]();
}

}  // namespace wengert::detail::gpu
