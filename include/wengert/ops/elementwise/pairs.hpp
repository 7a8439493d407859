// Functions of two numbers and more: powers, angles, selection by size; the operators' functions by name. The rules are in
// functions/rules/pairs.hpp.
#pragma once

#include "../../functions/rules/pairs.hpp"
#include "math.hpp"

namespace wengert {

// clang-format off
/// The larger one; NaN if either is. Two equal ones share the gradient, half each.
template <Scalar T, class D> Tensor<T, D> maximum(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return apply_elementwise<Maximum, T>(b.at, a, *b); }
/// The smaller one; NaN if either is. Two equal ones share the gradient, half each.
template <Scalar T, class D> Tensor<T, D> minimum(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return apply_elementwise<Minimum, T>(b.at, a, *b); }
/// x limited to [lo, hi]; hi wins where lo > hi. The gradient is 1 inside and at the bounds, 0 outside.
template <Scalar T, class D>
Tensor<T, D> clip(const Tensor<T, D>& x, const std::type_identity_t<Operand<T, D>>& lo, const std::type_identity_t<Operand<T, D>>& hi)
{
    return apply_elementwise<Clip, T>(hi.at, x, *lo, *hi);
}

template <Scalar T, class D, LiteralOperand<T> S> Tensor<T, D> maximum(const S& a, const Tensor<T, D>& b, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Maximum, T>(at, detail::literal_tensor<T, D>(a, at), b); }
template <Scalar T, class D, LiteralOperand<T> S> Tensor<T, D> minimum(const S& a, const Tensor<T, D>& b, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Minimum, T>(at, detail::literal_tensor<T, D>(a, at), b); }

// The operators by name.
template <Scalar T, class D> Tensor<T, D> add(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return ops::add<T>(a, *b, b.at); }
template <Scalar T, class D> Tensor<T, D> subtract(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return ops::subtract<T>(a, *b, b.at); }
template <Scalar T, class D> Tensor<T, D> multiply(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return ops::multiply<T>(a, *b, b.at); }
template <Scalar T, class D> Quotient<T, D> divide(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return ops::divide<T>(a, *b, b.at); }
template <Scalar T, class D> Tensor<T, D> negative(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return ops::negative<T>(x, at); }
template <Scalar T, class D, LiteralOperand<T> S> Tensor<T, D> add(const S& a, const Tensor<T, D>& b, Site at = {__builtin_FILE(), __builtin_LINE()}) { return ops::add<T>(detail::literal_tensor<T, D>(a, at), b, at); }
template <Scalar T, class D, LiteralOperand<T> S> Tensor<T, D> subtract(const S& a, const Tensor<T, D>& b, Site at = {__builtin_FILE(), __builtin_LINE()}) { return ops::subtract<T>(detail::literal_tensor<T, D>(a, at), b, at); }
template <Scalar T, class D, LiteralOperand<T> S> Tensor<T, D> multiply(const S& a, const Tensor<T, D>& b, Site at = {__builtin_FILE(), __builtin_LINE()}) { return ops::multiply<T>(detail::literal_tensor<T, D>(a, at), b, at); }
template <Scalar T, class D, LiteralOperand<T> S> Quotient<T, D> divide(const S& a, const Tensor<T, D>& b, Site at = {__builtin_FILE(), __builtin_LINE()}) { return ops::divide<T>(detail::literal_tensor<T, D>(a, at), b, at); }

/// a < b.
template <class T, class D> Tensor<bool, D> less(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return ops::less<T>(a, *b, b.at); }
/// a ≤ b.
template <class T, class D> Tensor<bool, D> less_equal(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return ops::less_equal<T>(a, *b, b.at); }
/// a > b.
template <class T, class D> Tensor<bool, D> greater(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return ops::less<T>(*b, a, b.at); }
/// a ≥ b.
template <class T, class D> Tensor<bool, D> greater_equal(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return ops::less_equal<T>(*b, a, b.at); }
/// a = b; a NaN equals nothing.
template <class T, class D> Tensor<bool, D> equal(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return ops::equal<T>(a, *b, b.at); }
/// a ≠ b.
template <class T, class D> Tensor<bool, D> not_equal(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return ops::not_equal<T>(a, *b, b.at); }
/// a and b; what is not 0 is true.
template <class T, class D> Tensor<bool, D> logical_and(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return ops::logical_and<T>(a, *b, b.at); }
/// a or b.
template <class T, class D> Tensor<bool, D> logical_or(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return ops::logical_or<T>(a, *b, b.at); }
/// not x.
template <class T, class D> Tensor<bool, D> logical_not(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return ops::logical_not<T>(x, at); }
/// NumPy's words for the same, of truth values alone.
template <class D> Tensor<bool, D> operator&(const Tensor<bool, D>& a, const std::type_identity_t<Operand<bool, D>>& b) { return ops::logical_and<bool>(a, *b, b.at); }
template <class D> Tensor<bool, D> operator|(const Tensor<bool, D>& a, const std::type_identity_t<Operand<bool, D>>& b) { return ops::logical_or<bool>(a, *b, b.at); }
template <class D> Tensor<bool, D> operator~(const Tensor<bool, D>& x) { return ops::logical_not<bool>(x, {}); }
// clang-format on

}  // namespace wengert
