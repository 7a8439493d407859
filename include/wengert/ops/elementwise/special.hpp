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

// clang-format off
template <Differentiable T, class D> Tensor<T, D> exp2(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Exp2, T>(at, x); }
/// The gradient at 0 is infinite.
template <Differentiable T, class D> Tensor<T, D> cbrt(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Cbrt, T>(at, x); }
template <Differentiable T, class D> Tensor<T, D> asinh(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Asinh, T>(at, x); }
template <Differentiable T, class D> Tensor<T, D> acosh(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Acosh, T>(at, x); }
template <Differentiable T, class D> Tensor<T, D> atanh(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Atanh, T>(at, x); }
/// 1 − erf x without cancellation: accurate relative to itself down to the smallest numbers.
template <Differentiable T, class D> Tensor<T, D> erfc(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Erfc, T>(at, x); }
/// Γ(x).
template <Differentiable T, class D> Tensor<T, D> tgamma(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Tgamma, T>(at, x); }
/// ln |Γ(x)|.
template <Differentiable T, class D> Tensor<T, D> lgamma(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Lgamma, T>(at, x); }
/// ψ(x) = Γ'(x)/Γ(x); NaN at the poles 0, −1, −2, …
template <Differentiable T, class D> Tensor<T, D> digamma(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Digamma, T>(at, x); }
/// a − b trunc(a/b), exactly, of the sign of a.
template <Differentiable T, class D> Tensor<T, D> fmod(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return apply_elementwise<Fmod, T>(b.at, a, *b); }
/// a − b n for the whole number n next to a/b, the even one of two, exactly.
template <Differentiable T, class D> Tensor<T, D> remainder(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return apply_elementwise<Remainder, T>(b.at, a, *b); }
template <LiteralOperand S, Differentiable T, class D> Tensor<T, D> fmod(S a, const Tensor<T, D>& b, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Fmod, T>(at, detail::literal_tensor<T, D>(a), b); }
template <LiteralOperand S, Differentiable T, class D> Tensor<T, D> remainder(S a, const Tensor<T, D>& b, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Remainder, T>(at, detail::literal_tensor<T, D>(a), b); }
// clang-format on

}  // namespace wengert
