// Text of any bytes made fit for Graphviz, XML and JSON.
#pragma once

#include <string>
#include <string_view>

namespace wengert::detail {

/// Bytes of the UTF-8 character that begins here, 0 where none does.
inline std::size_t utf8_length(std::string_view s, std::size_t at)
{
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(i < s.size() ? s[i] : 0); };
    const unsigned char c = byte(at), d = byte(at + 1);
    if (c < 0x80) return 1;
    const std::size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (c < 0xc2 || c > 0xf4) return 0;
    for (std::size_t k = 1; k < n; ++k)
        if ((byte(at + k) & 0xc0) != 0x80) return 0;
    const bool overlong = (c == 0xe0 && d < 0xa0) || (c == 0xf0 && d < 0x90);
    const bool beyond = (c == 0xed && d > 0x9f) || (c == 0xf4 && d > 0x8f);  // surrogates, too large
    return overlong || beyond ? 0 : n;
}

/// fn(character) for each one; control characters are blanks, and what is no UTF-8 is a question mark.
template <class F> void each_character(std::string_view s, const F& fn)
{
    for (std::size_t i = 0; i < s.size();) {
        const std::size_t n = utf8_length(s, i);
        const std::string_view c = n == 0 ? "?" : s.substr(i, n);
        fn(n == 1 && (static_cast<unsigned char>(c[0]) < 32 || c[0] == 127) ? std::string_view(" ") : c);
        i += n ? n : 1;
    }
}

/// Inside of quotes, for Graphviz and for JSON alike.
inline std::string quoted_text(std::string_view s)
{
    std::string out;
    each_character(s, [&](std::string_view c) {
        if (c == "\"" || c == "\\") out += '\\';
        out += c;
    });
    return out;
}

/// Inside of elements and attributes.
inline std::string xml_text(std::string_view s)
{
    std::string out;
    each_character(s, [&](std::string_view c) {
        if (c == "&")
            out += "&amp;";
        else if (c == "<")
            out += "&lt;";
        else if (c == ">")
            out += "&gt;";
        else if (c == "\"")
            out += "&quot;";
        else
            out += c;
    });
    return out;
}

/// At most so many bytes of it.
inline std::string shortened(std::string text, std::size_t most = 48)
{
    if (text.size() <= most) return text;
    while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
    text.resize(most);
    return text + "...";
}

}  // namespace wengert::detail
