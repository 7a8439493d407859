// NumPy's ways to arrange axes and copies, composed of views and index programs: moveaxis, rot90, meshgrid. (tile is in tile.hpp.)
#pragma once

#include <array>

#include "../moves.hpp"
#include "tile.hpp"

namespace wengert {

namespace detail {

/// The order of axes in which axis from[k] stands at to[k] and the others follow each other as before.
inline Axes moved_axes(const Axes& from, const Axes& to, std::size_t rank)
{
    Axes order = Axes::filled(rank, -1);
    for (std::size_t k = 0; k < from.size(); ++k) order[static_cast<std::size_t>(to[k])] = from[k];
    std::size_t next = 0;
    for (std::int64_t a = 0; a < static_cast<std::int64_t>(rank); ++a) {
        if (std::find(from.begin(), from.end(), a) != from.end()) continue;
        while (order[next] >= 0) ++next;
        order[next] = a;
    }
    return order;
}

}  // namespace detail

/// x with axis from[k] at place to[k]; the other axes keep their order. A view. Throws ShapeError for an axis out of range or
/// given twice, and where there is not one place for each axis.
template <class T, class D>
Tensor<T, D> moveaxis(const Tensor<T, D>& x, const AxesArgument& from, const AxesArgument& to,
                      Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Shape& shape = x.shape("moveaxis", at);
    if (from.size() != to.size())
        fail<ShapeError>("moveaxis", "axes " + to_string(from) + " to " + to_string(to), at);
    const Axes a = detail::axes_in("moveaxis", from, shape, true, at),
               b = detail::axes_in("moveaxis", to, shape, true, at);
    return transpose(x, detail::moved_axes(a, b, shape.size()), at);
}

/// x turned by `quarters` times 90 degrees in the plane of two axes, from the first towards the second. Throws ShapeError where
/// there are not two different axes.
template <class T, class D>
Tensor<T, D> rot90(const Tensor<T, D>& x, std::int64_t quarters = 1, const Axes& axes = {0, 1},
                   Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Axes plane = detail::axes_in("rot90", axes, x.shape("rot90", at), true, at);
    if (plane.size() != 2)
        fail<ShapeError>("rot90", "axes " + to_string(axes) + " where two are expected", at);
    switch (quarters & 3) {
    case 1: return swapaxes(flip(x, plane[1], at), plane[0], plane[1], at);
    case 2: return flip(x, plane, at);
    case 3: return flip(swapaxes(x, plane[0], plane[1], at), plane[1], at);
    default: return x;
    }
}

namespace detail {

template <class T, class D, std::size_t n>
std::array<Tensor<T, D>, n> grid(const std::array<const Tensor<T, D>*, n>& axes, const Site& at)
{
    Shape shape;
    for (const Tensor<T, D>* a : axes) {
        if (a->shape("meshgrid", at).size() != 1)
            fail<ShapeError>("meshgrid", "shape " + to_string(a->shape()) + " where a vector is expected",
                             at);
        shape.push_back(a->shape()[0]);
    }
    const auto along = [&](std::size_t k) {
        Shape line = Shape::filled(n, 1);
        line[k] = shape[k];
        return broadcast_to(reshape(*axes[k], line, at), shape, at);
    };
    return [&]<std::size_t... k>(std::index_sequence<k...>) {
        return std::array<Tensor<T, D>, n>{along(k)...};
    }(std::make_index_sequence<n>());
}

}  // namespace detail

/// The coordinates of a grid, one array for each axis: the k-th has shape (n₀, n₁, …) and the elements of vector k along axis k.
/// This is numpy.meshgrid with indexing="ij". Throws ShapeError for an operand that is no vector.
template <class T, class D>
std::array<Tensor<T, D>, 2> meshgrid(const Tensor<T, D>& x, const std::type_identity_t<Tensor<T, D>>& y,
                                     Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::grid<T, D, 2>({&x, &y}, at);
}
template <class T, class D>
std::array<Tensor<T, D>, 3> meshgrid(const Tensor<T, D>& x, const std::type_identity_t<Tensor<T, D>>& y,
                                     const std::type_identity_t<Tensor<T, D>>& z,
                                     Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::grid<T, D, 3>({&x, &y, &z}, at);
}

}  // namespace wengert
