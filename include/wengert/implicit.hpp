// Implicit functions: what a solver finds, with derivatives of the answer and not of the way to it: docs/implicit.md.
//
//     const Tensor<double> y = wg::root([](const auto& y, const auto& p) { return y * y * y + y - p; }, y0, p);
//
// wengert.hpp does not include it: a program that solves nothing pays nothing.
#pragma once

#include "implicit/compiled.hpp"
