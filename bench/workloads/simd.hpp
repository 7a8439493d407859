#pragma once

// What the floors share: aligned buffers and loops over xsimd batches with a scalar tail.

#include <cblas.h>

#include <cstddef>
#include <vector>
#include <xsimd/xsimd.hpp>

#include "../harness.hpp"

namespace bench {

template <class T> using Buffer = std::vector<T, xsimd::aligned_allocator<T>>;

template <class T> Buffer<T> buffer(const std::vector<T>& values)
{
    return Buffer<T>(values.begin(), values.end());
}

template <class T> xsimd::batch<T> load(const T* p) { return xsimd::batch<T>::load_unaligned(p); }

template <class T> void store(T* p, const xsimd::batch<T>& v) { v.store_unaligned(p); }

/// Loads and stores of a batch (`lanes` wide) and of a single value (the tail) under one name.
template <class V, class T> V get(const T* p)
{
    if constexpr (std::is_same_v<V, T>)
        return *p;
    else
        return V::load_unaligned(p);
}

template <class V, class T> void put(T* p, const V& v)
{
    if constexpr (std::is_same_v<V, T>)
        *p = v;
    else
        v.store_unaligned(p);
}

/// Calls f.template operator()<V>(i) for every batch of [0, n) and then for every value left.
template <class T, class F> void for_batches(std::size_t n, F&& f)
{
    using V = xsimd::batch<T>;
    std::size_t i = 0;
    for (; i + V::size <= n; i += V::size) f.template operator()<V>(i);
    for (; i < n; ++i) f.template operator()<T>(i);
}

/// C (m, n) = alpha op(A) op(B) + beta C, all row-major and contiguous.
inline void gemm(bool ta, bool tb, std::size_t m, std::size_t n, std::size_t k, float alpha, const float* a,
                 const float* b, float beta, float* c)
{
    const auto i = [](std::size_t v) { return static_cast<int>(v); };
    cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, i(m), i(n),
                i(k), alpha, a, i(ta ? m : k), b, i(tb ? k : n), beta, c, i(n));
}

template <class T> T horizontal_sum(const xsimd::batch<T>& v)
{
    if constexpr (requires { reduce_add(v); })
        return reduce_add(v);
    else
        return hadd(v);  // its name before xsimd 9
}

}  // namespace bench
