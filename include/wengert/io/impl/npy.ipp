// What npy.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include <bit>
#include <cstring>
#include <limits>
#include <string_view>

#include "../../base/error.hpp"
#include "../../base/file.hpp"
#include "../../base/separate.hpp"
#include "../npy.hpp"

namespace wengert {

namespace npy {

static_assert(std::endian::native == std::endian::little,
              "wengert: .npy files are read and written little-endian.");

inline constexpr std::size_t max_rank = 64;  // NumPy's own limit

[[noreturn]] inline void fail(const std::string& name, const std::string& what)
{
    throw Error("[npy] '" + name + "': " + what);
}

/// Bytes of an element, 0 for a dtype that is none of ours.
inline std::size_t item_size(std::string_view dtype)
{
    if (dtype == "f8" || dtype == "i8") return 8;
    if (dtype == "f4" || dtype == "i4") return 4;
    return dtype == "b1" ? 1 : 0;
}

/// Bytes of an array; throws for a negative extent and where the number overflows.
inline std::size_t byte_count(const std::string& name, std::string_view dtype,
                              const std::vector<std::int64_t>& shape)
{
    std::size_t count = item_size(dtype);
    if (count == 0) fail(name, "unknown dtype '" + std::string(dtype) + "'; one of f4 f8 i8 i4 b1 is needed");
    if (shape.size() > max_rank) fail(name, "more than 64 dimensions");
    bool empty = false;
    for (const std::int64_t n : shape) {
        if (n < 0) fail(name, "a negative extent in the shape");
        if (n == 0) empty = true;
    }
    if (empty) return 0;
    for (const std::int64_t n : shape) {
        const auto extent = static_cast<std::size_t>(n);
        if (count > std::numeric_limits<std::size_t>::max() / 2 / extent)
            fail(name, "a shape too large for any memory");
        count *= extent;
    }
    return count;
}

struct Header {
    std::string dtype;
    std::vector<std::int64_t> shape;
    bool fortran = false;
    std::size_t data_at = 0;
};

/// The header's Python literal, {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }, keys in any
/// order.
class HeaderParser {
public:
    HeaderParser(const std::string& name, std::string_view text) : name_(name), text_(text) {}

    Header parse()
    {
        bool descr = false, order = false, shape = false;
        expect('{');
        while (!accept('}')) {
            const std::string key = quoted();
            expect(':');
            if (key == "descr" && !descr)
                descr = true, header_.dtype = dtype();
            else if (key == "fortran_order" && !order)
                order = true, header_.fortran = boolean();
            else if (key == "shape" && !shape)
                shape = true, header_.shape = extents();
            else
                bad();
            if (accept(',')) continue;
            expect('}');
            break;
        }
        skip_space();
        if (at_ != text_.size() || !descr || !order || !shape) bad();
        return header_;
    }

private:
    [[noreturn]] void bad() const
    {
        fail(name_, "malformed header at byte " + std::to_string(at_) + " of it");
    }

    void skip_space()
    {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
    }
    bool accept(char c)
    {
        skip_space();
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    void expect(char c)
    {
        if (!accept(c)) bad();
    }
    std::string quoted()
    {
        const char quote = accept('\'') ? '\'' : '"';
        if (quote == '"') expect('"');
        const std::size_t end = text_.find(quote, at_);
        if (end == std::string_view::npos) bad();
        const std::string word(text_.substr(at_, end - at_));
        at_ = end + 1;
        return word;
    }
    std::string dtype()
    {
        if (accept('[')) fail(name_, "structured dtypes are not supported; save each field as an array");
        const std::string word = quoted();
        const std::string type = word.empty() ? word : word.substr(1);
        const bool order =
            !word.empty() && (word[0] == '<' || word[0] == '=' || (word[0] == '|' && type == "b1"));
        if (order && item_size(type) > 0) return type;
        fail(name_,
             "dtype '" + word + "' is not supported; convert with astype to one of <f4 <f8 <i8 <i4 bool");
    }
    bool boolean()
    {
        skip_space();
        const bool yes = text_.substr(at_, 4) == "True";
        if (!yes && text_.substr(at_, 5) != "False") bad();
        at_ += yes ? 4 : 5;
        return yes;
    }
    std::int64_t number()
    {
        skip_space();
        const std::size_t begin = at_;
        std::int64_t n = 0;
        while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && at_ - begin < 18)
            n = 10 * n + (text_[at_++] - '0');
        if (at_ == begin) bad();
        accept('L');  // written by Python 2
        return n;
    }
    std::vector<std::int64_t> extents()
    {
        std::vector<std::int64_t> shape;
        expect('(');
        while (!accept(')')) {
            shape.push_back(number());
            if (accept(',')) continue;
            expect(')');
            break;
        }
        return shape;
    }

