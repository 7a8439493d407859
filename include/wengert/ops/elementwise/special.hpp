// The functions of <cmath> beside those of math.hpp and trigonometry.hpp: of probability, gamma functions, roots, remainders.
// Their rules are in functions/rules/special.hpp.
//
// Their values are those of functions/, a few ULP from <cmath>; remainders are exact.
#pragma once

#include "../../functions/rules/special.hpp"
#include "math.hpp"
#include "pairs.hpp"

namespace wengert {

/// As rules call it, whatever their values are.
template <Differentiable T, class D> Tensor<T, D> round_even(const Tensor<T, D>& x) { return round(x); }

}  // namespace wengert
