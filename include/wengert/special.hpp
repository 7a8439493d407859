// Special functions over Boost.Math, of tensors and of numbers that record: docs/arrays.md#special-functions. Needs its headers (Debian:
// libboost-dev), and links nothing.
//
//     const Tensor<double> y = gammainc(2.5, x) + cyl_bessel_j(0.0, x);
//
// No other header includes it: it takes seconds to compile.
#pragma once

#include "ops/special/beta.hpp"
#include "ops/special/bessel.hpp"
#include "ops/special/elliptic.hpp"
#include "ops/special/gamma.hpp"
#include "ops/special/lambert.hpp"
