// xsimd and the intrinsics under it. Nothing else includes them.
#pragma once

// g++ 12 warns of its own AVX-512 headers where they are inlined into kernels (GCC bug 105593: `__Y` is used
// uninitialized, which is what _mm512_undefined_pd is for). That depends on where the headers are read.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#if defined(__SSE2__)
#if defined(                                                                                                 \
    __AVX__)  // below that xsimd's own includes suffice: all intrinsics together take as long to read as xtensor's half
#include <immintrin.h>
#endif
#include <xsimd/config/xsimd_arch.hpp>  // the instruction sets alone; registers.hpp has what kernels need of them
#else
#include <xsimd/xsimd.hpp>
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
