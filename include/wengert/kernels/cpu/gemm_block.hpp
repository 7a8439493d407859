#pragma once

#include "lane.hpp"

#include <algorithm>
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
template <class A> inline constexpr std::size_t tile_rows = sizeof(xsimd::batch<double, A>) == 64 ? 8 : 4;
inline constexpr std::size_t tile_lanes = 2;

/// m rows of one strip of at most tile_lanes lanes: tiles of tile_rows, then half of that, and so on.
template <std::size_t Rows, std::size_t Lanes, bool Part, class T, class A>
inline void run_strip(std::size_t m, std::size_t k, Operand<T> a, Operand<T> b, Target<T> c,
                      std::size_t count)
{
    std::size_t i = 0;
    for (; i + Rows <= m; i += Rows) run_tile<Rows, Lanes, Part, T, A>(k, a.at(i, 0), b, c.at(i, 0), count);
    if constexpr (Rows > 1)
        if (i < m) run_strip<Rows / 2, Lanes, Part, T, A>(m - i, k, a.at(i, 0), b, c.at(i, 0), count);
}

template <class T, class A>
inline void run_columns(std::size_t m, std::size_t columns, std::size_t k, Operand<T> a, Operand<T> b,
                        Target<T> c)
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

/// Panels of `Width` columns (rows of a) behind each other, the last one filled up with zeros.
template <std::size_t Width, class A, class T>
inline void pack(Operand<T> x, std::size_t columns, std::size_t k, T* to)
{
    for (std::size_t j = 0; j < columns; j += Width) {
        const std::size_t here = std::min(Width, columns - j);
        for (std::size_t p = 0; p < k; ++p, to += Width) {
            for (std::size_t c = 0; c < here; ++c) to[c] = x.data[p * x.row + (j + c) * x.column];
            for (std::size_t c = here; c < Width; ++c) to[c] = T(0);
        }
    }
}

inline constexpr std::size_t block_k = 256, block_m = 128, block_n = 512;

/// One packed block of a against one packed block of b.
template <class T, class A>
inline void packed_block(std::size_t m, std::size_t n, std::size_t k, const T* a, const T* b, Target<T> c)
{
    constexpr std::size_t strip = tile_lanes * Lane<T, A>::width, rows = tile_rows<A>;
    for (std::size_t j = 0; j < n; j += strip)
        for (std::size_t i = 0; i < m; i += rows) {
            const Operand<T> left{a + i * k, 1, rows}, right{b + j * k, strip, 1};
            run_columns<T, A>(std::min(rows, m - i), std::min(strip, n - j), k, left, right, c.at(i, j));
        }
}

template <class T, class A>
inline void blocked_gemm(std::size_t m, std::size_t n, std::size_t k, Operand<T> a, Operand<T> b, Target<T> c)
{
    constexpr std::size_t strip = tile_lanes * Lane<T, A>::width;
    static_assert(block_n % strip == 0 && block_m % tile_rows<A> == 0);
    const std::size_t deep = std::min(k, block_k);
    const auto buffer = std::make_unique_for_overwrite<T[]>(deep * (block_m + block_n));
    T *const left = buffer.get(), *const right = left + deep * block_m;
    for (std::size_t j = 0; j < n; j += block_n)
        for (std::size_t p = 0; p < k; p += block_k) {
            const std::size_t nb = std::min(block_n, n - j), kb = std::min(block_k, k - p);
            pack<strip, A>(b.at(p, j), nb, kb, right);
            for (std::size_t i = 0; i < m; i += block_m) {
                const std::size_t mb = std::min(block_m, m - i);
                const Operand<T> rows = a.at(i, p);
                pack<tile_rows<A>, A>(Operand<T>{rows.data, rows.column, rows.row}, mb, kb, left);
                Target<T> target = c.at(i, j);
                if (p > 0) target.beta = T(1);
                packed_block<T, A>(mb, nb, kb, left, right, target);
            }
        }
}

}  // namespace wengert::kernels::detail
