// Norms of vectors and matrices, and condition numbers.
#pragma once

#include "solve.hpp"
#include "svd.hpp"

namespace wengert::linalg {

/// Norms of matrices: √Σ a², the sum of the singular values, the largest and the least one, the largest sum of |a| of a column,
/// and of a row.
enum class MatrixNorm { frobenius, nuclear, two, least, one, infinity };

/// The 2-norm of all elements; of a matrix that of Frobenius. At the origin the derivative is taken to be 0.
template <Differentiable T, class D>
Tensor<T, D> norm(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return wengert::norm(x, at);
}

/// (Σ |x|ᵖ)^(1/p) over axes; p = ∞ and −∞ give the largest and the least |x|, 0 the number of those that are not 0. At the
/// origin the derivative is taken to be 0.
template <Differentiable T, class D>
Tensor<T, D> norm(const Tensor<T, D>& x, double p, const AxesArgument& axes, bool keepdims = false,
                  Site at = {__builtin_FILE(), __builtin_LINE()})
{
    static_cast<void>(x.shape("norm", at));
    const ComposedAt line(at, "norm");
    if (p == 2) return wengert::norm(x, static_cast<const Axes&>(axes), keepdims, at);
    const Tensor<T, D> size = abs(x);
    if (p == 1) return sum(size, axes, keepdims, at);
    if (p == std::numeric_limits<double>::infinity()) return amax(size, axes, keepdims, at);
    if (p == -std::numeric_limits<double>::infinity()) return amin(size, axes, keepdims, at);
    if (p == 0) return sum(cast<T>(x != zeros_like(x, at), at), axes, keepdims, at);
    if (std::isnan(p)) fail<ShapeError>("norm", "there is no norm of order NaN", at);
    const Tensor<T, D> most = stop_gradient(amax(size, axes, true, at));
    const auto scales = logical_and(most > zeros_like(most, at), is_finite(most, at));
    const Tensor<T, D> scale = where(scales, most, ones_like(most, at));
    const Tensor<T, D> total = sum(pow(size / scale, T(p)), axes, true, at);
    const auto origin = most == zeros_like(most, at);
    const Tensor<T, D> y =
        where(origin, zeros_like(most, at), scale * pow(where(origin, ones_like(most, at), total), T(1 / p)));
    return keepdims ? y : squeeze(y, axes, at);
}

/// A norm of each matrix. Derivatives of those of singular values exist where svdvals() has them. Throws ShapeError for fewer than two
/// axes, NumericError where A is not finite and singular values are needed.
template <Differentiable T, class D>
Tensor<T, D> norm(const Tensor<T, D>& a, MatrixNorm kind, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_matrices("norm", a, at);
    const ComposedAt line(at, "norm");
    if (kind == MatrixNorm::frobenius) return wengert::norm(a, Axes{-2, -1}, false, at);
    if (kind == MatrixNorm::one) return amax(sum(abs(a), Axes{-2}, false, at), Axes{-1}, false, at);
    if (kind == MatrixNorm::infinity) return amax(sum(abs(a), Axes{-1}, false, at), Axes{-1}, false, at);
    const Tensor<T, D> s = svdvals(a, at);
    if (kind == MatrixNorm::nuclear) return sum(s, Axes{-1}, false, at);
    return kind == MatrixNorm::two ? amax(s, Axes{-1}, false, at) : amin(s, Axes{-1}, false, at);
}

/// The condition number: the largest singular value over the least, infinite where that is 0.
template <Differentiable T, class D>
Tensor<T, D> cond(const Tensor<T, D>& a, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_matrices("cond", a, at);
    const ComposedAt line(at, "cond");
    const Tensor<T, D> s = svdvals(a, at), most = amax(s, Axes{-1}, false, at),
                       least = amin(s, Axes{-1}, false, at);
    return where(most == T(0), full_like(most, std::numeric_limits<T>::infinity()), most / least);
}
/// ‖A‖ ‖A⁻¹‖ in another norm of square matrices. Throws NumericError where A is singular.
template <Differentiable T, class D>
Tensor<T, D> cond(const Tensor<T, D>& a, MatrixNorm kind, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_square("cond", a, at);
    const ComposedAt line(at, "cond");
    return norm(a, kind, at) * norm(inv(a, at), kind, at);
}

}  // namespace wengert::linalg
