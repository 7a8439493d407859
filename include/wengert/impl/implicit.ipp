// The solvers of implicit functions for doubles: one source of wengert::compiled_linalg. They need LAPACK.
#pragma once

#include "../kernels/cpu/blas.hpp"

#if defined(WENGERT_COMPILED_LINALG) && defined(WENGERT_HAS_BLAS) && __has_include(<lapacke.h>)
#include "../implicit/compiled.hpp"

#define WENGERT_ONCE
#define WENGERT_T double
#include "../implicit/impl/compiled.ipp"
#undef WENGERT_T
#undef WENGERT_ONCE
#endif
