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
/// A block for each line, whose elements have places of their own.
template <class T> inline void wg_scan_line(const wg_program& p)
{
    const int part = 1024;
    __shared__ T v[part], f[part], sum[1];
    T* const y = (T*)p.y.data;
    wg_int i[16] = {0};
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
            if (threadIdx.x == 0) {
                T s = first ? sum[0] : T(0);
#pragma unroll 8
                for (int j = 0; j < some; ++j) v[j] = s = wg_step<T>(p, s, v[j], f[j], first + j);
                sum[0] = s;
            }
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
