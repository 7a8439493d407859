// Functions of one number: powers, exponentials, logarithms, rounding. Their rules are in functions/rules/math.hpp.
//
// Accuracy of the values is that of the SIMD functions (kernels/cpu/lane_*.hpp): a few ULP, those of <cmath> at the edges.
#pragma once

#include "../../functions/rules/math.hpp"
#include "trigonometry.hpp"

namespace wengert {

// clang-format off
/// x². Integers too; those wrap.
template <Scalar T, class D> Tensor<T, D> square(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Square, T>(at, x); }
/// The gradient at 0 is infinite.
template <Differentiable T, class D> Tensor<T, D> sqrt(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Sqrt, T>(at, x); }
/// |x|; the gradient at 0 is 0.
template <Scalar T, class D> Tensor<T, D> abs(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Abs, T>(at, x); }
/// −1, 0 or 1; NaN for NaN. The gradient is 0, as that of floor, ceil and round.
template <Scalar T, class D> Tensor<T, D> sign(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Sign, T>(at, x); }
/// The next whole number below.
template <Differentiable T, class D> Tensor<T, D> floor(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Floor, T>(at, x); }
/// The next whole number above.
template <Differentiable T, class D> Tensor<T, D> ceil(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Ceil, T>(at, x); }
/// To the nearest whole number, halves to the even one, as NumPy.
template <Differentiable T, class D> Tensor<T, D> round(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Round, T>(at, x); }
// clang-format on

}  // namespace wengert