    const std::string& name_;
    std::string_view text_;
    std::size_t at_ = 0;
    Header header_;
};

inline Header read_header(const std::string& name, const std::vector<std::byte>& bytes)
{
    const auto byte = [&](std::size_t i) { return std::to_integer<std::size_t>(bytes[i]); };
    if (bytes.size() < 10 || std::memcmp(bytes.data(), "\x93NUMPY", 6) != 0) fail(name, "not a .npy file");
    const std::size_t version = byte(6), begin = version == 1 ? 10 : 12;
    if (version < 1 || version > 3) fail(name, "unknown .npy version " + std::to_string(version));
    if (bytes.size() < begin) fail(name, "truncated in its header");
    std::size_t length = byte(8) | byte(9) << 8;
    if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
    if (length > bytes.size() - begin) fail(name, "truncated in its header");
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + begin, length);
    Header header = HeaderParser(name, text).parse();
    header.data_at = begin + length;
    return header;
}

/// The same elements in C order, of an array in Fortran order (first index fastest).
inline std::vector<std::byte> to_c_order(const std::vector<std::byte>& from,
                                         const std::vector<std::int64_t>& shape, std::size_t item)
{
    const std::size_t rank = shape.size();
    std::vector<std::byte> to(from.size());
    std::vector<std::size_t> stride(rank, item), index(rank, 0);
    for (std::size_t d = 1; d < rank; ++d) stride[d] = stride[d - 1] * static_cast<std::size_t>(shape[d - 1]);
    std::size_t at = 0;
    for (std::size_t out = 0; out < to.size(); out += item) {
        std::memcpy(to.data() + out, from.data() + at, item);
        for (std::size_t d = rank; d-- > 0;) {
            at += stride[d];
            if (++index[d] < static_cast<std::size_t>(shape[d])) break;
            at -= stride[d] * index[d];
            index[d] = 0;
        }
    }
    return to;
}

/// The array in the bytes of a whole .npy file; `name` is for the error's text.
inline NpyArray parse(const std::string& name, std::vector<std::byte> bytes)
{
    const Header header = read_header(name, bytes);
    const std::size_t expected = byte_count(name, header.dtype, header.shape);
    const std::size_t found = bytes.size() - header.data_at;
    if (found != expected)
        fail(name, "the header promises " + std::to_string(expected) + " bytes of data, the file has " +
                       std::to_string(found));
    bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(header.data_at));
    if (header.fortran && header.shape.size() > 1)
        bytes = to_c_order(bytes, header.shape, item_size(header.dtype));
    if (header.dtype == "b1")  // any other value in a bool is undefined behaviour
        for (std::byte& b : bytes) b = std::byte{b != std::byte{0}};
    return {header.dtype, header.shape, std::move(bytes)};
}

/// All of a .npy file before its data, which starts at a multiple of 64.
inline std::string header_text(const std::string& name, const std::string& dtype,
                               const std::vector<std::int64_t>& shape, std::size_t bytes)
{
    if (byte_count(name, dtype, shape) != bytes)
        fail(name, std::to_string(bytes) + " bytes of data do not fill the shape");
    std::string dict = "{'descr': '" + std::string(dtype == "b1" ? "|" : "<") + dtype +
                       "', 'fortran_order': False, 'shape': (";
    for (const std::int64_t n : shape) dict += std::to_string(n) + ", ";
    if (shape.size() > 1)
        dict.resize(dict.size() - 2);
    else if (shape.size() == 1)
        dict.pop_back();
    dict += "), }";
    dict.append(63 - (10 + dict.size()) % 64, ' ');
    dict += '\n';
    std::string text = "\x93NUMPY";
    for (const std::size_t b : {std::size_t{1}, std::size_t{0}, dict.size() & 255, dict.size() >> 8})
        text += static_cast<char>(static_cast<unsigned char>(b));
    return text + dict;
}

}  // namespace npy

WENGERT_INLINE NpyArray read_npy(const std::string& path) { return npy::parse(path, file::read(path)); }

WENGERT_INLINE void write_npy(const std::string& path, const std::string& dtype,
                              const std::vector<std::int64_t>& shape, const void* data, std::size_t bytes)
{
    const std::string header = npy::header_text(path, dtype, shape, bytes);
    file::Writer out(path);
    out.write(header);
    out.write(data, bytes);
    out.commit();
}

}  // namespace wengert
