// Runs of elements in memory, one axis long, between strided places and contiguous tiles.
#pragma once

#include <cstdint>

#include "../base/dtype.hpp"

namespace wengert::kernels {

enum class Store { assign, accumulate };

/// run(U{}), U a word of so many bytes.
template <class Run> [[gnu::always_inline]] inline void with_word(std::size_t size, const Run& run)
{
    if (size == 4)
        run(std::uint32_t{});
    else if (size == 8)
        run(std::uint64_t{});
    else
        run(std::uint8_t{});
}

/// Copies n elements of `size` bytes from a strided run.
inline void gather(const std::byte* from, std::int64_t stride, std::size_t size, std::size_t n, std::byte* to)
{
    const auto run = [=]<class U>(U) {
        auto* p = reinterpret_cast<const U*>(from);
        auto* q = reinterpret_cast<U*>(to);
        for (std::size_t i = 0; i < n; ++i) q[i] = p[static_cast<std::int64_t>(i) * stride];
    };
    with_word(size, run);
}

/// `rows` runs of `width` elements, put one behind the other. Up to 64 bytes behind the last one may be written, too.
inline void gather_rows(const std::byte* from, std::int64_t row_stride, std::int64_t stride, std::size_t size,
                        std::size_t width, std::size_t rows, std::byte* to)
{
    const std::int64_t step = row_stride * static_cast<std::int64_t>(size);
    const auto repeat =
        [&]<class U>(U) {  // in pieces of 8, of which the next run overwrites what is too much
            auto* q = reinterpret_cast<U*>(to);
            for (std::size_t r = 0; r < rows; ++r, from += step, q += width) {
                const U x = *reinterpret_cast<const U*>(from);
                for (std::size_t i = 0; i < width; i += 8)
                    for (std::size_t j = 0; j < 8; ++j) q[i + j] = x;
            }
        };
    if (stride == 0 && size == 8) return repeat(std::uint64_t{});
    if (stride == 0 && size == 4) return repeat(std::uint32_t{});
    for (std::size_t r = 0; r < rows; ++r, from += step)
        gather(from, stride, size, width, to + r * width * size);
}

inline void scatter(const std::byte* from, std::size_t size, std::size_t n, std::byte* to,
                    std::int64_t stride)
{
    const auto run = [=]<class U>(U) {
        auto* p = reinterpret_cast<const U*>(from);
        auto* q = reinterpret_cast<U*>(to);
        for (std::size_t i = 0; i < n; ++i) q[static_cast<std::int64_t>(i) * stride] = p[i];
    };
    with_word(size, run);
}

/// to[i · stride] += from[i]; a stride of 0 adds the sum of the run.
template <class T> void add_run(const T* from, std::size_t n, T* to, std::int64_t stride)
{
    if (stride == 1) {
        for (std::size_t i = 0; i < n; ++i) to[i] += from[i];
    } else if (stride == 0) {
        constexpr std::size_t lanes = 16;  // partial sums: as fast as SIMD, and more accurate than one
        T part[lanes] = {};
        std::size_t i = 0;
        for (; i + lanes <= n; i += lanes)
            for (std::size_t l = 0; l < lanes; ++l) part[l] += from[i + l];
        T rest{};
        for (; i < n; ++i) rest += from[i];
        for (std::size_t step = lanes / 2; step > 0; step /= 2)
            for (std::size_t l = 0; l < step; ++l) part[l] += part[l + step];
        *to += part[0] + rest;
    } else {
        for (std::size_t i = 0; i < n; ++i) to[static_cast<std::int64_t>(i) * stride] += from[i];
    }
}

inline void store_run(Store mode, DType dtype, const std::byte* from, std::size_t n, std::byte* to,
                      std::int64_t stride)
{
    if (mode == Store::assign)
        scatter(from, size_of(dtype), n, to, stride);
    else
        with_real(dtype, [&]<class T>() {
            add_run(reinterpret_cast<const T*>(from), n, reinterpret_cast<T*>(to), stride);
        });
}

}  // namespace wengert::kernels
