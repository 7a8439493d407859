// host_callback: plain C++ in the middle of a program, called in order, also by graphs.
#pragma once

#include <algorithm>
#include <iterator>

#include "../../ops/describe/structural_traits.hpp"
#include "../../tape/apply.hpp"
#include "tracing.hpp"

namespace wengert {

namespace detail {

/// A call of the host as an operation. Operands are what it reads, and last, if there was one, the result of the operation with
/// effects before it, which keeps them in order.
struct HostCall {
    using Function = std::function<Ref<Block>(const Ref<Block>*)>;
    std::shared_ptr<const Function> call;
    DType dtype;
    Shape shape;
};

Ref<Block> run_host_call(const void* op, const Ref<Block>* in, std::size_t n, const Site& at);

template <DType dtype> constexpr Primitive make_host_primitive()
{
    Primitive p;
    p.name = "host_callback";
    p.ours = true;
    p.dtype = dtype;
    p.calls = p.effects = true;
    p.compute = run_host_call;
    p.clone = clone_pooled<HostCall>;
    p.destroy = destroy_pooled<HostCall>;
    p.fields = [](void* op, FieldVisitor& visitor) {
        auto& h = *static_cast<HostCall*>(op);
        visitor.extents(h.shape);
        visitor.opaque(h.call.get(), "function");
    };
    return p;
}
template <DType dtype> inline constexpr Primitive host_primitive = make_host_primitive<dtype>();

/// Calls the host, or records that it is to be called. `leaves` are the tensors of the arguments.
AnyTensor call_host(const Primitive& p, const HostCall& op, std::vector<AnyTensor> leaves, const Site& at);

template <class T, class F, class... Args>
AnyTensor call_host_with(const Shape& shape, const Site& at, F fn, const Args&... args)
{
    std::tuple<Args...> shell(tree::detail::copied(args)...);
    TreeReader reader = read_tree(recorder(), shell);
    ResultShell empty;
    visit_argument(empty, shell);
    HostCall op;
    op.dtype = dtype_of<T>();
    op.shape = shape;
    op.call =
        std::make_shared<const HostCall::Function>([n = reader.leaves.size(), shape, at, fn = std::move(fn),
                                                    shell = std::move(shell)](const Ref<Block>* in) {
            std::tuple<Args...> copy = shell;
            std::vector<Ref<Block>> values;
            std::transform(in, in + n, std::back_inserter(values), unmarked);
            fill_shell(copy, values.data());
            if constexpr (std::is_void_v<std::invoke_result_t<const F&, const Args&...>>) {
                std::apply(fn, std::as_const(copy));
                return zeros_block(dtype_of<T>(), shape);
            } else {
                const Tensor<T> y = std::apply(fn, std::as_const(copy));
                if (!(y.shape("host_callback", at) == shape))
                    fail<ShapeError>("host_callback",
                                     "the function returned shape " + to_string(y.shape()) + " where " +
                                         to_string(shape) + " was declared",
                                     at);
                const std::uint8_t device = n ? in[0]->device() : current_thread().device;
                return placed(copy_of(*y.any().value), device);
            }
        });
    return call_host(host_primitive<dtype_of<T>()>, op, std::move(reader.leaves), at);
}

/// The shape of what a function of the host returns, and the line that says so.
struct DeclaredShape {
    template <std::convertible_to<Shape> S>
    DeclaredShape(const S& s, Site where = {__builtin_FILE(), __builtin_LINE()}) : shape(s), at(where)
    {}
    DeclaredShape(std::initializer_list<Extent> extents, Site where = {__builtin_FILE(), __builtin_LINE()})
        : shape(extents), at(where)
    {}

    Shape shape;
    Site at;
};

}  // namespace detail

/// Calls fn(args…), plain C++, with the values of the arguments: for printing, logging, reading external state. Calls are
/// made in program order, also by a frozen graph, once in every step of a loop. Nothing is differentiated.
template <class F, class... Args>
    requires std::is_void_v<std::invoke_result_t<const F&, detail::Argument<Args>...>>
void host_callback(F fn, const Args&... args)
{
    detail::call_host_with<bool>(Shape(), {}, std::move(fn), detail::argument(args)...);
}

/// The same for an fn that returns a Tensor<T>, whose shape is declared. Its derivative is 0. Throws ShapeError for another
/// shape.
template <class T, class F, class... Args>
    requires std::is_invocable_r_v<Tensor<T>, const F&, detail::Argument<Args>...>
auto host_callback(const detail::DeclaredShape& shape, F fn, const Args&... args)
{
    using Device = typename detail::first_tensor<detail::Argument<Args>...>::type::device_type;
    return Tensor<T, Device>(
        detail::call_host_with<T>(shape.shape, shape.at, std::move(fn), detail::argument(args)...));
}

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/host.ipp"
#endif
