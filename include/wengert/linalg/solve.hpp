// Linear systems with square matrices, inverses and powers.
#pragma once

#include "small_solve.hpp"

namespace wengert::linalg {

/// X with A X = B. b of rank 1 is a vector; batches are broadcast. Throws ShapeError where the shapes do not fit, NumericError where
/// A is singular to working precision.
template <Differentiable T, class D>
Tensor<T, D> solve(const Tensor<T, D>& a, const std::type_identity_t<Tensor<T, D>>& b,
                   Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_square("solve", a, at);
    detail::demand_right_side("solve", a, a.shape().back(), b, at);
    return detail::with_columns(b, at, [&](const Tensor<T, D>& x) { return detail::solved(a, x, at); });
}

/// A⁻¹, as solve(a, unit matrix). Throws NumericError where A is singular to working precision.
template <Differentiable T, class D>
Tensor<T, D> inv(const Tensor<T, D>& a, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_square("inv", a, at);
    return detail::solved(a, detail::unit_beside(a, at), at);
}

/// Aⁿ by repeated squaring; n < 0 is a power of the inverse, n = 0 the unit matrix. Throws NumericError where n < 0 and A is
/// singular.
template <Differentiable T, class D>
Tensor<T, D> matrix_power(const Tensor<T, D>& a, std::int64_t n,
                          Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_square("matrix_power", a, at);
    const ComposedAt line(at);
    if (n == 0) return zeros_like(a, at) + detail::unit_beside(a, at);
    Tensor<T, D> power = n < 0 ? inv(a, at) : a, result;
    auto left = n < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
    for (bool first = true;; power = matmul(power, power, at)) {
        if (left & 1) result = first ? power : matmul(result, power, at);
        first = first && !(left & 1);
        left >>= 1;
        if (left == 0) return result;
    }
}

}  // namespace wengert::linalg
