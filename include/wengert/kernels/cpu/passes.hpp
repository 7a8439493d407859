#pragma once

#include "pass_lines.hpp"

/// Folds along the middle axis of contiguous blocks (outer, n, inner), by their passes (base/monoids.hpp). One pass over elements
/// alone is fold()'s; others go line by line, a row or a tile of columns. What has as many results as elements may write where
/// it reads.
namespace wengert::kernels {

namespace detail {

/// What a pass over a row folds: M's map of the elements, which it may keep.
template <class M, bool keeps, bool strided, class L, std::size_t operands> struct RowElements {
    static constexpr bool is_long = strided || detail::is_long<M>();
    Lines<L, operands> row;
    const FoldLine<L>& line;
    typename L::value_type* kept;

    [[gnu::always_inline]] auto operator()(std::size_t k, std::size_t c) const
    {
        const auto v = mapped_from<M, operands>(
            line, [&](std::size_t i) __attribute__((always_inline)) {
                if constexpr (strided)
                    return load_strided<L>(row.x[i] + k * row.stride, row.stride, c);
                else
                    return L::load_part(row.x[i] + k, c);
            });
        if constexpr (keeps) v.store_part(kept + k, c);
        return v;
    }
};

/// The result of a pass over a row. Not inlined: among what surrounds it a loop over exp would run short of registers.
template <class P, std::size_t p, bool strided, class L, std::size_t operands,
          class T = typename L::value_type>
[[gnu::noinline]] inline T row_pass(const Lines<L, operands>& row, const T* r, [[maybe_unused]] T* kept)
{
    using M = monoid_of<P>;
    const FoldLine<L> line = line_of<p>(row, r);
    const auto s = [&] {
        if constexpr (reads_elements_alone<P, operands> && !strided)
            return fold_row<M, L>(row.n, RowOf<L, decltype(map_of<P, L>())>{row.x[0], map_of<P, L>()});
        else
            return fold_row<M, L>(
                row.n, RowElements<mapper_of<P>, keeps_elements<P>, strided, L, operands>{row, line, kept});
    }();
    if constexpr (wengert::detail::HasResult<P>)
        return wengert::detail::resulting<P>(line, each_number([](T x) { return L(x); }, s)).first();
    else
        return s;
}
/// Passes `from` and on.
template <class F, bool strided, std::size_t from, class L, std::size_t operands,
          class T = typename L::value_type>
inline void row_passes(const Lines<L, operands>& row, T* r, T* kept)
{
    if constexpr (from < pass_count<F>) {
        r[from] = row_pass<pass_at<F, from>, from, strided>(row, r, kept);
        row_passes<F, strided, from + 1>(row, r, kept);
    }
}
/// All passes over a row that fits in one register: the same steps, without a visit to memory between them.
template <class F, class L, std::size_t operands, class Load>
[[gnu::always_inline]] inline FoldLine<L> line_in_register(const Lines<L, operands>& row, const Load& load)
{
    using T = typename L::value_type;
    FoldLine<L> line = line_of<0>(row, nullptr);
    [&]<std::size_t... p>(std::index_sequence<p...>) __attribute__((always_inline))
    {
        const auto pass = [&]<std::size_t q>(std::integral_constant<std::size_t, q>)
            __attribute__((always_inline))
        {
            using P = pass_at<F, q>;
            using M = monoid_of<P>;
            const auto v = mapped_from<P, operands>(line, load);
            if constexpr (keeps_elements<P>) line.kept = v;
            const auto s = ended<M, L>(fold_lane<M, L>(keep_first<M, L>(v, row.n)));
            line.r[q] = wengert::detail::resulting<P>(line, each_number([](T y) { return L(y); }, s));
        };
        (pass(std::integral_constant<std::size_t, p>()), ...);
    }
    (std::make_index_sequence<pass_count<F>>());
    return line;
}
template <class F, class L, std::size_t operands>
inline void fold_register(const Lines<L, operands>& row, typename L::value_type* out)
{
    L x[operands];
    for (std::size_t k = 0; k < operands; ++k) x[k] = L::load_part(row.x[k], row.n);
    const auto load = [&](std::size_t k) __attribute__((always_inline)) { return x[k]; };
    const FoldLine<L> line = line_in_register<F>(row, load);
    if constexpr (MapsLines<F>)
        each_from<F, operands>(line, load).store_part(out, row.n);
    else
        *out = line.r[pass_count<F> - 1].first();
}
template <class F, class L, std::size_t operands>
inline void fold_long_row(const Lines<L, operands>& row, typename L::value_type* out)
{
    typename L::value_type r[3] = {};
    row_passes<F, false, 0>(row, r, out);
    if constexpr (MapsLines<F>) {
        FoldLine<L> line = line_of<pass_count<F>>(row, r);
        each_lane<L>(
            row.n, [&](std::size_t k, std::size_t c) __attribute__((always_inline)) {
                line.kept = L::load_part(out + k, c);
                each_from<F, operands>(
                    line, [&](std::size_t i)
                              __attribute__((always_inline)) { return L::load_part(row.x[i] + k, c); })
                    .store_part(out + k, c);
            });
    } else
        *out = r[pass_count<F> - 1];
}
/// Not inlined, as the columns' tiles.
template <class F, class L, std::size_t operands>
[[gnu::noinline]] inline void fold_long_rows(const Lines<L, operands>& all, std::size_t outer,
                                             typename L::value_type* out)
{
    for (std::size_t o = 0; o < outer; ++o)
        fold_long_row<F>(all.at(o * all.n), out + o * (MapsLines<F> ? all.n : 1));
}

/// Results of passes over a tile of columns.
template <class T> using ColumnResults = const T (*)[column_tile];
template <std::size_t p, class L, std::size_t operands>
[[gnu::always_inline]] inline FoldLine<L> column_line(const Lines<L, operands>& x,
                                                      ColumnResults<typename L::value_type> r, std::size_t j,
                                                      std::size_t c)
{
    FoldLine<L> l = any_line<L>(x.n, x.number);
    l.first = x.n > 0 ? L::load_part(x.x[0] + j, c) : L(typename L::value_type(0));
    for (std::size_t q = 0; q < p; ++q) l.r[q] = L::load_part(r[q] + j, c);
    return l;
}
/// What pass p folds; by value, as stores of lanes may alias anything.
template <class M, bool keeps, std::size_t p, class L, std::size_t operands> struct ColumnElements {
    Lines<L, operands> x;
    ColumnResults<typename L::value_type> r;
    typename L::value_type* to;

    struct Column {
        ColumnElements all;
        FoldLine<L> line;
        [[gnu::always_inline]] auto operator()(std::size_t k, std::size_t j, std::size_t c) const
        {
            return all.mapped(line, k, j, c);
        }
    };
    [[gnu::always_inline]] auto mapped(const FoldLine<L>& line, std::size_t k, std::size_t j,
                                       std::size_t c) const
    {
        const auto v = mapped_from<M, operands>(
            line, [&](std::size_t i)
                      __attribute__((always_inline)) { return L::load_part(x.x[i] + k * x.stride + j, c); });
        if constexpr (keeps) v.store_part(to + k * x.stride + j, c);
        return v;
    }
    [[gnu::always_inline]] auto operator()(std::size_t k, std::size_t j, std::size_t c) const
    {
        return mapped(column_line<p>(x, r, j, c), k, j, c);
    }
    [[gnu::always_inline]] auto column(std::size_t at, std::size_t count) const
    {
        return Column{*this, column_line<p>(x, r, at, count)};
    }
};

/// A tile of columns.
template <class F, class L, std::size_t operands> struct ColumnTile {
    using T = typename L::value_type;
    Lines<L, operands> lines;
    std::size_t columns;
    T* out;  ///< of maps as the operands lie
    alignas(64) T r[pass_count<F>][column_tile];

    ColumnTile(const Lines<L, operands>& x, std::size_t count, T* to) : lines(x), columns(count), out(to) {}

    template <std::size_t p> void passes()
    {
        if constexpr (p < pass_count<F>) {
            using P = pass_at<F, p>;
            using M = monoid_of<P>;
            ColumnStates<M, T> memory;
            const Arrays<M, T> s = memory.arrays();
            if constexpr (reads_elements_alone<P, operands>)
                fold_columns<M, L>(
                    lines.n, columns, lines.stride,
                    ColumnsOf<L, decltype(map_of<P, L>())>{lines.x[0], lines.stride, map_of<P, L>()}, s);
            else
                fold_columns<M, L>(
                    lines.n, columns, lines.stride,
                    ColumnElements<mapper_of<P>, keeps_elements<P>, p, L, operands>{lines, +r, out}, s);
            each_lane<L>(
                columns, [&](std::size_t j, std::size_t c) __attribute__((always_inline)) {
                    wengert::detail::resulting<P>(column_line<p>(lines, +r, j, c), load_from<L>(s, j, c))
                        .store_part(r[p] + j, c);
                });
            passes<p + 1>();
        }
    }
    void map_all()
    {
        const Lines<L, operands> x = lines;
        for (std::size_t k = 0; k < x.n; ++k) {
            T* const to = out + k * x.stride;
            each_lane<L>(
                columns, [ =, this ](std::size_t j, std::size_t c) __attribute__((always_inline)) {
                    FoldLine<L> l = column_line<pass_count<F>>(x, +r, j, c);
                    l.kept = L::load_part(to + j, c);
                    each_from<F, operands>(
                        l, [&](std::size_t i) __attribute__((
                               always_inline)) { return L::load_part(x.x[i] + k * x.stride + j, c); })
                        .store_part(to + j, c);
                });
        }
    }
    void run()
    {
        passes<0>();
        if constexpr (MapsLines<F>)
            map_all();
        else
            std::copy_n(r[pass_count<F> - 1], columns, out);
    }
};

/// Not inlined: what is on its stack would cost small rows.
template <class F, class L, std::size_t operands>
[[gnu::noinline]] inline void fold_column_tiles(const Lines<L, operands>& all, std::size_t outer,
                                                typename L::value_type* out)
{
    const std::size_t n = all.n, inner = all.stride;
    for (std::size_t o = 0; o < outer; ++o)
        for (std::size_t j = 0; j < inner; j += column_tile)
            ColumnTile<F, L, operands>(all.at(o * n * inner + j), std::min(column_tile, inner - j),
                                       out + o * inner * (MapsLines<F> ? n : 1) + j)
                .run();
}

/// Line i again, by the passes after the first, whose result lies there.
template <class F, class L>
[[gnu::noinline]] inline void fold_again(const Lines<L, 1>& x, std::size_t i, typename L::value_type* out)
{
    typename L::value_type r[3] = {out[i]};
    row_passes<F, true, 1>(x.at(i / x.stride * x.n * x.stride + i % x.stride), r, out);
    out[i] = r[pass_count<F> - 1];
}
template <class F, class L>
inline void fold_whole(const Lines<L, 1>& x, std::size_t outer, typename L::value_type* out)
{
    using T = typename L::value_type;
    using P = pass_at<F, 0>;
    const std::size_t inner = x.stride;
    fold<monoid_of<P>, T, typename L::arch_type>(x.x[0], outer, x.n, inner, map_of<P, L>(), out);
    if constexpr (wengert::detail::HasResult<P>) {
        const FoldLine<L> line = any_line<L>(x.n, x.number);
        const std::size_t count = outer * inner, whole = count - count % L::width;
        const auto one = [&](std::size_t i) __attribute__((always_inline))
        {
            const L s(out[i]);
            out[i] = wengert::detail::resulting<P>(line, s).first();
            if constexpr (FirstSuffices<F>)
                if (!all(P::enough(s, line))) fold_again<F>(x, i, out);
        };
        for (std::size_t i = 0; i < whole; i += L::width) {
            const L s = L::load(out + i);
            if constexpr (FirstSuffices<F>)
                if (!all(P::enough(s, line))) {
                    for (std::size_t k = 0; k < L::width; ++k) one(i + k);
                    continue;
                }
            wengert::detail::resulting<P>(line, s).store(out + i);
        }
        for (std::size_t i = whole; i < count; ++i) one(i);
    }
}

}  // namespace detail

/// `number` is what the fold's formulas are told.
template <class F, std::floating_point T, class A = xsimd::default_arch, class... X>
void fold_lines(std::size_t outer, std::size_t n, std::size_t inner, double number, T* out, const T* x,
                const X*... more)
{
    using namespace detail;
    using L = Lane<T, A>;
    constexpr std::size_t operands = 1 + sizeof...(X);
    const Lines<L, operands> all{{x, more...}, n, inner, static_cast<T>(number)};
    if constexpr (goes_whole<F>)
        fold_whole<F>(all, outer, out);
    else if (inner != 1)  // 0: no results
        fold_column_tiles<F>(all, outer, out);
    else if (n > L::width)
        fold_long_rows<F>(all, outer, out);
    else
        for (std::size_t o = 0; o < outer; ++o)
            fold_register<F>(all.at(o * n), out + o * (MapsLines<F> ? n : 1));
}

/// The results of all passes over a row.
template <class F, std::floating_point T, class A = xsimd::default_arch>
std::array<T, 3> row_results(const T* x, std::size_t n)
{
    using L = Lane<T, A>;
    const detail::Lines<L, 1> row{{x}, n, 1, T(0)};
    std::array<T, 3> r;
    if (n <= L::width) {
        const L lane = L::load_part(x, n);
        const auto line = detail::line_in_register<F>(row, [&](std::size_t) { return lane; });
        for (std::size_t p = 0; p < detail::pass_count<F>; ++p) r[p] = line.r[p].first();
    } else
        detail::row_passes<F, false, 0>(row, r.data(), static_cast<T*>(nullptr));
    return r;
}

/// Of whole numbers, truth values and places, whose order matters to nobody: one element after another.
template <class F, class X, class Out, class A = xsimd::default_arch>
void fold_plain(std::size_t outer, std::size_t n, std::size_t inner, Out* out, const X* x)
{
    using P = detail::pass_at<F, 0>;
    static_assert(detail::pass_count<F> == 1);
    if constexpr (!wengert::detail::has_places<P>) {
        const auto step = [](Out a, X v) {
            return P::combine(a, wengert::detail::mapped<P>(FoldLine<Out>(), static_cast<Out>(v)));
        };
        detail::fold_plain<A>(x, outer, n, inner, detail::none<P, Out>(), out, step);
    } else
        for (std::size_t i = 0; i < outer * inner; ++i) {
            const X* const line = x + i / inner * n * inner + i % inner;
            std::pair<X, Out> best(line[0], 0);
            for (std::size_t k = 1; k < n; ++k)
                best = P::combine(best, std::pair<X, Out>(line[k * inner], static_cast<Out>(k)));
            out[i] = best.second;
        }
}

}  // namespace wengert::kernels
