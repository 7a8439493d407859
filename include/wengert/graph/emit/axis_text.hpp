// The text of folds in native code: of blocks (outer, n, inner) over their middle axis, in the order of kernels/cpu/fold.hpp and
// with the formulas of reduce.hpp and rows.hpp, so that the bits are the same. Behind fold_text, in programs that call it.
#pragma once

namespace wengert::detail {

inline constexpr const char axis_text[] = R"wg(
/* what is folded with, what changes nothing, and the end: where the order would decide about the sign of 0, it is + */
struct Plus {
    template <class V> FN V with(V a, V b) { return a + b; }
    template <class V> FN V finish(V a) { return a + V{}; }
    template <class T> static constexpr T none() { return T(0); }
};
struct Times {
    template <class V> FN V with(V a, V b) { return a * b; }
    template <class V> FN V finish(V a) { return a; }
    template <class T> static constexpr T none() { return T(1); }
};
struct Most {
    template <class V> FN V with(V a, V b) { return maximum_(a, b); }
    template <class V> FN V finish(V a) { return a + V{}; }
    template <class T> static constexpr T none() { return T(-__builtin_inf()); }
};
struct Least {
    template <class V> FN V with(V a, V b) { return minimum_(a, b); }
    template <class V> FN V finish(V a) { return a + V{}; }
    template <class T> static constexpr T none() { return T(__builtin_inf()); }
};
struct AsIs { template <class V> FN V of(V v) { return v; } };
struct Squared { template <class V> FN V of(V v) { return v * v; } };

/* as many lanes as a register has, or fewer for fewer elements */
template <class T> constexpr int lanes_for(long n)
{
    int few = 16 / sizeof(T);
    while (few < register_bytes / (int)sizeof(T) && few < n) few *= 2;
    return few;
}
template <class Op, int c, class X, int... I> FN X kept(X x, Indices<I...>)
{
    if constexpr (c >= Of<X>::N) return x;
    else return Mask<X>{(I < c ? -1 : 0)...} ? x : K<X>(Op::template none<El<X>>());
}
template <class Op, int h, class T> FN T fold_halves(T* lane)
{
    if constexpr (h == 0) return lane[0];
    else {
#pragma GCC unroll 16
        for (int i = 0; i < h; ++i) lane[i] = Op::with(lane[i], lane[i + h]);
        return fold_halves<Op, h / 2>(lane);
    }
}
/* elements [at, at + n) of a row; source(k, count) gives those from k on */
template <class Op, class X, long n, class S> FN El<X> fold_part(long at, S source)
{
    enum { N = Of<X>::N, R = n <= N ? 1 : 256 / sizeof(X), rest = n % N };
    X acc[R];
    for (int r = 0; r < R; ++r) acc[r] = K<X>(Op::template none<El<X>>());
    long k = 0;
    for (; k + R * N <= n; k += R * N)
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) acc[r] = Op::with(acc[r], source(at + k + r * N, Count<N>()));
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
        if (k + (r + 1) * N <= n) acc[r] = Op::with(acc[r], source(at + k + r * N, Count<N>()));
        else if (k + r * N < n) {
            if constexpr (rest != 0)
                acc[r] = Op::with(acc[r], kept<Op, rest>(source(at + k + r * N, Count<rest>()), IndicesTo<N>()));
        }
    }
#pragma GCC unroll 16
    for (int h = R / 2; h > 0; h /= 2)
