// Fills with random numbers: the value at a position depends on the key and the position alone. Word p of a
// key is word p % 4 of Philox block p / 4; each fill says which words a position uses.
//
// The bits are the same at any -march, with or without FMA contraction: integers and products by powers of
// two are exact, and where a rounded product is added to something (fill_normal) it passes through integers
// first, so that no compiler can fuse the two (struct Rounded). Loops have constant counts, which is what
// makes g++ -O2 vectorise.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../base/key.hpp"

namespace wengert::kernels {

namespace detail {

inline constexpr std::size_t group_blocks = 16;
inline constexpr std::size_t group_words = 4 * group_blocks;

/// Blocks first, first + 1, ... of the key: philox::block, all lanes of a group at once.
inline void draw_group(const Key& key, std::uint64_t first, std::uint32_t (&words)[group_words])
{
    std::uint32_t c[4][group_blocks];
    for (std::size_t i = 0; i < group_blocks; ++i) {
        c[0][i] = static_cast<std::uint32_t>(first + i);
        c[1][i] = static_cast<std::uint32_t>((first + i) >> 32);
        c[2][i] = static_cast<std::uint32_t>(key.stream);
        c[3][i] = static_cast<std::uint32_t>(key.stream >> 32);
    }
    auto k0 = static_cast<std::uint32_t>(key.secret);
    auto k1 = static_cast<std::uint32_t>(key.secret >> 32);
    for (int round = 0; round < 10; ++round, k0 += philox::weyl[0], k1 += philox::weyl[1]) {
        for (std::size_t i = 0; i < group_blocks; ++i) {
            const std::uint64_t a = std::uint64_t{philox::multiplier[0]} * c[0][i];
            const std::uint64_t b = std::uint64_t{philox::multiplier[1]} * c[2][i];
            c[0][i] = static_cast<std::uint32_t>(b >> 32) ^ c[1][i] ^ k0;
            c[2][i] = static_cast<std::uint32_t>(a >> 32) ^ c[3][i] ^ k1;
            c[1][i] = static_cast<std::uint32_t>(b);
            c[3][i] = static_cast<std::uint32_t>(a);
        }
    }
    for (std::size_t i = 0; i < group_blocks; ++i)
        for (std::size_t j = 0; j < 4; ++j) words[4 * i + j] = c[j][i];
}

/// make(words, values) turns one group of blocks into PerBlock values a block; here groups meet [first, first
/// + n).
template <std::size_t PerBlock, class T, class Make>
inline void fill_groups(const Key& key, T* out, std::size_t n, std::size_t first, const Make& make)
{
    std::uint32_t words[group_words];
    T values[PerBlock * group_blocks];
    while (n > 0) {
        draw_group(key, first / PerBlock, words);
        make(words, values);
        const std::size_t skip = first % PerBlock;
        const std::size_t count = std::min(n, PerBlock * group_blocks - skip);
        std::copy_n(values + skip, count, out);
        out += count, first += count, n -= count;
    }
}

inline std::uint64_t word_pair(const std::uint32_t* w) { return w[0] | std::uint64_t{w[1]} << 32; }

/// The 52 upper bits of x as a multiple of 2^-52 in [1, 2): an integer to floating-point conversion that
/// every instruction set can do in vectors.
inline double one_to_two(std::uint64_t x) { return std::bit_cast<double>(0x3FF0000000000000u | x >> 12); }

/// Products that are rounded before they are added to anything. `zero` comes from a volatile, so that the
/// compiler must form the product's bits; it costs one vector instruction.
struct Rounded {
    std::uint64_t zero;

    Rounded() : zero(0)
    {
        volatile std::uint64_t unknown = 0;
        zero = unknown;
    }
    double mul(double a, double b) const
    {
        return std::bit_cast<double>(std::bit_cast<std::uint64_t>(a * b) ^ zero);
    }
    /// c[0] + x (c[1] + x (c[2] + ...)), unrolled so that the loop around it is vectorised.
    template <std::size_t N> double horner(double x, const double (&c)[N]) const
    {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            double y = c[N - 1];
            ((y = c[N - 2 - I] + mul(x, y)), ...);
            return y;
        }(std::make_index_sequence<N - 1>{});
    }
};

/// -log(u) for normal u in (0, 1), below 1 ULP: the method and coefficients of fdlibm's e_log.c (Sun 1993):
/// u = 2^k (1 + f), s = f / (2 + f), log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)).
inline double minus_log(const Rounded& r, double u)
{
    constexpr double c[] = {6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
                            2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
                            1.479819860511658591e-01};
    constexpr double ln2_hi = 6.93147180369123816490e-01, ln2_lo = 1.90821492927058770002e-10;
    constexpr std::uint64_t half_root = 0x3FE6A09E00000000u, one = 0x3FF0000000000000u;  // sqrt(1/2), 1
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(u) + (one - half_root);
    const double k = std::bit_cast<double>(0x4330000000000000u | bits >> 52) - (0x1p52 + 1023.0);
    const double f = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFu) + half_root) - 1.0;
    const double half_square = r.mul(0.5 * f, f);
    const double s = f / (2.0 + f);
    const double z = r.mul(s, s);
    const double tail = r.mul(s, half_square + r.mul(z, r.horner(z, c)));
    return -(((tail + r.mul(k, ln2_lo)) - half_square + f) + r.mul(k, ln2_hi));
}

