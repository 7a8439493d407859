// Linear algebra over LAPACK, batched over leading axes, with derivatives of any order in both modes: docs/linear-algebra.md.
//
//     namespace la = wengert::linalg;
//     const Tensor<double> x = la::solve(a, b), l = la::cholesky(k);
//     const auto [w, v] = la::eigh(a);
//
// wengert.hpp does not include it: a program that solves nothing pays nothing.
#pragma once

#include "linalg/cholesky.hpp"
#include "linalg/determinant.hpp"
#include "linalg/eigh.hpp"
#include "linalg/expm.hpp"
#include "linalg/lu.hpp"
#include "linalg/norms.hpp"
#include "linalg/qr.hpp"
#include "linalg/solve.hpp"
#include "linalg/svd.hpp"
#include "linalg/triangular.hpp"