#pragma GCC unroll 16
        for (int r = 0; r < h; ++r) acc[r] = Op::with(acc[r], acc[r + h]);
    El<X> lane[N];
    store(lane, acc[0]);
    return Op::finish(fold_halves<Op, N / 2>(lane));
}
template <class Op, class T> struct Pending {
    T sums[64];
    int depth = 0;
    long blocks = 0;
    void add(T sum)
    {
        for (long c = ++blocks; c % 2 == 0; c /= 2) sum = Op::with(sums[--depth], sum);
        sums[depth++] = sum;
    }
    T total()
    {
        T t = sums[--depth];
        while (depth > 0) t = Op::with(sums[--depth], t);
        return t;
    }
};
template <class Op, class X, long n, class S> FN El<X> fold_line(S source)
{
    enum { block = 16384 / sizeof(El<X>) };
    if constexpr (n == 0) return Op::template none<El<X>>();
    else if constexpr (n <= block) return fold_part<Op, X, n>(0, source);
    else {
        Pending<Op, El<X>> sums;
        long k = 0;
        for (; k + block <= n; k += block) sums.add(fold_part<Op, X, block>(k, source));
        if constexpr (n % block != 0) sums.add(fold_part<Op, X, n % block>(k, source));
        return sums.total();
    }
}
template <class Op, class M, long n, class T> FN T fold_one(const T* x)
{
    typedef V<T, lanes_for<T>(n)> X;
    if constexpr (n == 1) return M::of(x[0]);
    else if constexpr (n == 2) return Op::finish(Op::with(M::of(x[0]), M::of(x[1])));
    else if constexpr (n == 3) return Op::finish(Op::with(Op::with(M::of(x[0]), M::of(x[2])), M::of(x[1])));
    else if constexpr (n == 4)
        return Op::finish(Op::with(Op::with(M::of(x[0]), M::of(x[2])), Op::with(M::of(x[1]), M::of(x[3]))));
    else
        return fold_line<Op, X, n>([&](long k, auto c) __attribute__((always_inline)) { return M::of(get<X>(x + k, c)); });
}

