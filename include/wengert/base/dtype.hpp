// Element types and device tags, as types for the compiler and as numbers for the type-erased core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace wengert {

/// The element types.
enum class DType : std::uint8_t { float32, float64, int32, int64, boolean };

struct cpu {};  ///< the device tag of host memory
struct cuda;    ///< that of NVIDIA's (wengert/cuda.hpp)

template <class T>
inline constexpr bool is_element =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int32_t> ||
    std::is_same_v<T, std::int64_t> || std::is_same_v<T, bool>;

/// Only floating-point tensors have gradients.
template <class T> inline constexpr bool is_differentiable = std::is_floating_point_v<T>;

template <class T> constexpr DType dtype_of()
{
    static_assert(is_element<T>,
                  "wengert: a tensor's elements are float, double, std::int32_t, std::int64_t or bool here; "
                  "docs/complex.md lists what complex tensors have");
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

/// The row of an element type, for code that writes, packs or compares numbers of it.
struct DTypeRow {
    std::string_view name;
    bool real;
    DType bits;          ///< the whole numbers of its size
    const char* lane;    ///< in texts over vectors; names of functions end with it
    const char* c;       ///< in C
    const char* suffix;  ///< of C's functions and literals
    int digits;          ///< binary ones, without the sign
    int exponents;       ///< powers of two up to this have exact reciprocals
    double least;        ///< the least normal number ÷ ε: digits of squares below it get lost
};
inline constexpr DTypeRow dtype_rows[] = {
    {"float32", true, DType::int32, "f32", "float", "f", 24, 125, 0x1p-103},
    {"float64", true, DType::int64, "f64", "double", "", 53, 1021, 0x1p-970},
    {"int32", false, DType::int32, "i32", "int32_t", "", 31, 0, 0},
    {"int64", false, DType::int64, "i64", "int64_t", "", 63, 0, 0},
    {"bool", false, DType::boolean, "u8", "unsigned char", "", 1, 0, 0},
};
constexpr const DTypeRow& row_of(DType d) { return dtype_rows[static_cast<std::size_t>(d)]; }

/// The real types, from the narrowest on.
inline constexpr DType real_dtypes[] = {DType::float32, DType::float64};

/// Is every number of b one of a?
constexpr bool holds_all(DType a, DType b)
{
    return row_of(b).digits <= row_of(a).digits && (row_of(a).real || !row_of(b).real);
}

/// The real type whose bits are those whole numbers.
constexpr DType real_of_bits(DType bits)
{
    for (const DType d : real_dtypes)
        if (row_of(d).bits == bits) return d;
    return bits;
}

constexpr std::size_t size_of(DType d)
{
    // A nibble each: a table would be built on the stack.
    return 0x18484U >> (4 * static_cast<unsigned>(d)) & 0xfU;
}

constexpr std::string_view name_of(DType d) { return row_of(d).name; }

constexpr bool differentiable(DType d) { return d <= DType::float64; }

/// The narrowest of the real types: results of it are compared with wider bounds.
constexpr bool is_single(DType d) { return d == DType::float32; }

/// Calls fn.template operator()<T>() for the real type that d names. Not for what uses tensors: of functions that
/// are declared before it and defined after it, clang 16 forgets those that only such an fn calls.
template <class F> constexpr auto with_real(DType d, F&& fn) -> decltype(fn.template operator()<float>())
{
    return is_single(d) ? fn.template operator()<float>() : fn.template operator()<double>();
}

/// F::of<T>(x…) for the real type T that d names: what uses tensors.
template <class F, class... X> decltype(auto) of_real(DType d, X&&... x)
{
    return is_single(d) ? F::template of<float>(std::forward<X>(x)...)
                        : F::template of<double>(std::forward<X>(x)...);
}

/// v as the nearest number of that real type.
constexpr double rounded_to(DType d, double v)
{
    return with_real(d, [&]<class T>() { return static_cast<double>(static_cast<T>(v)); });
}

/// The wider of two real types.
constexpr DType wider(DType a, DType b) { return a < b ? b : a; }

/// Calls fn.template operator()<T>() for the element type that d names.
template <class F> auto with_dtype(DType d, F&& fn) -> decltype(fn.template operator()<float>())
{
    switch (d) {
    case DType::int32: return fn.template operator()<std::int32_t>();
    case DType::int64: return fn.template operator()<std::int64_t>();
    case DType::boolean: return fn.template operator()<bool>();
    default: return with_real(d, fn);
    }
}

}  // namespace wengert
