// What may be compiled apart from the program: functions that are marked WENGERT_INLINE. See graph/freeze/compiler.hpp.
#pragma once

#ifdef WENGERT_COMPILED
#define WENGERT_INLINE
#else
#define WENGERT_INLINE inline
#endif
