// Eigen over Real<T>: matrices, arrays and maps of reals, products as one operation each, solve(A, b). Eigen 3.4 is not needed
// by anything else here.
#pragma once

#include "scalar.hpp"
#include "scalar/eigen/numbers.hpp"
#include "scalar/eigen/products.hpp"
#include "scalar/eigen/solve.hpp"
#include "scalar/eigen/svd.hpp"
