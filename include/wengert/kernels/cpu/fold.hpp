#pragma once

#include "lane.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

/// The loops behind reductions of a contiguous block (outer, n, inner) to (outer, inner).
///
/// Bits do not depend on the width of the vectors: a row is summed in 256 bytes of virtual lanes (element i
/// goes to lane i mod 32 for double, 64 for float), which are folded in halves; blocks of `row_block`
/// elements are then added pairwise (Higham 1993). Columns go four rows at a time.
namespace wengert::kernels {

namespace detail {

struct Add {
    template <class V> static V combine(V a, V b) { return a + b; }
    template <class T> static constexpr T identity() { return T(0); }
};
struct Multiply {
    template <class V> static V combine(V a, V b) { return a * b; }
    template <class T> static constexpr T identity() { return T(1); }
};
struct Max {
    template <class V> static V combine(V a, V b) { return maximum(a, b); }
    template <class T> static constexpr T identity() { return -std::numeric_limits<T>::infinity(); }
};
struct Min {
    template <class V> static V combine(V a, V b) { return minimum(a, b); }
    template <class T> static constexpr T identity() { return std::numeric_limits<T>::infinity(); }
};

/// The upper half of each 2·Half elements exchanged with the lower one.
template <std::size_t Half, class T, class A>
[[gnu::always_inline]] inline Lane<T, A> swap_halves(Lane<T, A> v)
{
    using L = Lane<T, A>;
    using Batch = typename L::Batch;
    constexpr std::size_t bytes = Half * sizeof(T), size = sizeof(typename L::Register);
#if defined(__AVX512F__)
    if constexpr (size == 64) {
        if constexpr (sizeof(T) == 8) {
            if constexpr (bytes == 32) return Batch(_mm512_shuffle_f64x2(v.batch, v.batch, 0x4E));
            if constexpr (bytes == 16) return Batch(_mm512_shuffle_f64x2(v.batch, v.batch, 0xB1));
            if constexpr (bytes == 8) return Batch(_mm512_permute_pd(v.batch, 0x55));
        } else {
            if constexpr (bytes == 32) return Batch(_mm512_shuffle_f32x4(v.batch, v.batch, 0x4E));
            if constexpr (bytes == 16) return Batch(_mm512_shuffle_f32x4(v.batch, v.batch, 0xB1));
            if constexpr (bytes == 8) return Batch(_mm512_permute_ps(v.batch, 0x4E));
            if constexpr (bytes == 4) return Batch(_mm512_permute_ps(v.batch, 0xB1));
        }
    } else
#endif
#if defined(__AVX__)
        if constexpr (size == 32) {
        if constexpr (sizeof(T) == 8) {
            if constexpr (bytes == 16) return Batch(_mm256_permute2f128_pd(v.batch, v.batch, 1));
            if constexpr (bytes == 8) return Batch(_mm256_permute_pd(v.batch, 5));
        } else {
            if constexpr (bytes == 16) return Batch(_mm256_permute2f128_ps(v.batch, v.batch, 1));
            if constexpr (bytes == 8) return Batch(_mm256_permute_ps(v.batch, 0x4E));
            if constexpr (bytes == 4) return Batch(_mm256_permute_ps(v.batch, 0xB1));
        }
    } else
#endif
#if defined(__SSE2__)
        if constexpr (size == 16) {
        if constexpr (sizeof(T) == 8)
            return Batch(_mm_shuffle_pd(v.batch, v.batch, 1));
        else if constexpr (bytes == 8)
            return Batch(_mm_shuffle_ps(v.batch, v.batch, 0x4E));
        else
            return Batch(_mm_shuffle_ps(v.batch, v.batch, 0xB1));
    } else
#endif
    {
        T in[L::width], out[L::width];
        v.store(in);
        for (std::size_t i = 0; i < L::width; ++i) out[i] = in[i ^ Half];
        return L::load(out);
    }
}

template <class Op, std::size_t Half, class T, class A>
[[gnu::always_inline]] inline T fold_lane(Lane<T, A> v)
{
    if constexpr (Half == 0)
        return v.first();
    else
        return fold_lane<Op, Half / 2>(Op::combine(v, swap_halves<Half>(v)));
}
template <class Op, class T, class A> [[gnu::always_inline]] inline T fold_lane(Lane<T, A> v)
{
    return fold_lane<Op, Lane<T, A>::width / 2>(v);
}

inline constexpr std::size_t virtual_bytes = 256;
template <class T> inline constexpr std::size_t row_block = 16384 / sizeof(T);

template <class L>
inline constexpr auto lane_index = [] {
    std::array<typename L::value_type, L::width> index{};
    for (std::size_t i = 0; i < L::width; ++i) index[i] = static_cast<typename L::value_type>(i);
    return index;
}();

/// `v` in its first `count` elements, what changes nothing in the others.
template <class Op, class L> [[gnu::always_inline]] inline L keep_first(L v, std::size_t count)
{
    using T = typename L::value_type;
    const auto inside = L::load(lane_index<L>.data()) < L(static_cast<T>(count));
    return where(inside, v, L(Op::template identity<T>()));
}

/// Register r with register r + half, and so on: the same halving, above the width of a lane.
template <class Op, std::size_t Count, class L> [[gnu::always_inline]] inline L fold_registers(L* acc)
{
    if constexpr (Count == 1) {
        return acc[0];
    } else {
        [&]<std::size_t... R>(std::index_sequence<R...>) {
            ((acc[R] = Op::combine(acc[R], acc[R + Count / 2])), ...);
        }(std::make_index_sequence<Count / 2>{});
        return fold_registers<Op, Count / 2>(acc);
    }
}

/// One block of a row. `source(k, count)` is the lane of (mapped) elements k, k + 1, …, of which the first
/// `count` are wanted.
template <class Op, class L, class Source>
inline typename L::value_type fold_block(std::size_t begin, std::size_t end, const Source& source)
{
    using T = typename L::value_type;
    constexpr std::size_t registers = virtual_bytes / sizeof(L), step = registers * L::width;
    if (end - begin <= L::width)
        return fold_lane<Op>(keep_first<Op>(source(begin, end - begin), end - begin));
    L acc[registers];
    for (L& a : acc) a = L(Op::template identity<T>());
    // Unrolled by the fold expressions: an index that is not a constant would move `acc` to memory.
    const auto each = [&]<std::size_t... R>(std::index_sequence<R...>, const auto& body) {
        (body(R, acc[R]), ...);
    };
    constexpr auto all_registers = std::make_index_sequence<registers>{};
    std::size_t k = begin;
    for (; k + step <= end; k += step)
        each(all_registers,
             [&](std::size_t r, L& a) { a = Op::combine(a, source(k + r * L::width, L::width)); });
    each(all_registers, [&](std::size_t r, L& a) {
        const std::size_t first = k + r * L::width;
        if (first + L::width <= end)
            a = Op::combine(a, source(first, L::width));
        else if (first < end)
            a = Op::combine(a, keep_first<Op>(source(first, end - first), end - first));
    });
    return fold_lane<Op>(fold_registers<Op, registers>(acc));
}

/// A row: blocks are combined like the carries of a binary counter, which is pairwise without recursion.
template <class Op, class L, class Source>
inline typename L::value_type fold_row(std::size_t n, const Source& source)
{
    using T = typename L::value_type;
    if (n == 0) return Op::template identity<T>();
    if (n <= row_block<T>) return fold_block<Op, L>(0, n, source);
    std::array<T, 64> pending;
    std::size_t depth = 0, blocks = 0;
    for (std::size_t k = 0; k < n; k += row_block<T>) {
        T sum = fold_block<Op, L>(k, std::min(n, k + row_block<T>), source);
        for (std::size_t carry = ++blocks; carry % 2 == 0; carry /= 2)
            sum = Op::combine(pending[--depth], sum);
        pending[depth++] = sum;
    }
    T total = pending[--depth];
    while (depth > 0) total = Op::combine(pending[--depth], total);
    return total;
}

inline constexpr std::size_t column_tile = 256;   ///< columns reduced together: their sums stay in L1
inline constexpr std::size_t column_block = 256;  ///< rows that are added before their sum joins the total

template <class Op, class Source>
[[gnu::always_inline]] inline auto four_rows(std::size_t k, std::size_t j, std::size_t c,
                                             const Source& source)
{
    return Op::combine(Op::combine(source(k, j, c), source(k + 1, j, c)),
                       Op::combine(source(k + 2, j, c), source(k + 3, j, c)));
}

/// Rows [begin, end) of one lane of columns, in registers.
template <class Op, class L, class Source>
inline L fold_column_lane(std::size_t begin, std::size_t end, std::size_t j, std::size_t c,
                          const Source& source)
{
    std::size_t k = begin + (end - begin < 4 ? 1 : 4);
    L acc = end - begin < 4 ? source(begin, j, c) : four_rows<Op>(begin, j, c, source);
    for (; k + 4 <= end; k += 4) acc = Op::combine(acc, four_rows<Op>(k, j, c, source));
    for (; k < end; ++k) acc = Op::combine(acc, source(k, j, c));
    return acc;
}

/// The same sums in the same order, row after row: for rows so long that a walk down a column leaves the page
/// at each step. Stores whole lanes: `acc` has room for column_tile.
template <class Op, class L, class Source>
inline void fold_column_rows(std::size_t begin, std::size_t end, std::size_t columns, const Source& source,
                             typename L::value_type* acc)
{
    const auto row = [&](bool first, const auto& value) {
        std::size_t j = 0;
        for (; j + L::width <= columns; j += L::width) {
            const L v = value(j, L::width);
            (first ? v : Op::combine(L::load(acc + j), v)).store(acc + j);
        }
        if (j == columns) return;
        const L v = value(j, columns - j);
        (first ? v : Op::combine(L::load(acc + j), v)).store(acc + j);
    };
    const auto four = [&](std::size_t k) {
        row(k == begin, [&](std::size_t j, std::size_t c) { return four_rows<Op>(k, j, c, source); });
    };
    const auto one = [&](std::size_t k) {
        row(k == begin, [&](std::size_t j, std::size_t c) { return source(k, j, c); });
    };
    std::size_t k = begin;
    for (; k + 4 <= end; k += 4) four(k);
    for (; k < end; ++k) one(k);
}

/// `columns` ≤ column_tile columns of n rows each, `stride` elements apart in memory, into `out`.
/// `source(k, j, count)` is the lane at row k, column j.
template <class Op, class L, class Source>
inline void fold_columns(std::size_t n, std::size_t columns, std::size_t stride, const Source& source,
                         typename L::value_type* out)
{
    using T = typename L::value_type;
    if (n == 0) return void(std::fill_n(out, columns, Op::template identity<T>()));
    const bool walk_down = stride * sizeof(T) <= 2048;
    alignas(L) T acc[column_tile];
    for (std::size_t k = 0; k < n; k += column_block) {
        const std::size_t end = std::min(n, k + column_block);
        if (!walk_down) fold_column_rows<Op, L>(k, end, columns, source, acc);
        for (std::size_t j = 0; j < columns; j += L::width) {
            const std::size_t c = std::min(L::width, columns - j);
            const L block = walk_down ? fold_column_lane<Op, L>(k, end, j, c, source) : L::load(acc + j);
            (k == 0 ? block : Op::combine(L::load_part(out + j, c), block)).store_part(out + j, c);
        }
    }
}

/// Few columns leave most of a vector idle: `rows` rows are read as one row of rows · inner columns, and the
/// groups folded at the end.
template <class Op, class L, class Map>
inline void fold_few_columns(const typename L::value_type* x, std::size_t n, std::size_t inner,
                             const Map& map, typename L::value_type* out)
{
    using T = typename L::value_type;
    constexpr std::size_t rows = 64 / sizeof(T);
    const std::size_t wide = rows * inner, tail = (n % rows) * inner;
    T acc[column_tile];
    fold_columns<Op, L>(
        n / rows, wide, wide,
        [&](std::size_t k, std::size_t j, std::size_t c) { return map(L::load_part(x + k * wide + j, c)); },
        acc);
    const T* rest = x + (n / rows) * wide;
    for (std::size_t j = 0; j < tail; j += L::width) {
        const std::size_t c = std::min(L::width, tail - j);
        Op::combine(L::load_part(acc + j, c), map(L::load_part(rest + j, c))).store_part(acc + j, c);
    }
    std::copy_n(acc, inner, out);
    for (std::size_t r = 1; r < rows; ++r)
        for (std::size_t j = 0; j < inner; ++j) out[j] = Op::combine(out[j], acc[r * inner + j]);
}

/// A row that ends in its second register: fold_block without the registers that have nothing.
template <class Op, class L, class Source>
[[gnu::always_inline]] inline typename L::value_type fold_two(std::size_t n, const Source& source)
{
    const L none(Op::template identity<typename L::value_type>());
    const L first = Op::combine(none, source(0, L::width)), rest = source(L::width, n - L::width);
    return fold_lane<Op>(Op::combine(first, Op::combine(none, keep_first<Op>(rest, n - L::width))));
}

/// Up to four elements, in the order of the halving: a masked load that touches a line just stored to would
/// wait for the store.
template <class Op, class T, class Map>
[[gnu::always_inline]] inline T fold_four(const T* x, std::size_t n, const Map& map)
{
    if (n == 1) return map(x[0]);
    if (n == 2) return Op::combine(map(x[0]), map(x[1]));
    const T low = Op::combine(map(x[0]), map(x[2]));
    return Op::combine(low, n == 3 ? map(x[1]) : Op::combine(map(x[1]), map(x[3])));
}

/// combine of map(x) over each of `rows` rows of n elements.
template <class Op, class T, class A, class Map>
inline void fold_rows(const T* x, std::size_t rows, std::size_t n, const Map& map, T* out)
{
    using L = Lane<T, A>;
    if (n > L::width && n <= 2 * L::width && L::width > 2) {
        for (std::size_t o = 0; o < rows; ++o, x += n)
            out[o] =
                fold_two<Op, L>(n, [&](std::size_t k, std::size_t c) { return map(L::load_part(x + k, c)); });
        return;
    }
    for (std::size_t o = 0; o < rows; ++o, x += n)
        if (n <= 4 && n > 0)
            out[o] = fold_four<Op>(x, n, map);
        else
            out[o] =
                fold_row<Op, L>(n, [&](std::size_t k, std::size_t c) { return map(L::load_part(x + k, c)); });
}

/// combine of map(x) over the middle axis.
template <class Op, class T, class A, class Map>
inline void fold(const T* x, std::size_t outer, std::size_t n, std::size_t inner, const Map& map, T* out)
{
    using L = Lane<T, A>;
    if (inner == 1) return fold_rows<Op, T, A>(x, outer, n, map, out);
    constexpr std::size_t rows = 64 / sizeof(T);
    const bool few = inner * rows <= column_tile && n >= 2 * rows;
    for (std::size_t o = 0; o < outer; ++o, x += n * inner, out += inner) {
        if (few) {
            fold_few_columns<Op, L>(x, n, inner, map, out);
            continue;
        }
        for (std::size_t j0 = 0; j0 < inner; j0 += column_tile)
            fold_columns<Op, L>(
                n, std::min(column_tile, inner - j0), inner,
                [&](std::size_t k, std::size_t j, std::size_t c) {
                    return map(L::load_part(x + k * inner + j0 + j, c));
                },
                out + j0);
    }
}

}  // namespace detail

}  // namespace wengert::kernels
