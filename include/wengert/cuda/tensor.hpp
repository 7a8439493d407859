// Tensors on devices of CUDA: the tag, where new ones go, and the ways there and back.
#pragma once

#include "../ops/creation.hpp"
#include "../ops/random.hpp"
#include "eager/stream.hpp"
#include "table.hpp"

namespace wengert {

/// The device tag: the current device, or the one of this number.
struct cuda {
    int index = -1;  ///< −1: the current one

    /// 0 where no driver, or none that is new enough, is found.
    static int device_count() { return std::min(detail::gpu::Driver::get().devices, detail::gpu::Gpu::most); }
    /// Why there is none: "CUDA: libcuda.so.1 was not found"; empty where there is one.
    static std::string reason() { return detail::gpu::Driver::get().reason; }
    /// Sets the device of new tensors of this thread that name none. Throws DeviceError if there is no such device.
    static void use(int device) { static_cast<void>(detail::gpu::Gpu::get(device)), current_ = device; }
    static int current() noexcept { return current_; }
    /// "NVIDIA H200"
    static std::string name(int device = current_) { return detail::gpu::Gpu::get(device).name(); }
    /// Waits until all that was asked of a device has been done. Throws DeviceError where some of it has failed.
    static void synchronize(int device = current_) { detail::gpu::Gpu::get(device).synchronize(); }

    /// A stream of the current device: `cuda::Stream s;`, or the user's: `cuda::Stream s(raw);`.
    class Stream : public detail::gpu::CudaStream {
    public:
        explicit Stream(int device = current()) : CudaStream(device) {}
        explicit Stream(void* raw, int device = current()) : CudaStream(raw, device) {}
    };
    using Event = detail::gpu::CudaEvent;
    /// Puts what this thread asks the stream's device for into that stream, as long as the result lives. Write `const auto there =
    /// cuda::on(stream);`. Throws DeviceError if the program captures the stream.
    [[nodiscard]] static detail::gpu::OnStream on(const Stream& stream,
                                                  Site at = {__builtin_FILE(), __builtin_LINE()})
    {
        const Computing now("on", at);
        stream.queue().refuse_capture();
        return detail::gpu::OnStream(stream);
    }

    struct Borrow;
    template <class T> class Lent;
    /// A tensor of the caller's memory on a device, without a copy, as wengert::borrow: it is never written to. `data` is read when
    /// the device comes to it: after the work of `stream`, or after `event`; without either it must have been written by now, or by
    /// work in this thread's stream. When the last tensor ends `stream` waits for what still reads it; without one the host does, if
    /// there is an owner, before that is released. Throws ShapeError, DeviceError, and Error for a null or misaligned pointer.
    template <class T>
    static Tensor<T, cuda> borrow(const T* data, const Shape& shape, const Borrow& of,
                                  Site at = {__builtin_FILE(), __builtin_LINE()});
    template <class T>
    static Tensor<T, cuda> borrow(const T* data, const Shape& shape,
                                  Site at = {__builtin_FILE(), __builtin_LINE()});
    /// The elements of x for work of the user's in a stream, which comes after what made them: `lent.data()`, `lent.strides()`.
    template <class T>
    static Lent<T> lend(const Tensor<T, cuda>& x, const Stream& to,
                        Site at = {__builtin_FILE(), __builtin_LINE()});

    struct Kernel;
    /// The caller's own kernel as a function of one to four tensors, one operation of the tape: `const auto f = cuda::kernel<float>({.source = …,
    /// .entry = "f"}, vjp, jvp); y = f(x);`. vjp(ȳ, y, x…) returns x̄, a tuple for several operands, and jvp(ẋ…, y, x…) returns ẏ, as
    /// those of custom_vjp and custom_jvp; both are differentiated in turn. Without one of them that mode throws a TapeError.
    template <class Out> static auto kernel(Kernel k, Site at = {__builtin_FILE(), __builtin_LINE()});
    template <class Out, class V>
    static auto kernel(Kernel k, V vjp, Site at = {__builtin_FILE(), __builtin_LINE()});
    template <class Out, class V, class J>
    static auto kernel(Kernel k, V vjp, J jvp, Site at = {__builtin_FILE(), __builtin_LINE()});

