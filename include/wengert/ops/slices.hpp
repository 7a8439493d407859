// What can stand between the parentheses of view(x, …): integers, ranges, all(), newaxis(), ellipsis().
#pragma once

#include "selection.hpp"

namespace wengert {

/// An open end of a range: range(_, 3), range(2, _), range(_, _, -1).
namespace placeholders {
struct Open {};
inline constexpr Open _{};
}  // namespace placeholders

/// An end of a range.
struct Bound {
    constexpr Bound(placeholders::Open) : open(true) {}
    template <class I>
        requires std::is_integral_v<I>
    constexpr Bound(I i) : value(static_cast<std::int64_t>(i))
    {}
    std::int64_t value = 0;
    bool open = false;
};

/// One subscript of a view.
struct Slice {
    enum class Kind : std::uint8_t { none, index, range, newaxis, ellipsis };
    constexpr Slice() = default;
    constexpr explicit Slice(Kind k) : kind(k) {}
    /// One position; the result lacks the axis.
    template <class I>
        requires(std::is_integral_v<I> && !std::is_same_v<I, bool>)
    constexpr Slice(I i) : kind(Kind::index), start(static_cast<std::int64_t>(i))
    {}
    constexpr Slice(Bound first, Bound last, std::int64_t by)
        : kind(Kind::range), start(first), stop(last), step(by)
    {}
    /// A whole axis: view(x, _, 1) is x[:, 1] of NumPy.
    constexpr Slice(placeholders::Open open) : Slice(open, open, 1) {}

    Kind kind = Kind::none;
    Bound start = 0, stop = 0;
    std::int64_t step = 1;
};

/// From `first` up to, but without, `last`, as in NumPy: negative ends count from the end, ends outside are cut off.
constexpr Slice range(Bound first, Bound last, std::int64_t step = 1) { return {first, last, step}; }
constexpr Slice range(Bound last) { return {0, last, 1}; }
/// A whole axis, as is `placeholders::_`.
constexpr Slice all() { return {placeholders::_, placeholders::_, 1}; }
/// A new axis of extent 1.
constexpr Slice newaxis() { return Slice(Slice::Kind::newaxis); }
/// As many whole axes as are left.
constexpr Slice ellipsis() { return Slice(Slice::Kind::ellipsis); }

namespace detail {

[[noreturn]] void index_out_of_range(std::string_view primitive, std::int64_t i, std::size_t axis,
                                     const Shape& shape, const Site& at);

[[noreturn]] void too_many_indices(std::string_view primitive, std::size_t n, const Shape& shape,
                                   const Site& at);

/// An index in [-extent, extent) made non-negative.
inline std::int64_t normalize_index(std::string_view primitive, std::int64_t i, std::size_t axis,
                                    const Shape& shape, const Site& at)
{
    const std::int64_t extent = shape[axis];
    if (i < -extent || i >= extent) index_out_of_range(primitive, i, axis, shape, at);
    return i < 0 ? i + extent : i;
}

/// How many subscripts there are before the first that was not given.
inline std::size_t given(const Slice (&slices)[6])
{
    std::size_t n = 0;
    while (n < 6 && slices[n].kind != Slice::Kind::none) ++n;
    return n;
}

/// Which elements of an array the subscripts name. Throws IndexError.
Selection resolve(const Slice* slices, std::size_t n, const Shape& shape, const Site& at);

}  // namespace detail

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/slices.ipp"
#endif
