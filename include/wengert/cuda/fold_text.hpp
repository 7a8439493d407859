// The kernels of folds of whole axes, in the order of kernels/cpu/fold.hpp: a row is 256 bytes of sums, folded in halves, a thread for each;
// parts of 16 KiB are combined like the carries of a binary counter. Columns go four rows at a time, 256 after 256.
#pragma once

#include <string_view>

namespace wengert::detail::gpu {

/// What a fold's kernels are given; the text has the same struct.
struct Folding {
    const void* x = nullptr;
    const void* y = nullptr;  ///< a second operand of what is folded
    const void* r[2] = {};    ///< numbers of each result that what is folded reads
    void* out = nullptr;
    void* scratch = nullptr;  ///< half as many as there are parts
    long long outer = 1, n = 1, inner = 1;
    long long stride = 1;   ///< from one of the outer ones to the next
    long long columns = 1;  ///< results of one of them: `inner`, or less where rows are read several at once
    long long parts = 1;    ///< of a row, or of a column
    long long tail = 0;     ///< elements behind the last whole group of rows
    int what = 0, map = 0, divides = 0, divisor = 1;
    int line =
        0;  ///< what has several passes takes single elements, too, as sums of one, and columns one by one
    int end = 0;  ///< which formula makes results of the last pass's
};
/// What is combined how, and what of: the numbers that the text has.
enum FoldingWhat : int { sums, products, greatest, least };
enum FoldingMap : int { as_is, exp_of_difference, with_second };

inline constexpr std::string_view fold_text = R"wg(
struct wg_fold {
    const void *x, *y, *r[2];
    void *out, *scratch;
    wg_int outer, n, inner, stride, columns, parts, tail;
    int what, map, divides, divisor, line, end;
};
template <class T> struct wg_of;
template <> struct wg_of<float> { static const int lanes = 64, part = 4096; };
template <> struct wg_of<double> { static const int lanes = 32, part = 2048; };
inline float wg_exp(float x) { return wg_exp_f32(x); }
inline double wg_exp(double x) { return wg_exp_f64(x); }
inline float wg_log(float x) { return wg_log_f32(x); }
inline double wg_log(double x) { return wg_log_f64(x); }

template <class T> inline T wg_with(const wg_fold& f, T a, T b)
{
    switch (f.what) {
    case 1: return a * b;
    case 2: return a > b || a != a ? a : b;
    case 3: return a < b || a != a ? a : b;
    default: return a + b;
    }
}
template <class T> inline T wg_none(const wg_fold& f)
{
    const T infinite = (T)__builtin_inff();
    return f.what == 0 ? (T)0 : f.what == 1 ? (T)1 : f.what == 2 ? -infinite : infinite;
}
/// Where the order would decide about the sign of 0, it is +.
template <class T> inline T wg_end(const wg_fold& f, T a) { return f.what == 1 ? a : a + (T)0; }
template <class T> inline T wg_last(const wg_fold& f, T a) { return f.divides ? a / (T)f.divisor : a; }

/// What is folded: element `at`, of result `to`.
template <class T> inline T wg_element(const wg_fold& f, wg_int at, wg_int to)
{
    const T x = ((const T*)f.x)[at];
    switch (f.map) {
    case 1: return wg_exp(x - ((const T*)f.r[0])[to]);
    case 2: return x * ((const T*)f.y)[at];
    default: return x;
    }
}

template <class T> inline void wg_rows(const wg_fold& f)
{
    const int lanes = wg_of<T>::lanes, groups = 256 / lanes, lane = threadIdx.x % lanes;
    __shared__ T sum[256];
    const wg_int tasks = f.outer * f.parts;
    for (wg_int first = (wg_int)blockIdx.x * groups; first < tasks; first += (wg_int)gridDim.x * groups) {
        const wg_int task = first + threadIdx.x / lanes;
        const bool some = task < tasks;
        const wg_int o = task / f.parts, begin = task % f.parts * wg_of<T>::part;
        const wg_int end = f.n - begin < wg_of<T>::part ? f.n : begin + wg_of<T>::part;
        T s = wg_none<T>(f);
        if (some)
            for (wg_int k = begin + lane; k < end; k += lanes)
                s = wg_with<T>(f, s, wg_element<T>(f, o * f.stride + k, o));
        sum[threadIdx.x] = s;
        for (int h = lanes / 2; h > 0; h /= 2) {
            __syncthreads();
            if (lane < h) sum[threadIdx.x] = wg_with<T>(f, sum[threadIdx.x], sum[threadIdx.x + h]);
        }
        if (some && lane == 0) {
            const T whole = f.n == 1 && !f.line ? wg_element<T>(f, o * f.stride, o) : wg_end<T>(f, sum[threadIdx.x]);
            ((T*)f.out)[task] = f.parts == 1 ? wg_last<T>(f, whole) : whole;
        }
        __syncthreads();
    }
}
/// A block of threads for each row: pairs of parts, pairs of pairs; what is left over at each step waits for the end.
template <class T> inline void wg_join_rows(const wg_fold& f)
{
    for (wg_int o = blockIdx.x; o < f.outer; o += gridDim.x) {
        T *from = (T*)f.x + o * f.parts, *to = (T*)f.scratch + o * ((f.parts + 1) / 2), total = 0;
        bool any = false;
        for (wg_int n = f.parts;; n /= 2) {
            if (n % 2) {
                const T left = from[n - 1];
                total = any ? wg_with<T>(f, left, total) : left;
                any = true;
            }
            if (n == 1) break;
            for (wg_int i = threadIdx.x; i < n / 2; i += blockDim.x) to[i] = wg_with<T>(f, from[2 * i], from[2 * i + 1]);
            __syncthreads();
            T* const before = from;
            from = to, to = before;
        }
        if (threadIdx.x == 0) ((T*)f.out)[o] = wg_last<T>(f, total);
        __syncthreads();
    }
}

template <class T> inline void wg_columns(const wg_fold& f)
{
    const wg_int tasks = f.outer * f.parts * f.inner;
    for (wg_int t = wg_thread(); t < tasks; t += wg_threads()) {
        const wg_int j = t % f.inner, b = t / f.inner % f.parts, o = t / f.inner / f.parts;
        const wg_int begin = b * 256, end = f.n - begin < 256 ? f.n : begin + 256;
        const wg_int at = o * f.stride + j, to = o * f.columns + j % f.columns;
#define WG_AT(k) wg_element<T>(f, at + (k) * f.inner, to)
#define WG_FOUR(k) wg_with<T>(f, wg_with<T>(f, WG_AT(k), WG_AT(k + 1)), wg_with<T>(f, WG_AT(k + 2), WG_AT(k + 3)))
        wg_int k = begin + (end - begin < 4 ? 1 : 4);
        T s = end - begin < 4 ? WG_AT(begin) : WG_FOUR(begin);
        for (; k + 4 <= end; k += 4) s = wg_with<T>(f, s, WG_FOUR(k));
        for (; k < end; ++k) s = wg_with<T>(f, s, WG_AT(k));
        if (f.parts == 1 && f.n > 1) s = wg_end<T>(f, s);
        ((T*)f.out)[t] = f.parts == 1 ? wg_last<T>(f, s) : s;
    }
}
template <class T> inline void wg_join_columns(const wg_fold& f)
{
    const T* const x = (const T*)f.x;
    for (wg_int t = wg_thread(); t < f.outer * f.inner; t += wg_threads()) {
        const wg_int at = t / f.inner * f.parts * f.inner + t % f.inner;
        T s = x[at];
        for (wg_int b = 1; b < f.parts; ++b) s = wg_with<T>(f, s, x[at + b * f.inner]);
        ((T*)f.out)[t] = wg_last<T>(f, wg_end<T>(f, s));
    }
}
/// Sums of columns of `inner` / `columns` rows that were read as one; f.y has them, f.x the elements.
template <class T> inline void wg_join_few(const wg_fold& f)
{
    const T* const done = (const T*)f.y;
    for (wg_int t = wg_thread(); t < f.outer * f.columns; t += wg_threads()) {
        const wg_int o = t / f.columns, rest = o * f.stride + f.n * f.inner;
        T s = 0;
        for (wg_int c = t % f.columns; c < f.inner; c += f.columns) {
            T g = done[o * f.inner + c];
            if (c < f.tail) g = wg_with<T>(f, g, wg_element<T>(f, rest + c, t));
            s = c < f.columns ? g : wg_with<T>(f, s, g);
        }
        ((T*)f.out)[t] = wg_last<T>(f, wg_end<T>(f, s));
    }
}
/// What several passes end with: of each result (0, 1), or of each element (2 and on). r has the shift and the sum.
template <class T> inline void wg_ends(const wg_fold& f)
{
    const T *x = (const T*)f.x, *y = (const T*)f.y, *r0 = (const T*)f.r[0], *r1 = (const T*)f.r[1];
    T* const out = (T*)f.out;
    const wg_int results = f.outer * f.inner, count = f.end < 2 ? results : results * f.n;
    for (wg_int t = wg_thread(); t < count; t += wg_threads()) {
        const wg_int to = f.end < 2 ? t : t / (f.n * f.inner) * f.inner + t % f.inner;
        switch (f.end) {
        case 0: out[t] = x[t] - x[t] == 0 || x[t] != x[t] ? x[t] : (T)0; break;
        case 1: out[t] = r0[to] + wg_log(r1[to]); break;
        case 2: {
            const T scale = (T)1 / r1[to];
            out[t] = wg_exp(x[t] - r0[to]) * scale;
            break;
        }
        case 3: out[t] = x[t] - r0[to] - wg_log(r1[to]); break;
        case 4: out[t] = y[t] * (x[t] - r1[to]); break;
        default: out[t] = x[t] - wg_exp(y[t]) * r1[to];
        }
    }
}
extern "C" __global__ void ends_f32(const wg_fold f) { wg_ends<float>(f); }
extern "C" __global__ void ends_f64(const wg_fold f) { wg_ends<double>(f); }
extern "C" __global__ void rows_f32(const wg_fold f) { wg_rows<float>(f); }
extern "C" __global__ void rows_f64(const wg_fold f) { wg_rows<double>(f); }
extern "C" __global__ void join_rows_f32(const wg_fold f) { wg_join_rows<float>(f); }
extern "C" __global__ void join_rows_f64(const wg_fold f) { wg_join_rows<double>(f); }
extern "C" __global__ void columns_f32(const wg_fold f) { wg_columns<float>(f); }
extern "C" __global__ void columns_f64(const wg_fold f) { wg_columns<double>(f); }
extern "C" __global__ void join_columns_f32(const wg_fold f) { wg_join_columns<float>(f); }
extern "C" __global__ void join_columns_f64(const wg_fold f) { wg_join_columns<double>(f); }
extern "C" __global__ void join_few_f32(const wg_fold f) { wg_join_few<float>(f); }
extern "C" __global__ void join_few_f64(const wg_fold f) { wg_join_few<double>(f); }
)wg";

}  // namespace wengert::detail::gpu
