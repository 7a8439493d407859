// The kernels of folds of whole axes, in the order of kernels/cpu/fold.hpp: a row is 256 bytes of sums, folded in halves, a thread for each;
// parts of 16 KiB are combined like the carries of a binary counter. Columns go four rows at a time, 256 after 256. A thread reads
// several elements before it adds the first of them, so that the memory has something to do.
//
// What is folded are the passes of a fold (base/monoids.hpp), whose formulas fold_formulas.hpp prints: a struct wg_pass0 and so on.
#pragma once

#include <string_view>

namespace wengert::detail::gpu {

/// What a fold's kernels are given; the text has the same struct.
struct Folding {
    const void* x[4] = {};       ///< operands
    const void* r[3] = {};       ///< results of the passes before, one for each line
    void* out = nullptr;         ///< of this pass, or of each element
    void* states = nullptr;      ///< of parts
    void* scratch = nullptr;     ///< half as many as there are parts
    void* kept = nullptr;        ///< elements as a pass has mapped them
    void* enough = nullptr;      ///< which lines need no further passes
    long long outer = 1, n = 1;  ///< rows may be read several at once
    long long inner = 1;
    long long count = 0;    ///< elements of a line
    long long stride = 1;   ///< from one of the outer ones to the next
    long long columns = 1;  ///< results of one of them: `inner`, or less where rows are read several at once
    long long parts = 1;    ///< of a row, or of a column
    long long tail = 0;     ///< elements behind the last whole group of rows
    double number = 0, least = 0;
    int line = 0;   ///< single elements are ended, too
    int rest = 0;   ///< only lines that have not had enough
    int lanes = 1;  ///< threads of a row: as many as it has elements, or as its order has sums
    int few = 0;    ///< columns are joined by a block of threads for some
};

inline constexpr std::string_view fold_arguments = R"wg(
struct wg_fold {
    const void *x[4], *r[3];
    void *out, *states, *scratch, *kept, *enough;
    wg_int outer, n, inner, count, stride, columns, parts, tail;
    double number, least;
    int line, rest, lanes, few;
};
)wg";

