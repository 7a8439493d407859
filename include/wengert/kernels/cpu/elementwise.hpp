// One loop per (rule, dtype): the only place where an elementwise primitive meets SIMD.
#pragma once

#include <limits>
#include <tuple>

#include "lane.hpp"

namespace wengert::kernels {

/// The value of a cotangent for which a derivative that is not finite counts as zero; NaN switches that off.
inline constinit thread_local double zero_cotangent __attribute__((visibility("default"))) = 0.0;

/// out[i] = F::apply(in...[i]): whole registers, the tail in a padded one, so that every element sees the same code.
template <class F, class A, class T, std::size_t... k>
void lane_loop(std::size_t n, const void* const* in, T* out, std::index_sequence<k...>)
{
    using V = Lane<T, A>;
    std::size_t i = 0;
    for (; i + V::width <= n; i += V::width) F::apply(V::load(static_cast<const T*>(in[k]) + i)...).store(out + i);
    if (i < n) F::apply(V::load_part(static_cast<const T*>(in[k]) + i, n - i)...).store_part(out + i, n - i);
}

template <class F, class Out, class... In, std::size_t... k>
void scalar_loop(std::size_t n, const void* const* in, Out* out, std::index_sequence<k...>)
{
    for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<Out>(F::apply(static_cast<const In*>(in[k])[i]...));
}

/// A TileKernel. Lanes serve where result and operands are of one floating-point type, plain loops elsewhere.
template <class F, class A, class Out, class... In>
void tile_kernel(std::size_t n, const void* const* in, void* out)
{
    constexpr auto indices = std::index_sequence_for<In...>();
    if constexpr (std::is_floating_point_v<Out> && (std::is_same_v<Out, In> && ...))
        lane_loop<F, A>(n, in, static_cast<Out*>(out), indices);
    else
        scalar_loop<F, Out, In...>(n, in, static_cast<Out*>(out), indices);
}

}  // namespace wengert::kernels
