// The bodies of slices.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../../base/separate.hpp"
#include "../slices.hpp"

namespace wengert {

namespace detail {

WENGERT_INLINE void index_out_of_range(std::string_view primitive, std::int64_t i, std::size_t axis,
                                       const Shape& shape, const Site& at)
{
    fail<IndexError>(primitive,
                     "index " + std::to_string(i) + " is out of range for axis " + std::to_string(axis) +
                         " of shape " + to_string(shape),
                     at);
}

WENGERT_INLINE void too_many_indices(std::string_view primitive, std::size_t n, const Shape& shape,
                                     const Site& at)
{
    fail<IndexError>(primitive, std::to_string(n) + " indices are too many for shape " + to_string(shape),
                     at);
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

WENGERT_INLINE Selection resolve(const Slice* slices, std::size_t n, const Shape& shape, const Site& at)
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
