// The user's own kernels as primitives, with their rules.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <sstream>

#include "../transforms/custom.hpp"
#include "tensor.hpp"

namespace wengert {

/// A kernel's text and how it is launched.
struct cuda::Kernel {
    struct Extents {
        unsigned x = 1, y = 1, z = 1;
    };
    /// CUDA C++, compiled for the device without contraction (`--fmad=false`). The entry is given the operands' elements, row-major,
    /// in order; the result's, all of which it has to write; how many those are; and the scalars:
    /// `extern "C" __global__ void entry(const float* x, const double* y, float* out, long long n, float rate, int k)`
    std::string source;
    std::string entry;
    /// The types of the scalars, which each call ends with: `f(x, y, 0.5F, 3)`.
    std::vector<DType> scalars = {};
    /// Those of the operands, which each call is held to. Empty: any.
    std::vector<DType> operands = {};
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
    std::string key = "user " + Hash128().add(kernel.source).text();  ///< of the text
};

/// Numbers that a kernel is given by value.
template <class X>
concept KernelScalar = std::is_same_v<X, float> || std::is_same_v<X, double> || std::is_same_v<X, bool> ||
                       (std::is_signed_v<X> && std::is_integral_v<X> && sizeof(X) >= 4);
template <KernelScalar X> constexpr DType scalar_dtype()
{
    if constexpr (std::is_integral_v<X> && !std::is_same_v<X, bool>)
        return sizeof(X) == 8 ? DType::int64 : DType::int32;
    else
        return dtype_of<X>();
}

inline void check_types(const cuda::Kernel& k, const char* what, const std::vector<DType>& wanted,
                        const std::vector<DType>& given, const Site& at)
{
    if (given == wanted) return;
    const auto names = [](const std::vector<DType>& all) {
        std::string text;
        for (const DType d : all) text += (text.empty() ? "" : ", ") + std::string(row_of(d).name);
        return "(" + text + ")";
    };
    fail<DTypeError>(k.entry,
                     "the kernel takes " + std::string(what) + " of types " + names(wanted) +
                         " and was given " + names(given),
                     at);
}

/// One thread for each element, unless the kernel has its own `grid`.
inline cuda::Kernel::Extents grid_of(const cuda::Kernel& k, const Shape& shape)
{
    if (k.grid) return k.grid(shape);
    const std::size_t threads = std::max(std::size_t{k.block.x} * k.block.y * k.block.z, std::size_t{1});
    return {static_cast<unsigned>((element_count(shape) + threads - 1) / threads)};
}
inline Function* function_of(Gpu& gpu, const cuda::Kernel& k, const std::string& key)
{
    Function* const f = Kernels::of(gpu).find(gpu, key, k.entry.c_str(), [&] { return k.source; });
    if (!f) refuse(Kernels::available() ? "CUDA: the kernel has no text" : Compiler::get().reason);
    constexpr unsigned unasked = 48 << 10;  // beyond it a kernel has to be allowed to
    constexpr int most_shared = 8;          // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    if (k.shared > unasked)
        check(Driver::get().set_limit(f, most_shared, static_cast<int>(k.shared)), "cuFuncSetAttribute");
    return f;
}

/// Launches it on contiguous blocks of a device.
inline Ref<Block> launch_user(const cuda::Kernel& k, const std::string& key, DType dtype,
                              const std::vector<Ref<Block>>& in, std::span<void* const> scalars)
{
    const std::uint8_t device = in[0]->device();
    Gpu& gpu = gpu_with(device);
    std::vector<Shape> shapes;
    std::vector<const void*> data;
    Ordered order(gpu);
    for (const Ref<Block>& x : in) {
        order.reads(*x);
        shapes.push_back(x->shape);
        data.push_back(x->data);
    }
    const Shape shape = k.shape ? k.shape(shapes) : shapes[0];
    auto out = make_elsewhere(current_thread(), device, dtype, shape, element_count(shape));
    auto n = static_cast<long long>(out->count);
    if (n == 0) return out;
    data.push_back(out->data);
    std::vector<void*> parameters;
    for (const void*& p : data) parameters.push_back(static_cast<void*>(&p));
    parameters.push_back(&n);
    parameters.insert(parameters.end(), scalars.begin(), scalars.end());
    const cuda::Kernel::Extents grid = grid_of(k, shape);
    check(Driver::get().launch(function_of(gpu, k, key), grid.x, grid.y, grid.z, k.block.x, k.block.y,
                               k.block.z, k.shared, gpu.stream(), parameters.data(), nullptr),
          "cuLaunchKernel");
    gpu.asked();
    device_table(device).counts->kernels.fetch_add(1, std::memory_order_relaxed);
    order.made(*out);
    return out;
}

/// One call. Operands that lie on the host, in a function that is frozen for a device, are brought there and the result back.
template <class V, class J, class D, class... S> struct UserKernelCall {
    static constexpr std::string_view name = "cuda_kernel";
    static constexpr unsigned saves = 0xff;
    static constexpr bool any_device = true, launches = true;
    std::shared_ptr<const UserKernel<V, J>> kernel;
    std::tuple<S...> scalars = {};

    template <class Visit> void each(const Visit& visit)
    {
        visit(kernel);
        std::apply([&](auto&... s) { (visit(s), ...); }, scalars);
    }
    std::string parameters() const
    {
        std::ostringstream text;
        text << kernel->kernel.entry << std::boolalpha;
        std::apply([&](const auto&... s) { ((text << ", " << s), ...); }, scalars);
        return text.str();
    }

    template <class T, class... More> Ref<Block> value(const Ref<Block>& first, const More&... more) const
    {
        constexpr std::size_t n = sizeof...(More);  // the line comes last
        const auto all = std::tie(first, more...);
        const Site& at = std::get<n>(all);
        const Computing now(kernel->kernel.entry, at);
        const std::uint8_t users = first->device(), there = users ? users : number_of(cuda{});
        std::vector<Ref<Block>> in;
        [&]<std::size_t... k>(std::index_sequence<k...>) {
            const Restore<PlannedResult> of_the_result(current_thread().planned, {});
            (in.push_back(contiguous(placed(std::get<k>(all), there))), ...);
        }(std::make_index_sequence<n>());
        return std::apply(
            [&](auto... s) {
                return placed(launch_user(kernel->kernel, kernel->key, dtype_of<T>(), in,
                                          std::array<void*, sizeof...(S)>{static_cast<void*>(&s)...}),
                              users);
            },
            scalars);
    }
    template <std::size_t i, class T, class... X>
    Tensor<T> pull(wrt<i>, const Tensor<T>& g, const X&... xy) const
    {
        if constexpr (std::is_same_v<V, NoRule>)
            refuse_rule("VJP", "reverse");
        else
            return wengert::detail::last_first(
                [&](const auto& y, const auto&... x) {
                    const auto r = with_scalars(kernel->vjp, on<D>(g), on<D>(y), on<D>(x)...);
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
                const auto r = with_scalars(kernel->jvp, on<D>(std::get<k>(all))...,
                                            on<D>(std::get<2 * n>(all)), on<D>(std::get<n + k>(all))...);
                return wengert::detail::checked_result(kernel->kernel.entry, "tangent", on<cpu>(r),
                                                       std::get<2 * n>(all));
            }(std::make_index_sequence<n>());
        }
    }

private:
    template <class Rule, class... X> auto with_scalars(const Rule& rule, const X&... x) const
    {
        static_assert(
            std::is_invocable_v<const Rule&, const X&..., const S&...>,
            "wengert: rules of a kernel are given its scalars last: vjp(ȳ, y, x…, s…), jvp(ẋ…, y, x…, s…)");
        if constexpr (std::is_invocable_v<const Rule&, const X&..., const S&...>)
            return std::apply([&](const auto&... s) { return rule(x..., s...); }, scalars);
    }
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
    /// Tensors, then scalars.
    template <class First, class... X> static constexpr bool accepts()
    {
        constexpr std::array<bool, sizeof...(X)> tensors = {is_tensor<X>...};
        return is_tensor<First> && ((is_tensor<X> || KernelScalar<X>)&&...) &&
               std::is_sorted(tensors.begin(), tensors.end(), std::greater<>());
    }
    template <class First, class... X> auto at_line(const Site& at, const First& x, const X&... more) const
    {
        constexpr std::size_t operands = 1 + (std::size_t{is_tensor<X>} + ... + 0);
        return split(at, std::tie(x, more...), std::make_index_sequence<operands>(),
                     std::make_index_sequence<1 + sizeof...(X) - operands>());
    }

private:
    template <class All, std::size_t... k, std::size_t... s>
    auto split(const Site& at, const All& all, std::index_sequence<k...>, std::index_sequence<s...>) const
    {
        using Call =
            UserKernelCall<V, J, typename std::remove_cvref_t<std::tuple_element_t<0, All>>::device_type,
                           std::remove_cvref_t<std::tuple_element_t<sizeof...(k) + s, All>>...>;
        const cuda::Kernel& kernel = kernel_->kernel;
        check_types(kernel, "scalars", kernel.scalars,
                    {scalar_dtype<std::remove_cvref_t<std::tuple_element_t<sizeof...(k) + s, All>>>()...},
                    at);
        if (!kernel.operands.empty())
            check_types(
                kernel, "operands", kernel.operands,
                {dtype_of<typename std::remove_cvref_t<std::tuple_element_t<k, All>>::value_type>()...}, at);
        return apply<Call, Out>(Call{kernel_, {std::get<sizeof...(k) + s>(all)...}}, at, std::get<k>(all)...);
    }
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
