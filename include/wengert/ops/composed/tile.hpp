// `tile` has two meanings: of arrays it is numpy.tile, as an option it is the backend that runs graphs tile by tile.
#pragma once

#include "../sum.hpp"

namespace wengert {

struct Backend;

namespace detail {

template <class T, class D> Tensor<T, D> tiled(const Tensor<T, D>& x, const Extents& times, const Site& at)
{
    const Shape& shape = x.shape("tile", at);
    const std::size_t rank = std::max(shape.size(), times.size());
    Shape apart, copies, to;
    for (std::size_t k = 0; k < rank; ++k) {
        const std::int64_t n = k + shape.size() < rank ? 1 : shape[k + shape.size() - rank];
        const std::int64_t r = k + times.size() < rank ? 1 : times[k + times.size() - rank];
        to.push_back(n);
        if (r < 0 || __builtin_mul_overflow(n, r, &to[k]))
            fail<ShapeError>("tile", to_string(times) + " copies of shape " + to_string(shape), at);
        apart.push_back(1);
        apart.push_back(n);
        copies.push_back(r);
        copies.push_back(n);
    }
    check_shape("tile", to, at);
    return reshape(broadcast_to(reshape(x, apart, at), copies, at), to, at);
}

}  // namespace detail

/// What `tile` is.
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