/* columns: four rows at a time, blocks of 256 rows, one block after the other; source(k, j, count) is row k from column j on */
template <class Op, class C, class S> FN auto four_rows(long k, long j, C c, S s)
{
    return Op::with(Op::with(s(k, j, c), s(k + 1, j, c)), Op::with(s(k + 2, j, c), s(k + 3, j, c)));
}
template <class Op, class X, long n, class C, class S> FN X fold_column(long j, C c, S s)
{
    X total = K<X>(Op::template none<El<X>>());
    for (long b = 0; b < n; b += 256) {
        const long end = b + 256 < n ? b + 256 : n;
        long k = b + (end - b < 4 ? 1 : 4);
        X acc = end - b < 4 ? s(b, j, c) : four_rows<Op>(b, j, c, s);
        for (; k + 4 <= end; k += 4) acc = Op::with(acc, four_rows<Op>(k, j, c, s));
        for (; k < end; ++k) acc = Op::with(acc, s(k, j, c));
        total = b == 0 ? acc : Op::with(total, acc);
    }
    return n > 1 ? Op::finish(total) : total;
}
/* few columns: 64 bytes' worth of rows are read as one, whose groups are folded at the end */
template <class Op, class M, long n, long inner, class T> FN void fold_few(const T* x, T* y)
{
    enum : long { rows = 64 / sizeof(T), wide = rows * inner, tail = n % rows * inner };
    enum { N = lanes_for<T>(wide) };
    typedef V<T, N> X;
    T acc[wide];
    along<N, wide>([&](long j, auto c) __attribute__((always_inline)) {
        put(acc + j, c, fold_column<Op, X, n / rows>(j, c, [&](long k, long i, auto d) __attribute__((always_inline)) {
            return M::of(get<X>(x + k * wide + i, d));
        }));
    });
    const T* rest = x + n / rows * wide;
    for (long j = 0; j < tail; ++j) acc[j] = Op::with(acc[j], M::of(rest[j]));
    for (long j = 0; j < inner; ++j) y[j] = acc[j];
    for (long r = 1; r < rows; ++r)
        for (long j = 0; j < inner; ++j) y[j] = Op::with(y[j], acc[r * inner + j]);
    for (long j = 0; j < inner; ++j) y[j] = Op::finish(y[j]);
}
template <class Op, class M, long n, long inner, class T> FN void axis_fold(const T* x, T* y, long outer)
{
    enum : long { rows = 64 / sizeof(T) };
    enum { N = lanes_for<T>(inner) };
    typedef V<T, N> X;
    if constexpr (inner == 1 && n > 0 && __is_same(Op, Plus) && __is_same(M, AsIs)) return fold_rows<n>(x, y, outer);
    for (long o = 0; o < outer; ++o, x += n * inner, y += inner) {
        if constexpr (inner == 1) *y = fold_one<Op, M, n>(x);
        else if constexpr (inner * rows <= 256 && n >= 2 * rows) fold_few<Op, M, n, inner>(x, y);
        else
            along<N, inner>([&](long j, auto c) __attribute__((always_inline)) {
                put(y + j, c, fold_column<Op, X, n>(j, c, [&](long k, long i, auto d) __attribute__((always_inline)) {
                    return M::of(get<X>(x + k * inner + i, d));
                }));
            });
    }
}
template <long n, long inner, class T> FN void axis_mean(const T* x, T* y, long outer)
{
    axis_fold<Plus, AsIs, n, inner>(x, y, outer);
    for (long i = 0; i < outer * inner; ++i) y[i] /= T(n);
}
/* the root of Σ x²; by way of the largest where that is no normal number */
template <long n, class T> static __attribute__((noinline)) T scaled_norm(const T* x, long stride)
{
    typedef V<T, register_bytes / sizeof(T)> X;
    const T most = maximum_(T(0), fold_line<Most, X, n>([&](long k, auto c) { return abs_(gather<X>(x + k * stride, stride, c.value)); }));
    if (!(most > 0) || !(most - most == 0)) return most;
    const T total = fold_line<Plus, X, n>([&](long k, auto c) {
        const X v = gather<X>(x + k * stride, stride, c.value) / K<X>(most);
        return v * v;
    });
    return most * (sizeof(T) == 8 ? __builtin_sqrt(total) : __builtin_sqrtf(total));
}
template <long n, long inner, class T> FN void axis_norm(const T* x, T* y, long outer)
{
    constexpr T small = sizeof(T) == 8 ? T(0x1p-970) : T(0x1p-103), most = sizeof(T) == 8 ? T(__DBL_MAX__) : T(__FLT_MAX__);
    axis_fold<Plus, Squared, n, inner>(x, y, outer);
    for (long i = 0; i < outer * inner; ++i)
        y[i] = y[i] >= small && y[i] <= most ? T(sizeof(T) == 8 ? __builtin_sqrt(y[i]) : __builtin_sqrtf(y[i]))
                                             : scaled_norm<n>(x + i / inner * n * inner + i % inner, inner);
}
/* body(x, y, j, count, lanes) for each row, or for columns from j on; rows have one element of y, their lanes lie along them */
template <class T, long n, long inner> struct AlongAxis {
    enum { N = lanes_for<T>(inner == 1 ? n : inner) };
    typedef V<T, N> X;
    template <class F> FN void columns(long outer, F body)
    {
        for (long o = 0; o < outer; ++o)
            along<N, inner>([&](long j, auto c) __attribute__((always_inline)) { body(o * n * inner + j, o * inner + j, c); });
    }
    /* Σ or the most of what source(place, count) gives along the line that begins at `at` */
    template <class Op, class C, class S> FN X fold(long at, C c, S source)
    {
        if constexpr (inner == 1)
            return K<X>(fold_line<Op, X, n>([&](long k, auto d) __attribute__((always_inline)) { return source(at + k, d); }));
        else
            return fold_column<Op, X, n>(0, c, [&](long k, long, auto d) __attribute__((always_inline)) {
                return source(at + k * inner, d);
            });
    }
    /* body(place, count) for all of the line */
    template <class C, class F> FN void each(long at, C c, F body)
    {
        if constexpr (inner == 1)
            along_once<N, n>([&](long k, auto d) __attribute__((always_inline)) { body(at + k, d); });
        else
            for (long k = 0; k < n; ++k) body(at + k * inner, c);
    }
    /* body(line, result, count) for each line or each register of columns */
    template <class F> FN void lines(long outer, F body)
    {
        if constexpr (inner == 1)
            for (long o = 0; o < outer; ++o) body(o * n, o, Count<1>());
        else columns(outer, body);
    }
};
template <class X> FN X finite_or_zero(X most)
{
    return sel(is_finite_(most) | is_nan_(most), most, K<X>(0));
}
template <long n, long inner, long freedom, class T> FN void axis_var(const T* x, T* y, long outer)
{
    typedef AlongAxis<T, n, inner> A;
    typedef typename A::X X;
    A::lines(outer, [&](long at, long o, auto c) __attribute__((always_inline)) {
        const auto first = [&](auto d) __attribute__((always_inline)) {
            if constexpr (inner == 1) return K<X>(x[at]);
            else return get<X>(x + at, d);
        };
        const auto value = [&](long i, auto d) __attribute__((always_inline)) { return get<X>(x + i, d) - first(d); };
        const X mean = A::template fold<Plus>(at, c, value) / K<X>(T(n));
        const X v = A::template fold<Plus>(at, c, [&](long i, auto d) __attribute__((always_inline)) {
            const X e = value(i, d) - mean;
            return e * e;
        }) / K<X>(T(n > freedom ? n - freedom : 0));
        put(y + o, c, v);
    });
}
template <long n, long inner, class T, class E, class L> FN void axis_log_sum_exp(const T* x, T* y, long outer, E exp, L log)
{
    typedef AlongAxis<T, n, inner> A;
    typedef typename A::X X;
    A::lines(outer, [&](long at, long o, auto c) __attribute__((always_inline)) {
        const auto value = [&](long i, auto d) __attribute__((always_inline)) { return get<X>(x + i, d); };
        const X shift = finite_or_zero(A::template fold<Most>(at, c, value));
        const X sum = A::template fold<Plus>(at, c, [&](long i, auto d) __attribute__((always_inline)) { return exp(value(i, d) - shift); });
        put(y + o, c, X(shift + log(sum)));
    });
}
template <long n, long inner, class T, class E> FN void axis_softmax(const T* x, T* y, long outer, E exp)
{
    typedef AlongAxis<T, n, inner> A;
    typedef typename A::X X;
    A::lines(outer, [&](long at, long, auto c) __attribute__((always_inline)) {
        const auto value = [&](long i, auto d) __attribute__((always_inline)) { return get<X>(x + i, d); };
        const X shift = finite_or_zero(A::template fold<Most>(at, c, value));
        const X sum = A::template fold<Plus>(at, c, [&](long i, auto d) __attribute__((always_inline)) {
            const X e = exp(value(i, d) - shift);
            put(y + i, d, e);
            return e;
        });
        const X scale = K<X>(1) / sum;
        A::each(at, c, [&](long i, auto d) __attribute__((always_inline)) { put(y + i, d, X(get<X>(y + i, d) * scale)); });
    });
}
template <long n, long inner, class T, class E, class L> FN void axis_log_softmax(const T* x, T* y, long outer, E exp, L log)
{
    typedef AlongAxis<T, n, inner> A;
    typedef typename A::X X;
    A::lines(outer, [&](long at, long, auto c) __attribute__((always_inline)) {
        const auto value = [&](long i, auto d) __attribute__((always_inline)) { return get<X>(x + i, d); };
        const X shift = finite_or_zero(A::template fold<Most>(at, c, value));
        const X sum = log(A::template fold<Plus>(at, c, [&](long i, auto d) __attribute__((always_inline)) { return exp(value(i, d) - shift); }));
        A::each(at, c, [&](long i, auto d) __attribute__((always_inline)) { put(y + i, d, X((value(i, d) - shift) - sum)); });
    });
}
template <long n, long inner, class T> FN void axis_softmax_pull(const T* g, const T* y, T* z, long outer)
{
    typedef AlongAxis<T, n, inner> A;
    typedef typename A::X X;
    A::lines(outer, [&](long at, long, auto c) __attribute__((always_inline)) {
        const X sum = A::template fold<Plus>(at, c, [&](long i, auto d) __attribute__((always_inline)) { return X(get<X>(g + i, d) * get<X>(y + i, d)); });
        A::each(at, c, [&](long i, auto d) __attribute__((always_inline)) { put(z + i, d, X(get<X>(y + i, d) * (get<X>(g + i, d) - sum))); });
    });
}
template <long n, long inner, class T, class E> FN void axis_log_softmax_pull(const T* g, const T* y, T* z, long outer, E exp)
{
    typedef AlongAxis<T, n, inner> A;
    typedef typename A::X X;
    A::lines(outer, [&](long at, long, auto c) __attribute__((always_inline)) {
        const X sum = A::template fold<Plus>(at, c, [&](long i, auto d) __attribute__((always_inline)) { return get<X>(g + i, d); });
        A::each(at, c, [&](long i, auto d) __attribute__((always_inline)) {
            put(z + i, d, X(get<X>(g + i, d) - exp(get<X>(y + i, d)) * sum));
        });
    });
}
)wg";

}  // namespace wengert::detail