    /// All work is waited for at once, in all threads: an error of the device shows at the operation that it is of. For debugging.
    static void wait_for_each(bool yes) noexcept { detail::gpu::waits_for_each() = yes; }

    /// Memory of a device: how much is in use, how much is kept for reuse.
    static DeviceMemory memory(int device = current_) { return detail::gpu::Gpu::get(device).pool().stats(); }
    /// Gives what is kept for reuse back to the driver.
    static void trim(int device = current_) { detail::gpu::Gpu::get(device).pool().trim(); }
    /// The most that is taken from the driver; beyond it a MemoryError is thrown. 0 for no limit.
    static void set_limit(std::int64_t bytes, int device = current_)
    {
        detail::gpu::Gpu::get(device).pool().set_limit(bytes);
    }
    /// The most that is kept for reuse.
    static void keep(std::int64_t bytes, int device = current_)
    {
        detail::gpu::Gpu::get(device).pool().keep(bytes);
    }
    /// Takes a device's memory from the caller's functions; from the driver with an empty one. Throws Error where tensors are there.
    static void set_allocator(DeviceAllocator allocator, int device = current_,
                              Site at = {__builtin_FILE(), __builtin_LINE()})
    {
        const Computing now("allocator", at);
        detail::gpu::Gpu::get(device).pool().set_allocator(std::move(allocator));
    }
    /// Counts what the device has done, and what the host has done for it.
    static DeviceCounts& counts(int device = current_)
    {
        return *device_table(detail::gpu::number_of(device)).counts;
    }

    /// Counts how the code of its kernels was found.
    static KernelSources kernels(int device = current_)
    {
        detail::gpu::Gpu& gpu = detail::gpu::Gpu::get(device);
        return detail::gpu::Kernels::of(gpu).sources();
    }

private:
    static inline constinit thread_local int current_ __attribute__((visibility("default"))) = 0;
};

namespace detail::gpu {
inline std::uint8_t number_of(const cuda& device)
{
    return number_of(device.index < 0 ? cuda::current() : device.index);
}
}  // namespace detail::gpu

/// For {.device = cuda{}}. Throws DeviceError where there is no such device.
inline std::uint8_t number_of_device(const cuda& device) { return detail::gpu::number_of(device); }

/// y = x, on another device;  x̄ = ȳ, on x's
struct ToDevice {
    static constexpr std::string_view name = "to";
    static constexpr bool linear = true;
    static constexpr bool any_device = true;
    std::int64_t device, from;
    template <class T> Ref<Block> value(const Ref<Block>& x, const Site& at) const
    {
        const Computing now(name, at);
        return placed(x, static_cast<std::uint8_t>(device));
    }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const
    {
        return apply<ToDevice, T>({from, device}, Site{}, g);
    }
};

namespace detail::gpu {
template <class To, class T, class From>
Tensor<T, To> moved(const Tensor<T, From>& x, std::uint8_t device, const Site& at)
{
    const AnyTensor& any = x.any("to", at);
    if (any.value->device() == device) return Tensor<T, To>(any);
    if (recorder()) fail<DeviceError>("to", "a graph that is being recorded stays on one device", at);
    return on<To>(apply<ToDevice, T>({device, any.value->device()}, at, x));
}
}  // namespace detail::gpu

/// x on a device of CUDA; itself where it lies there. Recorded: the cotangent goes the other way. Throws DeviceError.
template <class To, class T, class Device>
    requires std::is_same_v<To, cuda>
Tensor<T, cuda> to(const Tensor<T, Device>& x, cuda device = {},
                   Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Computing now("to", at);
    return detail::gpu::moved<cuda>(x, detail::gpu::number_of(device), at);
}
/// x on the host.
template <class To, class T, class Device>
    requires std::is_same_v<To, cpu>
Tensor<T> to(const Tensor<T, Device>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::gpu::moved<cpu>(x, 0, at);
}

}  // namespace wengert
