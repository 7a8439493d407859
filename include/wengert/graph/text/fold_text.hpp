// The text of sums in native code: the order of kernels/cpu/fold.hpp, so that the bits are the same; and what all folds are made
// of there (cpp_folds.hpp).
#pragma once

namespace wengert::detail {

inline constexpr const char fold_text[] = R"wg(
template <int h, class T, class F> FN T fold_halves(T* lane, F with)
{
    if constexpr (h == 0) return lane[0];
    else {
#pragma GCC unroll 16
        for (int i = 0; i < h; ++i) lane[i] = with(lane[i], lane[i + h]);
        return fold_halves<h / 2>(lane, with);
    }
}
/* lanes folded in halves */
template <class X, class F> FN El<X> fold_lane(X x, F with)
{
    El<X> lane[Of<X>::N];
    store(lane, x);
    return fold_halves<Of<X>::N / 2>(lane, with);
}
/* as many lanes as a register has, or fewer for fewer elements */
template <class T> constexpr int lanes_for(long n)
{
    int few = 16 / sizeof(T);
    while (few < register_bytes / (int)sizeof(T) && few < n) few *= 2;
    return few;
}
/* a value that is kept on its way */
template <class X, class T, class C> FN X put_as(T* p, C c, X x)
{
    put(p, c, x);
    return x;
}
/* the sum of up to 16 KiB: element i goes to lane i mod 64 (float) or 32 (double), lanes are folded in halves, and -0 becomes 0 */
template <long n, class T> FN T fold_block(const T* x)
{
    if constexpr (n == 1) return x[0];
    else if constexpr (n == 2) return x[0] + x[1] + T(0);
    else if constexpr (n == 3) return (x[0] + x[2]) + x[1] + T(0);
    else if constexpr (n == 4) return (x[0] + x[2]) + (x[1] + x[3]) + T(0);
    else {
        enum { N = register_bytes / sizeof(T), R = n <= N ? 1 : 256 / register_bytes, rest = n % N };
        typedef V<T, N> X;
        X acc[R] = {};
        long k = 0;
        for (; k + R * N <= n; k += R * N)
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r) acc[r] = R == 1 ? load<X>(x) : acc[r] + load<X>(x + k + r * N);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            if (k + (r + 1) * N <= n) acc[r] += load<X>(x + k + r * N);
            else if (k + r * N < n)
                acc[r] = R == 1 ? load_part<X, rest>(x) : acc[r] + load_part<X, rest>(x + k + r * N);
        }
#pragma GCC unroll 16
        for (int h = R / 2; h > 0; h /= 2)
#pragma GCC unroll 16
            for (int r = 0; r < h; ++r) acc[r] += acc[r + h];
        return fold_lane(acc[0], [](T a, T b) __attribute__((always_inline)) { return a + b; }) + T(0);
    }
}
/* blocks are added pairwise, like the carries of a binary counter */
template <class T> struct Carry {
    T pending[64];
    int depth = 0;
    long blocks = 0;
    void add(T sum)
    {
        for (long c = ++blocks; c % 2 == 0; c /= 2) sum = pending[--depth] + sum;
        pending[depth++] = sum;
    }
    T total()
    {
        T t = pending[--depth];
        while (depth > 0) t = pending[--depth] + t;
        return t;
    }
};
template <long n, class T> FN T fold_row(const T* x)
{
    enum { block = 16384 / sizeof(T) };
    if constexpr (n <= block) return fold_block<n>(x);
    else {
        Carry<T> s;
        long k = 0;
        for (; k + block <= n; k += block) s.add(fold_block<block>(x + k));
        if constexpr (n % block != 0) s.add(fold_block<n % block>(x + k));
        return s.total();
    }
}
template <int... I> struct Indices {};
#if defined(__clang__)
template <class T, T... I> struct IndicesOf { typedef Indices<I...> type; };
template <int n> using IndicesTo = typename __make_integer_seq<IndicesOf, int, n>::type;
template <class X, int... I> FN X shuffled(X a, X b, Indices<I...>) { return __builtin_shufflevector(a, b, I...); }
#else
template <int n> using IndicesTo = Indices<__integer_pack(n)...>;
template <class X, int... I> FN X shuffled(X a, X b, Indices<I...>) { return __builtin_shuffle(a, b, Mask<X>{I...}); }
#endif
/* in blocks of h lanes, a's and b's by turns: the sums of both halves of each 2 h lanes */
template <int h, class X, int... I> FN X folded(X a, X b, Indices<I...>)
{
    enum { W = Of<X>::N };
    return shuffled(a, b, Indices<I / h % 2 * W + I / (2 * h) * (2 * h) + I % h...>())
         + shuffled(a, b, Indices<I / h % 2 * W + I / (2 * h) * (2 * h) + I % h + h...>());
}
/* lane i: the sum of row i's lanes, folded in halves */
template <int h, class X> FN X fold_each(X* row)
{
    if constexpr (h == 0) return row[0];
    else {
#pragma GCC unroll 16
        for (int i = 0; i < h; ++i) row[i] = folded<h>(row[i], row[i + h], IndicesTo<Of<X>::N>());
        return fold_each<h / 2>(row);
    }
}
/* the first c lanes, zeros behind them */
template <int c, class X, int... I> FN X first_lanes(X x, Indices<I...>)
{
    return from_bits<X>(bits(x) & Mask<X>{(I < c ? -1 : 0)...});
}
template <int c, class X, int... I> FN X first_or(X x, X others, Indices<I...>)
{
    return Mask<X>{(I < c ? -1 : 0)...} ? x : others;
}
/* y[o] = the sum of row o; rows of at most two registers as many at once as a register has lanes */
template <long n, class T> FN void fold_rows(const T* x, T* y, long rows)
{
    long o = 0;
    if constexpr (n > 4 && n <= 2 * (register_bytes / (long)sizeof(T))) {
        enum { N = register_bytes / sizeof(T), two = n > N, reach = two ? 2 * N : N, last = two ? n - N : n };
        typedef V<T, N> X;
        for (; rows - o >= N && (rows - o) * n >= (N - 1) * n + reach; o += N) {
            const T* p = x + o * n;
            X row[N];
#pragma GCC unroll 16
            for (int r = 0; r < N; ++r, p += n)
                if constexpr (two)
                    row[r] = (X{} + load<X>(p)) + (X{} + first_lanes<last>(load<X>(p + N), IndicesTo<N>()));
                else row[r] = first_lanes<last>(load<X>(p), IndicesTo<N>());
            store(y + o, fold_each<N / 2>(row) + X{});
        }
    }
    for (; o < rows; ++o) y[o] = fold_row<n>(x + o * n);
}
)wg";

}  // namespace wengert::detail
