// The user's own kernels as primitives, with their rules.
#pragma once

#include <span>

#include "../transforms/custom.hpp"
#include "tensor.hpp"

namespace wengert {

/// A kernel's text and how it is launched.
struct cuda::Kernel {
    struct Extents {
        unsigned x = 1, y = 1, z = 1;
    };
    /// CUDA C++, compiled for the device without contraction (`--fmad=false`). The entry is given the operands' elements, row-major,
    /// in order; the result's, all of which it has to write; and how many those are:
    /// `extern "C" __global__ void entry(const float* x, const double* y, float* out, long long n)`
    std::string source;
    std::string entry;
    Extents block = {256, 1, 1};
    /// Blocks, given the result's shape. Without it there is a thread for each element.
    std::function<Extents(const Shape&)> grid = {};
    /// The result's shape, given the operands'. Without it that of the first one.
    std::function<Shape(std::span<const Shape>)> shape = {};
    unsigned shared = 0;  ///< bytes of shared memory that the entry declares as `extern __shared__`
};

namespace detail::gpu {

struct NoRule {};

/// What all calls of it have in common.
template <class V, class J> struct UserKernel {
    cuda::Kernel kernel;
    V vjp;
    J jvp;
};

/// Launches it on blocks of a device.
inline Ref<Block> launch_user(const cuda::Kernel& k, DType dtype, std::vector<Ref<Block>> in)
{
    const std::uint8_t device = in[0]->device();
    Gpu& gpu = gpu_with(device);
    std::vector<Shape> shapes;
    Ordered order(gpu);
    for (Ref<Block>& x : in) {
        x = contiguous(x);
        order.reads(*x);
        shapes.push_back(x->shape);
    }
    const Shape shape = k.shape ? k.shape(shapes) : shapes[0];
    const std::size_t count = element_count(shape);
    auto out = make_elsewhere(current_thread(), device, dtype, shape, count);
    if (count == 0) return out;
    Hash128 key;
    key.add(k.source);
    Function* const f =
        Kernels::of(gpu).find(gpu, "user " + key.text(), k.entry.c_str(), [&] { return k.source; });
    if (!f) refuse(Kernels::available() ? "CUDA: the kernel has no text" : Compiler::get().reason);
    std::vector<const void*> data;
    for (const Ref<Block>& x : in) data.push_back(x->data);
    data.push_back(out->data);
    auto n = static_cast<long long>(count);
    std::vector<void*> parameters;
    for (const void*& p : data) parameters.push_back(static_cast<void*>(&p));
    parameters.push_back(&n);
    const std::size_t threads = std::size_t{k.block.x} * k.block.y * k.block.z;
    cuda::Kernel::Extents grid;
    if (k.grid)
        grid = k.grid(shape);
    else
        grid.x = static_cast<unsigned>((count + threads - 1) / std::max(threads, std::size_t{1}));
    check(Driver::get().launch(f, grid.x, grid.y, grid.z, k.block.x, k.block.y, k.block.z, k.shared,
                               gpu.stream(), parameters.data(), nullptr),
          "cuLaunchKernel");
    gpu.asked();
    device_table(device).counts->kernels.fetch_add(1, std::memory_order_relaxed);
    order.made(*out);
    return out;
}

/// One call. Operands that lie on the host, in a function that is frozen for a device, are brought there and the result back.
template <class V, class J, class D> struct UserKernelCall {
    static constexpr std::string_view name = "cuda_kernel";
    static constexpr unsigned saves = 0xff;
    static constexpr bool any_device = true;
    std::shared_ptr<const UserKernel<V, J>> kernel;

    template <class Visit> void each(const Visit& visit) { visit(kernel); }
    std::string parameters() const { return kernel->kernel.entry; }

    template <class T, class... More> Ref<Block> value(const Ref<Block>& first, const More&... more) const
    {
        constexpr std::size_t n = sizeof...(More);  // the line comes last
        const auto all = std::tie(first, more...);
        const Site& at = std::get<n>(all);
        const Computing now(kernel->kernel.entry, at);
        const std::uint8_t users = first->device(), there = users ? users : number_of(cuda{});
        std::vector<Ref<Block>> in;
        [&]<std::size_t... k>(std::index_sequence<k...>) {
            (in.push_back(placed(std::get<k>(all), there)), ...);
        }(std::make_index_sequence<n>());
        return placed(launch_user(kernel->kernel, dtype_of<T>(), std::move(in)), users);
    }
    template <std::size_t i, class T, class... X>
    Tensor<T> pull(wrt<i>, const Tensor<T>& g, const X&... xy) const
    {
        if constexpr (std::is_same_v<V, NoRule>)
            refuse_rule("VJP", "reverse");
        else
            return wengert::detail::last_first(
                [&](const auto& y, const auto&... x) {
                    const auto r = kernel->vjp(on<D>(g), on<D>(y), on<D>(x)...);
                    return wengert::detail::checked_result(
                        kernel->kernel.entry, "cotangent",
                        on<cpu>(wengert::detail::nth_result<i, sizeof...(x)>(r)),
                        std::get<i>(std::tie(x...)));
                },
                xy...);
    }
    template <class T, class... More> Tensor<T> push(const Tensor<T>& first, const More&... more) const
    {
        if constexpr (std::is_same_v<J, NoRule>)
            refuse_rule("JVP", "forward");
        else {
            constexpr std::size_t n = sizeof...(More) / 2;
            const auto all = std::tie(first, more...);
            return [&]<std::size_t... k>(std::index_sequence<k...>) {
                const auto r = kernel->jvp(on<D>(std::get<k>(all))..., on<D>(std::get<2 * n>(all)),
                                           on<D>(std::get<n + k>(all))...);
                return wengert::detail::checked_result(kernel->kernel.entry, "tangent", on<cpu>(r),
                                                       std::get<2 * n>(all));
            }(std::make_index_sequence<n>());
        }
    }

private:
    [[noreturn]] void refuse_rule(const std::string& rule, const std::string& mode) const
    {
        fail<TapeError>(kernel->kernel.entry,
                        "this kernel has no " + rule + ", which " + mode + " mode asks for",
                        Tape::current().site_override);
    }
};

/// As a function of tensors, of which the result is a tensor of Out.
template <class Out, class V, class J>
class KernelFunction : public wengert::detail::Closure<KernelFunction<Out, V, J>> {
public:
    KernelFunction(cuda::Kernel kernel, V vjp, J jvp, const Site& made)
        : wengert::detail::Closure<KernelFunction>(made),
          kernel_(std::make_shared<const UserKernel<V, J>>(
              UserKernel<V, J>{std::move(kernel), std::move(vjp), std::move(jvp)}))
    {}
    template <class... X> static constexpr bool accepts() { return (is_tensor<X> && ...); }
    template <class First, class... X> auto at_line(const Site& at, const First& x, const X&... more) const
    {
        using Call = UserKernelCall<V, J, typename First::device_type>;
        return apply<Call, Out>(Call{kernel_}, at, x, more...);
    }

private:
    std::shared_ptr<const UserKernel<V, J>> kernel_;
};

}  // namespace detail::gpu

template <class Out, class V, class J> auto cuda::kernel(Kernel k, V vjp, J jvp, Site at)
{
    return detail::gpu::KernelFunction<Out, V, J>(std::move(k), std::move(vjp), std::move(jvp), at);
}
template <class Out> auto cuda::kernel(Kernel k, Site at)
{
    return kernel<Out>(std::move(k), detail::gpu::NoRule{}, detail::gpu::NoRule{}, at);
}
template <class Out, class V> auto cuda::kernel(Kernel k, V vjp, Site at)
{
    return kernel<Out>(std::move(k), std::move(vjp), detail::gpu::NoRule{}, at);
}

}  // namespace wengert
