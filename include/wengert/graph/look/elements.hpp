// Numbers and arrays as text that reads back to the same bits.
#pragma once

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string>

#include "../../array/layout.hpp"

namespace wengert::detail {

inline constexpr std::string_view short_names[] = {"f32", "f64", "i32", "i64", "bool"};
inline std::string_view short_name(DType d) { return short_names[static_cast<std::size_t>(d)]; }

/// "f32(64, 10)"
std::string type_text(DType d, const Shape& shape);

/// The shortest decimal that reads back to the same number; a NaN other than the usual one keeps its bits: "nan:7fc00001".
template <class T> void write_number(std::string& out, T v)
{
    char buffer[48];
    char *const end = buffer + sizeof buffer, *last = buffer;
    if constexpr (std::is_same_v<T, bool>) {
        out += v ? "true" : "false";
    } else if constexpr (std::is_integral_v<T>) {
        last = std::to_chars(buffer, end, v).ptr;
    } else if (std::isnan(v)) {
        using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
        out += "nan";
        if (std::bit_cast<Bits>(v) == std::bit_cast<Bits>(std::numeric_limits<T>::quiet_NaN())) return;
        out += ':';
        last = std::to_chars(buffer, end, std::bit_cast<Bits>(v), 16).ptr;
    } else {
        last = std::to_chars(buffer, end, v).ptr;
    }
    out.append(buffer, last);
}

inline constexpr char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string to_base64(const std::byte* data, std::size_t n);

/// The bytes of canonical base64; false for anything else.
bool from_base64(std::string_view text, std::byte* to, std::size_t n);

/// All elements have the same bits.
bool is_splat(const Block& b);

/// "0.5" for rank 0, "splat 0", "[1, 2, 3]" in row-major order for up to `inlined` elements, else "base64 AACAPw==", whose
/// bytes are little-endian.
std::string elements_text(const Block& block, std::size_t inlined = 32);

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "elements_source.hpp"
#endif
