// A hash of 128 bits for names of files: two lanes of 64 bits, each a multiply-and-mix over 8 bytes at a time (the mixer of
// MurmurHash3, Appleby 2011). It tells texts apart; it is no protection against somebody who looks for collisions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace wengert::detail {

class Hash128 {
public:
    Hash128& add(std::string_view text)
    {
        add_word(text.size());
        for (std::size_t i = 0; i < text.size(); i += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, text.data() + i, std::min<std::size_t>(8, text.size() - i));
            add_word(word);
        }
        return *this;
    }
    std::string text() const
    {
        std::string s;
        for (const std::uint64_t part : {mix(a_ ^ b_), mix(b_ + 0x9e3779b97f4a7c15)})
            for (int shift = 60; shift >= 0; shift -= 4) s += "0123456789abcdef"[part >> shift & 15];
        return s;
    }

private:
    static std::uint64_t mix(std::uint64_t x)
    {
        x = (x ^ (x >> 33)) * 0xff51afd7ed558ccd;
        x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53;
        return x ^ (x >> 33);
    }
    void add_word(std::uint64_t w)
    {
        a_ = mix(a_ ^ w) * 5 + 0x52dce729;
        b_ = mix(b_ + w * 0x87c37b91114253d5) ^ (b_ >> 31);
    }
    std::uint64_t a_ = 0x243f6a8885a308d3, b_ = 0x13198a2e03707344;
};

}  // namespace wengert::detail
