// Linear algebra over LAPACK, batched over leading axes, with derivatives of any order in both modes: docs/linear-algebra.md.
//
//     namespace la = wengert::linalg;
//     const Tensor<double> x = la::solve(a, b), l = la::cholesky(k);
//     const auto [w, v] = la::eigh(a);
//
// wengert.hpp does not include it: a program that solves nothing pays nothing.
#pragma once

#include "linalg/compiled.hpp"
#include "linalg/norms.hpp"
