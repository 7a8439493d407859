// Says that wengert::compiled_linalg has the solvers for tensors of doubles on the host, so that a program's sources need not
// compile them. The list is impl/compiled.ipp.
#pragma once

#include "../linalg/compiled.hpp"
#include "linear.hpp"
#include "minimize.hpp"
#include "odeint.hpp"
#include "root.hpp"

#ifdef WENGERT_COMPILED_LINALG
#define WENGERT_ONCE extern
#define WENGERT_T double
#include "impl/compiled.ipp"
#undef WENGERT_T
#undef WENGERT_ONCE
#endif