/// cos and sin of pi/2 (quadrant + t), |t| <= 1/2, by Taylor's series (remainders below 3e-18 and 1e-19).
inline std::pair<double, double> turn(const Rounded& r, std::uint64_t quadrant, double t)
{
    constexpr double cos_c[] = {1.0,
                                -1.2337005501361697,
                                0.25366950790104803,
                                -0.02086348076335296,
                                0.0009192602748394266,
                                -2.5202042373060607e-05,
                                4.710874778818172e-07,
                                -6.386603083791852e-09,
                                6.565963114979473e-11};
    constexpr double sin_c[] = {6.123233995736766e-17, -0.6459640975062463,    0.07969262624616705,
                                -0.004681754135318688, 0.00016044118478735983, -3.598843235212085e-06,
                                5.692172921967927e-08, -6.688035109811468e-10, 6.0669357311061955e-12};
    constexpr double half_pi = 1.5707963267948966;  // sin_c[0] is the rest of it
    const double t2 = r.mul(t, t);
    const auto c = std::bit_cast<std::uint64_t>(r.horner(t2, cos_c));
    const auto s = std::bit_cast<std::uint64_t>(r.mul(t, half_pi + r.horner(t2, sin_c)));
    const std::uint64_t swap = 0u - (quadrant & 1u);
    const std::uint64_t cos_bits = ((c & ~swap) | (s & swap)) ^ ((quadrant + 1u) >> 1 & 1u) << 63;
    const std::uint64_t sin_bits = ((s & ~swap) | (c & swap)) ^ (quadrant >> 1) << 63;
    return {std::bit_cast<double>(cos_bits), std::bit_cast<double>(sin_bits)};
}

/// Box & Muller (1958): sqrt(-2 log u) (cos, sin)(2 pi a), for u = (2 x + 1)/2^(R+1) and a = (2 y +
/// 1)/2^(A+1) with the upper R bits x and A bits y of two words: no value is ever infinite, and both u and a
/// are exact. The square root has its own loop because errno keeps it from being vectorised.
template <int R, int A, class T, std::size_t N>
void box_muller(const Rounded& r, const std::uint64_t (&radius)[N], const std::uint64_t (&angle)[N], T* out)
{
    constexpr double half_u = 0.5 / static_cast<double>(std::uint64_t{1} << R);
    constexpr double half_t = 2.0 / static_cast<double>(std::uint64_t{1} << A);  // t counts quadrants
    double length[N];
    for (std::size_t i = 0; i < N; ++i)
        length[i] = 2.0 * minus_log(r, (one_to_two(radius[i]) - 1.0) + half_u);
    for (std::size_t i = 0; i < N; ++i) length[i] = std::sqrt(length[i]);
    for (std::size_t i = 0; i < N; ++i) {
        const std::uint64_t eighth_on = angle[i] + (std::uint64_t{1} << 61);
        const double t = (one_to_two(eighth_on << 2) - 1.5) + half_t;
        const auto [c, s] = turn(r, eighth_on >> 62, t);
        out[2 * i] = static_cast<T>(length[i] * c);
        out[2 * i + 1] = static_cast<T>(length[i] * s);
    }
}

}  // namespace detail

/// [0, 1). float: word p, upper 24 bits; double: words 2p and 2p + 1 (the upper), upper 53 bits.
template <class T> void fill_uniform(const Key& key, T* out, std::size_t n, std::size_t first = 0)
{
    using namespace detail;
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                  "wengert: uniform is float or double.");
    if constexpr (std::is_same_v<T, float>) {
        fill_groups<4>(key, out, n, first, [](const auto& words, float* values) {
            for (std::size_t i = 0; i < group_words; ++i)
                values[i] = static_cast<float>(static_cast<std::int32_t>(words[i] >> 8)) * 0x1p-24f;
        });
    } else {
        fill_groups<2>(key, out, n, first, [](const auto& words, double* values) {
            for (std::size_t i = 0; i < group_words / 2; ++i) {
                const std::uint64_t x = word_pair(words + 2 * i);
                const std::uint64_t lowest = (0u - (x >> 11 & 1u)) & 0x3CA0000000000000u;  // 2^-53 or 0
                values[i] = (one_to_two(x) - 1.0) + std::bit_cast<double>(lowest);
            }
        });
    }
}

