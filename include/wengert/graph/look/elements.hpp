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
inline std::string type_text(DType d, const Shape& shape)
{
    return std::string(short_name(d)) + to_string(shape);
}

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

inline std::string to_base64(const std::byte* data, std::size_t n)
{
    std::string out;
    out.reserve((n + 2) / 3 * 4);
    for (std::size_t i = 0; i < n; i += 3) {
        const auto byte = [&](std::size_t k) { return k < n ? std::to_integer<unsigned>(data[k]) : 0U; };
        const unsigned bits = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
        for (unsigned k = 0; k < 4; ++k) out += i + k > n ? '=' : base64_digits[bits >> (18 - 6 * k) & 63];
    }
    return out;
}

/// The bytes of canonical base64; false for anything else.
inline bool from_base64(std::string_view text, std::byte* to, std::size_t n)
{
    if (text.size() != (n + 2) / 3 * 4) return false;
    std::size_t done = 0;
    for (std::size_t i = 0; i < text.size(); i += 4) {
        unsigned bits = 0;
        for (std::size_t k = 0; k < 4; ++k) {
            const bool padding = done + k > n && text[i + k] == '=';
            const char* digit = static_cast<const char*>(std::memchr(base64_digits, text[i + k], 64));
            if (!digit && !padding) return false;
            bits = bits << 6 | (digit && !padding ? static_cast<unsigned>(digit - base64_digits) : 0U);
        }
        for (unsigned k = 0; k < 3; ++k) {
            const auto b = static_cast<std::byte>(bits >> (16 - 8 * k) & 0xff);
            if (done < n)
                to[done++] = b;
            else if (b != std::byte{})
                return false;
        }
    }
    return true;
}

/// All elements have the same bits.
inline bool is_splat(const Block& b)
{
    const std::size_t size = size_of(b.dtype);
    return b.count > 0 && std::memcmp(b.data, b.data + size, (b.count - 1) * size) == 0;
}

/// "0.5" for rank 0, "splat 0", "[1, 2, 3]" in row-major order for up to `inlined` elements, else "base64 AACAPw==", whose
/// bytes are little-endian.
inline std::string elements_text(const Block& block, std::size_t inlined = 32)
{
    static_assert(std::endian::native == std::endian::little, "wengert: graphs are saved little-endian.");
    const Ref<Block> held = contiguous(Ref<Block>(const_cast<Block*>(&block)));
    const Block& b = *held;
    std::string out;
    const bool splat = b.count > 1 && is_splat(b);
    if (!splat && b.count > inlined) return "base64 " + to_base64(b.data, b.bytes());
    if (splat) out = "splat ";
    const bool list = !splat && !b.shape.empty();
    if (list) out += '[';
    with_dtype(b.dtype, [&]<class T>() {
        for (std::size_t i = 0; i < (splat ? 1 : b.count); ++i) {
            if (i) out += ", ";
            write_number(out, b.as<T>()[i]);
        }
    });
    return list ? out + "]" : out;
}

}  // namespace wengert::detail
