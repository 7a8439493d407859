// The kernels of scans, of index programs that have one (index_text.hpp). The order of a sum is the host's: one element after another.
// Where there are few lines, a block of threads takes each: all of them read a part of the line, one of them adds, all of them write.
#pragma once

#include "index_text.hpp"

namespace wengert::detail::gpu {

inline constexpr std::string_view scan_text = R"wg(
enum { no_scan, sums, products, maxima, places, recurrence };

template <class T> inline T wg_step(const wg_program& p, T s, T v, T factor, wg_int j)
{
    switch (p.scanned) {
    case sums: return j ? wg_add(s, v) : v;
    case products: return j ? wg_times(s, v) : v;
    case maxima: return j == 0 || v > s || v != v ? v : s;
    default: return j ? wg_add(v, wg_times(factor, s)) : v;
    }
}
template <class T> inline T wg_factor(const wg_program& p, wg_int j, const wg_int* i)
{
    return p.has_factor && j ? wg_read<T>(p, p.factor, p.factor_fill, i) : T(0);
}
template <class T> inline void wg_scan(const wg_program& p)
{
    T* const y = (T*)p.y.data;
    const wg_int n = p.extents[p.scan_axis];
    wg_each_place(p, p.axes - 1, [&](wg_int* i) {
        T s = 0;
#pragma unroll 1
        for (wg_int j = 0; j < n; ++j) {
            i[p.scan_axis] = p.reverse ? n - 1 - j : j;
            s = wg_step<T>(p, s, wg_read<T>(p, p.x, p.fill, i), wg_factor<T>(p, j, i), j);
            const wg_int at = wg_find(p, p.y, i);
            if (at >= 0) wg_meet<T>(p, y[at], s);
        }
    });
}
/// s = step(s, v[j], j) and v[j] = s, for j from 0 to `some` - 1. Elements are read and written eight at a time, since a read of shared
/// memory takes as long as several additions.
template <class T, class Step> inline T wg_scan_part(T* v, T s, int some, const Step& step)
{
    int j = 0;
    for (; j + 8 <= some; j += 8) {
        T x[8];
#pragma unroll
        for (int u = 0; u < 8; ++u) x[u] = v[j + u];
#pragma unroll
        for (int u = 0; u < 8; ++u) x[u] = s = step(s, x[u], j + u);
#pragma unroll
        for (int u = 0; u < 8; ++u) v[j + u] = x[u];
    }
#pragma unroll 1
    for (; j < some; ++j) v[j] = s = step(s, v[j], j);
    return s;
}
/// The same for elements of a line from number `first` on, which are v and have the factors f.
template <class T> inline T wg_scan_part(const wg_program& p, T* v, const T* f, T s, wg_int first, int some)
{
    switch (first ? p.scanned : no_scan) {  // the beginning of a line is no sum
    case sums: return wg_scan_part(v, s, some, [](T a, T x, int) { return wg_add(a, x); });
    case products: return wg_scan_part(v, s, some, [](T a, T x, int) { return wg_times(a, x); });
    case recurrence:
        return wg_scan_part(v, s, some, [&](T a, T x, int j) { return wg_add(x, wg_times(f[j], a)); });
    default:
        return wg_scan_part(v, s, some, [&](T a, T x, int j) { return wg_step<T>(p, a, x, f[j], first + j); });
    }
}
/// A block for each line, whose elements have places of their own.
template <class T> inline void wg_scan_line(const wg_program& p)
{
    const int part = 1024;
    __shared__ T v[part], f[part], sum[1];
    T* const y = (T*)p.y.data;
    wg_int i[16];
    wg_begin(p, i);
    const wg_int n = p.extents[p.scan_axis];
    for (wg_int t = blockIdx.x; t < p.threads; t += gridDim.x) {
        wg_set(p, 0, p.apart, t, i);
        for (wg_int first = 0; first < n; first += part) {
            const int some = n - first < part ? (int)(n - first) : part;
            for (int j = threadIdx.x; j < some; j += blockDim.x) {
                i[p.scan_axis] = p.reverse ? n - 1 - (first + j) : first + j;
                v[j] = wg_read<T>(p, p.x, p.fill, i);
                f[j] = wg_factor<T>(p, first + j, i);
            }
            __syncthreads();
            if (threadIdx.x == 0) sum[0] = wg_scan_part<T>(p, v, f, first ? sum[0] : T(0), first, some);
            __syncthreads();
            for (int j = threadIdx.x; j < some; j += blockDim.x) {
                i[p.scan_axis] = p.reverse ? n - 1 - (first + j) : first + j;
                const wg_int at = wg_find(p, p.y, i);
                if (at >= 0) wg_meet<T>(p, y[at], v[j]);
            }
            __syncthreads();
        }
    }
}
/// The place of the first greatest element so far, or of the first NaN.
template <class T> inline void wg_scan_places(const wg_program& p)
{
    int64_t* const y = (int64_t*)p.y.data;
    const wg_int n = p.extents[p.scan_axis];
    wg_each_place(p, p.axes - 1, [&](wg_int* i) {
        T s = 0;
        wg_int place = 0;
#pragma unroll 1
        for (wg_int j = 0; j < n; ++j) {
            const wg_int here = i[p.scan_axis] = p.reverse ? n - 1 - j : j;
            const T v = wg_read<T>(p, p.x, p.fill, i);
            if (j == 0 || (s == s && (v > s || v != v))) s = v, place = here;
            const wg_int at = wg_find(p, p.y, i);
            if (at >= 0) wg_meet<int64_t>(p, y[at], place);
        }
    });
}
)wg";

inline std::string scan_text_of(DType d)
{
    return std::string(index_program_text) + std::string(scan_text) +
           kernels_of_type(d, {"scan", "scan_line", "scan_places"});
}

}  // namespace wengert::detail::gpu
