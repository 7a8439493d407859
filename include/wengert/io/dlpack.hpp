// Tensors from and for other libraries of arrays, without a copy, as DLPack says (version 1.0, https://dmlc.github.io/dlpack): these are
// tensors of the host, cuda.hpp has those of its devices. The structs have the layout of dlpack.h, whose own are cast to them.
#pragma once

#include <memory>
#include <vector>

#include "../array/elsewhere.hpp"
#include "../tape/tensor_impl.hpp"

namespace wengert {

namespace dlpack {

enum DeviceType : std::int32_t { host = 1, cuda_device = 2, cuda_host = 3, cuda_managed = 13 };
struct Device {
    std::int32_t type, number;
};
struct Type {
    std::uint8_t code, bits;
    std::uint16_t lanes;
};
/// DLTensor
struct Array {
    void* data;
    Device device;
    std::int32_t rank;
    Type type;
    std::int64_t* shape;
    std::int64_t* strides;  ///< in elements; null: row-major
    std::uint64_t byte_offset;
};
/// DLManagedTensor
struct Managed {
    Array array;
    void* context;
    void (*end)(Managed*);
};
/// DLManagedTensorVersioned
struct Versioned {
    static constexpr std::uint64_t read_only = 1;
    struct {
        std::uint32_t major, minor;
    } version;
    void* context;
    void (*end)(Versioned*);
    std::uint64_t flags;
    Array array;
};

}  // namespace dlpack

namespace detail {

constexpr dlpack::Type dlpack_type(DType d)
{
    constexpr std::uint8_t whole = 0, real = 2, truth = 6;
    const std::uint8_t code = d == DType::boolean ? truth : differentiable(d) ? real : whole;
    return {code, static_cast<std::uint8_t>(8 * size_of(d)), 1};
}

/// What an array that is handed out keeps.
template <class M> struct Exported {
    M managed{};
    std::vector<std::int64_t> shape, strides;
    std::shared_ptr<const void> owner;
};
template <class M> M* exported(const Block& b, dlpack::Device device, std::shared_ptr<const void> owner)
{
    auto all = std::make_unique<Exported<M>>();
    const Strides strides = b.strides();
    all->shape.assign(b.shape.begin(), b.shape.end());
    all->strides.assign(strides.begin(), strides.end());
    all->owner = std::move(owner);
    M& m = all->managed;
    m.array = {b.data,
               device,
               static_cast<std::int32_t>(b.shape.size()),
               dlpack_type(b.dtype),
               all->shape.data(),
               all->strides.data(),
               0};
    if constexpr (std::is_same_v<M, dlpack::Versioned>)
        m.version = {1, 0}, m.flags = dlpack::Versioned::read_only;
    m.context = all.get();
    m.end = [](M* of) { delete static_cast<Exported<M>*>(of->context); };
    return &all.release()->managed;
}
/// The tensor's elements: one that depends on a variable would lose that.
template <class T, class D> const Ref<Block>& exported_elements(const Tensor<T, D>& x, const Site& at)
{
    const AnyTensor& any = x.any("to_dlpack", at);
    if (any.node)
        fail<TapeError>("to_dlpack",
                        "the tensor depends on a variable, of which nobody there will know: pass x.detach()",
                        at);
    return any.value;
}

/// Where elements of some strides lie beside the first one: so many before it, so many in all.
struct Span {
    std::int64_t before = 0, count = 0;
    Span(const Shape& shape, const Strides& strides)
    {
        if (element_count(shape) == 0) return;
        std::int64_t after = 0;
        for (std::size_t d = 0; d < shape.size(); ++d) {
            const std::int64_t far = (shape[d] - 1) * strides[d];
            (far < 0 ? before : after) += std::abs(far);
        }
        count = before + 1 + after;
    }
};

/// The description of a foreign array, after it has been checked.
struct Imported {
    Shape shape;
    Strides strides;
    std::byte* data = nullptr;

