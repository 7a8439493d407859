// Products of a matrix and a vector, and of two vectors: bound by memory, so each element of the matrix is read once. Outer products
// are in outer_product.hpp.
#pragma once

#include "fold.hpp"
#include "gemm_block.hpp"

namespace wengert::kernels::detail {

/// y[j] = Σ_r w[r] b[r, j] for `Rows` rows of b, `added` to y[j] or not.
template <std::size_t Rows, class T, class A>
inline void add_rows(std::size_t n, const T* w, const T* b, std::size_t ldb, T* y, bool added)
{
    using L = Lane<T, A>;
    [&]<std::size_t... R>(std::index_sequence<R...>) {
        const L weight[Rows] = {L(w[R])...};
        const auto put = [&](std::size_t j, std::size_t c) __attribute__((always_inline))
        {
            L even = added ? L::load_part(y + j, c) : L(T(0)), odd(T(0));
            ((R % 2 == 0 ? even = fma(weight[R], L::load_part(b + R * ldb + j, c), even)
                         : odd = fma(weight[R], L::load_part(b + R * ldb + j, c), odd)),
             ...);
            (even + odd).store_part(y + j, c);
        };
        std::size_t j = 0;
        for (; j + L::width <= n; j += L::width) put(j, L::width);
        if (j < n) put(j, n - j);
    }(std::make_index_sequence<Rows>{});
}

/// The same for `Lanes` registers of y, the last of `last` elements, and all rows: the sums stay in registers.
template <std::size_t Lanes, class T, class A>
inline void vector_times_columns(std::size_t last, std::size_t k, const T* x, std::size_t x_step, const T* b,
                                 std::size_t ldb, T* y, T alpha)
{
    using L = Lane<T, A>;
    L sum[Lanes];
    for (L& s : sum) s = L(T(0));
    const auto rows = [&]<std::size_t... R>(std::size_t p, std::index_sequence<R...>)
        __attribute__((always_inline))
    {
        const L weight[] = {L(alpha * x[(p + R) * x_step])...};
        const T* const from = b + p * ldb;
        const auto put = [&](L & s, std::size_t j, std::size_t c) __attribute__((always_inline))
        {
            L even = s, odd(T(0));
            ((R % 2 == 0 ? even = fma(weight[R], L::load_part(from + R * ldb + j, c), even)
                         : odd = fma(weight[R], L::load_part(from + R * ldb + j, c), odd)),
             ...);
            s = even + odd;
        };
        for (std::size_t l = 0; l + 1 < Lanes; ++l) put(sum[l], l * L::width, L::width);
        put(sum[Lanes - 1], (Lanes - 1) * L::width, last);
    };
    std::size_t p = 0;
    for (; p + 8 <= k; p += 8) rows(p, std::make_index_sequence<8>{});
    for (; p + 4 <= k; p += 4) rows(p, std::make_index_sequence<4>{});
    for (; p < k; ++p) rows(p, std::make_index_sequence<1>{});
    for (std::size_t l = 0; l + 1 < Lanes; ++l) sum[l].store(y + l * L::width);
    sum[Lanes - 1].store_part(y + (Lanes - 1) * L::width, last);
}
/// Up to so many rows a narrow y stays in registers; a matrix that is not in the first cache is read row by row.
inline constexpr std::size_t rows_in_cache = 64;

/// y[j] = α Σ_p x[p] b[p, j], with b's rows contiguous and read front to back, eight at a time.
template <class T, class A>
inline void vector_times_few_rows(std::size_t n, std::size_t k, const T* x, std::size_t x_step, const T* b,
                                  std::size_t ldb, T* y, T alpha)
{
    constexpr std::size_t width = Lane<T, A>::width;
    if (k <= rows_in_cache && n <= width)
        return vector_times_columns<1, T, A>(n, k, x, x_step, b, ldb, y, alpha);
    if (k <= rows_in_cache && n <= 2 * width)
        return vector_times_columns<2, T, A>(n - width, k, x, x_step, b, ldb, y, alpha);
    T weight[8];
    for (std::size_t p = 0; p < k;) {
        const std::size_t rows = k - p >= 8 ? 8 : k - p >= 4 ? 4 : 1;
        for (std::size_t r = 0; r < rows; ++r) weight[r] = alpha * x[(p + r) * x_step];
        if (rows == 8)
            add_rows<8, T, A>(n, weight, b, ldb, y, p > 0);
        else if (rows == 4)
            add_rows<4, T, A>(n, weight, b, ldb, y, p > 0);
        else
            add_rows<1, T, A>(n, weight, b, ldb, y, p > 0);
        p += rows, b += rows * ldb;
    }
}

/// How many products are added one to another: what has a longer sum is cut into sums of this many.
inline constexpr std::size_t longest_chain = 2048;

/// The same for more rows, and where β y is added to the sum when it is complete: by then it has been rounded, so that a sum of
/// products has the same bits by one call as by a product and an addition. Not inlined, as the following ones are not: what is on its stack would cost small products more than
/// they take.
template <class T, class A>
[[gnu::noinline]] void vector_times_many_rows(std::size_t n, std::size_t k, const T* x, std::size_t x_step,
                                              const T* b, std::size_t ldb, T* y, T alpha, T beta)
{
    using L = Lane<T, A>;
    T part[column_tile];
    for (std::size_t j = 0; j < n; j += column_tile) {
        const std::size_t columns = std::min(column_tile, n - j);
        T scale = beta;
        for (std::size_t p = 0; p < k; p += longest_chain, scale = T(1)) {
            const std::size_t rows = std::min(longest_chain, k - p);
            vector_times_few_rows<T, A>(columns, rows, x + p * x_step, x_step, b + p * ldb + j, ldb, part,
                                        alpha);
            for (std::size_t c = 0; c < columns; c += L::width) {
                const std::size_t count = std::min(L::width, columns - c);
                L v = L::load_part(part + c, count);
                if (scale != T(0)) v = fma(L(scale), L::load_part(y + j + c, count), v);
                v.store_part(y + j + c, count);
            }
        }
    }
}

template <class T, class A>
inline void vector_times_rows(std::size_t n, std::size_t k, const T* x, std::size_t x_step, const T* b,
                              std::size_t ldb, T* y, T alpha, T beta)
{
    if (k <= longest_chain && beta == T(0))
        return vector_times_few_rows<T, A>(n, k, x, x_step, b, ldb, y, alpha);
    vector_times_many_rows<T, A>(n, k, x, x_step, b, ldb, y, alpha, beta);
}

/// Σ_p x[p] b[p].
template <class T, class A> [[gnu::always_inline]] inline T dot(std::size_t k, const T* x, const T* b)
{
    using L = Lane<T, A>;
    return fold_row<Add, L>(
        k, [&](std::size_t p, std::size_t c) { return L::load_part(x + p, c) * L::load_part(b + p, c); });
}
template <class L> struct StridedProducts {
    static constexpr bool is_long = true;
    const typename L::value_type* x;
    std::size_t x_step;
    const typename L::value_type* b;
    std::size_t b_step;
    [[gnu::always_inline]] L operator()(std::size_t p, std::size_t count) const
    {
        return load_strided<L>(x + p * x_step, x_step, count) *
               load_strided<L>(b + p * b_step, b_step, count);
    }
};
/// The same for elements with strides.
template <class T, class A>
inline T dot(std::size_t k, const T* x, std::size_t x_step, const T* b, std::size_t b_step)
{
    using L = Lane<T, A>;
    if (x_step == 1 && b_step == 1) return dot<T, A>(k, x, b);
    return fold_row<Add, L>(k, StridedProducts<L>{x, x_step, b, b_step});
}

template <std::size_t Half, class L> [[gnu::always_inline]] inline L fold_halves(L a, L b)
{
    constexpr auto all = std::make_index_sequence<L::width>{};
    return pick_halves<Half, 0>(a, b, all) + pick_halves<Half, Half>(a, b, all);
}
/// The sums of four registers in fold_lane's order. The first two halvings are made of two registers each.
template <class L>
[[gnu::always_inline]] inline void fold_four(L a, L b, L c, L d, typename L::value_type* sum)
{
    constexpr std::size_t width = L::width;
    if constexpr (width < 4) {
        const L rows[] = {a, b, c, d};
        for (std::size_t i = 0; i < 4; ++i) sum[i] = fold_lane<Add, L>(rows[i]);
    } else {
        L all = fold_halves<width / 4>(fold_halves<width / 2>(a, c), fold_halves<width / 2>(b, d));
        if constexpr (width > 8) all = all + swap_halves<width / 8>(all);
        if constexpr (width > 4) all = all + swap_halves<1>(all);
        alignas(L) typename L::value_type lanes[width];
        all.store(lanes);
        for (std::size_t i = 0; i < 4; ++i) sum[i] = lanes[i * (width / 4)];
    }
}

/// Σ_p x[p] b[r, p] over p in [begin, end), for four rows that share the loads of x.
template <class T, class A>
[[gnu::always_inline]] inline void dot_four(std::size_t begin, std::size_t end, const T* x, const T* b,
                                            std::size_t ldb, T* sum)
{
    using L = Lane<T, A>;
    L acc[4] = {L(T(0)), L(T(0)), L(T(0)), L(T(0))}, more[4] = {acc[0], acc[0], acc[0], acc[0]};
    const auto step = [&](L* to, L xp, std::size_t at, std::size_t c) {
        to[0] = fma(xp, L::load_part(b + at, c), to[0]);
        to[1] = fma(xp, L::load_part(b + ldb + at, c), to[1]);
        to[2] = fma(xp, L::load_part(b + 2 * ldb + at, c), to[2]);
        to[3] = fma(xp, L::load_part(b + 3 * ldb + at, c), to[3]);
    };
    std::size_t p = begin;
    for (; p + 2 * L::width <= end; p += 2 * L::width) {
        step(acc, L::load(x + p), p, L::width);
        step(more, L::load(x + p + L::width), p + L::width, L::width);
    }
    for (; p < end; p += L::width) {
        const std::size_t c = std::min(L::width, end - p);
        step(acc, L::load_part(x + p, c), p, c);
    }
    fold_four(acc[0] + more[0], acc[1] + more[1], acc[2] + more[2], acc[3] + more[3], sum);
}

/// Four sums of more products: in blocks that are added pairwise.
template <class T, class A>
[[gnu::noinline]] void dot_four_long(std::size_t k, const T* x, const T* b, std::size_t ldb, T* sum)
{
    Carries<Add, Lane<T, A>> sums[4];
    for (std::size_t p = 0; p < k; p += longest_chain) {
        dot_four<T, A>(p, std::min(k, p + longest_chain), x, b, ldb, sum);
        for (std::size_t i = 0; i < 4; ++i) sums[i].add(sum[i]);
    }
    for (std::size_t i = 0; i < 4; ++i) sum[i] = sums[i].total();
}

/// y[j] = α Σ_p x[p] b[j, p] + β y[j].
template <class T, class A>
inline void rows_times_vector(std::size_t n, std::size_t k, const T* x, const T* b, std::size_t ldb, T* y,
                              std::size_t y_step, T alpha, T beta)
{
    const auto put = [&](std::size_t j, T value) {
        T& to = y[j * y_step];
        to = beta == T(0) ? alpha * value : alpha * value + beta * to;
    };
    std::size_t j = 0;
    for (; j + 4 <= n; j += 4) {
        const T* r = b + j * ldb;
        T sum[4];
        if (k <= longest_chain)
            dot_four<T, A>(0, k, x, r, ldb, sum);
        else
            dot_four_long<T, A>(k, x, r, ldb, sum);
        for (std::size_t i = 0; i < 4; ++i) put(j + i, sum[i]);
    }
    for (; j < n; ++j) put(j, dot<T, A>(k, x, b + j * ldb));
}

}  // namespace wengert::kernels::detail
