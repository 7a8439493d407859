// Circular and hyperbolic functions. Their rules are in functions/rules/trigonometry.hpp.
#pragma once

#include "../../functions/rules/trigonometry.hpp"
#include "arithmetic.hpp"

namespace wengert {

// clang-format off
template <Differentiable T, class D> Tensor<T, D> sin(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Sin, T>(at, x); }
template <Differentiable T, class D> Tensor<T, D> cos(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Cos, T>(at, x); }
template <Differentiable T, class D> Tensor<T, D> tan(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Tan, T>(at, x); }
template <Differentiable T, class D> Tensor<T, D> asin(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Asin, T>(at, x); }
template <Differentiable T, class D> Tensor<T, D> acos(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Acos, T>(at, x); }
template <Differentiable T, class D> Tensor<T, D> atan(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Atan, T>(at, x); }
template <Differentiable T, class D> Tensor<T, D> sinh(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Sinh, T>(at, x); }
template <Differentiable T, class D> Tensor<T, D> cosh(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Cosh, T>(at, x); }
template <Differentiable T, class D> Tensor<T, D> tanh(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Tanh, T>(at, x); }
// clang-format on

}  // namespace wengert
