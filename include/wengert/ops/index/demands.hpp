// Requirements of descriptions and shape rules on parameters and operands. Each throws a ShapeError that says what does not fit.
#pragma once

#include <string>

#include "../../base/shape.hpp"

namespace wengert {

/// Non-negative extents, and elements that a 64-bit machine can address. Throws ShapeError.
inline void check_extents(const Shape& shape)
{
    constexpr std::int64_t most = std::int64_t{1} << 44;
    check_shape("graph", shape, {});
    if (shape.size() > 64) throw ShapeError("[graph] more than 64 dimensions");
    std::int64_t n = 1;
    for (auto e : shape)  // with an extent of 0 the count is 0, but strides are products of the others
        if (__builtin_mul_overflow(n, e > 0 ? e : 1, &n) || n > most)
            throw ShapeError("[graph] shape " + to_string(shape) + " has too many elements");
}

namespace detail {

inline void demand(bool fits, const std::string& otherwise)
{
    if (!fits) throw ShapeError(otherwise);
}
inline const Shape& same_shape(const Shape& a, const Shape& b, const char* what)
{
    if (!(a == b))
        throw ShapeError(std::string(what) + " of shape " + to_string(b) + " where " + to_string(a) +
                         " is needed");
    return a;
}
/// Requires the operand to have the shape that the parameters name.
inline const Shape& stated(const Shape& parameter, const Shape& operand)
{
    if (!(parameter == operand))
        throw ShapeError("the parameters say shape " + to_string(parameter) + ", the operand has " +
                         to_string(operand));
    return operand;
}
inline void demand_axis(std::size_t axis, const Shape& s)
{
    if (axis >= s.size())
        throw ShapeError("axis " + std::to_string(axis) + " is out of range for shape " + to_string(s));
}
/// Requires axes that ascend and lie in [0, rank).
inline void demand_axes(const Axes& axes, std::size_t rank)
{
    std::int64_t before = -1;
    for (auto a : axes) {
        if (a <= before || a >= static_cast<std::int64_t>(rank))
            throw ShapeError("axes " + to_string(axes) + " are not in order and in range for rank " +
                             std::to_string(rank));
        before = a;
    }
}
inline void demand_rank(const Shape& s, std::size_t rank, bool more)
{
    if (more ? s.size() < rank : s.size() != rank)
        throw ShapeError("rank " + std::to_string(rank) + (more ? " or more" : "") +
                         " is needed, not shape " + to_string(s));
}

}  // namespace detail

}  // namespace wengert
