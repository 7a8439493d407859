// The bodies of saved_tensor_hooks.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../../base/separate.hpp"
#include "../saved_tensor_hooks.hpp"

namespace wengert {

namespace detail {

// Virtual functions are inline from their declaration on: else one of them is the class's key function, and every program
// that includes this has its table.

/// Arrays of less than this many bytes are not worth the trouble.
inline constexpr std::size_t least_packed = 1024;

/// Keeps arrays in a file without a name, in a folder.
class DiskHooks : public SavedHooks {
public:
    DiskHooks(std::string folder, const Site& at)
        : store_(std::make_shared<SnapshotStore>(std::move(folder), "SavedTensorHooks", at))
    {}
    WENGERT_INLINE std::shared_ptr<void> pack(const Ref<Block>& b) override;
    WENGERT_INLINE Ref<Block> unpack(const std::shared_ptr<void>& packed, DType, const Shape&) override;

private:
    std::shared_ptr<SnapshotStore> store_;
};

/// Keeps arrays of devices on the host.
class HostHooks : public SavedHooks {
public:
    WENGERT_INLINE std::shared_ptr<void> pack(const Ref<Block>& b) override;
    WENGERT_INLINE Ref<Block> unpack(const std::shared_ptr<void>& packed, DType, const Shape&) override;

private:
    struct Copy {
        std::uint8_t device;  ///< where it comes from
        Ref<Block> here;
    };
};

/// Keeps doubles as floats: 24 bits of each value.
class SingleHooks : public SavedHooks {
public:
    WENGERT_INLINE std::shared_ptr<void> pack(const Ref<Block>& b) override;
    WENGERT_INLINE Ref<Block> unpack(const std::shared_ptr<void>& packed, DType, const Shape&) override;
};

/// Keeps the upper half of a float, rounded to nearest even: 8 bits of each value, float's range.
class BFloat16Hooks : public SavedHooks {
public:
    WENGERT_INLINE std::shared_ptr<void> pack(const Ref<Block>& b) override;
    WENGERT_INLINE Ref<Block> unpack(const std::shared_ptr<void>& packed, DType dtype,
                                     const Shape& shape) override;

private:
    struct Halves {
        std::uint8_t device;  ///< where they come from
        std::vector<std::uint16_t> elements;
    };
    static std::uint16_t halved(float v);
};

WENGERT_INLINE std::shared_ptr<void> DiskHooks::pack(const Ref<Block>& b)
{
    if (b->bytes() < least_packed) return nullptr;
    return std::make_shared<Snapshot>(store_, std::vector<Ref<Block>>{b});
}

WENGERT_INLINE Ref<Block> DiskHooks::unpack(const std::shared_ptr<void>& packed, DType, const Shape&)
{
    return static_cast<const Snapshot*>(packed.get())->read(0);
}

WENGERT_INLINE std::shared_ptr<void> HostHooks::pack(const Ref<Block>& b)
{
    if (!b->access.device || b->bytes() < least_packed) return nullptr;
    return std::make_shared<Copy>(Copy{b->device(), on_host(b)});
}

WENGERT_INLINE Ref<Block> HostHooks::unpack(const std::shared_ptr<void>& packed, DType, const Shape&)
{
    const Copy& copy = *static_cast<const Copy*>(packed.get());
    return placed(copy.here, copy.device);
}

/// Do they all have a float's exponents? What would become ∞, or lose digits as a subnormal number, has not.
inline bool fit_exponents_of_floats(const Block& b)
{
    constexpr double most = 0x1.fep127, least = std::numeric_limits<float>::min();  // of bfloat16, too
    return with_real(b.dtype, [&]<class T>() {
        const T* const x = b.as<T>();
        return std::all_of(x, x + b.count, [](T e) {
            const auto size = static_cast<double>(e < T(0) ? T(0) - e : e);
            return !(size > most && size <= std::numeric_limits<double>::max()) &&
                   !(size > 0 && size < least);
        });
    });
}

WENGERT_INLINE std::shared_ptr<void> SingleHooks::pack(const Ref<Block>& b)
{
    if (b->dtype != dtype_of<double>() || b->bytes() < least_packed) return nullptr;
    if (!fit_exponents_of_floats(*contiguous(readable(b)))) return nullptr;
    return std::make_shared<Tensor<float>>(cast<float>(Tensor<double>(AnyTensor{b, {}}), Site{}));
}

WENGERT_INLINE Ref<Block> SingleHooks::unpack(const std::shared_ptr<void>& packed, DType, const Shape&)
{
    return cast<double>(*static_cast<const Tensor<float>*>(packed.get()), Site{}).any().value;
}

WENGERT_INLINE std::shared_ptr<void> BFloat16Hooks::pack(const Ref<Block>& b)
{
    if (!differentiable(b->dtype) || b->bytes() < least_packed) return nullptr;
    const Ref<Block> x = readable(b);
    if (!fit_exponents_of_floats(*contiguous(x))) return nullptr;
    auto packed = std::make_shared<Halves>(Halves{b->device(), std::vector<std::uint16_t>(x->count)});
    for (std::size_t i = 0; i < x->count; ++i)
        packed->elements[i] =
            halved(with_real(x->dtype, [&]<class T>() { return static_cast<float>(x->as<T>()[i]); }));
    return packed;
}

WENGERT_INLINE Ref<Block> BFloat16Hooks::unpack(const std::shared_ptr<void>& packed, DType dtype,
                                                const Shape& shape)
{
    const auto& [device, half] = *static_cast<const Halves*>(packed.get());
    auto b = make_block(dtype, shape);
    for (std::size_t i = 0; i < b->count; ++i) {
        const float v = std::bit_cast<float>(static_cast<std::uint32_t>(half[i]) << 16);
        with_real(dtype, [&]<class T>() { b->as<T>()[i] = static_cast<T>(v); });
    }
    return placed(std::move(b), device);
}

WENGERT_INLINE std::uint16_t BFloat16Hooks::halved(float v)
{
    const auto bits = std::bit_cast<std::uint32_t>(v);
    if (v != v) return static_cast<std::uint16_t>(bits >> 16 | 0x40);  // stays a NaN
    return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace detail

WENGERT_INLINE std::shared_ptr<SavedHooks> save_on_disk(std::string folder, Site at)
{
    return std::make_shared<detail::DiskHooks>(std::move(folder), at);
}

WENGERT_INLINE std::shared_ptr<SavedHooks> save_on_host() { return std::make_shared<detail::HostHooks>(); }
WENGERT_INLINE std::shared_ptr<SavedHooks> save_as_float32()
{
    return std::make_shared<detail::SingleHooks>();
}
WENGERT_INLINE std::shared_ptr<SavedHooks> save_as_bfloat16()
{
    return std::make_shared<detail::BFloat16Hooks>();
}

}  // namespace wengert
