// Whether the program's own kernels compute what they say, whatever options it was compiled with.
#pragma once

#include "../../base/error.hpp"
#include "lane_math.hpp"

namespace wengert::kernels {

[[noreturn]] void refuse_arithmetic(double remainder);

/// Throws Error if the compiler was told to reorder arithmetic and no pragma kept it from that. It tests the first step of exp, the
/// remainder r of 1 = n ln 2 + r. Adding and subtracting the rounder makes n whole; reordered, n is 1 / ln 2, and r is 0.
inline void test_arithmetic()
{
    using wengert::detail::functions::ExpReduced;
    const volatile double one = 1;
    const volatile float single = 1;
    const double r = ExpReduced<Lane<double>>(Lane<double>(one)).r.first();
    const float s = ExpReduced<Lane<float>>(Lane<float>(single)).r.first();
    if (!(r > 0.30685281944005 && r < 0.30685281944006 && s > 0.306852F && s < 0.306854F))
        refuse_arithmetic(r);
}

}  // namespace wengert::kernels

#ifndef WENGERT_COMPILED
#include "impl/self_test.ipp"
#endif
