// What shape rules ask of parameters and operands; each question throws a ShapeError that says what does not fit.
#pragma once

#include <algorithm>
#include <vector>

#include "../../ops/reductions.hpp"
#include "../../ops/view.hpp"
#include "value_type.hpp"

namespace wengert {

namespace detail {

inline void demand(bool fits, const std::string& otherwise)
{
    if (!fits) throw ShapeError(otherwise);
}
inline const Shape& same_shape(const Shape& a, const Shape& b, const char* what)
{
    demand(a == b, std::string(what) + " of shape " + to_string(b) + " where " + to_string(a) + " is needed");
    return a;
}
/// The parameters name the shape that the operand has.
inline const Shape& stated(const Shape& parameter, const Shape& operand)
{
    demand(parameter == operand,
           "the parameters say shape " + to_string(parameter) + ", the operand has " + to_string(operand));
    return operand;
}
inline void demand_axis(std::size_t axis, const Shape& s)
{
    demand(axis < s.size(), "axis " + std::to_string(axis) + " is out of range for shape " + to_string(s));
}
/// Ascending and in [0, rank).
inline void demand_axes(const Axes& axes, std::size_t rank)
{
    std::int64_t before = -1;
    for (auto a : axes) {
        demand(a > before && a < static_cast<std::int64_t>(rank),
               "axes " + to_string(axes) + " are not in order and in range for rank " + std::to_string(rank));
        before = a;
    }
}
inline void demand_rank(const Shape& s, std::size_t rank, bool more)
{
    demand(more ? s.size() >= rank : s.size() == rank, "rank " + std::to_string(rank) +
                                                           (more ? " or more" : "") +
                                                           " is needed, not shape " + to_string(s));
}
inline Shape broadcast(const Shape& a, const Shape& b) { return broadcast_shapes("graph", a, b, {}); }
inline void demand_broadcast(const Shape& from, const Shape& to)
{
    demand(broadcast(from, to) == to, "shape " + to_string(from) + " does not broadcast to " + to_string(to));
}

/// Positions start + j·step of one axis of a selection, j < count, are in [0, extent).
inline bool in_axis(std::int64_t start, std::int64_t step, std::int64_t count, std::int64_t extent)
{
    std::int64_t way, last;
    return start >= 0 && start < extent && !__builtin_mul_overflow(step, count - 1, &way) &&
           !__builtin_add_overflow(start, way, &last) && last >= 0 && last < extent;
}

/// Every element of a selection is one of `of`, and no two of them are the same.
inline bool sound(const Selection& s)
{
    const std::size_t rank = s.shape.size();
    if (s.start.size() != s.of.size() || s.from.size() != rank || s.step.size() != rank) return false;
    bool none = false;
    for (auto e : s.shape) none = none || e == 0;
    std::vector<bool> taken(s.of.size());
    const Strides strides = row_major(s.of);
    for (std::size_t k = 0; k < rank; ++k) {
        const std::int64_t step = s.step[k], count = s.shape[k];
        if (s.from[k] < -1 || s.from[k] >= static_cast<std::int64_t>(s.of.size())) return false;
        if (s.from[k] < 0) {
            if (count != 1) return false;
            continue;
        }
        const auto axis = static_cast<std::size_t>(s.from[k]);
        std::int64_t stride;
        if (taken[axis] || __builtin_mul_overflow(step, strides[axis], &stride)) return false;
        if (!none &&
            (!in_axis(s.start[axis], count > 1 ? step : 1, count, s.of[axis]) || (count > 1 && step == 0)))
            return false;
        taken[axis] = true;
    }
    for (std::size_t axis = 0; axis < s.of.size() && !none; ++axis)
        if (!taken[axis] && !in_axis(s.start[axis], 1, 1, s.of[axis])) return false;
    return true;
}
/// A selection of an array of shape x.
inline const Shape& selected(const Selection& s, const Shape& x)
{
    stated(s.of, x);
    check_extents(s.shape);
    demand(sound(s), "the part start=" + to_string(s.start) + " step=" + to_string(s.step) + " shape " +
                         to_string(s.shape) + " does not lie in shape " + to_string(x));
    return s.shape;
}

inline Shape reduced_shape(const Axes& axes, bool keepdims, const Shape& from, const Shape& x)
{
    stated(from, x);
    demand_axes(axes, x.size());
    Shape out;
    std::size_t next = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const bool reduced = next < axes.size() && axes[next] == static_cast<std::int64_t>(i);
        next += reduced;
        if (!reduced || keepdims) out.push_back(reduced ? 1 : x[i]);
    }
    return out;
}

inline Shape without_axis(const Shape& s, std::size_t axis)
{
    Shape out;
    for (std::size_t i = 0; i < s.size(); ++i)
        if (i != axis) out.push_back(s[i]);
    return out;
}
inline Shape diagonal_shape(const Shape& x)
{
    demand_rank(x, 2, true);
    Shape out(x.data(), x.size() - 1);
    out.back() = std::min(x[x.size() - 2], x.back());
    return out;
}

}  // namespace detail

}  // namespace wengert
