// WENGERT_INLINE, for the graphs' code that may be compiled apart from the program. See compiler.hpp.
#pragma once

#include "../../base/separate.hpp"
