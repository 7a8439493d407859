/// What each of the two linked libraries exports.
#pragma once

#include <wengert/eager.hpp>

#define EXPORT __attribute__((visibility("default")))
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define NAME(function) JOIN(LIBRARY, _##function)

#define DECLARE(library)                                                                                     \
    EXPORT wengert::Tensor<double> library##_scaled(const wengert::Tensor<double>& x);                       \
    EXPORT const void* library##_tape();                                                                     \
    EXPORT void library##_fail();

DECLARE(first)
DECLARE(second)
