// Element types and device tags, as types for the compiler and as numbers for the type-erased core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace wengert {

/// The element types.
enum class DType : std::uint8_t { float32, float64, int32, int64, boolean };

struct cpu {};  ///< the device tag of host memory
struct cuda;    ///< room for another; nothing defines it yet

template <class T>
inline constexpr bool is_element =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int32_t> ||
    std::is_same_v<T, std::int64_t> || std::is_same_v<T, bool>;

/// Only floating-point tensors have gradients.
template <class T> inline constexpr bool is_differentiable = std::is_floating_point_v<T>;

template <class T> constexpr DType dtype_of()
{
    static_assert(is_element<T>,
                  "wengert: a tensor's elements are float, double, std::int32_t, std::int64_t or bool");
    if constexpr (std::is_same_v<T, float>)
        return DType::float32;
    else if constexpr (std::is_same_v<T, double>)
        return DType::float64;
    else if constexpr (std::is_same_v<T, std::int32_t>)
        return DType::int32;
    else if constexpr (std::is_same_v<T, std::int64_t>)
        return DType::int64;
    else
        return DType::boolean;
}

constexpr std::size_t size_of(DType d)
{
    // A nibble each: a table would be built on the stack.
    return 0x18484U >> (4 * static_cast<unsigned>(d)) & 0xfU;
}

constexpr std::string_view name_of(DType d)
{
    constexpr std::string_view names[] = {"float32", "float64", "int32", "int64", "bool"};
    return names[static_cast<std::size_t>(d)];
}

constexpr bool differentiable(DType d) { return d == DType::float32 || d == DType::float64; }

/// Calls fn.template operator()<T>() for the element type that d names.
template <class F> decltype(auto) with_dtype(DType d, F&& fn)
{
    switch (d) {
    case DType::float32: return fn.template operator()<float>();
    case DType::float64: return fn.template operator()<double>();
    case DType::int32: return fn.template operator()<std::int32_t>();
    case DType::int64: return fn.template operator()<std::int64_t>();
    default: return fn.template operator()<bool>();
    }
}

}  // namespace wengert
