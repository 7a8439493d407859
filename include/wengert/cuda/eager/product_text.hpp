// The text of kernels for products: tiles, for whole numbers and where there is no cuBLAS, and what adds a product to something.
#pragma once

#include <string_view>

namespace wengert::detail::gpu {

/// C = A B, and what adds it to something; element (i, j) of X lies at i * x_row + j * x_column, rows of C are n apart. A block of threads makes a tile of C.
inline constexpr std::string_view product_text = R"wg(
template <class T> struct wg_sums { typedef T type; };
template <> struct wg_sums<int32_t> { typedef uint32_t type; };
template <> struct wg_sums<int64_t> { typedef uint64_t type; };
template <class T> inline void wg_product(const void* pa, const void* pb, void* pc, const wg_int* at)
{
    typedef typename wg_sums<T>::type S;
    const wg_int m = at[0], n = at[1], k = at[2], a_row = at[3], a_column = at[4], b_row = at[5], b_column = at[6];
    const T *a = (const T*)pa, *b = (const T*)pb;
    T* const c = (T*)pc;
    __shared__ S left[16][16], right[16][16];
    const int x = threadIdx.x % 16, y = threadIdx.x / 16;
    const wg_int wide = (n + 15) / 16, tiles = wide * ((m + 15) / 16);
    for (wg_int t = blockIdx.x; t < tiles; t += gridDim.x) {
        const wg_int i = t / wide * 16 + y, j = t % wide * 16 + x;
        S s = 0;
        for (wg_int p = 0; p < k; p += 16) {
            left[y][x] = i < m && p + x < k ? (S)a[i * a_row + (p + x) * a_column] : (S)0;
            right[y][x] = j < n && p + y < k ? (S)b[(p + y) * b_row + j * b_column] : (S)0;
            __syncthreads();
            const int most = k - p < 16 ? (int)(k - p) : 16;
            for (int q = 0; q < most; ++q) s += left[y][q] * right[q][x];
            __syncthreads();
        }
        if (i < m && j < n) c[i * n + j] = (T)s;
    }
}
struct wg_sizes {
    wg_int at[7];
};
struct wg_sum {
    void* y;
    const void *c, *product, *factor;
    const int32_t* loud;
    wg_int count;
    double factor_here;
    int minus, scaled;
};
/// y = c ± α product; where nothing of the cotangent is loud, what is not finite counts as 0.
template <class T> inline void wg_add(const wg_sum& s)
{
    T* const y = (T*)s.y;
    const T *const c = (const T*)s.c, *const product = (const T*)s.product;
    const T f = s.factor ? *(const T*)s.factor : (T)s.factor_here, factor = s.minus ? -f : f;
    const bool quiet = s.loud && !*s.loud;
    for (wg_int i = wg_thread(); i < s.count; i += wg_threads()) {
        const T p = product[i];
        const bool counts = !quiet || p - p == 0;
        if (s.scaled)
            y[i] = counts ? c[i] + factor * p : c[i];
        else
            y[i] = c[i] + (counts ? p : (T)0);
    }
}
extern "C" __global__ void add_product_f32(const wg_sum s) { wg_add<float>(s); }
extern "C" __global__ void add_product_f64(const wg_sum s) { wg_add<double>(s); }
extern "C" __global__ void product_f32(const void* a, const void* b, void* c, const wg_sizes s) { wg_product<float>(a, b, c, s.at); }
extern "C" __global__ void product_f64(const void* a, const void* b, void* c, const wg_sizes s) { wg_product<double>(a, b, c, s.at); }
extern "C" __global__ void product_i32(const void* a, const void* b, void* c, const wg_sizes s) { wg_product<int32_t>(a, b, c, s.at); }
extern "C" __global__ void product_i64(const void* a, const void* b, void* c, const wg_sizes s) { wg_product<int64_t>(a, b, c, s.at); }
)wg";

}  // namespace wengert::detail::gpu
