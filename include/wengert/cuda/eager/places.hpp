// Elements of arrays in any layout, as kernels are given them, and the text that finds them.
#pragma once

#include <cstdlib>
#include <cstring>
#include <optional>

#include "../../array/layout.hpp"

namespace wengert::detail::gpu {

/// What kernels over elements are given; the text has the same struct (`places_text`).
struct Places {
    static constexpr std::size_t most = 6, rank_most = 16;
    void* data[most] = {};
    long long count = 0;
    double zero = 0;  ///< what a cotangent is compared with, or a number that is no operand
    long long bits = 0, below = 0;
    long long rank = 0;
    long long extents[rank_most] = {};
    long long steps[most][rank_most] = {};  ///< in elements
    long long here = 0;                     ///< bit k: operand k is a number on the host, and is given as
    long long numbers[most] = {};           ///< its bits
    long long narrow = 0;                   ///< all places are numbers of 31 bits: a division by an extent
    unsigned times[rank_most] = {};         ///< is a product
    int shift[rank_most] = {};              ///< and a shift
};
inline constexpr std::string_view places_text = R"wg(
struct wg_places {
    void* data[6];
    wg_int count;
    double zero;
    wg_int bits, below, rank, extents[16], steps[6][16], here, numbers[6], narrow;
    uint32_t times[16];
    int shift[16];
};
template <class T> inline T wg_number(wg_int bits)
{
    union {
        wg_int bits;
        T number;
    } u;
    u.bits = bits;
    return u.number;
}
// Loops over axes are not unrolled. Unrolled they make four times the code, and NVRTC takes four times as long.
template <int n> inline void wg_place(const wg_places& g, wg_int i, wg_int* at)
{
    for (int k = 0; k < n; ++k) at[k] = 0;
    if (g.narrow) {
        uint32_t left = (uint32_t)i;
#pragma unroll 1
        for (int d = (int)g.rank - 1; d >= 0; --d) {
            const uint32_t q = d ? (uint32_t)((uint64_t)left * g.times[d] >> g.shift[d]) : 0;
            const int r = (int)(left - q * (uint32_t)g.extents[d]);
            for (int k = 0; k < n; ++k) at[k] += r * (int)g.steps[k][d];
            left = q;
        }
        return;
    }
#pragma unroll 1
    for (int d = (int)g.rank - 1; d >= 0; --d) {
        const wg_int e = g.extents[d], q = d ? i / e : 0, r = i - q * e;
        for (int k = 0; k < n; ++k) at[k] += r * g.steps[k][d];
        i = q;
    }
}
)wg";

/// i / n = i * times >> shift for all i below 2³¹ (Granlund and Montgomery 1994), and n from 1 on.
struct Division {
    unsigned times = 1;
    int shift = 0;
    explicit Division(long long n)
    {
        int digits = 0;
        while ((1LL << digits) < n) ++digits;
        shift = 31 + digits;
        times = static_cast<unsigned>(((std::uint64_t{1} << shift) + static_cast<std::uint64_t>(n) - 1) /
                                      static_cast<std::uint64_t>(n));
    }
};
/// Divides by products where all numbers are small enough.
inline void find_divisions(Places& p, std::size_t n)
{
    constexpr long long most = 0x7fffffff;
    bool narrow = p.count > 0 && p.count <= most;
    for (std::size_t k = 0; k < n && narrow; ++k) {
        long long reach = 0;
        for (long long d = 0; d < p.rank; ++d) reach += std::abs(p.steps[k][d]) * (p.extents[d] - 1);
        narrow = reach <= most;
    }
    p.narrow = narrow;
    for (long long d = 0; d < p.rank && narrow; ++d) {
        const Division by(p.extents[d]);
        p.times[d] = by.times, p.shift[d] = by.shift;
    }
}

/// Is it an operand that a launch is given itself?
inline bool is_number_here(const Block& b) noexcept { return !b.access.device && b.shape.size() == 0; }

/// Do the elements of operand k lie in order along one line, from an address that is a multiple of `bytes`?
inline bool is_in_line(const Places& p, std::size_t k, std::size_t bytes) noexcept
{
    return p.rank == 1 && p.steps[k][0] == 1 && reinterpret_cast<std::uintptr_t>(p.data[k]) % bytes == 0;
}

/// Operands over a shape, the first one written; axes are merged where all lie alike. Nothing where there are too many axes.
inline std::optional<Places> places_of(const Shape& shape, kernels::Operand* operands, std::size_t n)
{
    const kernels::Loop loop(shape, operands, n);
    if (loop.rank() > Places::rank_most) return {};
    Places p;
    p.count = static_cast<long long>(element_count(shape));
    p.zero = kernels::zero_cotangent;
    p.rank = static_cast<long long>(loop.rank());
    for (std::size_t d = 0; d < loop.rank(); ++d) p.extents[d] = loop.extent(d);
    for (std::size_t k = 0; k < n; ++k) {
        p.data[k] = operands[k].data;
        for (std::size_t d = 0; d < loop.rank(); ++d) p.steps[k][d] = operands[k].strides[d];
    }
    find_divisions(p, n);
    return p;
}
/// The same of blocks, some of which may be numbers on the host.
inline std::optional<Places> places_of(const Shape& shape, const Block* const* blocks, std::size_t n)
{
    kernels::Operand operands[kernels::max_operands];
    for (std::size_t k = 0; k < n; ++k) operands[k] = operand(*blocks[k], shape);
    std::optional<Places> p = places_of(shape, operands, n);
    for (std::size_t k = 0; k < n && p; ++k)
        if (is_number_here(*blocks[k])) {
            p->here |= 1LL << k, p->data[k] = nullptr;
            std::memcpy(&p->numbers[k], blocks[k]->data, size_of(blocks[k]->dtype));
        }
    return p;
}

}  // namespace wengert::detail::gpu
