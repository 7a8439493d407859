#pragma once

#include "lane.hpp"
#include "transpose.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

/// C = α A B + β C by tiles of registers: for small matrices straight from memory, for large ones from packed
/// panels (Goto & van de Geijn 2008). With β = 0, C is not read.
namespace wengert::kernels::detail {

/// An operand: element (i, j) at data[i · row + j · column]; a transpose is an exchange of the two.
template <class T> struct Operand {
    const T* data;
    std::size_t row, column;
    Operand at(std::size_t i, std::size_t j) const { return {data + i * row + j * column, row, column}; }
};

template <class T> struct Target {
    T* data;
    std::size_t row;
    T alpha, beta;
    Target at(std::size_t i, std::size_t j) const { return {data + i * row + j, row, alpha, beta}; }
};

/// Rows × (Lanes · width) of C in registers: constant indices throughout, or `acc` would go to memory.
/// b.column must be 1; of the last lane `count` columns exist.
template <std::size_t Rows, std::size_t Lanes, bool Part, class T, class A> struct Tile {
    using L = Lane<T, A>;
    L acc[Rows][Lanes];

    template <std::size_t... R, class F>
    [[gnu::always_inline]] static void times(std::index_sequence<R...>, const F& f)
    {
        (f(std::integral_constant<std::size_t, R>{}), ...);
    }
    template <class F> [[gnu::always_inline]] static void each_row(const F& f)
    {
        times(std::make_index_sequence<Rows>{}, f);
    }
    template <class F> [[gnu::always_inline]] static void each_lane(const F& f)
    {
        times(std::make_index_sequence<Lanes>{}, f);
    }

    template <std::size_t J> [[gnu::always_inline]] static L load(const T* p, std::size_t count)
    {
        if constexpr (Part && J + 1 == Lanes)
            return L::load_part(p + J * L::width, count);
        else
            return L::load(p + J * L::width);
    }

    [[gnu::always_inline]] void multiply(std::size_t k, const Operand<T>& a, const Operand<T>& b,
                                         std::size_t count)
    {
        each_row([&](auto r) __attribute__((always_inline)) {
            each_lane([&](auto j) __attribute__((always_inline)) { acc[r][j] = L(T(0)); });
        });
        for (std::size_t p = 0; p < k; ++p) {
            L row[Lanes];
            each_lane([&](auto j)
                          __attribute__((always_inline)) { row[j] = load<j>(b.data + p * b.row, count); });
            each_row([&](auto r) __attribute__((always_inline)) {
                const L left(a.data[r * a.row + p * a.column]);
                each_lane([&](auto j)
                              __attribute__((always_inline)) { acc[r][j] = fma(left, row[j], acc[r][j]); });
            });
        }
    }

    [[gnu::always_inline]] void write(const Target<T>& c, std::size_t count) const
    {
        const L alpha(c.alpha), beta(c.beta);
        each_row([&](auto r) __attribute__((always_inline)) {
            each_lane([&](auto j) __attribute__((always_inline)) {
                T* to = c.data + r * c.row + j * L::width;
                L v = alpha * acc[r][j];
                if (c.beta != T(0)) v = fma(beta, load<j>(c.data + r * c.row, count), v);
                if constexpr (Part && j + 1 == Lanes)
                    v.store_part(to, count);
                else
                    v.store(to);
            });
        });
    }
};

template <std::size_t Rows, std::size_t Lanes, bool Part, class T, class A>
inline void run_tile(std::size_t k, const Operand<T>& a, const Operand<T>& b, const Target<T>& c,
                     std::size_t count)
{
    Tile<Rows, Lanes, Part, T, A> tile;
    tile.multiply(k, a, b, count);
    tile.write(c, count);
}

/// Registers: 32 with AVX-512, 16 elsewhere on x86-64.
template <class A> inline constexpr std::size_t tile_rows = sizeof(Lane<double, A>) == 64 ? 8 : 4;
inline constexpr std::size_t tile_lanes = 2;

/// m rows of one strip of at most tile_lanes lanes: tiles of tile_rows, then half of that, and so on.
template <std::size_t Rows, std::size_t Lanes, bool Part, class T, class A>
inline void run_strip(std::size_t m, std::size_t k, const Operand<T>& a, const Operand<T>& b,
                      const Target<T>& c, std::size_t count)
{
    std::size_t i = 0;
    for (; i + Rows <= m; i += Rows) run_tile<Rows, Lanes, Part, T, A>(k, a.at(i, 0), b, c.at(i, 0), count);
    if constexpr (Rows > 1)
        if (i < m) run_strip<Rows / 2, Lanes, Part, T, A>(m - i, k, a.at(i, 0), b, c.at(i, 0), count);
}

template <class T, class A>
inline void run_columns(std::size_t m, std::size_t columns, std::size_t k, const Operand<T>& a,
                        const Operand<T>& b, const Target<T>& c)
{
    constexpr std::size_t width = Lane<T, A>::width, rows = tile_rows<A>;
    if (columns == 2 * width)
        run_strip<rows, 2, false, T, A>(m, k, a, b, c, width);
    else if (columns > width)
        run_strip<rows, 2, true, T, A>(m, k, a, b, c, columns - width);
    else if (columns == width)
        run_strip<rows, 1, false, T, A>(m, k, a, b, c, width);
    else
        run_strip<rows, 1, true, T, A>(m, k, a, b, c, columns);
}

/// Panels of `Width` columns (rows of a) behind each other; what is missing in the last one is not read.
template <std::size_t Width, class A, class T>
inline void pack(Operand<T> x, std::size_t columns, std::size_t k, T* to)
{
    for (std::size_t j = 0; j < columns; j += Width, to += k * Width) {
        const std::size_t here = std::min(Width, columns - j);
        const T* from = x.data + j * x.column;
        if (x.column != 1) {
            transpose<sizeof(T), A>(static_cast<std::int64_t>(k), static_cast<std::int64_t>(here),
                                    reinterpret_cast<const std::byte*>(from),
                                    static_cast<std::int64_t>(x.column * sizeof(T)),
                                    reinterpret_cast<std::byte*>(to), Width * sizeof(T));
        } else if (here == Width) {
            for (std::size_t p = 0; p < k; ++p)
                std::memcpy(to + p * Width, from + p * x.row, Width * sizeof(T));
        } else {
            for (std::size_t p = 0; p < k; ++p) std::copy_n(from + p * x.row, here, to + p * Width);
        }
    }
}

/// A strip of block_k rows of B stays in the first-level cache, a packed block of A in the second. B is packed strip by strip
/// where its rows are not contiguous, or where so many rows of A read it that this pays.
inline constexpr std::size_t block_k = 256, few_rows = 128, near_bytes = 16384;
template <class T> inline constexpr std::size_t block_m = 2048 / sizeof(T);

/// C = α A B + βC for a block of A, packed in panels or as it lies (`rows_of_a` = 0), and all columns of B.
template <class T, class A>
inline void times_block(std::size_t m, std::size_t n, std::size_t k, const Operand<T>& a, const T* panels,
                        const Operand<T>& b, T* strip_of_b, const Target<T>& c)
{
    constexpr std::size_t strip = tile_lanes * Lane<T, A>::width, rows = tile_rows<A>;
    for (std::size_t j = 0; j < n; j += strip) {
        const std::size_t columns = std::min(strip, n - j);
        Operand<T> right = b.at(0, j);
        if (strip_of_b) {
            pack<strip, A>(right, columns, k, strip_of_b);
            right = {strip_of_b, strip, 1};
        }
        if (!panels) {
            run_columns<T, A>(m, columns, k, a, right, c.at(0, j));
            continue;
        }
        for (std::size_t i = 0; i < m; i += rows)
            run_columns<T, A>(std::min(rows, m - i), columns, k, {panels + i * k, 1, rows}, right,
                              c.at(i, j));
    }
}

/// The next cache line at p or behind it.
template <class T> T* aligned(T* p)
{
    return reinterpret_cast<T*>((reinterpret_cast<std::uintptr_t>(p) + 63) / 64 * 64);
}

template <class T, class A>
inline void blocked_gemm(std::size_t m, std::size_t n, std::size_t k, const Operand<T>& a,
                         const Operand<T>& b, const Target<T>& c)
{
    constexpr std::size_t strip = tile_lanes * Lane<T, A>::width, rows = tile_rows<A>;
    static_assert(block_m<T> % rows == 0);
    const bool pack_a = n > strip && m * k * sizeof(T) > near_bytes, pack_b = b.column != 1 || m > few_rows;
    if (!pack_a && !pack_b) return times_block<T, A>(m, n, k, a, nullptr, b, nullptr, c);
    const std::size_t deep = std::min(k, block_k), high = std::min((m + rows - 1) / rows * rows, block_m<T>);
    const auto buffer = std::make_unique_for_overwrite<T[]>(
        deep * ((pack_a ? high : 0) + (pack_b ? strip : 0)) + 64 / sizeof(T));
    T* const strip_of_b = pack_b ? aligned(buffer.get()) : nullptr;
    T* const panels = pack_a ? aligned(buffer.get()) + (pack_b ? deep * strip : 0) : nullptr;
    for (std::size_t i = 0; i < m; i += high)
        for (std::size_t p = 0; p < k; p += deep) {
            const std::size_t mb = std::min(high, m - i), kb = std::min(deep, k - p);
            const Operand<T> left = a.at(i, p);
            if (pack_a) pack<rows, A>(Operand<T>{left.data, left.column, left.row}, mb, kb, panels);
            Target<T> target = c.at(i, 0);
            if (p > 0) target.beta = T(1);
            times_block<T, A>(mb, n, kb, left, panels, b.at(p, 0), strip_of_b, target);
        }
}

}  // namespace wengert::kernels::detail
