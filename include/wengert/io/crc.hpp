// The check sum of zip archives.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace wengert::zip {

/// CRC-32 of IEEE 802.3 (reflected, 0xEDB88320), eight bytes a step (Kounavis & Berry 2005, "slicing by 8").
class Crc {
public:
    void add(const void* data, std::size_t size)
    {
        static const Tables t = make_tables();
        const auto* p = static_cast<const unsigned char*>(data);
        for (; size >= 8; size -= 8, p += 8) {
            std::uint32_t lo, hi;
            std::memcpy(&lo, p, 4);
            std::memcpy(&hi, p + 4, 4);
            lo ^= state_;
            state_ = t[7][lo & 255] ^ t[6][lo >> 8 & 255] ^ t[5][lo >> 16 & 255] ^ t[4][lo >> 24] ^
                     t[3][hi & 255] ^ t[2][hi >> 8 & 255] ^ t[1][hi >> 16 & 255] ^ t[0][hi >> 24];
        }
        for (; size > 0; --size, ++p) state_ = state_ >> 8 ^ t[0][(state_ ^ *p) & 255];
    }
    std::uint32_t value() const { return ~state_; }

private:
    using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

    static Tables make_tables()
    {
        Tables t{};
        for (std::uint32_t i = 0; i < 256; ++i) {
            std::uint32_t c = i;
            for (int bit = 0; bit < 8; ++bit) c = c >> 1 ^ (c & 1 ? 0xEDB88320u : 0u);
            t[0][i] = c;
        }
        for (std::size_t k = 1; k < 8; ++k)
            for (std::size_t i = 0; i < 256; ++i) t[k][i] = t[k - 1][i] >> 8 ^ t[0][t[k - 1][i] & 255];
        return t;
    }

    std::uint32_t state_ = 0xFFFFFFFF;
};

}  // namespace wengert::zip
