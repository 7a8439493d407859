#pragma once

#include "../../base/error.hpp"
#include "lane_math.hpp"

namespace wengert::kernels {

/// Throws Error where the compiler was told to reorder arithmetic and no pragma kept it from that: e¹ would be 2.
inline void test_arithmetic()
{
    const volatile double one = 1;
    const volatile float single = 1;
    const double e = exp(Lane<double>(one)).first();
    const float f = exp(Lane<float>(single)).first();
    if (!(e > 2.71828182845904 && e < 2.71828182845905 && f > 2.718281F && f < 2.718283F))
        throw Error("[wengert] this program computes e as " + std::to_string(e) +
                    ": it was compiled with options that reorder arithmetic, leave -fassociative-math and "
                    "its like out");
}

}  // namespace wengert::kernels
