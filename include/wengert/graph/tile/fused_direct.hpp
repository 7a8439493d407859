// What the straight-line form of a small group has beside the kernels of its operations: an element spread, a row summed up.
#pragma once

#include "fused_program.hpp"
#include "fused_sum.hpp"

namespace wengert::tiling::detail {

template <class U> void spread_tile(std::size_t n, const void* const* in, void* out)
{
    std::fill_n(static_cast<U*>(out), n, *static_cast<const U*>(in[0]));
}
TileKernel spread_kernel(std::size_t size);

/// One element everywhere.
void spread(const std::byte* from, std::size_t size, std::size_t n, std::byte* to);

template <class T, class A, bool mean> void sum_tile(std::size_t n, const void* const* in, void* out)
{
    T* to = static_cast<T*>(out);
    kernels::sum<T, A>(static_cast<const T*>(in[0]), 1, n, 1, to);
    if constexpr (mean) *to /= static_cast<T>(n);
}
template <class A> TileKernel sum_kernel(DType d, bool mean)
{
    return with_real(d, [&]<class T>() { return mean ? sum_tile<T, A, true> : sum_tile<T, A, false>; });
}

}  // namespace wengert::tiling::detail

#ifndef WENGERT_COMPILED
#include "impl/fused_direct.ipp"
#endif
