// Index programs of the operations that move elements; the functions are in ops/moves.hpp and ops/shape.hpp.
#pragma once

#include "describe/structural.hpp"

namespace wengert {

/// y = x moved along axes, what leaves at one end comes in at the other
struct Roll {
    static constexpr std::string_view name = "roll";
    static constexpr bool linear = true;
    Extents shifts;
    Axes axes;
    void describe(Index& p) const
    {
        Positions i = p.axes_of(0);
        p.write(i);
        for (std::size_t k = 0; k < axes.size(); ++k) i[axes[k]] = wrap(i[axes[k]] - shifts[k]);
        p.read(0, i);
    }
    std::string parameters() const { return "shifts=" + to_string(shifts) + ", axes=" + to_string(axes); }
};

/// y = x with the order of elements reversed along axes
struct Flip {
    static constexpr std::string_view name = "flip";
    static constexpr bool linear = true;
    Axes axes;
    void describe(Index& p) const
    {
        Positions i = p.axes_of(0);
        p.write(i);
        for (auto a : axes) i[a] = p.shape(0)[static_cast<std::size_t>(a)] - 1 - i[a];
        p.read(0, i);
    }
    std::string parameters() const { return "axes=" + to_string(axes); }
};

/// The elements around an array that is padded.
enum class PadMode : std::uint8_t {
    constant,  ///< a number
    edge,      ///< the first or last element
    wrap,      ///< the elements of the other end
    reflect    ///< the elements from the edge inwards, the edge itself not again
};

/// y = x with more elements before and after. Negative widths, as transposes have them, take some away
struct Pad {
    static constexpr std::string_view name = "pad";
    static constexpr bool affine = true;
    Extents before, after;
    std::int64_t mode = 0;
    double constant = 0;
    void describe(Index& p) const
    {
        const Shape& from = p.shape(0);
        Shape to = from;
        if (before.size() != from.size() || after.size() != from.size())
            throw ShapeError("one pair of widths for each axis");
        for (std::size_t a = 0; a < to.size(); ++a)
            if (__builtin_add_overflow(to[a], before[a], &to[a]) ||
                __builtin_add_overflow(to[a], after[a], &to[a]))
                throw ShapeError("the widths are too large");
        Positions i = p.axes(to);
        p.write(i);
        for (std::size_t a = 0; a < to.size(); ++a)
            if (before[a] != 0 || after[a] != 0) i[a] = outside(i[a] - before[a]);
        p.read(0, i, constant);
    }
    Position outside(const Position& i) const
    {
        switch (static_cast<PadMode>(mode)) {
        case PadMode::constant: return masked(i);
        case PadMode::edge: return clamp(i);
        case PadMode::wrap: return wengert::wrap(i);
        case PadMode::reflect: return mirror(i);
        }
        throw ShapeError("no such mode");
    }
    std::string parameters() const
    {
        static constexpr std::string_view modes[] = {"constant", "edge", "wrap", "reflect"};
        return "before=" + to_string(before) + ", after=" + to_string(after) +
               ", mode=" + std::string(modes[mode & 3]);
    }
};

/// y = x with each element n times in a row along an axis
struct Repeat {
    static constexpr std::string_view name = "repeat";
    static constexpr bool linear = true;
    std::size_t axis;
    std::int64_t times;
    void describe(Index& p) const
    {
        Positions i = p.axes_of(0), to = i;
        to[axis] = i[axis] * times + p.axis(times);
        p.write(to);
        p.read(0, i);
    }
    std::string parameters() const
    {
        return "times=" + std::to_string(times) + ", axis=" + std::to_string(axis);
    }
};

/// y = every part of `extents` elements along axes, with an axis for each of these at the end
struct Windows {
    static constexpr std::string_view name = "sliding_window";
    static constexpr bool linear = true;
    Shape extents;
    Axes axes;
    void describe(Index& p) const
    {
        Shape to = p.shape(0);
        for (std::size_t k = 0; k < axes.size(); ++k) {
            const auto a = static_cast<std::size_t>(axes[k]);
            if (a >= p.shape(0).size() || k >= extents.size())
                throw ShapeError("axes that the operand has not");
            to[a] -= extents[k] - 1;
        }
        for (auto e : extents) to.push_back(e);
        const Positions i = p.axes(to);
        Positions from;
        for (std::size_t a = 0; a < p.shape(0).size(); ++a) from.push_back(i[a]);
        for (std::size_t k = 0; k < axes.size(); ++k) from[axes[k]] = from[axes[k]] + i[from.size() + k];
        p.write(i);
        p.read(0, from);
    }
    std::string parameters() const { return "window=" + to_string(extents) + ", axes=" + to_string(axes); }
};

/// yᵢ = xᵢ₊₁ − xᵢ along an axis
struct Difference {
    static constexpr std::string_view name = "diff";
    static constexpr bool linear = true;
    std::size_t axis;
    void describe(Index& p) const
    {
        Shape to = p.shape(0);
        if (axis >= to.size()) throw ShapeError("no such axis");
        to[axis] = std::max<std::int64_t>(to[axis] - 1, 0);
        const Positions i = p.axes(to);
        Positions next = i;
        next[axis] = i[axis] + 1;
        p.write(i);
        p.read(0, next);
        p.read_minus(0, i);
    }
    std::string parameters() const { return "axis=" + std::to_string(axis); }
};

namespace detail {

/// Axes in [−rank, rank) made non-negative. Throws ShapeError for one out of range, and for one given twice where `once`.
inline Axes axes_in(std::string_view primitive, const Axes& axes, const Shape& shape, bool once,
                    const Site& at)
{
    Axes found;
    for (auto a : axes) {
        const auto k = static_cast<std::int64_t>(normalize_axis(primitive, a, shape, at));
        if (once && std::find(found.begin(), found.end(), k) != found.end())
            fail<ShapeError>(primitive,
                             "axis " + std::to_string(a) + " is given twice, shape " + to_string(shape), at);
        found.push_back(k);
    }
    return found;
}
inline Axes all_axes(const Shape& shape)
{
    Axes axes;
    for (std::size_t a = 0; a < shape.size(); ++a) axes.push_back(static_cast<std::int64_t>(a));
    return axes;
}
/// y[i] = x[i − by] along an axis, `fill` where there is none.
template <class T, class D>
Tensor<T, D> shifted(const Tensor<T, D>& x, std::size_t axis, std::int64_t by, double fill)
{
    if (by == 0) return x;
    Pad pad{Extents::filled(x.shape().size()), Extents::filled(x.shape().size()), 0, fill};
    pad.before[axis] = by;
    pad.after[axis] = -by;
    return apply<Pad, T>(pad, Site{}, x);
}

}  // namespace detail

}  // namespace wengert
