// The text of small products of matrices in native code, and of those with a size of 1: the order of kernels/cpu/gemv.hpp and
// gemm_small.hpp, with the lanes and the fused multiply-add that the program's kernels have, so that the bits are the same.
#pragma once

namespace wengert::detail {

/// Begins with enum { program_bytes, program_fuses }: a register of the program's, and whether a b + c is rounded once there.
inline constexpr const char product_text[] = R"wg(
template <class X> FN X mad(X a, X b, X c)
{
    if constexpr (program_fuses) return fma_(a, b, c);
    else return a * b + c;
}
template <class X, int C, class T> FN X part(const T* p) { return get<X>(p, Count<C>()); }
/* C elements again and again */
template <class X, int C, class T, int... I> FN X repeated(const T* p, Indices<I...>)
{
    if constexpr (C == 1) return K<X>(*p);
    else if constexpr (C * sizeof(T) == 8) {
        i64 bits;
        __builtin_memcpy(&bits, p, 8);
        return (X)(V<i64, sizeof(X) / 8>{} + bits);
    } else {
        const X x = part<X, C>(p);
        return shuffled(x, x, Indices<I % C...>());
    }
}

/* y[j] = sum of x[p] b[p, j], + y[j] */
template <class T, int n, int k, int x_step, int ldb> struct VectorTimesRows {
    enum { N = register_bytes / sizeof(T) };
    template <class X, int R, int c> FN X rows(X even, const T* x, const T* b)
    {
        X odd = {};
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
            const X row = part<X, c>(b + r * ldb), weight = K<X>(x[r * x_step]);
            if (r % 2 == 0) even = mad(weight, row, even);
            else odd = mad(weight, row, odd);
        }
        return even + odd;
    }
    template <bool add, int c> FN void columns(const T* x, const T* b, T* y)
    {
        enum { few = 16 / sizeof(T), lanes = c <= few ? few : c <= 2 * few ? 2 * few : N };
        typedef V<T, lanes> X;
        X sum = {};
        int p = 0;
        for (; p + 8 <= k; p += 8) sum = rows<X, 8, c>(sum, x + p * x_step, b + p * ldb);
        if constexpr (k % 8 >= 4) {
            sum = rows<X, 4, c>(sum, x + p * x_step, b + p * ldb);
            p += 4;
        }
        for (; p < k; ++p) sum = rows<X, 1, c>(sum, x + p * x_step, b + p * ldb);
        if constexpr (add) sum = part<X, c>(y) + sum;
        put(y, Count<c>(), sum);
    }
    template <bool add> FN void run(const T* x, const T* b, T* __restrict y)
    {
        for (int j = 0; j + N <= n; j += N) columns<add, N>(x, b + j, y + j);
        if constexpr (n % N != 0) columns<add, n % N>(x, b + n / N * N, y + n / N * N);
    }
};

