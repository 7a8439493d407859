// Complex tensors, Tensor<std::complex<double>> and <float>, with derivatives of any order in both modes: docs/complex.md.
//
//     using C = std::complex<double>;
//     const Tensor<C> z = {{1.0, C(0, 2)}, {C(3, -1), 4.0}};
//     const Tensor<C> gradient = wg::grad([](const Tensor<C>& t) { return sum(abs(exp(t))); })(z);
//
// wengert.hpp does not include it: a program without complex numbers pays nothing.
#pragma once

#include "complex/custom.hpp"
#include "complex/functions.hpp"
#include "complex/products.hpp"
#include "complex/shape.hpp"
#include "complex/view.hpp"
