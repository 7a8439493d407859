// One loop per (rule, dtype): the only place where an elementwise primitive meets SIMD.
#pragma once

#include <limits>
#include <tuple>

#include "lane.hpp"

namespace wengert::kernels {

/// The value of a cotangent for which a derivative that is not finite counts as zero; NaN switches that off.
inline constinit thread_local double zero_cotangent __attribute__((visibility("default"))) = 0.0;

/// out[i] = F::value(in...[i]): whole registers, the tail in a padded one, so that every element sees the same code.
template <class F, class A, class T, std::size_t... k>
void lane_loop(std::size_t n, const void* const* in, void* to)
{
    using V = Lane<T, A>;
    T* out = static_cast<T*>(to);
    std::size_t i = 0;
    for (; i + V::width <= n; i += V::width)
        F::value(V::load(static_cast<const T*>(in[k]) + i)...).store(out + i);
    if (i < n) F::value(V::load_part(static_cast<const T*>(in[k]) + i, n - i)...).store_part(out + i, n - i);
}

/// How an element lies in memory: compilers make no SIMD of loads of bool.
template <class T> using Stored = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;

/// How many elements a plain loop has in a block.
inline constexpr std::size_t block_length = 64;

/// Operands of several types, integers, truth values. Blocks of a fixed size are what compilers make SIMD of at -O2; their operands are
/// found by pointers of the loop's own, which a result of bytes cannot change. A result may lie where an operand lies.
template <class F, class A, class Out, class... In> struct ScalarLoop {
    template <std::size_t... k> static void run(std::size_t n, const void* const* in, void* to)
    {
        constexpr std::size_t block = block_length;
        const void* const x[] = {in[k]...};
        auto* const out = static_cast<Stored<Out>*>(to);
        std::size_t i = 0;
        for (; n - i >= block; i += block) {
#ifndef __clang__
#pragma GCC ivdep
#endif
            for (std::size_t j = 0; j < block; ++j)
                out[i + j] = static_cast<Out>(
                    F::value(static_cast<In>(static_cast<const Stored<In>*>(x[k])[i + j])...));
        }
        for (; i < n; ++i)
            out[i] = static_cast<Out>(F::value(static_cast<In>(static_cast<const Stored<In>*>(x[k])[i])...));
    }
};

/// Lanes serve where result and operands are of one floating-point type, plain loops elsewhere.
template <class Out, class... In>
inline constexpr bool in_lanes = std::is_floating_point_v<Out> && (std::is_same_v<Out, In> && ...);

/// The TileKernel of F. It is chosen here and not called from here: one frame less between the user's line and F.
template <class F, class A, class Out, class... In>
inline constexpr auto tile_kernel = []<std::size_t... k>(std::index_sequence<k...>) {
    if constexpr (in_lanes<Out, In...>)
        return &lane_loop<F, A, Out, k...>;
    else
        return &ScalarLoop<F, A, Out, In...>::template run<k...>;
}(std::index_sequence_for<In...>());

}  // namespace wengert::kernels