    template <class T> static Imported of(const dlpack::Array& a, const Site& at)
    {
        const dlpack::Type wanted = dlpack_type(dtype_of<T>());
        if (a.type.code != wanted.code || a.type.bits != wanted.bits || a.type.lanes != 1)
            fail<Error>("from_dlpack",
                        "the array has elements of code " + std::to_string(a.type.code) + ", " +
                            std::to_string(a.type.bits) + " bits and " + std::to_string(a.type.lanes) +
                            " lanes, and " + std::string(row_of(dtype_of<T>()).name) + " is asked for",
                        at);
        Imported out;
        for (std::int32_t d = 0; d < a.rank; ++d) out.shape.push_back(a.shape[d]);
        check_shape("from_dlpack", out.shape, at);
        if (a.strides)
            for (std::int32_t d = 0; d < a.rank; ++d) out.strides.push_back(a.strides[d]);
        else
            out.strides = row_major(out.shape);
        out.data = static_cast<std::byte*>(a.data) + a.byte_offset;
        if (element_count(out.shape) > 0 &&
            (!a.data || reinterpret_cast<std::uintptr_t>(out.data) % alignof(T) != 0))
            fail<Error>("from_dlpack",
                        a.data ? "the pointer is not aligned for its type" : "the pointer is null", at);
        return out;
    }
};
/// `whole(shape, data)` lends memory, of which these are a view where they have strides.
template <class F>
Ref<Block> view_of_lent(const Shape& shape, const Strides& strides, std::byte* data, std::size_t size,
                        const F& whole)
{
    if (strides == row_major(shape) || element_count(shape) == 0) return whole(shape, data);
    const Span span(shape, strides);
    return make_view(whole(Shape{span.count}, data - span.before * static_cast<std::int64_t>(size)), shape,
                     &strides, span.before);
}
/// `lend(owner)` makes a block of an array, which ends when nobody reads it any more; where it throws the array stays the caller's.
template <class M, class F> Ref<Block> taken_over(M* m, const F& lend)
{
    const auto taken = std::make_shared<bool>(false);
    Ref<Block> b = lend(std::shared_ptr<const void>(m, [m, taken](const void*) {
        if (*taken && m->end) m->end(m);
    }));
    *taken = true;
    return b;
}

}  // namespace detail

/// x for another library, a DLManagedTensor, or a DLManagedTensorVersioned: `to_dlpack<dlpack::Versioned>(x)`. Whoever takes it calls its
/// deleter at last. The memory is x's: it must not be written to. Throws TapeError for a tensor that depends on a variable.
template <class M = dlpack::Managed, class T>
M* to_dlpack(const Tensor<T>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Ref<Block> b = on_host(detail::exported_elements(x, at));
    return detail::exported<M>(*b, {dlpack::host, 0}, std::make_shared<const Ref<Block>>(b));
}

/// A tensor of another library's array on the host, without a copy; it is never written to, and its deleter is called when nobody reads it
/// any more. Throws Error for other types and devices, and leaves the array to the caller then.
template <class T, class Device = cpu, class M>
    requires std::is_same_v<Device, cpu>
Tensor<T> from_dlpack(M* m, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const dlpack::Array& a = m->array;
    if (a.device.type != dlpack::host && a.device.type != dlpack::cuda_host)
        fail<DeviceError>("from_dlpack",
                          "the array lies on a device of type " + std::to_string(a.device.type), at);
    const auto in = detail::Imported::of<T>(a, at);
    const auto lend = [&](const std::shared_ptr<const void>& owner) {
        const auto whole = [&](const Shape& shape, std::byte* data) {
            return make_lent(dtype_of<T>(), shape, data, owner);
        };
        return detail::view_of_lent(in.shape, in.strides, in.data, sizeof(T), whole);
    };
    return Tensor<T>(AnyTensor{detail::taken_over(m, lend), {}});
}

}  // namespace wengert