inline constexpr std::string_view fold_kernels = R"wg(
/// Lines may be columns, whose elements are far apart. Sums that a short row leaves empty have no threads.
template <class P> inline void wg_rows(const wg_fold& f)
{
    typedef typename P::S S;
    const int lanes = f.lanes, groups = 256 / lanes, lane = threadIdx.x & (lanes - 1);
    __shared__ S sum[256];
    const wg_int tasks = f.outer * f.inner * f.parts;
    for (wg_int first = (wg_int)blockIdx.x * groups; first < tasks; first += (wg_int)gridDim.x * groups) {
        const wg_int task = first + threadIdx.x / lanes, o = task / f.parts, begin = task % f.parts * P::part;
        const bool some = task < tasks && !(f.rest && ((const unsigned char*)f.enough)[o]);
        const wg_int end = f.n - begin < P::part ? f.n : begin + P::part;
        const wg_int at = o / f.inner * f.n * f.inner + o % f.inner;
        S s = P::none();
        if (some) {
            wg_int k = begin + lane;
            for (; k + 3 * lanes < end; k += 4 * lanes) {
                S next[4];
#pragma unroll
                for (int u = 0; u < 4; ++u) next[u] = P::element(f, at + (k + u * lanes) * f.inner, o, k + u * lanes);
                s = P::with(P::with(P::with(P::with(s, next[0]), next[1]), next[2]), next[3]);
            }
            for (; k < end; k += lanes) s = P::with(s, P::element(f, at + k * f.inner, o, k));
        }
        for (int l = lanes; l < P::lanes; l *= 2) s = P::with(s, P::none());
        sum[threadIdx.x] = s;
        for (int h = lanes / 2; h > 0; h /= 2) {
            __syncthreads();
            if (lane < h) sum[threadIdx.x] = P::with(sum[threadIdx.x], sum[threadIdx.x + h]);
        }
        if (some && lane == 0) {
            s = f.n == 0 ? P::none() : f.n == 1 && !f.line ? P::element(f, at, o, 0) : P::end(sum[threadIdx.x]);
            if (f.parts == 1) P::put(f, o, s);
            else ((S*)f.states)[task] = s;
        }
        __syncthreads();
    }
}
template <class P> inline typename P::S wg_four(const typename P::S* x)
{
    return P::with(P::with(x[0], x[1]), P::with(x[2], x[3]));
}
/// A block of threads for each row: pairs of parts, pairs of pairs; what is left over at each step waits for the end. Three steps are
/// one while there is enough to read.
template <class P> inline void wg_join_rows(const wg_fold& f)
{
    typedef typename P::S S;
    for (wg_int o = blockIdx.x; o < f.outer * f.inner; o += gridDim.x) {
        if (f.rest && ((const unsigned char*)f.enough)[o]) continue;
        S *from = (S*)f.states + o * f.parts, *to = (S*)f.scratch + o * ((f.parts + 1) / 2), total = P::none();
        bool any = false;
        const auto wait = [&](S left) {
            total = any ? P::with(left, total) : left;
            any = true;
        };
        wg_int n = f.parts;
        for (; n >= 8; n /= 8) {
            const S* const rest = from + n / 8 * 8;
            if (n & 1) wait(from[n - 1]);
            if (n & 2) wait(P::with(rest[n & 4], rest[(n & 4) + 1]));
            if (n & 4) wait(wg_four<P>(rest));
            for (wg_int i = threadIdx.x; i < n / 8; i += blockDim.x)
                to[i] = P::with(wg_four<P>(from + 8 * i), wg_four<P>(from + 8 * i + 4));
            __syncthreads();
            S* const before = from;
            from = to, to = before;
        }
        for (;; n /= 2) {
            if (n % 2) wait(from[n - 1]);
            if (n == 1) break;
            for (wg_int i = threadIdx.x; i < n / 2; i += blockDim.x) to[i] = P::with(from[2 * i], from[2 * i + 1]);
            __syncthreads();
            S* const before = from;
            from = to, to = before;
        }
        if (threadIdx.x == 0) P::put(f, o, total);
        __syncthreads();
    }
}
template <class P> inline void wg_columns(const wg_fold& f)
{
    typedef typename P::S S;
    const wg_int tasks = f.outer * f.parts * f.inner;
    for (wg_int t = wg_thread(); t < tasks; t += wg_threads()) {
        const wg_int j = t % f.inner, b = t / f.inner % f.parts, o = t / f.inner / f.parts;
        const wg_int begin = b * 256, end = f.n - begin < 256 ? f.n : begin + 256;
        const wg_int at = o * f.stride + j, to = o * f.columns + j % f.columns;
#define WG_AT(k) P::element(f, at + (k) * f.inner, to, k)
#define WG_FOUR(k) P::with(P::with(WG_AT(k), WG_AT((k) + 1)), P::with(WG_AT((k) + 2), WG_AT((k) + 3)))
        wg_int k = begin + (end - begin < 4 ? 1 : 4);
        S s = end - begin < 4 ? WG_AT(begin) : WG_FOUR(begin);
        for (; k + 16 <= end; k += 16) {
            const S next[4] = {WG_FOUR(k), WG_FOUR(k + 4), WG_FOUR(k + 8), WG_FOUR(k + 12)};
            s = P::with(P::with(P::with(P::with(s, next[0]), next[1]), next[2]), next[3]);
        }
        for (; k + 4 <= end; k += 4) s = P::with(s, WG_FOUR(k));
        for (; k < end; ++k) s = P::with(s, WG_AT(k));
        if (f.parts == 1 && f.n > 1) s = P::end(s);
        if (f.parts == 1 && f.columns == f.inner) P::put(f, to, s);
        else ((S*)f.states)[t] = s;
    }
}
/// Column t of the parts' states.
template <class P> inline const typename P::S* wg_column(const wg_fold& f, wg_int t)
{
    return (const typename P::S*)f.states + (t / f.inner * f.parts * f.inner + t % f.inner);
}
template <class P> inline void wg_put_column(const wg_fold& f, wg_int t, typename P::S s)
{
    s = P::end(s);
    if (f.columns == f.inner) P::put(f, t, s);
    else ((typename P::S*)f.scratch)[t] = s;
}
/// A block of threads reads 32 parts of as many columns, of which one thread each combines them in order.
template <class P> inline void wg_join_few_columns(const wg_fold& f)
{
    typedef typename P::S S;
    __shared__ S part[32][32];
    const int j = threadIdx.x % 32, all = f.parts < 32 ? (int)f.parts : 32;
    const wg_int columns = f.outer * f.inner;
    for (wg_int first = (wg_int)blockIdx.x * 32; first < columns; first += (wg_int)gridDim.x * 32) {
        const wg_int t = first + j < columns ? first + j : first;
        const S* const x = wg_column<P>(f, t);
        S s = P::none();
        for (wg_int b = 0; b < f.parts; b += 32) {
            for (int r = threadIdx.x / 32; r < all && b + r < f.parts; r += blockDim.x / 32)
                part[r][j] = x[(b + r) * f.inner];
            __syncthreads();
            if (threadIdx.x < 32)
                for (int r = 0; r < all && b + r < f.parts; ++r) s = b + r ? P::with(s, part[r][j]) : part[r][j];
            __syncthreads();
        }
        if (threadIdx.x < 32 && first + j < columns) wg_put_column<P>(f, t, s);
    }
}
template <class P> inline void wg_join_columns(const wg_fold& f)
{
    typedef typename P::S S;
    if (f.few) return wg_join_few_columns<P>(f);
    for (wg_int t = wg_thread(); t < f.outer * f.inner; t += wg_threads()) {
        const S* const x = wg_column<P>(f, t);
        S s = x[0];
        for (wg_int b = 1; b < f.parts; ++b) s = P::with(s, x[b * f.inner]);
        wg_put_column<P>(f, t, s);
    }
}
/// Sums of columns of `inner` / `columns` rows that were read as one; f.scratch has them.
template <class P> inline void wg_join_few(const wg_fold& f)
{
    typedef typename P::S S;
    const S* const done = (const S*)f.scratch;
    for (wg_int t = wg_thread(); t < f.outer * f.columns; t += wg_threads()) {
        const wg_int o = t / f.columns, rest = o * f.stride + f.n * f.inner;
        S s = P::none();
        for (wg_int c = t % f.columns; c < f.inner; c += f.columns) {
            S v = done[o * f.inner + c];
            if (c < f.tail) v = P::with(v, P::element(f, rest + c, t, 0));
            s = c < f.columns ? v : P::with(s, v);
        }
        P::put(f, t, P::end(s));
    }
}
)wg";

}  // namespace wengert::detail::gpu
