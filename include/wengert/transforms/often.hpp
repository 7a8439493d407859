// Says that wengert::compiled has what nearly every program calls with tensors of floats and doubles, so that a program's sources
// need not compile it. The list is impl/often.ipp.
#pragma once

#include "../ops/matmul.hpp"
#include "../ops/reductions.hpp"
#include "../ops/shape.hpp"
#include "../ops/view.hpp"
#include "../tape/backward.hpp"
#include "derivatives.hpp"

#ifdef WENGERT_COMPILED
#define WENGERT_ONCE extern
#define WENGERT_T float
#include "impl/often.ipp"
#undef WENGERT_T
#define WENGERT_T double
#include "impl/often.ipp"
#undef WENGERT_T
#undef WENGERT_ONCE

extern template bool wengert::Tensor<bool>::item(Site) const;  // of conditions
#endif
