// Statistics: covariances, weighted means, sums and means of what is a number, shares and differences.
#pragma once

#include <limits>

#include "../elementwise/probability.hpp"
#include "../elementwise/cast.hpp"
#include "../matmul.hpp"
#include "../reductions.hpp"
#include "../shape.hpp"

namespace wengert {

namespace detail {

/// The variables of cov and corrcoef as rows, less their means.
template <class T, class D>
Tensor<T, D> centred_rows(std::string_view name, const Tensor<T, D>& x, const Site& at)
{
    const Shape& of = x.shape(name, at);
    if (of.empty() || of.size() > 2)
        fail<ShapeError>(name,
                         "shape " + to_string(of) +
                             " where a vector, or a matrix with a variable in each row, is expected",
                         at);
    const Tensor<T, D> rows = of.size() == 2 ? x : reshape(x, Shape{1, of[0]}, at);
    return rows - mean(rows, {1}, true, at);
}
/// c without axes of one variable.
template <class T, class D> Tensor<T, D> of_variables(const Tensor<T, D>& c, const Tensor<T, D>& x)
{
    return x.dimension() == 2 ? c : reshape(c, Shape(), {});
}

/// x with `value` in place of NaN.
template <class T, class D> Tensor<T, D> nan_as(const Tensor<T, D>& x, T value, const Site& at)
{
    return apply_elementwise<Where, T>(at, isnan(x, at), number<T, D>(value), x);
}
template <class T, class D> Tensor<T, D> numbers_in(const Tensor<T, D>& x, const Site& at)
{
    return cast<T>(!isnan(x, at), at);
}
/// The greatest, or NaN where there is no number.
template <class T, class D> Tensor<T, D> nan_where_none(const Tensor<T, D>& y, const Tensor<bool, D>& none)
{
    return where(none, std::numeric_limits<T>::quiet_NaN(), y);
}

}  // namespace detail

/// The covariances of the rows of x, Σ (xᵢ − x̄ᵢ)(xⱼ − x̄ⱼ) / (n − ddof), shape (rows, rows); of a vector its variance. Throws ShapeError
/// for more than two axes.
template <Differentiable T, class D>
Tensor<T, D> cov(const Tensor<T, D>& x, std::size_t ddof = 1, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const ComposedAt line(at, "cov");
    const Tensor<T, D> c = detail::centred_rows("cov", x, at);
    const auto n = static_cast<T>(c.shape()[1]) - static_cast<T>(ddof);
    return detail::of_variables(matmul(c, transpose(c, at), at) / n, x);
}

/// The correlations of the rows of x, cᵢⱼ / √(cᵢᵢ cⱼⱼ) of their covariances: NaN for a row that is constant. Throws ShapeError for more
/// than two axes.
template <Differentiable T, class D>
Tensor<T, D> corrcoef(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const ComposedAt line(at, "corrcoef");
    const Tensor<T, D> c = detail::centred_rows("corrcoef", x, at);
    const Tensor<T, D> lengths = sqrt(sum(square(c, at), {1}, true, at), at), unit = c / lengths;
    return detail::of_variables(matmul(unit, transpose(unit, at), at), x);
}

/// Σ w x / Σ w along an axis. The weights have the shape of x, or are a vector along the axis. Throws ShapeError for others.
template <Differentiable T, class D>
Tensor<T, D> average(const Tensor<T, D>& x, const std::type_identity_t<Tensor<T, D>>& weights,
                     std::int64_t axis, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Shape &of = x.shape("average", at), &by = weights.shape("average", at);
    const std::size_t k = normalize_axis("average", axis, of, at);
    const bool vector = by.size() == 1 && by[0] == of[k];
    if (!vector && !(by == of))
        fail<ShapeError>("average",
                         "weights of shape " + to_string(by) + " for axis " + std::to_string(axis) +
                             " of shape " + to_string(of) +
                             ": a vector along the axis, or the whole shape, is expected",
                         at);
    const ComposedAt line(at, "average");
    Shape along = Shape::filled(of.size(), 1);
    along[k] = of[k];
    const Tensor<T, D> w = broadcast_to(vector ? reshape(weights, along, at) : weights, of, at);
    return sum(w * x, {axis}, false, at) / sum(w, {axis}, false, at);
}
/// Of all elements.
template <Differentiable T, class D>
Tensor<T, D> average(const Tensor<T, D>& x, const std::type_identity_t<Tensor<T, D>>& weights,
                     Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const ComposedAt line(at, "average");
    if (!(x.shape("average", at) == weights.shape("average", at)))
        fail<ShapeError>(
            "average",
            "weights of shape " + to_string(weights.shape()) + " for shape " + to_string(x.shape()), at);
    return sum(weights * x, at) / sum(weights, at);
}

/// The sum of the elements that are no NaN. Their derivative is 1, that of a NaN 0.
template <Differentiable T, class D>
Tensor<T, D> nansum(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return sum(detail::nan_as(x, T(0), at), at);
}
template <Differentiable T, class D>
Tensor<T, D> nansum(const Tensor<T, D>& x, const AxesArgument& axes, bool keepdims = false,
                    Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return sum(detail::nan_as(x, T(0), at), axes, keepdims, at);
}

/// The mean of the elements that are no NaN; NaN where there is none.
template <Differentiable T, class D>
Tensor<T, D> nanmean(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const ComposedAt line(at, "nanmean");
    return nansum(x, at) / sum(detail::numbers_in(x, at), at);
}
template <Differentiable T, class D>
Tensor<T, D> nanmean(const Tensor<T, D>& x, const AxesArgument& axes, bool keepdims = false,
                     Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const ComposedAt line(at, "nanmean");
    return nansum(x, axes, keepdims, at) / sum(detail::numbers_in(x, at), axes, keepdims, at);
}

/// The greatest element that is no NaN; NaN where there is none. Throws ShapeError for an axis without elements.
template <Differentiable T, class D>
Tensor<T, D> nanmax(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const ComposedAt line(at, "nanmax");
    const T least = -std::numeric_limits<T>::infinity();
    return detail::nan_where_none(amax(detail::nan_as(x, least, at), at), all(isnan(x, at), at));
}
template <Differentiable T, class D>
Tensor<T, D> nanmax(const Tensor<T, D>& x, const AxesArgument& axes, bool keepdims = false,
                    Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const ComposedAt line(at, "nanmax");
    const T least = -std::numeric_limits<T>::infinity();
    return detail::nan_where_none(amax(detail::nan_as(x, least, at), axes, keepdims, at),
                                  all(isnan(x, at), axes, keepdims, at));
}
/// The least element that is no NaN, as nanmax.
template <Differentiable T, class D>
Tensor<T, D> nanmin(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const ComposedAt line(at, "nanmin");
    return -nanmax(-x, at);
}
template <Differentiable T, class D>
Tensor<T, D> nanmin(const Tensor<T, D>& x, const AxesArgument& axes, bool keepdims = false,
                    Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const ComposedAt line(at, "nanmin");
    return -nanmax(-x, axes, keepdims, at);
}

/// The greatest element less the least, along an axis or of all.
template <Differentiable T, class D>
Tensor<T, D> ptp(const Tensor<T, D>& x, const AxesArgument& axes, bool keepdims = false,
                 Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const ComposedAt line(at, "ptp");
    return amax(x, axes, keepdims, at) - amin(x, axes, keepdims, at);
}
template <Differentiable T, class D>
Tensor<T, D> ptp(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const ComposedAt line(at, "ptp");
    return amax(x, at) - amin(x, at);
}

/// How many elements are not 0; a NaN is one of them.
template <class T, class D>
Tensor<std::int64_t, D> count_nonzero(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const ComposedAt line(at, "count_nonzero");
    return sum(cast<std::int64_t>(x != T(0), at), at);
}
template <class T, class D>
Tensor<std::int64_t, D> count_nonzero(const Tensor<T, D>& x, const AxesArgument& axes, bool keepdims = false,
                                      Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const ComposedAt line(at, "count_nonzero");
    return sum(cast<std::int64_t>(x != T(0), at), axes, keepdims, at);
}

}  // namespace wengert
