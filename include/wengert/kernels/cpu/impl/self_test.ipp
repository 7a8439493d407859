// The bodies of self_test.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../../../base/separate.hpp"
#include "../self_test.hpp"

namespace wengert::kernels {

[[noreturn]] WENGERT_INLINE void refuse_arithmetic(double remainder)
{
    throw Error(
        "[wengert] this program computes 1 - ln 2 as " + std::to_string(remainder) +
        ": it was compiled with options that reorder arithmetic, leave -fassociative-math and its like out");
}

}  // namespace wengert::kernels
