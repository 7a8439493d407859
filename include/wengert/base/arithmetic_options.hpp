// What the compiler's options allow it to do to arithmetic, and which of them cannot be served (docs/design.md, Rounding).
#pragma once

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "wengert needs infinities and NaN: add -fno-finite-math-only behind -ffast-math or -Ofast"
#endif

namespace wengert::detail {

/// May sums be reordered, divisions become products, zeros lose their sign? g++ says so, clang does not: there a pragma
/// forbids it where it matters (kernels/cpu/lane_type.hpp).
#if defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__)
constexpr bool loose_arithmetic = true;
#else
constexpr bool loose_arithmetic = false;
#endif

/// Is this source compiled with optimization?
#ifdef __OPTIMIZE__
constexpr bool is_optimized = true;
#else
constexpr bool is_optimized = false;
#endif

}  // namespace wengert::detail
