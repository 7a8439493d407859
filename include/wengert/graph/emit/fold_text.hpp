// The text of sums in native code: the order of kernels/cpu/fold.hpp, so that the bits are the same.
#pragma once

namespace wengert::detail {

inline constexpr const char fold_text[] = R"wg(
template <int h, class T> FN T fold_lanes(T* lane)
{
    if constexpr (h == 0) return lane[0];
    else {
#pragma GCC unroll 16
        for (int i = 0; i < h; ++i) lane[i] += lane[i + h];
        return fold_lanes<h / 2>(lane);
    }
}
/* the sum of up to 16 KiB: element i goes to lane i mod 64 (float) or 32 (double), lanes are folded in halves */
template <long n, class T> FN T fold_block(const T* x)
{
    if constexpr (n == 1) return x[0];
    else if constexpr (n == 2) return x[0] + x[1];
    else if constexpr (n == 3) return (x[0] + x[2]) + x[1];
    else if constexpr (n == 4) return (x[0] + x[2]) + (x[1] + x[3]);
    else {
        enum { N = register_bytes / sizeof(T), R = n <= N ? 1 : 256 / register_bytes, rest = n % N };
        typedef V<T, N> X;
        X acc[R] = {};
        long k = 0;
        for (; k + R * N <= n; k += R * N)
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r) acc[r] += load<X>(x + k + r * N);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            if (k + (r + 1) * N <= n) acc[r] += load<X>(x + k + r * N);
            else if (k + r * N < n) acc[r] += load_part<X, rest>(x + k + r * N);
        }
#pragma GCC unroll 16
        for (int h = R / 2; h > 0; h /= 2)
#pragma GCC unroll 16
            for (int r = 0; r < h; ++r) acc[r] += acc[r + h];
        T lane[N];
        store(lane, acc[0]);
        return fold_lanes<N / 2>(lane);
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
)wg";

}  // namespace wengert::detail
