#pragma once

#include "lane.hpp"
#include "transpose.hpp"

#include <utility>

/// C = α A B + β C for sizes up to 16, where the cost is that of getting started: one function, everything in
/// its own registers, bare pointers (a struct of them would be stored and loaded again).
namespace wengert::kernels::detail {

inline constexpr std::size_t small_edge = 16;

/// Rows [i, i + Rows) of one lane of columns. Element (i, p) of A is a[i · a_row + p · a_column].
template <std::size_t Rows, bool Part, class T, class A>
[[gnu::always_inline]] inline void small_rows(std::size_t k, T alpha, const T* a, std::size_t a_row,
                                              std::size_t a_column, const T* b, std::size_t ldb, T beta, T* c,
                                              std::size_t ldc, std::size_t count)
{
    using L = Lane<T, A>;
    const auto load = [&](const T* p) __attribute__((always_inline))
    {
        if constexpr (Part)
            return L::load_part(p, count);
        else
            return L::load(p);
    };
    [&]<std::size_t... R>(std::index_sequence<R...>) __attribute__((always_inline))
    {
        L acc[Rows] = {(static_cast<void>(R), L(T(0)))...};
        for (std::size_t p = 0; p < k; ++p, a += a_column, b += ldb) {
            const L row = load(b);
            ((acc[R] = fma(L(a[R * a_row]), row, acc[R])), ...);
        }
        ((acc[R] = L(alpha) * acc[R]), ...);
        if (beta != T(0)) ((acc[R] = fma(L(beta), load(c + R * ldc), acc[R])), ...);
        if constexpr (Part)
            (acc[R].store_part(c + R * ldc, count), ...);
        else
            (acc[R].store(c + R * ldc), ...);
    }
    (std::make_index_sequence<Rows>{});
}

template <bool Part, class T, class A>
[[gnu::always_inline]] inline void small_strip(std::size_t m, std::size_t k, T alpha, const T* a,
                                               std::size_t a_row, std::size_t a_column, const T* b,
                                               std::size_t ldb, T beta, T* c, std::size_t ldc,
                                               std::size_t count)
{
    for (; m >= 4; m -= 4, a += 4 * a_row, c += 4 * ldc)
        small_rows<4, Part, T, A>(k, alpha, a, a_row, a_column, b, ldb, beta, c, ldc, count);
    if (m >= 2) {
        small_rows<2, Part, T, A>(k, alpha, a, a_row, a_column, b, ldb, beta, c, ldc, count);
        m -= 2, a += 2 * a_row, c += 2 * ldc;
    }
    if (m == 1) small_rows<1, Part, T, A>(k, alpha, a, a_row, a_column, b, ldb, beta, c, ldc, count);
}

/// m, n, k ≤ small_edge; element (p, j) of B is b[p · b_row + j · b_column]. A transposed B is turned round
/// on the stack first.
template <class T, class A>
void small_gemm(std::size_t m, std::size_t n, std::size_t k, T alpha, const T* a, std::size_t a_row,
                std::size_t a_column, const T* b, std::size_t b_row, std::size_t b_column, T beta, T* c,
                std::size_t ldc)
{
    constexpr std::size_t width = Lane<T, A>::width;
    T turned[small_edge * small_edge];
    if (b_column != 1) {
        transpose<sizeof(T), A>(
            static_cast<std::int64_t>(k), static_cast<std::int64_t>(n), reinterpret_cast<const std::byte*>(b),
            static_cast<std::int64_t>(b_column * sizeof(T)), reinterpret_cast<std::byte*>(turned),
            static_cast<std::int64_t>(n * sizeof(T)));
        b = turned, b_row = n;
    }
    for (; n >= width; n -= width, b += width, c += width)
        small_strip<false, T, A>(m, k, alpha, a, a_row, a_column, b, b_row, beta, c, ldc, width);
    if (n > 0) small_strip<true, T, A>(m, k, alpha, a, a_row, a_column, b, b_row, beta, c, ldc, n);
}

/// C = A B + β C of `count` matrices of order N, which start step_a, step_b and N² elements apart; the bits of small_gemm. Sizes that the
/// compiler knows leave nothing but the arithmetic.
template <std::size_t N, class T, class A>
void small_gemm_batch(std::size_t count, const T* a, std::size_t a_row, std::size_t a_column,
                      std::ptrdiff_t step_a, const T* b, std::size_t b_row, std::size_t b_column,
                      std::ptrdiff_t step_b, T beta, T* c)
{
    constexpr std::size_t width = Lane<T, A>::width, whole = N - N % width;
    for (; count > 0; --count, a += step_a, b += step_b, c += N * N) {
        T turned[N * N];
        const T* rows = b;
        if (b_column != 1) {
            for (std::size_t p = 0; p < N; ++p)
                for (std::size_t j = 0; j < N; ++j) turned[p * N + j] = b[p * b_row + j * b_column];
            rows = turned;
        }
        const std::size_t ldb = b_column != 1 ? N : b_row;
        if constexpr (whole > 0)
            for (std::size_t j = 0; j < whole; j += width)
                small_rows<N, false, T, A>(N, T(1), a, a_row, a_column, rows + j, ldb, beta, c + j, N, width);
        if constexpr (N % width != 0)
            small_rows<N, true, T, A>(N, T(1), a, a_row, a_column, rows + whole, ldb, beta, c + whole, N,
                                      N - whole);
    }
}

}  // namespace wengert::kernels::detail