/// Standard normal, two at positions 2j and 2j + 1 from one radius and one angle. float: words 2j and 2j + 1
/// (32 bits each, |value| < 6.8), within 0.51 ULP of the exact formula; double: the two word pairs of block j
/// (52 and 54 bits, |value| < 8.6), within 3 ULP (2.8 seen). Bit-equal wherever double arithmetic and sqrt
/// follow IEEE 754.
template <class T> void fill_normal(const Key& key, T* out, std::size_t n, std::size_t first = 0)
{
    using namespace detail;
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                  "wengert: normal is float or double.");
    constexpr bool single = std::is_same_v<T, float>;
    const Rounded r;
    fill_groups<single ? 4 : 2>(key, out, n, first, [&r](const auto& words, T* values) {
        constexpr std::size_t pairs = single ? group_words / 2 : group_words / 4;
        std::uint64_t radius[pairs], angle[pairs];
        for (std::size_t i = 0; i < pairs; ++i) {
            if constexpr (single) {
                radius[i] = std::uint64_t{words[2 * i]} << 32;
                angle[i] = std::uint64_t{words[2 * i + 1]} << 32;
            } else {
                radius[i] = word_pair(words + 4 * i);
                angle[i] = word_pair(words + 4 * i + 2);
            }
        }
        box_muller<single ? 32 : 52, single ? 32 : 54>(r, radius, angle, values);
    });
}

/// [lo, hi), lo < hi, int64 or int32: lo + floor(x (hi - lo) / 2^64) with x from words 2p and 2p + 1. The
/// probability of each value is off by at most (hi - lo)/2^64 of itself.
template <class T>
void fill_integers(const Key& key, std::int64_t lo, std::int64_t hi, T* out, std::size_t n,
                   std::size_t first = 0)
{
    using namespace detail;
    static_assert(std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::int32_t>);
    const std::uint64_t base = static_cast<std::uint64_t>(lo), range = static_cast<std::uint64_t>(hi) - base;
    const std::uint64_t low = range & 0xFFFFFFFFu, high = range >> 32;
    fill_groups<2>(key, out, n, first, [=](const auto& words, T* values) {
        for (std::size_t i = 0; i < group_words / 2; ++i) {  // the upper half of a 64 x 64-bit product
            const std::uint64_t x0 = words[2 * i], x1 = words[2 * i + 1];
            const std::uint64_t mid = x1 * low + (x0 * low >> 32);
            const std::uint64_t carry = (mid & 0xFFFFFFFFu) + x0 * high;
            values[i] = static_cast<T>(base + x1 * high + (mid >> 32) + (carry >> 32));
        }
    });
}

/// yes with probability p, otherwise no: word p decides, to 2^-32 in p.
template <class T>
void fill_choice(const Key& key, double p, T yes, T no, T* out, std::size_t n, std::size_t first = 0)
{
    using namespace detail;
    const double scaled = p > 0.0 ? std::min(p, 1.0) * 0x1p32 + 0.5 : 0.0;  // a NaN gives no
    const auto limit = static_cast<std::uint64_t>(scaled);
    if (limit == 0) return static_cast<void>(std::fill_n(out, n, no));
    const auto last = static_cast<std::uint32_t>(limit - 1);
    fill_groups<4>(key, out, n, first, [=](const auto& words, T* values) {
        for (std::size_t i = 0; i < group_words; ++i) values[i] = words[i] <= last ? yes : no;
    });
}

/// True with probability p.
void fill_bernoulli(const Key& key, double p, bool* out, std::size_t n, std::size_t first = 0);

/// 0 with probability p, otherwise 1/(1 - p).
template <class T> void fill_dropout(const Key& key, double p, T* out, std::size_t n, std::size_t first = 0)
{
    fill_choice(key, p, T(0), static_cast<T>(1.0 / (1.0 - p)), out, n, first);
}

/// 0 .. n-1 ordered by random 64-bit words (2i and 2i + 1 for i), equal words by index: every order of
/// sorting gives the same result, so that any device may.
void fill_permutation(const Key& key, std::int64_t* out, std::size_t n);

}  // namespace wengert::kernels

#ifndef WENGERT_COMPILED
#include "impl/random.ipp"
#endif
