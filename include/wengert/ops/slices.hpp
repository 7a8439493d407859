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

    Kind kind = Kind::none;
    Bound start = 0, stop = 0;
    std::int64_t step = 1;
};

/// From `first` up to, but without, `last`, as in NumPy: negative ends count from the end, ends outside are cut off.
constexpr Slice range(Bound first, Bound last, std::int64_t step = 1) { return {first, last, step}; }
constexpr Slice range(Bound last) { return {0, last, 1}; }
/// A whole axis.
constexpr Slice all() { return {placeholders::_, placeholders::_, 1}; }
/// A new axis of extent 1.
constexpr Slice newaxis() { return Slice(Slice::Kind::newaxis); }
/// As many whole axes as are left.
constexpr Slice ellipsis() { return Slice(Slice::Kind::ellipsis); }

namespace detail {

[[noreturn]] inline void index_out_of_range(std::string_view primitive, std::int64_t i, std::size_t axis,
                                            const Shape& shape, const Site& at)
{
    fail<IndexError>(primitive,
                     "index " + std::to_string(i) + " is out of range for axis " + std::to_string(axis) +
                         " of shape " + to_string(shape),
                     at);
}

[[noreturn]] inline void too_many_indices(std::string_view primitive, std::size_t n, const Shape& shape,
                                          const Site& at)
{
    fail<IndexError>(primitive, std::to_string(n) + " indices are too many for shape " + to_string(shape),
                     at);
}

/// An index in [-extent, extent) made non-negative.
inline std::int64_t normalize_index(std::string_view primitive, std::int64_t i, std::size_t axis,
                                    const Shape& shape, const Site& at)
{
    const std::int64_t extent = shape[axis];
    if (i < -extent || i >= extent) index_out_of_range(primitive, i, axis, shape, at);
    return i < 0 ? i + extent : i;
}

/// NumPy's rule for a range over an axis.
inline void keep_range(Selection& out, const Slice& s, std::size_t axis, const Site& at)
{
    const std::int64_t n = out.of[axis], step = s.step;
    if (step == 0) fail<IndexError>("view", "a range's step cannot be 0", at);
    const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
    const auto place = [&](const Bound& b, std::int64_t open) {
        return b.open ? open : std::clamp(b.value < 0 ? b.value + n : b.value, low, high);
    };
    const std::int64_t first = place(s.start, step > 0 ? low : high),
                       last = place(s.stop, step > 0 ? high : low);
    const std::int64_t span = step > 0 ? last - first : first - last;
    const std::int64_t count =
        span <= 0 ? 0
                  : 1 + static_cast<std::int64_t>(static_cast<std::uint64_t>(span - 1) /
                                                  (step > 0 ? static_cast<std::uint64_t>(step)
                                                            : -static_cast<std::uint64_t>(step)));
    out.keep(axis, first, step, count);
}

/// How many subscripts there are before the first that was not given.
inline std::size_t given(const Slice (&slices)[6])
{
    std::size_t n = 0;
    while (n < 6 && slices[n].kind != Slice::Kind::none) ++n;
    return n;
}

/// Which elements of an array the subscripts name. Throws IndexError.
inline Selection resolve(const Slice* slices, std::size_t n, const Shape& shape, const Site& at)
{
    std::size_t used = 0, dots = 0;
    for (std::size_t k = 0; k < n; ++k) {
        used += slices[k].kind == Slice::Kind::index || slices[k].kind == Slice::Kind::range;
        dots += slices[k].kind == Slice::Kind::ellipsis;
    }
    if (used > shape.size()) too_many_indices("view", used, shape, at);
    if (dots > 1) fail<IndexError>("view", "more than one ellipsis()", at);
    Selection out(Selection::Empty{}, shape);
    std::size_t axis = 0;
    const auto keep_whole = [&](std::size_t until) {
        for (; axis < until; ++axis) out.keep(axis, 0, 1, shape[axis]);
    };
    for (std::size_t k = 0; k < n; ++k) {
        const Slice& s = slices[k];
        if (s.kind == Slice::Kind::newaxis)
            out.insert();
        else if (s.kind == Slice::Kind::ellipsis)
            keep_whole(axis + shape.size() - used);
        else if (s.kind == Slice::Kind::range)
            keep_range(out, s, axis, at), ++axis;
        else
            out.start[axis] = normalize_index("view", s.start.value, axis, shape, at), ++axis;
    }
    keep_whole(shape.size());
    return out;
}

}  // namespace detail

}  // namespace wengert
