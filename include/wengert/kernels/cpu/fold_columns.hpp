#pragma once

#include "fold_lanes.hpp"

#include <cstddef>
#include <utility>

/// The columns of a fold: a lane holds as many of them, and rows are added in blocks.
namespace wengert::kernels::detail {

/// Lanes of a row of elements, mapped.
template <class L, class Map> struct RowOf {
    const typename L::value_type* x;
    Map map;
    [[gnu::always_inline]] auto operator()(std::size_t k, std::size_t count) const
    {
        return map(L::load_part(x + k, count));
    }
};
/// Of columns, `stride` elements from row to row.
template <class L, class Map> struct ColumnsOf {
    const typename L::value_type* x;
    std::size_t stride;
    Map map;
    [[gnu::always_inline]] auto operator()(std::size_t k, std::size_t j, std::size_t count) const
    {
        return map(L::load_part(x + k * stride + j, count));
    }
};

/// `count` elements that lie `stride` apart.
template <class L>
[[gnu::always_inline]] inline L load_strided(const typename L::value_type* x, std::size_t stride,
                                             std::size_t count)
{
    if (stride == 1) return L::load_part(x, count);
    alignas(L) typename L::value_type buffer[L::width] = {};
    for (std::size_t i = 0; i < count; ++i) buffer[i] = x[i * stride];
    return L::load(buffer);
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

/// Arrays of numbers, one for each number of a state.
template <class Op, class T> using Arrays = FoldState<Op, T*>;
template <class L, class P>
[[gnu::always_inline]] inline auto load_from(const P& arrays, std::size_t j, std::size_t c)
{
    return each_number(
        [&](const typename L::value_type* p)
            __attribute__((always_inline)) { return L::load_part(p + j, c); },
        arrays);
}
template <class P, class S>
[[gnu::always_inline]] inline void store_to(const P& arrays, std::size_t j, std::size_t c, const S& state)
{
    each_number(
        [&](auto lane, auto* p) __attribute__((always_inline)) { return lane.store_part(p + j, c), 0; },
        state, arrays);
}

/// Elements of one lane of columns: a source may read first what is the same in all rows.
template <class Source>
[[gnu::always_inline]] inline auto column_of(const Source& source, std::size_t j, std::size_t c)
{
    if constexpr (requires { source.column(j, c); })
        return source.column(j, c);
    else
        return source;
}

/// Rows [begin, end) of one lane of columns, in registers.
template <class Op, class L, class Source>
[[gnu::always_inline]] inline FoldState<Op, L> fold_column_lane(std::size_t begin, std::size_t end,
                                                                std::size_t j, std::size_t c,
                                                                const Source& all)
{
    const auto source = column_of(all, j, c);
    std::size_t k = begin + (end - begin < 4 ? 1 : 4);
    FoldState<Op, L> acc = end - begin < 4 ? source(begin, j, c) : four_rows<Op>(begin, j, c, source);
    for (; k + 4 <= end; k += 4) acc = Op::combine(acc, four_rows<Op>(k, j, c, source));
    for (; k < end; ++k) acc = Op::combine(acc, source(k, j, c));
    return acc;
}

/// The same sums in the same order, row after row: for rows so long that a walk down a column leaves the page
/// at each step. Stores whole lanes: `acc` has room for column_tile.
template <class Op, class L, class Source>
inline void fold_column_rows(std::size_t begin, std::size_t end, std::size_t columns, Source source,
                             Arrays<Op, typename L::value_type> acc)
{
    using S = FoldState<Op, L>;
    const auto row = [&](bool first, const auto& value) __attribute__((always_inline))
    {
        const auto one = [&](std::size_t j, std::size_t c) __attribute__((always_inline))
        {
            const S v = value(j, c);
            store_to(acc, j, L::width, first ? v : Op::combine(load_from<L>(acc, j, L::width), v));
        };
        std::size_t j = 0;
        for (; j + L::width <= columns; j += L::width) one(j, L::width);
        if (j < columns) one(j, columns - j);
    };
    const auto four = [&](std::size_t k) __attribute__((always_inline))
    {
        row(
            k == begin, [&](std::size_t j, std::size_t c)
                            __attribute__((always_inline)) { return four_rows<Op>(k, j, c, source); });
    };
    const auto one = [&](std::size_t k) __attribute__((always_inline))
    {
        row(
            k == begin, [&](std::size_t j, std::size_t c)
                            __attribute__((always_inline)) { return source(k, j, c); });
    };
    std::size_t k = begin;
    for (; k + 4 <= end; k += 4) four(k);
    for (; k < end; ++k) one(k);
}

/// Memory for the states of a tile of columns.
template <class Op, class T> struct ColumnStates {
    alignas(64) T memory[wengert::detail::numbers_of<Op>()][column_tile];
    Arrays<Op, T> arrays()
    {
        std::size_t next = 0;
        return each_number([&](T*) { return memory[next++] + 0; }, Arrays<Op, T>());
    }
};

/// `columns` ≤ column_tile columns of n rows each, `stride` elements apart in memory, into `out`.
/// `source(k, j, count)` is the lane at row k, column j; it has what it reads by value, as stores of lanes may alias anything.
template <class Op, class L, class Source>
inline void fold_columns(std::size_t n, std::size_t columns, std::size_t stride, Source source,
                         Arrays<Op, typename L::value_type> out)
{
    using T = typename L::value_type;
    if (n == 0) {
        each_number([&](T* to, T x) { return std::fill_n(to, columns, x); }, out, none<Op, T>());
        return;
    }
    const bool walk_down = stride * sizeof(T) <= 2048;
    ColumnStates<Op, T> memory;
    const Arrays<Op, T> acc = memory.arrays();
    for (std::size_t k = 0; k < n; k += column_block) {
        const std::size_t end = std::min(n, k + column_block);
        if (!walk_down) fold_column_rows<Op, L>(k, end, columns, source, acc);
        for (std::size_t j = 0; j < columns; j += L::width) {
            const std::size_t c = std::min(L::width, columns - j);
            const auto block =
                walk_down ? fold_column_lane<Op, L>(k, end, j, c, source) : load_from<L>(acc, j, L::width);
            const auto sum = k == 0 ? block : Op::combine(load_from<L>(out, j, c), block);
            store_to(out, j, c, end == n && n > 1 ? finished<Op>(sum) : sum);
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
        [=](std::size_t k, std::size_t j, std::size_t c)
            __attribute__((always_inline)) { return map(L::load_part(x + k * wide + j, c)); },
        acc);
    const T* rest = x + (n / rows) * wide;
    for (std::size_t j = 0; j < tail; j += L::width) {
        const std::size_t c = std::min(L::width, tail - j);
        Op::combine(L::load_part(acc + j, c), map(L::load_part(rest + j, c))).store_part(acc + j, c);
    }
    std::copy_n(acc, inner, out);
    for (std::size_t r = 1; r < rows; ++r)
        for (std::size_t j = 0; j < inner; ++j) out[j] = combined<Op, L>(out[j], acc[r * inner + j]);
    for (std::size_t j = 0; j < inner; ++j) out[j] = ended<Op, L>(out[j]);
}

}  // namespace wengert::kernels::detail
