// Outer products: column by row, with rows of any length. Each product is rounded before it is added to anything.
#pragma once

#include "fold.hpp"
#include "gemm_block.hpp"

namespace wengert::kernels::detail {

/// c[i, j] = α a[i] b[j] + β c[i, j]. The product is rounded before it is added, as in run_tile.
template <class T, class A>
inline void outer_product(std::size_t m, std::size_t n, const T* a, std::size_t a_step, const T* b, T* c,
                          std::size_t ldc, T alpha, T beta)
{
    using L = Lane<T, A>;
    for (std::size_t i = 0; i < m; ++i, c += ldc) {
        const L left(a[i * a_step]), factor(alpha), scale(beta);
        const auto put = [&](std::size_t j, std::size_t count) {
            const L right = L::load_part(b + j, count);
            L v = factor * fma(left, right, L(T(0)));
            if (beta != T(0)) v = fma(scale, L::load_part(c + j, count), v);
            v.store_part(c + j, count);
        };
        std::size_t j = 0;
        for (; j + L::width <= n; j += L::width) {
            __builtin_prefetch(c + j + 2048 / sizeof(T),
                               1);  // without it plain stores are slower than updates
            put(j, L::width);
        }
        if (j < n) put(j, n - j);
    }
}

/// Lane i: element Part · width / N + i / N of x.
template <std::size_t N, std::size_t Part, class L, std::size_t... I>
[[gnu::always_inline]] inline L spread(L x, std::index_sequence<I...>)
{
    constexpr std::size_t first = Part * (L::width / N);
#if defined(__clang__)
    return L(
        typename L::Batch(__builtin_shufflevector(x.reg(), x.reg(), static_cast<int>(first + I / N)...)));
#else
    using Int = typename L::Int;
    typedef Int Indices __attribute__((vector_size(sizeof(typename L::Register))));
    return L(typename L::Batch(__builtin_shuffle(x.reg(), Indices{static_cast<Int>(first + I / N)...})));
#endif
}
/// The same where rows are shorter than a register and lie one behind another: as one row of their products, N lanes of it at a
/// time, for as many rows as a lane has elements.
template <std::size_t N, class T, class A>
[[gnu::noinline]] void short_rows_outer_product(std::size_t m, const T* a, std::size_t a_step, const T* b,
                                                T* c, T alpha, T beta)
{
    using L = Lane<T, A>;
    alignas(L) T repeated[L::width];
    for (std::size_t j = 0; j < L::width; ++j) repeated[j] = b[j % N];
    const L right = L::load(repeated);
    for (std::size_t i = 0; i < m; i += L::width, c += N * L::width) {
        const std::size_t count = std::min(L::width, m - i) * N;
        const L left = load_strided<L>(a + i * a_step, a_step, count / N);
        const auto put = [&]<std::size_t Part>(std::integral_constant<std::size_t, Part>)
            __attribute__((always_inline))
        {
            constexpr std::size_t at = Part * L::width;
            if (at >= count) return;
            const std::size_t part = std::min(L::width, count - at);
            L v = L(alpha) * fma(spread<N, Part>(left, std::make_index_sequence<L::width>{}), right, L(T(0)));
            if (beta != T(0)) v = fma(L(beta), L::load_part(c + at, part), v);
            v.store_part(c + at, part);
        };
        [&]<std::size_t... P>(std::index_sequence<P...>) {
            (put(std::integral_constant<std::size_t, P>{}), ...);
        }(std::make_index_sequence<N>{});
    }
}

/// The same where rows are shorter than a register and lie one behind another: as one row of their products, made in parts.
template <class T, class A>
[[gnu::noinline]] void short_outer_product(std::size_t m, std::size_t n, const T* a, std::size_t a_step,
                                           const T* b, T* c, T alpha, T beta)
{
    using L = Lane<T, A>;
    if constexpr (L::width > 2)
        if (n == 2) return short_rows_outer_product<2, T, A>(m, a, a_step, b, c, alpha, beta);
    if constexpr (L::width > 4)
        if (n == 4) return short_rows_outer_product<4, T, A>(m, a, a_step, b, c, alpha, beta);
    constexpr std::size_t room = 128;
    T left[room + L::width], right[room + L::width];
    const std::size_t rows = std::min(m, room / n);
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < n; ++j) right[i * n + j] = b[j];
    for (std::size_t i = 0; i < m; i += rows, c += rows * n) {
        const std::size_t here = std::min(rows, m - i), count = here * n;
        for (std::size_t r = 0; r < here; ++r)
            for (std::size_t j = 0; j < n; ++j) left[r * n + j] = a[(i + r) * a_step];
        const auto put = [&](std::size_t j, std::size_t part) {
            L v = L(alpha) * fma(L::load(left + j), L::load(right + j), L(T(0)));
            if (beta != T(0)) v = fma(L(beta), L::load_part(c + j, part), v);
            v.store_part(c + j, part);
        };
        std::size_t j = 0;
        for (; j + L::width <= count; j += L::width) put(j, L::width);
        if (j < count) put(j, count - j);
    }
}

}  // namespace wengert::kernels::detail
