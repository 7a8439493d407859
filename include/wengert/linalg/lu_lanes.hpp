// The factorization and the solves of many matrices of order 2 to 4: a matrix a lane, where a call of LAPACK for each takes ten times
// as long as its arithmetic.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "../kernels/cpu/lane.hpp"

#ifdef __CUDACC__  // whose front end passes `GCC unroll` on to the host's compiler, and warns
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675
#endif

namespace wengert::kernels::lapack {

/// Orders whose matrices share registers.
inline bool fits_lanes(std::size_t n) { return n >= 2 && n <= 4; }

/// Records of `size` numbers, one for each element of a register: number e of record i is element i of x[e].
template <std::size_t Size, class L> struct RecordLanes {
    static constexpr std::size_t size = Size;
    using T = typename L::value_type;
    L x[size];

    /// Reads `count` records from contiguous memory. Elements without a record repeat the first one, so they raise no new flag.
    [[gnu::always_inline]] void read(const T* from, std::size_t count)
    {
        if (count == L::width) [[likely]]
            return read_all(from);
        T padded[size * L::width];
        for (std::size_t i = 0; i < L::width; ++i)
            std::copy_n(from + (i < count ? i : 0) * size, size, padded + i * size);
        read_all(padded);
    }
    /// Writes `count` records, whose numbers are `step` apart.
    [[gnu::always_inline]] void write(T* to, std::size_t step, std::size_t count) const
    {
        T rows[size][L::width];
        store(rows);
        for (std::size_t i = 0; i < count; ++i)
#pragma GCC unroll 4
            for (std::size_t e = 0; e < size; ++e) to[(i * size + e) * step] = rows[e][i];
    }
    void load(const T (&rows)[size][L::width])
    {
        for (std::size_t e = 0; e < size; ++e) x[e] = L::load(rows[e]);
    }

private:
    static constexpr std::size_t part = 16 / sizeof(T);

    [[gnu::always_inline]] void store(T (&rows)[size][L::width]) const
    {
#pragma GCC unroll 20
        for (std::size_t e = 0; e < size; ++e) x[e].store(rows[e]);
    }
    [[gnu::always_inline]] void read_all(const T* from)
    {
#if defined(__SSE2__)
        if constexpr (size >= part) {
            // the last part overlaps the one before where the number of parts is not whole
#pragma GCC unroll 5
            for (std::size_t e = 0; e < size; e += part) read_part(from, std::min(e, size - part));
            return;
        }
#endif
        T rows[size][L::width];
        for (std::size_t e = 0; e < size; ++e)
            for (std::size_t i = 0; i < L::width; ++i) rows[e][i] = from[i * size + e];
        load(rows);
    }
#if defined(__SSE2__)
    /// A transpose of the registers' parts of 16 bytes. Memory in between, which is written and read in other parts, would take longer.
    [[gnu::always_inline]] void read_part(const T* from, std::size_t e)
    {
        using In = registers::Intrinsics<typename L::arch_type>;
        const auto record = [&](std::size_t i) { return In::parts(from + i * size + e, part * size); };
        const auto set = [&](std::size_t i, auto r) { x[e + i] = typename L::Batch(r); };
        if constexpr (part == 2) {
            const auto a = record(0), b = record(1);
            set(0, In::low(a, b));
            set(1, In::high(a, b));
        } else {
            const auto a = record(0), b = record(1), c = record(2), d = record(3);
            const auto ac = In::low(a, c), bd = In::low(b, d), ac_high = In::high(a, c),
                       bd_high = In::high(b, d);
            set(0, In::low(ac, bd));
            set(1, In::high(ac, bd));
            set(2, In::low(ac_high, bd_high));
            set(3, In::high(ac_high, bd_high));
        }
    }
#endif
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

/// The factors of one matrix a lane: Aᵀ = P L U, as lu() has it.
/// Its loops are unrolled, so that the numbers stay in registers.
template <std::size_t N, class L> struct LuLanes {
    using T = typename L::value_type;
    static constexpr std::size_t packed_size = N * N + N;
    L x[N][N];          ///< x[c][r] is element (r, c) of Aᵀ, which the factors replace
    L pivots[N];        ///< from 1, and negative where it is only what rounding has left (LuFactor)
    DivideBy<L> by[N];  ///< the diagonal's

    /// Of the elements of A, row by row.
    [[gnu::always_inline]] explicit LuLanes(const RecordLanes<N * N, L>& a, bool judged = true)
    {
        set(a.x);
#pragma GCC unroll 4
        for (std::size_t k = 0; k < N; ++k) {
            choose_pivot(k);
            by[k] = DivideBy<L>(x[k][k]);
#pragma GCC unroll 4
            for (std::size_t i = k + 1; i < N; ++i) {  // under a pivot 0 all is 0 already
                x[k][i] = where(x[k][k] == L{T(0)}, x[k][i], by[k](x[k][i]));
#pragma GCC unroll 4
                for (std::size_t j = k + 1; j < N; ++j) x[j][i] = fma(-x[k][i], x[j][k], x[j][i]);
            }
        }
        if (judged) judge();
    }
    /// Of what packed() gave.
    [[gnu::always_inline]] explicit LuLanes(const RecordLanes<packed_size, L>& p)
    {
        set(p.x);
#pragma GCC unroll 4
        for (std::size_t k = 0; k < N; ++k) pivots[k] = p.x[N * N + k], by[k] = DivideBy<L>(x[k][k]);
    }
    [[gnu::always_inline]] RecordLanes<packed_size, L> packed() const
    {
        RecordLanes<packed_size, L> p;
#pragma GCC unroll 4
        for (std::size_t c = 0; c < N; ++c) {
#pragma GCC unroll 4
            for (std::size_t r = 0; r < N; ++r) p.x[c * N + r] = x[c][r];
            p.x[N * N + c] = pivots[c];
        }
        return p;
    }
    [[gnu::always_inline]] bool has_rounding() const
    {
        bool found = false;
#pragma GCC unroll 4
        for (std::size_t k = 0; k < N; ++k) found = found || any(pivots[k] < L{T(0)});
        return found;
    }
    /// b = A⁻¹ b, or A⁻ᵀ b.
    template <bool transposed> [[gnu::always_inline]] void solve(L (&b)[N]) const
    {
        if constexpr (transposed) exchange_rows<false>(b);
#pragma GCC unroll 4
        for (std::size_t i = 0; i < N; ++i) {
#pragma GCC unroll 4
            for (std::size_t j = 0; j < i; ++j) eliminate<transposed>(i, j, b);
            if constexpr (!transposed) b[i] = by[i](b[i]);
        }
#pragma GCC unroll 4
        for (std::size_t done = 0; done < N; ++done) {
            const std::size_t i = N - 1 - done;
#pragma GCC unroll 4
            for (std::size_t j = i + 1; j < N; ++j) eliminate<transposed>(i, j, b);
            if constexpr (transposed) b[i] = by[i](b[i]);
        }
        if constexpr (!transposed) exchange_rows<true>(b);
    }

private:
    template <std::size_t size> [[gnu::always_inline]] void set(const L (&elements)[size])
    {
#pragma GCC unroll 4
        for (std::size_t c = 0; c < N; ++c)
#pragma GCC unroll 4
            for (std::size_t r = 0; r < N; ++r) x[c][r] = elements[c * N + r];
    }
    /// The largest element of column k from row k on comes to row k.
    [[gnu::always_inline]] void choose_pivot(std::size_t k)
    {
        L most = abs(x[k][k]), row{T(k)};
#pragma GCC unroll 4
        for (std::size_t i = k + 1; i < N; ++i) {
            const auto more = abs(x[k][i]) > most;
            most = where(more, abs(x[k][i]), most);
            row = where(more, L{T(i)}, row);
        }
#pragma GCC unroll 4
        for (std::size_t i = k + 1; i < N; ++i)
#pragma GCC unroll 4
            for (std::size_t j = 0; j < N; ++j) exchange(row == L{T(i)}, x[j][k], x[j][i]);
        pivots[k] = row + L{T(1)};
    }
    [[gnu::always_inline]] void judge()
    {
#pragma GCC unroll 4
        for (std::size_t k = 0; k < N; ++k) {
            L sum = abs(x[k][k]);
#pragma GCC unroll 4
            for (std::size_t j = 0; j < k; ++j) sum = fma(abs(x[j][k]), abs(x[k][j]), sum);
            pivots[k] = where(is_rounding<T>(x[k][k], sum, N), -pivots[k], pivots[k]);
        }
    }
    template <bool transposed>
    [[gnu::always_inline]] void eliminate(std::size_t i, std::size_t j, L (&b)[N]) const
    {
        b[i] = fma(transposed ? -x[j][i] : -x[i][j], b[j], b[i]);
    }
    template <bool backwards> [[gnu::always_inline]] void exchange_rows(L (&b)[N]) const
    {
#pragma GCC unroll 4
        for (std::size_t done = 0; done < N; ++done) {
            const std::size_t k = backwards ? N - 1 - done : done;
#pragma GCC unroll 4
            for (std::size_t i = k + 1; i < N; ++i) exchange(abs(pivots[k]) == L{T(i + 1)}, b[k], b[i]);
        }
    }
};

/// lu() of `count` matrices of order N, packed: N² elements of the factors, then N pivots as LuLanes has them.
template <std::size_t N, class T, class A = xsimd::default_arch>
void lu_by_lanes(std::size_t count, const T* a, T* packed, bool judged)
{
    using L = Lane<T, A>;
    for (std::size_t first = 0; first < count; first += L::width) {
        const std::size_t n = std::min(L::width, count - first);
        RecordLanes<N * N, L> m;
        m.read(a + first * N * N, n);
        LuLanes<N, L>(m, judged).packed().write(packed + first * LuLanes<N, L>::packed_size, 1, n);
    }
}

/// One column of each of `count` matrices of N rows and `columns` columns. fetch() comes long before the load into registers: a
/// load soon after the stores of its parts would wait until all of them are in the cache.
template <std::size_t N, class L> struct ColumnAhead {
    using T = typename L::value_type;
    T rows[N][L::width];
    void fetch(const T* from, std::size_t columns, std::size_t count)
    {
        for (std::size_t i = 0; i < L::width; ++i)
            for (std::size_t r = 0; r < N; ++r) rows[r][i] = from[((i < count ? i : 0) * N + r) * columns];
    }
};

/// X = A⁻¹ B, or A⁻ᵀ B, of `count` matrices of order N: of A itself, or of its packed factors. Each B has N rows and `columns`
/// columns, and X may be B. True where one of the pivots is rounding.
template <std::size_t N, bool is_factored, class T, class A = xsimd::default_arch>
bool solve_by_lanes(bool transposed, std::size_t count, std::size_t columns, const T* of, const T* b, T* to)
{
    using L = Lane<T, A>;
    using Factors = LuLanes<N, L>;
    using Matrix = RecordLanes<is_factored ? Factors::packed_size : N * N, L>;
    bool rounding = false;
    for (std::size_t first = 0; first < count; first += L::width) {
        const std::size_t n = std::min(L::width, count - first), at = first * N * columns;
        ColumnAhead<N, L> ahead;
        if (columns > 1) ahead.fetch(b + at, columns, n);
        Matrix m;
        m.read(of + first * Matrix::size, n);
        const Factors factors(m);
        rounding = rounding || factors.has_rounding();
        for (std::size_t c = 0; c < columns; ++c) {
            RecordLanes<N, L> y;
            if (columns == 1)
                y.read(b + at, n);
            else
                y.load(ahead.rows);
            if (c + 1 < columns) ahead.fetch(b + at + c + 1, columns, n);
            if (transposed)
                factors.template solve<true>(y.x);
            else
                factors.template solve<false>(y.x);
            y.write(to + at + c, columns, n);
        }
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

#ifdef __CUDACC__
#pragma nv_diagnostic pop
#endif
