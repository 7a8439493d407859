// What is where: places of elements that hold, bins, closeness; diagonals and differences along an axis.
#pragma once

#include <algorithm>
#include <vector>

#include "../composed/order.hpp"
#include "../creation.hpp"
#include "../elementwise/whole.hpp"
#include "../moves.hpp"
#include "../shape.hpp"
#include "counts.hpp"

namespace wengert {

/// The places of true elements, in row-major order, as numbers of a vector.
struct TruePlaces {
    static constexpr std::string_view name = "flatnonzero";
    static constexpr bool flat = true, infallible = true;
    template <class> Ref<Block> value(const Ref<Block>& of, const Site&) const
    {
        const Ref<Block> holds = contiguous(of);
        const bool* const h = holds->template as<bool>();
        auto y = make_block(DType::int64, Shape{std::count(h, h + holds->count, true)});
        std::int64_t* next = y->template as<std::int64_t>();
        for (std::size_t k = 0; k < holds->count; ++k)
            if (h[k]) *next++ = static_cast<std::int64_t>(k);
        return y;
    }
};

namespace detail {

template <class T, class D> Tensor<bool, D> holds(const Tensor<T, D>& x)
{
    if constexpr (std::is_same_v<T, bool>)
        return x;
    else
        return x != T(0);
}
template <class T, class D>
Tensor<std::int64_t, D> true_places(std::string_view name, const Tensor<T, D>& x, const Site& at)
{
    refuse_in_graphs(name, x, "select with where, or call it outside", at);
    return apply<TruePlaces, std::int64_t>({}, at, holds(x));
}

}  // namespace detail

/// The places of the elements that are not 0, in row-major order, in x as a vector. Throws TapeError in a frozen function, where shapes
/// are fixed.
template <class T, class D>
Tensor<std::int64_t, D> flatnonzero(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const ComposedAt line(at, "flatnonzero");
    return detail::true_places("flatnonzero", x, at);
}
/// Those places as indices, a vector of them for each axis. Throws as flatnonzero.
template <class T, class D>
std::vector<Tensor<std::int64_t, D>> nonzero(const Tensor<T, D>& x,
                                             Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const ComposedAt line(at, "nonzero");
    Tensor<std::int64_t, D> rest = detail::true_places("nonzero", x, at);
    std::vector<Tensor<std::int64_t, D>> indices(x.dimension());
    for (std::size_t d = indices.size(); d-- > 0;) {
        const std::int64_t n = x.shape()[d];
        indices[d] = mod(rest, n);
        rest = floor_divide(rest, n);
    }
    return indices;
}
/// The elements of x where `mask`, of its shape, holds: a vector, in row-major order. Throws ShapeError for another shape, TapeError in a
/// frozen function.
template <class T, class D>
Tensor<T, D> extract(const std::type_identity_t<Tensor<bool, D>>& mask, const Tensor<T, D>& x,
                     Site at = {__builtin_FILE(), __builtin_LINE()})
{
    if (!(mask.shape("extract", at) == x.shape("extract", at)))
        fail<ShapeError>("extract",
                         "a mask of shape " + to_string(mask.shape()) + " for shape " + to_string(x.shape()),
                         at);
    const ComposedAt line(at, "extract");
    return take(flatten(x, at), detail::true_places("extract", mask, at), 0, at);
}

/// The bin of each x between ascending edges: the number of edges that are not greater, so 0 is below all of them. Throws ShapeError where
/// edges are no vector.
template <class T, class D>
Tensor<std::int64_t, D> digitize(const Tensor<T, D>& x, const std::type_identity_t<Tensor<T, D>>& edges,
                                 bool right = false, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const ComposedAt line(at, "digitize");
    return searchsorted(edges, x, !right, at);
}

/// True where |a − b| ≤ atol + rtol |b|, or both are one infinity; a NaN is close to nothing.
template <Differentiable T, class D>
Tensor<bool, D> isclose(const Tensor<T, D>& a, const std::type_identity_t<Tensor<T, D>>& b,
                        double rtol = 1e-5, double atol = 1e-8,
                        Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const ComposedAt line(at, "isclose");
    const Tensor<T, D> most = static_cast<T>(atol) + static_cast<T>(rtol) * abs(b, at);
    return (a == b) || (is_finite(b, at) && abs(a - b, at) <= most);
}

/// A matrix with x on its k-th diagonal, above the main one for k > 0, and 0 elsewhere. Throws ShapeError where x is no vector.
template <class T, class D>
Tensor<T, D> diag(const Tensor<T, D>& x, std::int64_t k = 0, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Shape& of = x.shape("diag", at);
    if (of.size() != 1)
        fail<ShapeError>(
            "diag",
            "shape " + to_string(of) + " where a vector is expected; diagonal(x, k) is that of a matrix", at);
    const std::int64_t above = std::max<std::int64_t>(k, 0), below = above - k;
    Shape to{of[0] + above + below, of[0] + above + below};
    check_shape("diag", to, at);
    const Tensor<T, D> y = apply<EmbedDiagonal, T>(EmbedDiagonal{Shape{of[0], of[0]}}, at, x);
    return k == 0 ? y : pad(y, Padding{{below, above}, {above, below}}, 0.0, at);
}

namespace detail {

/// `count` elements of an axis from `first` on, a view.
template <class T, class D>
Tensor<T, D> part_of(const Tensor<T, D>& x, std::size_t axis, std::int64_t first, std::int64_t count,
                     const Site& at)
{
    return apply<Split, T>(Split{{Selection::part(x.shape(), axis, first, count)}}, at, x);
}

/// Throws ShapeError where an axis has less than two elements, and gives that axis.
inline std::size_t axis_of_gradient(std::int64_t axis, const Shape& of, const Site& at)
{
    const std::size_t k = normalize_axis("gradient", axis, of, at);
    if (of[k] < 2)
        fail<ShapeError>("gradient",
                         "axis " + std::to_string(axis) + " of shape " + to_string(of) +
                             " where at least two elements are expected",
                         at);
    return k;
}

/// The slope at each of n points from the n − 1 slopes between them: at the ends the only one, else both by `mean_of(left, right)`.
template <class T, class D, class Mean>
Tensor<T, D> slopes_at_points(const Tensor<T, D>& between, std::size_t k, const Mean& mean_of, const Site& at)
{
    const std::int64_t n = between.shape()[k];
    const Tensor<T, D> inner = mean_of(part_of(between, k, 0, n - 1, at), part_of(between, k, 1, n - 1, at));
    return concatenate({part_of(between, k, 0, 1, at), inner, part_of(between, k, n - 1, 1, at)},
                       static_cast<std::int64_t>(k), at);
}

}  // namespace detail

/// ∂f/∂x along an axis by differences, at points that are `distance` apart: from both neighbours, exact for parabolas, and from one at the
/// ends. This is numpy.gradient; grad differentiates functions. Throws ShapeError for an axis out of range or of less than two elements.
template <Differentiable T, class D>
Tensor<T, D> gradient(const Tensor<T, D>& f, double distance = 1, std::int64_t axis = -1,
                      Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const std::size_t k = detail::axis_of_gradient(axis, f.shape("gradient", at), at);
    const ComposedAt line(at, "gradient");
    const Tensor<T, D> between = diff(f, axis, 1, at) / static_cast<T>(distance);
    const auto middle = [](const Tensor<T, D>& left, const Tensor<T, D>& right) {
        return T(0.5) * (left + right);
    };
    return detail::slopes_at_points(between, k, middle, at);
}
/// At points x, a vector with an element for each along the axis. Throws ShapeError for another length too.
template <Differentiable T, class D>
Tensor<T, D> gradient(const Tensor<T, D>& f, const std::type_identity_t<Tensor<T, D>>& x,
                      std::int64_t axis = -1, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const std::size_t k = detail::axis_of_gradient(axis, f.shape("gradient", at), at);
    const std::int64_t n = f.shape()[k];
    if (!(x.shape("gradient", at) == Shape{n}))
        fail<ShapeError>("gradient",
                         "points of shape " + to_string(x.shape()) + " for axis " + std::to_string(axis) +
                             " of shape " + to_string(f.shape()),
                         at);
    const ComposedAt line(at, "gradient");
    Shape along = Shape::filled(f.dimension(), 1);
    along[k] = n - 1;
    const Tensor<T, D> widths = reshape(diff(x, 0, 1, at), along, at);
    const Tensor<T, D> before = detail::part_of(widths, k, 0, n - 2, at),
                       behind = detail::part_of(widths, k, 1, n - 2, at);
    const auto weighted = [&](const Tensor<T, D>& left, const Tensor<T, D>& right) {
        return (behind * left + before * right) / (before + behind);
    };
    return detail::slopes_at_points(Tensor<T, D>(diff(f, axis, 1, at) / widths), k, weighted, at);
}

}  // namespace wengert
