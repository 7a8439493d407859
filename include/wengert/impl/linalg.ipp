// Linear algebra of floats and doubles: one source of wengert::compiled_linalg. Where there is no LAPACK no program has any.
#pragma once

#include "../kernels/cpu/blas.hpp"

#if defined(WENGERT_COMPILED_LINALG) && defined(WENGERT_HAS_BLAS) && __has_include(<lapacke.h>)
#include "../linalg/compiled.hpp"

#define WENGERT_ONCE
#define WENGERT_T float
#include "../linalg/impl/compiled.ipp"
#undef WENGERT_T
#define WENGERT_T double
#include "../linalg/impl/compiled.ipp"
#undef WENGERT_T
#undef WENGERT_ONCE
#endif
