// The kernels of folds of whole axes, in the order of kernels/cpu/fold.hpp: a row is 256 bytes of sums, folded in halves, a thread for each;
// parts of 16 KiB are combined like the carries of a binary counter. Columns go four rows at a time, 256 after 256.
#pragma once

#include <string_view>

namespace wengert::detail::gpu {

/// What a fold's kernels are given; the text has the same struct.
struct Folding {
    const void* x = nullptr;
    const void* y = nullptr;  ///< a second operand
    const void* r[3] = {};    ///< results of the passes before, one for each line
    void* kept = nullptr;     ///< elements as a pass has mapped them
    void* out = nullptr;
    void* scratch = nullptr;  ///< half as many as there are parts
    long long outer = 1, n = 1, inner = 1;
    long long stride = 1;   ///< from one of the outer ones to the next
    long long columns = 1;  ///< results of one of them: `inner`, or less where rows are read several at once
    long long parts = 1;    ///< of a row, or of a column
    long long tail = 0;     ///< elements behind the last whole group of rows
    long long count = 1;    ///< how many elements are folded
    double number = 0;      ///< what formulas are told
    int line = 0;  ///< folded line by line: single elements, too, as sums of one, and columns one by one
    int ends = 1;  ///< the results are the pass's
};

/// `T` and the formulas come before it: wg_with, wg_none, wg_end, wg_map, wg_result and wg_each.
inline constexpr std::string_view fold_struct = R"wg(
struct wg_fold {
    const void *x, *y, *r[3];
    void *kept, *out, *scratch;
    wg_int outer, n, inner, stride, columns, parts, tail, count;
    double number;
    int line, ends;
};
/// The first element of the line of result `to`.
inline T wg_first(const wg_fold& f, wg_int to) { return ((const T*)f.x)[to / f.inner * f.stride + to % f.inner]; }
)wg";
inline constexpr std::string_view fold_text = R"wg(
inline T wg_last(const wg_fold& f, wg_int to, T s) { return f.ends ? wg_result(f, to, s) : s; }

extern "C" __global__ void rows(const wg_fold f)
{
    const int lanes = 256 / (int)sizeof(T), part = 16384 / (int)sizeof(T), groups = 256 / lanes, lane = threadIdx.x % lanes;
    __shared__ T sum[256];
    const wg_int tasks = f.outer * f.parts;
    for (wg_int first = (wg_int)blockIdx.x * groups; first < tasks; first += (wg_int)gridDim.x * groups) {
        const wg_int task = first + threadIdx.x / lanes;
        const bool some = task < tasks;
        const wg_int o = task / f.parts, begin = task % f.parts * part;
        const wg_int end = f.n - begin < part ? f.n : begin + part;
        T s = wg_none();
        if (some)
            for (wg_int k = begin + lane; k < end; k += lanes) s = wg_with(s, wg_map(f, o * f.stride + k, o));
        sum[threadIdx.x] = s;
        for (int h = lanes / 2; h > 0; h /= 2) {
            __syncthreads();
            if (lane < h) sum[threadIdx.x] = wg_with(sum[threadIdx.x], sum[threadIdx.x + h]);
        }
        if (some && lane == 0) {
            const T whole = f.n == 1 && !f.line ? wg_map(f, o * f.stride, o) : wg_end(sum[threadIdx.x]);
            ((T*)f.out)[task] = f.parts == 1 ? wg_last(f, o, whole) : whole;
        }
        __syncthreads();
    }
}
/// A block of threads for each row: pairs of parts, pairs of pairs; what is left over at each step waits for the end.
extern "C" __global__ void join_rows(const wg_fold f)
{
    for (wg_int o = blockIdx.x; o < f.outer; o += gridDim.x) {
        T *from = (T*)f.kept + o * f.parts, *to = (T*)f.scratch + o * ((f.parts + 1) / 2), total = 0;
        bool any = false;
        for (wg_int n = f.parts;; n /= 2) {
            if (n % 2) {
                const T left = from[n - 1];
                total = any ? wg_with(left, total) : left;
                any = true;
            }
            if (n == 1) break;
            for (wg_int i = threadIdx.x; i < n / 2; i += blockDim.x) to[i] = wg_with(from[2 * i], from[2 * i + 1]);
            __syncthreads();
            T* const before = from;
            from = to, to = before;
        }
        if (threadIdx.x == 0) ((T*)f.out)[o] = wg_last(f, o, total);
        __syncthreads();
    }
}

extern "C" __global__ void columns(const wg_fold f)
{
    const wg_int tasks = f.outer * f.parts * f.inner;
    for (wg_int t = wg_thread(); t < tasks; t += wg_threads()) {
        const wg_int j = t % f.inner, b = t / f.inner % f.parts, o = t / f.inner / f.parts;
        const wg_int begin = b * 256, end = f.n - begin < 256 ? f.n : begin + 256;
        const wg_int at = o * f.stride + j, to = o * f.columns + j % f.columns;
#define WG_AT(k) wg_map(f, at + (k) * f.inner, to)
#define WG_FOUR(k) wg_with(wg_with(WG_AT(k), WG_AT(k + 1)), wg_with(WG_AT(k + 2), WG_AT(k + 3)))
        wg_int k = begin + (end - begin < 4 ? 1 : 4);
        T s = end - begin < 4 ? WG_AT(begin) : WG_FOUR(begin);
        for (; k + 4 <= end; k += 4) s = wg_with(s, WG_FOUR(k));
        for (; k < end; ++k) s = wg_with(s, WG_AT(k));
        if (f.parts == 1 && f.n > 1) s = wg_end(s);
        ((T*)f.out)[t] = f.parts == 1 ? wg_last(f, to, s) : s;
    }
}
/// Of parts that lie at f.kept.
extern "C" __global__ void join_columns(const wg_fold f)
{
    const T* const x = (const T*)f.kept;
    for (wg_int t = wg_thread(); t < f.outer * f.inner; t += wg_threads()) {
        const wg_int at = t / f.inner * f.parts * f.inner + t % f.inner;
        T s = x[at];
        for (wg_int b = 1; b < f.parts; ++b) s = wg_with(s, x[at + b * f.inner]);
        ((T*)f.out)[t] = wg_last(f, t, wg_end(s));
    }
}
/// Sums of columns of `inner` / `columns` rows that were read as one; f.kept has them, f.x the elements.
extern "C" __global__ void join_few(const wg_fold f)
{
    const T* const done = (const T*)f.kept;
    for (wg_int t = wg_thread(); t < f.outer * f.columns; t += wg_threads()) {
        const wg_int o = t / f.columns, rest = o * f.stride + f.n * f.inner;
        T s = 0;
        for (wg_int c = t % f.columns; c < f.inner; c += f.columns) {
            T g = done[o * f.inner + c];
            if (c < f.tail) g = wg_with(g, wg_map(f, rest + c, t));
            s = c < f.columns ? g : wg_with(s, g);
        }
        ((T*)f.out)[t] = wg_last(f, t, wg_end(s));
    }
}
/// A result for each element.
extern "C" __global__ void each(const wg_fold f)
{
    for (wg_int t = wg_thread(); t < f.outer * f.n * f.inner; t += wg_threads())
        ((T*)f.out)[t] = wg_each(f, t, t / (f.n * f.inner) * f.inner + t % f.inner);
}
)wg";

}  // namespace wengert::detail::gpu
