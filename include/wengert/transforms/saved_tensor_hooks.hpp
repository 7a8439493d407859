// SavedTensorHooks: what the tape saves, packed and unpacked by functions of the user's, or by ready-made ones.
#pragma once

#include "../ops/elementwise/cast.hpp"
#include "snapshot_file.hpp"

namespace wengert {

namespace detail {

/// Whether pack takes arrays of any dtype. One that takes none would be called for no value, in silence.
template <class P> constexpr bool packs_some_dtype()
{
    return []<class... T>(std::type_identity<T>...) {
        return (std::is_invocable_v<P&, const Tensor<T>&> || ...);
    }(std::type_identity<float>(), std::type_identity<double>(), std::type_identity<std::int32_t>(),
           std::type_identity<std::int64_t>(), std::type_identity<bool>());
}

/// pack and unpack for those dtypes that they accept; the packed thing is whatever pack returns.
template <class P, class U> class FunctionHooks : public SavedHooks {
    static_assert(packs_some_dtype<P>(),
                  "wengert: pack of SavedTensorHooks takes a Tensor<T> of some dtype T, or auto");

public:
    FunctionHooks(P pack, U unpack) : pack_(std::move(pack)), unpack_(std::move(unpack)) {}
    std::shared_ptr<void> pack(const Ref<Block>& b) override
    {
        std::shared_ptr<void> packed;
        with_dtype(b->dtype, [&]<class T>() {
            if constexpr (std::is_invocable_v<P&, const Tensor<T>&>) {
                using Packed = std::remove_cvref_t<std::invoke_result_t<P&, const Tensor<T>&>>;
                packed = std::make_shared<Packed>(pack_(Tensor<T>(AnyTensor{b, {}})));
            }
        });
        return packed;
    }
    Ref<Block> unpack(const std::shared_ptr<void>& packed, DType dtype, const Shape&) override
    {
        Ref<Block> b;
        with_dtype(dtype, [&]<class T>() {
            if constexpr (std::is_invocable_v<P&, const Tensor<T>&>) {
                using Packed = std::remove_cvref_t<std::invoke_result_t<P&, const Tensor<T>&>>;
                b = unpack_(*static_cast<const Packed*>(packed.get())).any().value;
            }
        });
        return b;
    }

private:
    P pack_;
    U unpack_;
};

}  // namespace detail

/// While it lives, every value that the calling thread's tape saves is handed to pack(tensor), and what that returns, of any
/// type, is kept in its place; unpack(packed) must give the same tensor back when the derivative needs it. Functions that
/// take some dtypes only leave the others alone. Frozen functions run eagerly in that time. Scopes nest, the inner one counts.
class SavedTensorHooks {
public:
    template <class P, class U>
    SavedTensorHooks(P pack, U unpack)
        : SavedTensorHooks(std::make_shared<detail::FunctionHooks<P, U>>(std::move(pack), std::move(unpack)))
    {}
    explicit SavedTensorHooks(std::shared_ptr<SavedHooks> hooks)
        : hooks_(Tape::current().hooks, std::move(hooks))
    {}

private:
    Restore<std::shared_ptr<SavedHooks>> hooks_;
};

/// Ready-made hooks: SavedTensorHooks hooks(save_on_disk("/tmp")). Exact; arrays below 1 KiB stay in memory.
std::shared_ptr<SavedHooks> save_on_disk(std::string folder, Site at = {__builtin_FILE(), __builtin_LINE()});
/// Values on a device are saved in the host's memory, exactly. Values on the host, and arrays below 1 KiB, stay where they are.
std::shared_ptr<SavedHooks> save_on_host();
/// Doubles are saved as floats: gradients lose about half of their digits (relative error 6e-8 in each saved value). An array with a
/// number whose exponent no float has stays as it is.
std::shared_ptr<SavedHooks> save_as_float32();
/// Floats and doubles are saved as bfloat16: two or three digits (relative error 4e-3 in each saved value). Arrays with a number
/// whose exponent no float has stay as they are.
std::shared_ptr<SavedHooks> save_as_bfloat16();

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/saved_tensor_hooks.ipp"
#endif
