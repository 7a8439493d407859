#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "simd.hpp"

/// dst[i][j] = src[j][i] for elements of 4 and 8 bytes, through square blocks that live in registers.
namespace wengert::kernels::detail {

template <std::size_t Size, class A> struct TransposeBlock {
    static constexpr std::ptrdiff_t edge = 1;
    static void run(const std::byte* src, std::ptrdiff_t, std::byte* dst, std::ptrdiff_t)
    {
        std::memcpy(dst, src, Size);
    }
};

#if defined(__AVX__)
template <class A> struct TransposeBlock<8, A> {
    static constexpr std::ptrdiff_t edge = 4;
    static void run(const std::byte* src, std::ptrdiff_t src_row, std::byte* dst, std::ptrdiff_t dst_row)
    {
        const auto in = [&](int r) {
            return _mm256_loadu_pd(reinterpret_cast<const double*>(src + r * src_row));
        };
        const auto out = [&](int r, __m256d v) {
            _mm256_storeu_pd(reinterpret_cast<double*>(dst + r * dst_row), v);
        };
        const __m256d a = in(0), b = in(1), c = in(2), d = in(3);
        const __m256d ab_even = _mm256_unpacklo_pd(a, b), ab_odd = _mm256_unpackhi_pd(a, b);
        const __m256d cd_even = _mm256_unpacklo_pd(c, d), cd_odd = _mm256_unpackhi_pd(c, d);
        out(0, _mm256_permute2f128_pd(ab_even, cd_even, 0x20));
        out(1, _mm256_permute2f128_pd(ab_odd, cd_odd, 0x20));
        out(2, _mm256_permute2f128_pd(ab_even, cd_even, 0x31));
        out(3, _mm256_permute2f128_pd(ab_odd, cd_odd, 0x31));
    }
};
#elif defined(__SSE2__)
template <class A> struct TransposeBlock<8, A> {
    static constexpr std::ptrdiff_t edge = 2;
    static void run(const std::byte* src, std::ptrdiff_t src_row, std::byte* dst, std::ptrdiff_t dst_row)
    {
        const __m128d a = _mm_loadu_pd(reinterpret_cast<const double*>(src));
        const __m128d b = _mm_loadu_pd(reinterpret_cast<const double*>(src + src_row));
        _mm_storeu_pd(reinterpret_cast<double*>(dst), _mm_unpacklo_pd(a, b));
        _mm_storeu_pd(reinterpret_cast<double*>(dst + dst_row), _mm_unpackhi_pd(a, b));
    }
};
#endif
#if defined(__SSE2__)
template <class A> struct TransposeBlock<4, A> {
    static constexpr std::ptrdiff_t edge = 4;
    static void run(const std::byte* src, std::ptrdiff_t src_row, std::byte* dst, std::ptrdiff_t dst_row)
    {
        const auto in = [&](int r) {
            return _mm_loadu_ps(reinterpret_cast<const float*>(src + r * src_row));
        };
        const auto out = [&](int r, __m128 v) {
            _mm_storeu_ps(reinterpret_cast<float*>(dst + r * dst_row), v);
        };
        const __m128 a = in(0), b = in(1), c = in(2), d = in(3);
        const __m128 ab_low = _mm_unpacklo_ps(a, b), ab_high = _mm_unpackhi_ps(a, b);
        const __m128 cd_low = _mm_unpacklo_ps(c, d), cd_high = _mm_unpackhi_ps(c, d);
        out(0, _mm_movelh_ps(ab_low, cd_low));
        out(1, _mm_movehl_ps(cd_low, ab_low));
        out(2, _mm_movelh_ps(ab_high, cd_high));
        out(3, _mm_movehl_ps(cd_high, ab_high));
    }
};
#endif

/// dst (rows, columns) with row stride `dst_row` bytes, src (columns, rows) with row stride `src_row` bytes.
template <std::size_t Size, class A>
inline void transpose(std::int64_t rows, std::int64_t columns, const std::byte* src, std::int64_t src_row,
                      std::byte* dst, std::int64_t dst_row)
{
    using Block = TransposeBlock<Size, A>;
    // A tile reads and writes whole cache lines: few source rows at a time, or strides of a page collide in
    // L1.
    constexpr std::int64_t edge = Block::edge, size = Size, tile_rows = 64, tile_columns = 64 / size;
    const auto plain = [&](std::int64_t i0, std::int64_t i1, std::int64_t j0, std::int64_t j1) {
        for (std::int64_t i = i0; i < i1; ++i)
            for (std::int64_t j = j0; j < j1; ++j)
                std::memcpy(dst + i * dst_row + j * size, src + j * src_row + i * size, Size);
    };
    const auto blocks = [&](std::int64_t i0, std::int64_t i1, std::int64_t j0, std::int64_t j1) {
        const std::int64_t i_end = i1 - (i1 - i0) % edge, j_end = j1 - (j1 - j0) % edge;
        for (std::int64_t i = i0; i < i_end; i += edge)
            for (std::int64_t j = j0; j < j_end; j += edge)
                Block::run(src + j * src_row + i * size, src_row, dst + i * dst_row + j * size, dst_row);
        plain(i0, i_end, j_end, j1);
        plain(i_end, i1, j0, j1);
    };
    for (std::int64_t i = 0; i < rows; i += tile_rows)
        for (std::int64_t j = 0; j < columns; j += tile_columns)
            blocks(i, std::min(rows, i + tile_rows), j, std::min(columns, j + tile_columns));
}

}  // namespace wengert::kernels::detail