/* y[j] = sum of x[p] b[j, p], + y[j]: rows in fours, the last ones by themselves */
template <class T, int n, int k, int ldb> struct RowsTimesVector {
    enum { W = program_bytes / sizeof(T), R = 256 / program_bytes, rest = k % W == 0 ? W : k % W };
    enum { packed = k < W && W % k == 0 && ldb == k };
    typedef V<T, W> X;
    FN X fused_row(const T* x, const T* b)
    {
        X acc = {}, more = {};
        int p = 0;
        for (; p + 2 * W <= k; p += 2 * W) {
            acc = mad(load<X>(x + p), load<X>(b + p), acc);
            more = mad(load<X>(x + p + W), load<X>(b + p + W), more);
        }
        if constexpr (k % (2 * W) >= W) {
            acc = mad(load<X>(x + p), load<X>(b + p), acc);
            p += W;
        }
        if constexpr (k % W != 0)
            acc = mad(part<X, k % W>(x + p), part<X, k % W>(b + p), acc);
        return acc + more;
    }
    FN X single_row(const T* x, const T* b)
    {
        if constexpr (k < W) return part<X, k>(x) * part<X, k>(b);
        else if constexpr (k == W) return X{} + load<X>(x) * load<X>(b); /* a sum of -0 alone is +0 */
        else {
            X acc[R] = {};
            int p = 0;
            for (; p + R * W <= k; p += R * W)
#pragma GCC unroll 16
                for (int r = 0; r < R; ++r) acc[r] += load<X>(x + p + r * W) * load<X>(b + p + r * W);
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r) {
                const int at = p + r * W;
                if (at + W <= k) acc[r] += load<X>(x + at) * load<X>(b + at);
                else if (at < k) acc[r] += part<X, rest>(x + at) * part<X, rest>(b + at);
            }
#pragma GCC unroll 16
            for (int h = R / 2; h > 0; h /= 2)
#pragma GCC unroll 16
                for (int r = 0; r < h; ++r) acc[r] += acc[r + h];
            return acc[0];
        }
    }
    /* rows [j, j + count) */
    template <bool add, int count, int fours> FN void rows(const T* x, const T* b, T* y)
    {
        X row[W];
#pragma GCC unroll 16
        for (int i = 0; i < W; ++i)
            row[i] = i < fours ? fused_row(x, b + i * ldb) : i < count ? single_row(x, b + i * ldb) : X{};
        X sum = fold_each<W / 2>(row);
        if constexpr (add) sum = sum + part<X, count>(y);
        put(y, Count<count>(), sum);
    }
    /* W rows that lie several to a register: those are halved as far as one row reaches, then put in order */
    template <bool add, int... I> FN void packed_rows(const T* x, const T* b, T* y, Indices<I...> all)
    {
        const X right = repeated<X, k>(x, all);
        X row[W];
        for (int i = 0; i < k; ++i) row[i] = mad(right, load<X>(b + i * W), X{}) + X{};
        X sum = fold_each<k / 2>(row);
        sum = shuffled(sum, sum, Indices<I % (W / k) * k + I / (W / k)...>());
        if constexpr (add) sum = sum + load<X>(y);
        store(y, sum);
    }
    template <bool add> FN void run(const T* x, const T* b, T* __restrict y)
    {
        enum { whole = n / 4 * 4 / W * W, left = n - whole };
        for (int j = 0; j < whole; j += W)
            if constexpr (packed) packed_rows<add>(x, b + j * ldb, y + j, IndicesTo<W>());
            else rows<add, W, W>(x, b + j * ldb, y + j);
        if constexpr (left > W) {
            rows<add, W, 0>(x, b + whole * ldb, y + whole);
            rows<add, left - W, 0>(x, b + (whole + W) * ldb, y + whole + W);
        } else if constexpr (left > 0)
            rows<add, left, left / 4 * 4>(x, b + whole * ldb, y + whole);
    }
};

/* c[i, j] = a[i] b[j], + c[i, j]: as a sum that begins with 0, rounded before it is added */
template <class T, int m, int n, int a_step> struct Outer {
    enum { N = register_bytes / sizeof(T) };
    typedef V<T, N> X;
    enum { flat = n < N && N % n == 0 && m * n % N == 0 && a_step == 1 };
    template <bool add, class C> FN void put_products(X left, X right, T* c, C count)
    {
        const X product = mad(left, right, X{});
        if constexpr (add) put(c, count, part<X, C::value>(c) + product);
        else put(c, count, product);
    }
    /* several rows of c in one register */
    template <bool add, int part_of, int... I> FN void rows(X left, X rights, T* c, Indices<I...>)
    {
        put_products<add>(shuffled(left, left, Indices<part_of * (N / n) + I / n...>()), rights, c + part_of * N, Count<N>());
    }
    template <bool add, int count, int... S> FN void rows_of(const T* a, X rights, T* c, Indices<S...>)
    {
        const X left = part<X, count>(a);
        (rows<add, S>(left, rights, c, IndicesTo<N>()), ...);
    }
    template <bool add> FN void all_rows(const T* a, const T* b, T* c)
    {
        const X rights = repeated<X, n>(b, IndicesTo<N>());
        for (int i = 0; i + N <= m; i += N) rows_of<add, N>(a + i, rights, c + i * n, IndicesTo<n>());
        if constexpr (m % N != 0)
            rows_of<add, m % N>(a + m / N * N, rights, c + m / N * N * n, IndicesTo<m % N * n / N>());
    }
    template <bool add> FN void run(const T* a, const T* b, T* __restrict c)
    {
        if constexpr (flat) all_rows<add>(a, b, c);
        else
#pragma GCC unroll 4
            for (int i = 0; i < m; ++i) {
                const X left = K<X>(a[i * a_step]);
                int j = 0;
                for (; j + N <= n; j += N) put_products<add>(left, load<X>(b + j), c + i * n + j, Count<N>());
                if constexpr (n % N != 0) put_products<add>(left, part<X, n % N>(b + j), c + i * n + j, Count<n % N>());
            }
    }
};

