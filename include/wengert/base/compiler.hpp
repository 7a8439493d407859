// Which compilers this library is for. Older ones stop here, at one sentence.
#pragma once

#if defined(__apple_build_version__)
#define WENGERT_OLD_COMPILER (__clang_major__ < 15)
#elif defined(__clang__)
#define WENGERT_OLD_COMPILER (__clang_major__ < 16)
#elif defined(__GNUC__)
#define WENGERT_OLD_COMPILER (__GNUC__ < 12)
#else
#define WENGERT_OLD_COMPILER 0
#endif
#if WENGERT_OLD_COMPILER
#error wengert needs g++ 12 or later, or clang 16 or later (Apple clang 15): this compiler is older
#include <a_newer_compiler>  // is not there, which ends the compilation: #error alone does not
#endif
#undef WENGERT_OLD_COMPILER

#if __cplusplus < 202002L
#error wengert needs C++20: compile with -std=c++20
#include <an_option_std_c++20>
#endif
