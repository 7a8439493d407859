// Tensors to and from NumPy's files.
#pragma once

#include "../base/located.hpp"
#include "npz.hpp"
#include "../tape/tensor_impl.hpp"

namespace wengert {

namespace detail {

template <class T, class Device> Tensor<T, Device> tensor_from(const std::string& where, const NpyArray& a)
{
    if (a.dtype != npy_dtype<T>())
        throw DTypeError("[load] '" + where + "' holds " + a.dtype + ", not " + npy_dtype<T>() + " (" +
                         std::string(name_of(dtype_of<T>())) + ")");
    auto out = make_block(dtype_of<T>(), Shape(a.shape));
    if (out->count > 0) std::memcpy(out->data, a.bytes.data(), out->bytes());
    return Tensor<T, Device>(AnyTensor{made<Device>(std::move(out)), {}});
}

inline std::vector<std::int64_t> shape_vector(const Shape& s) { return {s.begin(), s.end()}; }

}  // namespace detail

/// One tensor as a .npy file. Throws Error when it cannot be written; a file that was there is then as before.
template <class T, class D>
void save_npy(const std::string& path, const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    note_read(*x.any("save_npy", at).value, Read::elements, at);
    detail::located("save_npy", at, [&] {
        const Ref<Block> b = readable(x.any().value);
        write_npy(path, npy_dtype<T>(), detail::shape_vector(b->shape), b->data, b->bytes());
    });
}

/// The tensor in a .npy file. Throws Error for what cannot be read, DTypeError when its elements are no T.
template <class T, class Device = cpu>
Tensor<T, Device> load_npy(const std::string& path, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::located("load_npy", at,
                           [&] { return detail::tensor_from<T, Device>(path, read_npy(path)); });
}

/// All tensors of a .npz file by name. Throws Error, DTypeError when one has other elements than T.
template <class T, class Device = cpu>
std::map<std::string, Tensor<T, Device>> load_npz(const std::string& path,
                                                  Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::located("load_npz", at, [&] {
        std::map<std::string, Tensor<T, Device>> out;
        for (const auto& [name, array] : read_npz(path))
            out.emplace(name, detail::tensor_from<T, Device>(path + ":" + name, array));
        return out;
    });
}

}  // namespace wengert
