#pragma once

#include "fold_columns.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

/// The loops behind reductions of a contiguous block (outer, n, inner) to (outer, inner).
///
/// Bits do not depend on the width of the vectors: a row is summed in 256 bytes of virtual lanes (element i
/// goes to lane i mod 32 for double, 64 for float), which are folded in halves; blocks of `row_block`
/// elements are then added pairwise (Higham 1993). Rows of up to two registers are summed several at once, across, in the
/// same order. Columns go four rows at a time.
namespace wengert::kernels {

namespace detail {

inline constexpr std::size_t virtual_bytes = 256;
template <class T> inline constexpr std::size_t row_block = 16384 / sizeof(T);

/// A source whose lanes take many instructions: its text stands once in a loop, and the sums in memory.
template <class Source> constexpr bool is_long()
{
    if constexpr (requires { Source::is_long; })
        return Source::is_long;
    else
        return false;
}

/// fold_block with one lane a step.
template <class Op, class L, class Source>
[[gnu::always_inline]] inline FoldState<Op, L> fold_lane_by_lane(std::size_t begin, std::size_t end,
                                                                 const Source& source)
{
    constexpr std::size_t registers = virtual_bytes / sizeof(L);
    FoldState<Op, L> acc[registers];
    for (auto& a : acc) a = none<Op, L>();
    std::size_t k = begin, r = 0;
    for (; k + L::width <= end; k += L::width, r = (r + 1) % registers)
        acc[r] = Op::combine(acc[r], source(k, L::width));
    if (k < end) acc[r] = Op::combine(acc[r], keep_first<Op, L>(source(k, end - k), end - k));
    return fold_registers<Op, registers>(acc);
}

/// More than a lane, whose source is short.
template <class Op, class L, class Source>
[[gnu::always_inline]] inline FoldState<Op, typename L::value_type> fold_in_registers(std::size_t begin,
                                                                                      std::size_t end,
                                                                                      const Source& source)
{
    constexpr std::size_t registers = virtual_bytes / sizeof(L), step = registers * L::width;
    using S = FoldState<Op, L>;
    S acc[registers];
    for (S& a : acc) a = none<Op, L>();
    // Unrolled by the fold expressions: an index that is not a constant would move `acc` to memory. Until one is false.
    const auto each = [&]<std::size_t... R>(std::index_sequence<R...>, const auto& body)
        __attribute__((always_inline))
    {
        static_cast<void>((body(R, acc[R]) && ...));
    };
    constexpr auto all_registers = std::make_index_sequence<registers>{};
    std::size_t k = begin;
    for (; k + step <= end; k += step)
        each(
            all_registers, [&](std::size_t r, S & a) __attribute__((always_inline)) {
                a = Op::combine(a, source(k + r * L::width, L::width));
                return true;
            });
    each(
        all_registers, [&](std::size_t r, S & a) __attribute__((always_inline)) {
            const std::size_t first = k + r * L::width;
            if (first + L::width > end) return false;
            a = Op::combine(a, source(first, L::width));
            return true;
        });
    const std::size_t whole = (end - k) / L::width, first = k + whole * L::width;
    if (first < end) {  // one place for the text of a part of a lane
        const S last = keep_first<Op, L>(source(first, end - first), end - first);
        each(
            all_registers, [&](std::size_t r, S & a) __attribute__((always_inline)) {
                if (r == whole) a = Op::combine(a, last);
                return r != whole;
            });
    }
    return ended<Op, L>(fold_lane<Op, L>(fold_registers<Op, registers>(acc)));
}

/// One block of a row. `source(k, count)` is the lane of (mapped) elements k, k + 1, …, of which the first
/// `count` are wanted.
template <class Op, class L, class Source>
[[gnu::always_inline]] inline FoldState<Op, typename L::value_type> fold_block(std::size_t begin,
                                                                               std::size_t end,
                                                                               const Source& source)
{
    if (end - begin <= L::width)
        return ended<Op, L>(fold_lane<Op, L>(keep_first<Op, L>(source(begin, end - begin), end - begin)));
    if constexpr (is_long<Source>())
        return ended<Op, L>(fold_lane<Op, L>(fold_lane_by_lane<Op, L>(begin, end, source)));
    else
        return fold_in_registers<Op, L>(begin, end, source);
}

/// Blocks are combined like the carries of a binary counter, which is pairwise without recursion.
template <class Op, class L> class Carries {
    using S = FoldState<Op, typename L::value_type>;

public:
    /// Anew, with another row.
    void start() { depth_ = blocks_ = 0; }
    void add(S sum)
    {
        for (std::size_t carry = ++blocks_; carry % 2 == 0; carry /= 2)
            sum = combined<Op, L>(pending_[--depth_], sum);
        pending_[depth_++] = sum;
    }
    /// Of at least one block.
    S total()
    {
        S total = pending_[--depth_];
        while (depth_ > 0) total = combined<Op, L>(pending_[--depth_], total);
        return total;
    }

private:
    S pending_[64];
    std::size_t depth_ = 0, blocks_ = 0;
};

/// A row.
template <class Op, class L, class Source>
inline FoldState<Op, typename L::value_type> fold_row(std::size_t n, const Source& source)
{
    using T = typename L::value_type;
    if (n == 0) return none<Op, T>();
    Carries<Op, L> sums;
    for (std::size_t k = 0; k < n; k += row_block<T>) {  // one place for the text of a block
        const auto sum = fold_block<Op, L>(k, std::min(n, k + row_block<T>), source);
        if (n <= row_block<T>) return sum;
        sums.add(sum);
    }
    return sums.total();
}

/// A row that ends in its second register: fold_block without the registers that have nothing.
template <class Op, class L, class Source>
[[gnu::always_inline]] inline typename L::value_type fold_two(std::size_t n, const Source& source)
{
    const L nothing = none<Op, L>(), first = Op::combine(nothing, source(0, L::width)),
            rest = keep_first<Op, L>(source(L::width, n - L::width), n - L::width);
    return ended<Op, L>(fold_lane<Op, L>(Op::combine(first, Op::combine(nothing, rest))));
}

/// Up to four elements, in the order of the halving: a masked load that touches a line just stored to would
/// wait for the store.
template <class Op, class L, class T, class Map>
[[gnu::always_inline]] inline T fold_four(const T* x, std::size_t n, const Map& map)
{
    if (n == 1) return map(x[0]);
    if (n == 2) return ended<Op, L>(combined<Op, L>(map(x[0]), map(x[1])));
    const T low = combined<Op, L>(map(x[0]), map(x[2]));
    return ended<Op, L>(combined<Op, L>(low, n == 3 ? map(x[1]) : combined<Op, L>(map(x[1]), map(x[3]))));
}

/// combine of map(x) over rows of at most one or two registers. As many rows are folded at once as a register has lanes, across the
/// rows. A row by itself would fold a register that is nearly empty. Returns how many rows are done. The last rows are left, as
/// whole registers are read.
template <class Op, bool two, class L, class Map>
inline std::size_t fold_rows_across(const typename L::value_type* x, std::size_t rows, std::size_t n,
                                    const Map& map, typename L::value_type* out)
{
    using T = typename L::value_type;
    constexpr std::size_t width = L::width, reach = two ? 2 * width : width;
    const L nothing = none<Op, L>();
    const auto inside = L::load(lane_index<L>.data()) < L(static_cast<T>(two ? n - width : n));
    std::size_t done = 0;
    for (; rows - done >= width && (rows - done) * n >= (width - 1) * n + reach;
         done += width, x += width * n) {
        L row[width];
        [&]<std::size_t... R>(std::index_sequence<R...>) __attribute__((always_inline))
        {
            if constexpr (two)
                ((row[R] = Op::combine(
                      Op::combine(nothing, map(L::load(x + R * n))),
                      Op::combine(nothing, where(inside, map(L::load(x + R * n + width)), nothing)))),
                 ...);
            else
                ((row[R] = where(inside, map(L::load(x + R * n)), nothing)), ...);
        }
        (std::make_index_sequence<width>{});
        finished<Op>(fold_each<Op, width / 2>(row)).store(out + done);
    }
    return done;
}

/// combine of map(x) over each of `rows` rows of n elements.
template <class Op, class T, class A, class Map>
inline void fold_rows(const T* x, std::size_t rows, std::size_t n, const Map& map, T* out)
{
    using L = Lane<T, A>;
    if constexpr (std::is_same_v<Op, Add> && L::width > 2)
        if (n > 4 && n <= 2 * L::width && rows >= L::width) {
            const std::size_t done = n > L::width ? fold_rows_across<Op, true, L>(x, rows, n, map, out)
                                                  : fold_rows_across<Op, false, L>(x, rows, n, map, out);
            x += done * n, out += done, rows -= done;
        }
    if (n > L::width && n <= 2 * L::width && L::width > 2) {
        for (std::size_t o = 0; o < rows; ++o, x += n)
            out[o] = fold_two<Op, L>(
                n, [&](std::size_t k, std::size_t c)
                       __attribute__((always_inline)) { return map(L::load_part(x + k, c)); });
        return;
    }
    for (std::size_t o = 0; o < rows; ++o, x += n)
        if (n <= 4 && n > 0)
            out[o] = fold_four<Op, L>(x, n, map);
        else
            out[o] = fold_row<Op, L>(n, RowOf<L, Map>{x, map});
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
                [=](std::size_t k, std::size_t j, std::size_t c)
                    __attribute__((always_inline)) { return map(L::load_part(x + k * inner + j0 + j, c)); },
                out + j0);
    }
}

}  // namespace detail

}  // namespace wengert::kernels
