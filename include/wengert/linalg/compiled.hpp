// Says that wengert::compiled_linalg has linear algebra of tensors of floats and doubles on the host, so that a program's sources need not
// compile it. The list is impl/compiled.ipp.
#pragma once

#include "cholesky.hpp"
#include "determinant.hpp"
#include "eigh.hpp"
#include "expm.hpp"
#include "lu.hpp"
#include "qr.hpp"
#include "solve.hpp"
#include "svd.hpp"
#include "triangular.hpp"

#ifdef WENGERT_COMPILED_LINALG
#define WENGERT_ONCE extern
#define WENGERT_T float
#include "impl/compiled.ipp"
#undef WENGERT_T
#define WENGERT_T double
#include "impl/compiled.ipp"
#undef WENGERT_T
#undef WENGERT_ONCE
#endif
