// The factorization and the solves of many matrices of order 2 to 4: a matrix a lane, where a call of LAPACK for each takes ten times
// as long as its arithmetic.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "../kernels/cpu/lane.hpp"
#include "../kernels/cpu/transpose.hpp"

namespace wengert::kernels::lapack {

/// Orders whose matrices share registers.
inline bool fits_lanes(std::size_t n) { return n >= 2 && n <= 4; }

/// As many matrices as a register has lanes: element e of matrix i is at[e][i].
template <class T, class A, std::size_t Size> struct MatrixLanes {
    using L = Lane<T, A>;
    alignas(sizeof(L)) T at[Size][L::width];

    /// The first `size` elements of `count` matrices that start `step` elements apart. Lanes without a matrix repeat the first one, so
    /// that they raise nothing new.
    void read(const T* from, std::size_t step, std::size_t count, std::size_t size = Size)
    {
        for (std::size_t i = count; i < L::width; ++i)
            for (std::size_t e = 0; e < size; ++e) at[e][i] = from[e];
        detail::transpose<sizeof(T), A>(
            static_cast<std::int64_t>(size), static_cast<std::int64_t>(count),
            reinterpret_cast<const std::byte*>(from), static_cast<std::int64_t>(step * sizeof(T)),
            reinterpret_cast<std::byte*>(at), static_cast<std::int64_t>(sizeof at[0]));
    }
    void write(T* to, std::size_t step, std::size_t count) const
    {
        detail::transpose<sizeof(T), A>(
            static_cast<std::int64_t>(count), static_cast<std::int64_t>(Size),
            reinterpret_cast<const std::byte*>(at), static_cast<std::int64_t>(sizeof at[0]),
            reinterpret_cast<std::byte*>(to), static_cast<std::int64_t>(step * sizeof(T)));
    }
    /// A column of `count` matrices of this many columns.
    void read_column(const T* from, std::size_t columns, std::size_t count)
    {
        if (columns == 1) return read(from, Size, count);
        for (std::size_t i = 0; i < L::width; ++i)
            for (std::size_t e = 0; e < Size; ++e)
                at[e][i] = from[((i < count ? i : 0) * Size + e) * columns];
    }
    void write_column(T* to, std::size_t columns, std::size_t count) const
    {
        if (columns == 1) return write(to, Size, count);
        for (std::size_t i = 0; i < count; ++i)
            for (std::size_t e = 0; e < Size; ++e) to[(i * Size + e) * columns] = at[e][i];
    }
    L get(std::size_t e) const { return L::load(at[e]); }
    void set(std::size_t e, L x) { x.store(at[e]); }
};

/// Is a pivot of order n only what rounding has left? `sum` has the terms that it is left from, see LuFactor.
template <class T, class V> [[gnu::always_inline]] inline auto is_rounding(V pivot, V sum, std::size_t n)
{
    using std::abs;
    return abs(pivot) <= V(static_cast<T>(n) * std::numeric_limits<T>::epsilon()) * sum;
}

/// Division by a pivot in each lane: by its reciprocal, as LAPACK's getrf divides, where that is neither infinite nor subnormal.
template <class L> struct DivideBy {
    L pivot, reciprocal;
    bool usual;  ///< in all lanes

    DivideBy() = default;
    [[gnu::always_inline]] explicit DivideBy(L p)
        : pivot(p), reciprocal(L{T(1)} / p), usual(!any(abs(p) < L{least()}) && !any(abs(p) > L{most()}))
    {}
    [[gnu::always_inline]] L operator()(L x) const
    {
        const L y = x * reciprocal;
        if (usual) [[likely]]
            return y;
        return where(abs(pivot) < L{least()}, x / pivot, where(abs(pivot) > L{most()}, x / pivot, y));
    }

private:
    using T = typename L::value_type;
    static constexpr T least() { return std::numeric_limits<T>::min(); }
    static constexpr T most() { return T(1) / std::numeric_limits<T>::min(); }
};

/// Exchanges a and b where the mask says so.
template <class L, class Mask> [[gnu::always_inline]] inline void exchange(Mask m, L& a, L& b)
{
    const L kept = a;
    a = where(m, b, a);
    b = where(m, kept, b);
}

/// Aᵀ = P L U of one matrix a lane, as lu() has it; x[c][r] is element (r, c) of Aᵀ, which the factors replace. A pivot is counted
/// from 1 and is negative where `judged` finds it to be rounding (LuFactor). `by` are the diagonal's.
template <std::size_t N, class L>
[[gnu::always_inline]] inline void factor_lanes(L (&x)[N][N], L (&pivots)[N], DivideBy<L> (&by)[N],
                                                bool judged)
{
    using T = typename L::value_type;
    for (std::size_t k = 0; k < N; ++k) {
        L most = abs(x[k][k]), row{T(k)};
        for (std::size_t i = k + 1; i < N; ++i) {
            const auto more = abs(x[k][i]) > most;
            most = where(more, abs(x[k][i]), most);
            row = where(more, L{T(i)}, row);
        }
        for (std::size_t i = k + 1; i < N; ++i)
            for (std::size_t j = 0; j < N; ++j) exchange(row == L{T(i)}, x[j][k], x[j][i]);
        pivots[k] = row + L{T(1)};
        by[k] = DivideBy<L>(x[k][k]);
        for (std::size_t i = k + 1; i < N; ++i) {  // under a pivot 0 all is 0 already
            x[k][i] = where(x[k][k] == L{T(0)}, x[k][i], by[k](x[k][i]));
            for (std::size_t j = k + 1; j < N; ++j) x[j][i] = fma(-x[k][i], x[j][k], x[j][i]);
        }
    }
    for (std::size_t k = 0; k < N && judged; ++k) {
        L sum = abs(x[k][k]);
        for (std::size_t j = 0; j < k; ++j) sum = fma(abs(x[j][k]), abs(x[k][j]), sum);
        pivots[k] = where(is_rounding<T>(x[k][k], sum, N), -pivots[k], pivots[k]);
    }
}

/// b = A⁻¹ b, or A⁻ᵀ b, of one matrix a lane, by what factor_lanes() left.
template <std::size_t N, class L>
[[gnu::always_inline]] inline void solve_lanes(bool transposed, const L (&x)[N][N], const L (&pivots)[N],
                                               const DivideBy<L> (&by)[N], L (&b)[N])
{
    using T = typename L::value_type;
    const auto exchange_row = [&](std::size_t k) {
        for (std::size_t i = k + 1; i < N; ++i) exchange(abs(pivots[k]) == L{T(i + 1)}, b[k], b[i]);
    };
    if (transposed) {
        for (std::size_t k = 0; k < N; ++k) exchange_row(k);
        for (std::size_t i = 1; i < N; ++i)
            for (std::size_t j = 0; j < i; ++j) b[i] = fma(-x[j][i], b[j], b[i]);
        for (std::size_t i = N; i-- > 0; b[i] = by[i](b[i]))
            for (std::size_t j = i + 1; j < N; ++j) b[i] = fma(-x[j][i], b[j], b[i]);
    } else {
        for (std::size_t i = 0; i < N; b[i] = by[i](b[i]), ++i)
            for (std::size_t j = 0; j < i; ++j) b[i] = fma(-x[i][j], b[j], b[i]);
        for (std::size_t i = N - 1; i-- > 0;)
            for (std::size_t j = i + 1; j < N; ++j) b[i] = fma(-x[i][j], b[j], b[i]);
        for (std::size_t k = N; k-- > 0;) exchange_row(k);
    }
}

/// Registers of a chunk. What one loop over them has stored is in the cache when the next one loads it: a load right behind two
/// stores of its parts would wait for both.
inline constexpr std::size_t at_once = 8;

/// f(register, first matrix, how many) for the matrices that share each register of a chunk.
template <std::size_t width, class F> void each_register(std::size_t first, std::size_t count, const F& f)
{
    for (std::size_t g = 0; g < at_once && first < count; ++g, first += width)
        f(g, first, std::min(width, count - first));
}

/// lu() of `count` matrices of order N, packed: N² elements of the factors, then N pivots as factor_lanes() has them.
template <std::size_t N, class T, class A = xsimd::default_arch>
void lu_by_lanes(std::size_t count, const T* a, T* packed, bool judged)
{
    using L = Lane<T, A>;
    constexpr std::size_t size = N * N + N;
    MatrixLanes<T, A, size> m[at_once];
    for (std::size_t chunk = 0; chunk < count; chunk += at_once * L::width) {
        const auto each = [&](const auto& f) { each_register<L::width>(chunk, count, f); };
        each([&](std::size_t g, std::size_t first, std::size_t n) {
            m[g].read(a + first * N * N, N * N, n, N * N);
        });
        each([&](std::size_t g, std::size_t, std::size_t) {
            L x[N][N], pivots[N];
            DivideBy<L> by[N];
            for (std::size_t c = 0; c < N; ++c)
                for (std::size_t r = 0; r < N; ++r) x[c][r] = m[g].get(c * N + r);
            factor_lanes<N>(x, pivots, by, judged);
            for (std::size_t c = 0; c < N; ++c)
                for (std::size_t r = 0; r < N; ++r) m[g].set(c * N + r, x[c][r]);
            for (std::size_t k = 0; k < N; ++k) m[g].set(N * N + k, pivots[k]);
        });
        each([&](std::size_t g, std::size_t first, std::size_t n) {
            m[g].write(packed + first * size, size, n);
        });
    }
}

/// X = A⁻¹ B, or A⁻ᵀ B, of `count` matrices of order N: of A itself, or of its packed factors. Each B has N rows and `columns`
/// columns, and X may be B. True where one of the pivots is rounding.
template <std::size_t N, bool is_factored, class T, class A = xsimd::default_arch>
bool solve_by_lanes(bool transposed, std::size_t count, std::size_t columns, const T* of, const T* b, T* to)
{
    using L = Lane<T, A>;
    constexpr std::size_t size = is_factored ? N * N + N : N * N;
    MatrixLanes<T, A, size> m[at_once];
    MatrixLanes<T, A, N> right[at_once];
    bool rounding = false;
    for (std::size_t chunk = 0; chunk < count; chunk += at_once * L::width) {
        const auto each = [&](const auto& f) { each_register<L::width>(chunk, count, f); };
        each([&](std::size_t g, std::size_t first, std::size_t n) {
            m[g].read(of + first * size, size, n);
            if (columns > 0) right[g].read_column(b + first * N * columns, columns, n);
        });
        each([&](std::size_t g, std::size_t first, std::size_t n) {
            L x[N][N], pivots[N], y[N];
            DivideBy<L> by[N];
            for (std::size_t c = 0; c < N; ++c)
                for (std::size_t r = 0; r < N; ++r) x[c][r] = m[g].get(c * N + r);
            if constexpr (is_factored) {
                for (std::size_t k = 0; k < N; ++k)
                    pivots[k] = m[g].get(N * N + k), by[k] = DivideBy<L>(x[k][k]);
            } else {
                factor_lanes<N>(x, pivots, by, true);
            }
            for (std::size_t k = 0; k < N; ++k) rounding = rounding || any(pivots[k] < L{T(0)});
            for (std::size_t c = 0; c < columns; ++c) {
                const std::size_t column = first * N * columns + c;
                if (c > 0) right[g].read_column(b + column, columns, n);
                for (std::size_t r = 0; r < N; ++r) y[r] = right[g].get(r);
                solve_lanes<N>(transposed, x, pivots, by, y);
                for (std::size_t r = 0; r < N; ++r) right[g].set(r, y[r]);
                if (columns > 1) right[g].write_column(to + column, columns, n);
            }
        });
        if (columns == 1)
            each([&](std::size_t g, std::size_t first, std::size_t n) {
                right[g].write_column(to + first * N, columns, n);
            });
    }
    return rounding;
}

/// f(order as a constant): of 2 to 4.
template <class F> void with_order(std::size_t n, const F& f)
{
    if (n == 2) return f(std::integral_constant<std::size_t, 2>());
    if (n == 3) return f(std::integral_constant<std::size_t, 3>());
    f(std::integral_constant<std::size_t, 4>());
}

}  // namespace wengert::kernels::lapack
