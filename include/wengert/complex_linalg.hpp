// Linear algebra of complex matrices: linalg::solve, inv and eig, also the eigenvalues of general real matrices. docs/complex.md.
//
//     const Tensor<std::complex<double>> w = wengert::linalg::eig(Tensor<double>{{0.0, 1.0}, {-1.0, 0.0}});  // -i, i
#pragma once

#include "complex.hpp"
#include "linalg/eig.hpp"
