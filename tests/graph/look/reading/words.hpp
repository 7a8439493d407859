/// Numbers, types, elements and parameters from text: the inverse of graph/look/text.hpp and graph/ir/fields.hpp.
#pragma once

#include <wengert/graph/look/text.hpp>

#include "cursor.hpp"
#include "registry.hpp"

namespace reading {

template <class T> T read_number(Cursor& c)
{
    if constexpr (std::is_same_v<T, bool>) {
        const std::string_view w = c.word();
        if (w != "true" && w != "false") c.fail("true or false is expected, not " + quoted(w));
        return w == "true";
    } else if constexpr (std::is_integral_v<T>) {
        return c.number<T>("a whole number is expected");
    } else {
        if (c.accept_word("nan")) {
            if (!c.accept(':')) return std::numeric_limits<T>::quiet_NaN();
            using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
            const std::string_view hex = c.word();
            Bits bits{};
            if (!parsed(hex, bits, 16) || !std::isnan(std::bit_cast<T>(bits)))
                c.fail("these are no bits of a NaN: " + quoted(hex));
            return std::bit_cast<T>(bits);
        }
        return c.number<T>("a number is expected");
    }
}

inline Extents read_extents(Cursor& c)
{
    Extents out;
    c.list([&] { out.push_back(c.number<std::int64_t>("an extent is expected")); });
    return out;
}
/// "f32(64, 10)"
inline ValueType read_type(Cursor& c)
{
    const std::string_view w = c.word();
    for (std::size_t d = 0; d < std::size(short_names); ++d)
        if (w == short_names[d]) {
            ValueType t{static_cast<DType>(d), read_extents(c)};
            check_extents(t.shape);
            return t;
        }
    c.fail("a type such as f32(64, 10) is expected, not " + quoted(w.empty() ? c.rest() : w));
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

/// Elements in words behind "constant" or "=". `splat_bytes` is what may still be made of splats.
inline Ref<Block> read_elements(Cursor& c, const ValueType& t, std::size_t& splat_bytes)
{
    const std::size_t n = element_count(t.shape), bytes = n * size_of(t.dtype);
    if (c.accept_word("base64")) {
        const std::string_view text = c.rest();
        if (text.size() != (bytes + 2) / 3 * 4) c.fail("base64 of another length than the shape needs");
        auto b = make_block(t.dtype, t.shape);
        if (!from_base64(text, b->data, bytes)) c.fail("this is no base64");
        for (std::size_t i = 0; t.dtype == DType::boolean && i < n; ++i)
            if (std::to_integer<int>(b->data[i]) > 1) c.fail("a bool that is neither true nor false");
        return b;
    }
    const bool splat = c.accept_word("splat"), list = !splat && c.accept('[');
    if (splat && n == 0) c.fail("splat needs elements");
    if (!splat && !list && n != 1)
        c.fail("one number for " + std::to_string(n) + " elements; splat or a list is expected");
    if (splat && bytes > splat_bytes)
        c.fail("a constant of " + std::to_string(bytes) + " bytes is more than the limit (ReadLimits)");
    if (splat) splat_bytes -= bytes;
    if (list && n > c.rest().size()) c.fail("fewer elements than the shape needs");
    auto b = make_block(t.dtype, t.shape);
    with_dtype(t.dtype, [&]<class T>() {
        T* x = b->as<T>();
        for (std::size_t i = 0; i < (splat ? 1 : n); ++i) {
            if (i) c.expect(',');
            x[i] = read_number<T>(c);
        }
        if (splat) std::fill_n(x, n, T(x[0]));
    });
    if (list) c.expect(']');
    c.expect_end();
    return b;
}

/// Fills in the parameters of an operation, word by word.
class FieldParser : public FieldVisitorOf<FieldParser> {
public:
    explicit FieldParser(Cursor& c) : c_(c) {}
    void boolean(bool& v) { v = read_number<bool>(c_); }
    void integer(std::int64_t& v)
    {
        v = c_.number<std::int64_t>("a whole number is expected as a parameter");
    }
    void real(double& v)
    {
        const bool negative = c_.rest().starts_with("-nan");
        v = negative ? (c_.word(), -std::numeric_limits<double>::quiet_NaN()) : read_number<double>(c_);
    }
    void extents(Extents& v) { v = read_extents(c_); }
    void opaque(const void*, std::string_view what)
    {
        c_.fail("it holds a " + std::string(what) + ", which has no text");
    }

private:
    Cursor& c_;
};

inline Parameters read_parameters(const RegistryEntry& e, Cursor& c)
{
    Parameters op;
    const bool braces = c.accept('{');
    if (e.primitive->fields) {
        if (!e.make) c.fail("its parameters have no text");
        op = e.make();
        Cursor none("", c.line());
        FieldParser reader(braces ? c : none);
        e.primitive->fields(const_cast<void*>(op.get()), reader);
    }
    if (braces) c.expect('}');
    return op;
}

}  // namespace reading
