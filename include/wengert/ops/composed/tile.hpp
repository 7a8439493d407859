// `tile` has two meanings: of arrays it is numpy.tile, as an option it is the backend that runs graphs tile by tile.
#pragma once

#include "../sum.hpp"

namespace wengert {

struct Backend;

namespace detail {

/// The extents of a shape as one of `rank` axes, with ones in front.
inline Extents with_ones_in_front(const Extents& shape, std::size_t rank)
{
    Extents all = Extents::filled(rank - shape.size(), 1);
    for (const std::int64_t n : shape) all.push_back(n);
    return all;
}

template <class T, class D> Tensor<T, D> tiled(const Tensor<T, D>& x, const Extents& times, const Site& at)
{
    const Shape& own = x.shape("tile", at);
    const std::size_t rank = std::max(own.size(), times.size());
    const Shape shape = with_ones_in_front(own, rank);
    const Extents copies = with_ones_in_front(times, rank);
    Shape apart, side_by_side, to = shape;
    for (std::size_t k = 0; k < rank; ++k) {
        if (copies[k] < 0 || __builtin_mul_overflow(shape[k], copies[k], &to[k]))
            fail<ShapeError>("tile", to_string(times) + " copies of shape " + to_string(own), at);
        apart.push_back(1);
        apart.push_back(shape[k]);
        side_by_side.push_back(copies[k]);
        side_by_side.push_back(shape[k]);
    }
    check_shape("tile", to, at);
    return reshape(broadcast_to(reshape(x, apart, at), side_by_side, at), to, at);
}

}  // namespace detail

/// The type of `tile`.
struct Tile {
    template <class T, class D>
    Tensor<T, D> operator()(const Tensor<T, D>& x, const Extents& times,
                            Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        return detail::tiled(x, times, at);
    }
    /// The default backend: kernels tile by tile, no compiler needed. (graph/freeze/compiler.hpp)
    constexpr operator const Backend&() const noexcept;
};
/// tile(x, times): x laid side by side times[k] times along each axis; the shorter of x's shape and `times` has ones in front. As an
/// option, `{.backend = wengert::tile}`, it is the default backend. Throws ShapeError for a negative number.
inline constexpr Tile tile{};

}  // namespace wengert