/* n and k up to 16, m of any size: element (i, p) of A is a[i a_row + p a_column], element (p, j) of B is b[p b_row + j b_column] */
template <class T, int m, int n, int k, int a_row, int a_column, int b_row, int b_column> struct SmallProduct {
    enum { N = register_bytes / sizeof(T) };
    template <bool add, int ldb, int c> FN void columns(const T* a, const T* b, T* y)
    {
        enum { few = 16 / sizeof(T), lanes = c <= few ? few : c <= 2 * few ? 2 * few : N };
        typedef V<T, lanes> X;
#pragma GCC unroll 4
        for (long i = 0; i < m; ++i) {
            X sum = {};
#pragma GCC unroll 16
            for (int p = 0; p < k; ++p) sum = mad(K<X>(a[i * a_row + p * a_column]), part<X, c>(b + p * ldb), sum);
            if constexpr (add) sum = part<X, c>(y + i * n) + sum;
            put(y + i * n, Count<c>(), sum);
        }
    }
    template <bool add, int ldb> FN void rows(const T* a, const T* b, T* __restrict c)
    {
        for (int j = 0; j + N <= n; j += N) columns<add, ldb, N>(a, b + j, c + j);
        if constexpr (n % N != 0) columns<add, ldb, n % N>(a, b + n / N * N, c + n / N * N);
    }
    template <bool add> FN void run(const T* a, const T* b, T* __restrict c)
    {
        if constexpr (b_column == 1) rows<add, b_row>(a, b, c);
        else {
            T turned[k * n];
            turn(b, turned);
            rows<add, n>(a, turned, c);
        }
    }
    /* B in rows of n elements */
    FN void turn(const T* b, T* __restrict turned)
    {
        for (int p = 0; p < k; ++p)
            for (int j = 0; j < n; ++j) turned[p * n + j] = b[p * b_row + j * b_column];
    }
};
/* operands the other way round */
template <class P> struct Swapped {
    template <bool add, class T> FN void run(const T* a, const T* b, T* __restrict c) { P::template run<add>(b, a, c); }
};

template <class T> static __attribute__((noinline, cold)) bool rest_zero(const T* g, long n)
{
    for (long i = 0; i < n; ++i)
        if (g[i] != 0) return false;
    return true;
}
template <class T> FN bool all_zero(const T* g, long n) { return __builtin_expect(g[0] == 0, 0) && rest_zero(g, n); }
/* c + a b where what is not finite in a b counts as 0 */
template <class P, int count, class T> static __attribute__((noinline, cold)) void add_quietly(const T* a, const T* b, T* c)
{
    T room[count];
    P::template run<false>(a, b, room);
    for (int i = 0; i < count; ++i) c[i] += room[i] - room[i] == 0 ? room[i] : 0;
}
/* c = before + a b of `count` elements, by the zero-cotangent rule for the `g_count` elements of g */
template <class P, int count, int g_count, class T>
FN void add_product(const T* before, const T* a, const T* b, const T* g, T* c, f64 zero)
{
    if (before != c) __builtin_memcpy(c, before, count * sizeof(T));
    if (zero == 0 && all_zero(g, g_count)) add_quietly<P, count>(a, b, c);
    else P::template run<true>(a, b, c);
}
template <long g_count, long count, class T> FN void zero_where_no_cotangent(const T* before, const T* g, T* c)
{
    if (before != c) __builtin_memcpy(c, before, count * sizeof(T));
    if (all_zero(g, g_count))
        for (long i = 0; i < count; ++i) c[i] = c[i] - c[i] == 0 ? c[i] : 0;
}
)wg";

}  // namespace wengert::detail
