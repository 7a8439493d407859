// What elements.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../base/separate.hpp"
#include "elements.hpp"

namespace wengert::detail {

WENGERT_INLINE std::string type_text(DType d, const Shape& shape)
{
    return std::string(short_name(d)) + to_string(shape);
}

WENGERT_INLINE std::string to_base64(const std::byte* data, std::size_t n)
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

WENGERT_INLINE bool from_base64(std::string_view text, std::byte* to, std::size_t n)
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

WENGERT_INLINE bool is_splat(const Block& b)
{
    const std::size_t size = size_of(b.dtype);
    return b.count > 0 && std::memcmp(b.data, b.data + size, (b.count - 1) * size) == 0;
}

WENGERT_INLINE std::string elements_text(const Block& block, std::size_t inlined)
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
