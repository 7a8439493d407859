/// What the library of special.cpp exports.
#pragma once

#include <wengert/scalar.hpp>

__attribute__((visibility("default"))) wengert::Real<double> bessel(const wengert::Real<double>& x);
__attribute__((visibility("default"))) wengert::Real<double> elliptic(const wengert::Real<double>& k);
