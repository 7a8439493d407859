// NumPy's .npy files (NEP 1): reads versions 1 to 3 in C or Fortran order, writes version 1 in C order. Raw
// bytes in and out; tensors come in above. Malformed input throws Error and reads nothing outside of itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace wengert {

/// dtype is one of f4 f8 i8 i4 b1; bytes are little-endian and in C order.
struct NpyArray {
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::vector<std::byte> bytes;
};

/// The dtype of T as NumPy's files name it.
template <class T> constexpr const char* npy_dtype()
{
    static_assert(std::is_arithmetic_v<T>);
    if constexpr (std::is_same_v<T, bool>)
        return "b1";
    else if constexpr (std::is_floating_point_v<T>)
        return sizeof(T) == 4 ? "f4" : "f8";
    else
        return sizeof(T) == 4 ? "i4" : "i8";
}

/// The array in a .npy file. Throws Error, with the file's name, for what cannot be read.
NpyArray read_npy(const std::string& path);

/// Writes `bytes` bytes in C order, which must fill the shape. The file appears complete or, after a throw,
/// not at all; one that was there before is then as it was.
void write_npy(const std::string& path, const std::string& dtype, const std::vector<std::int64_t>& shape,
               const void* data, std::size_t bytes);

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/npy.ipp"
#endif
