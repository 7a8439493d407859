// Elements moved by index programs: roll, flip, repeat, sliding_window, diff. (pad is in ops/shape.hpp.)
#pragma once

#include "shape.hpp"

namespace wengert {

/// x moved by `shifts` elements along `axes`; what leaves at one end comes in at the other. An axis that is given twice is moved
/// by the sum. Throws ShapeError for an axis out of range, and where there is not one shift for each axis.
template <class T, class D>
Tensor<T, D> roll(const Tensor<T, D>& x, const Extents& shifts, const Axes& axes,
                  Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Axes given = detail::axes_in("roll", axes, x.shape("roll", at), false, at);
    if (shifts.size() != given.size())
        fail<ShapeError>("roll", "shifts " + to_string(shifts) + " for axes " + to_string(axes), at);
    Roll roll;
    for (std::size_t k = 0; k < given.size(); ++k) {
        const std::int64_t n = std::max<std::int64_t>(x.shape()[static_cast<std::size_t>(given[k])], 1);
        std::size_t known = 0;
        while (known < roll.axes.size() && roll.axes[known] != given[k]) ++known;
        if (known == roll.axes.size()) {
            roll.axes.push_back(given[k]);
            roll.shifts.push_back(0);
        }
        roll.shifts[known] = (roll.shifts[known] + shifts[k] % n) % n;
    }
    return apply<Roll, T>(roll, at, x);
}
template <class T, class D>
Tensor<T, D> roll(const Tensor<T, D>& x, std::int64_t shift, std::int64_t axis,
                  Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return roll(x, Extents{shift}, Axes{axis}, at);
}
/// The same along all elements in row-major order.
template <class T, class D>
Tensor<T, D> roll(const Tensor<T, D>& x, std::int64_t shift, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Shape shape = x.shape("roll", at);
    if (shape.size() == 1) return roll(x, shift, 0, at);
    return reshape(roll(reshape(x, Shape{static_cast<std::int64_t>(x.size())}, at), shift, 0, at), shape, at);
}

/// x with its elements in the opposite order along `axes`. Throws ShapeError for an axis out of range or given twice.
template <class T, class D>
Tensor<T, D> flip(const Tensor<T, D>& x, const Axes& axes, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return apply<Flip, T>(Flip{detail::axes_in("flip", axes, x.shape("flip", at), true, at)}, at, x);
}
template <class T, class D>
Tensor<T, D> flip(const Tensor<T, D>& x, std::int64_t axis, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return flip(x, Axes{axis}, at);
}
/// The same along all axes.
template <class T, class D>
Tensor<T, D> flip(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return apply<Flip, T>(Flip{detail::all_axes(x.shape("flip", at))}, at, x);
}

/// Each element `times` times in a row along an axis. Throws ShapeError for an axis out of range and a negative number.
template <class T, class D>
Tensor<T, D> repeat(const Tensor<T, D>& x, std::int64_t times, std::int64_t axis,
                    Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const std::size_t k = normalize_axis("repeat", axis, x.shape("repeat", at), at);
    Shape to = x.shape();
    if (times < 0 || __builtin_mul_overflow(to[k], times, &to[k]))
        fail<ShapeError>("repeat", std::to_string(times) + " times an axis of shape " + to_string(x.shape()),
                         at);
    check_shape("repeat", to, at);
    return apply<Repeat, T>(Repeat{k, times}, at, x);
}
/// The same of all elements in row-major order.
template <class T, class D>
Tensor<T, D> repeat(const Tensor<T, D>& x, std::int64_t times, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    static_cast<void>(x.shape("repeat", at));
    return repeat(reshape(x, Shape{static_cast<std::int64_t>(x.size())}, at), times, 0, at);
}

/// All windows of x: `window` elements along `axes`, whose extents shrink to the number of places; the windows' own axes stand at
/// the end, y[…, i, …, j] = x[…, i + j, …]. Copies, where NumPy has a view. Throws ShapeError for an axis out of range or given
/// twice, and for a window that is not positive or does not fit.
template <class T, class D>
Tensor<T, D> sliding_window(const Tensor<T, D>& x, const Shape& window, const Axes& axes,
                            Site at = {__builtin_FILE(), __builtin_LINE()})
{
    Windows op{window, detail::axes_in("sliding_window", axes, x.shape("sliding_window", at), true, at)};
    bool fits = window.size() == axes.size();
    for (std::size_t k = 0; k < window.size() && fits; ++k)
        fits = window[k] >= 1 && window[k] <= x.shape()[static_cast<std::size_t>(op.axes[k])];
    if (!fits)
        fail<ShapeError>("sliding_window",
                         "window " + to_string(window) + " along axes " + to_string(axes) +
                             " does not fit shape " + to_string(x.shape()),
                         at);
    Shape to = x.shape();
    for (std::size_t k = 0; k < window.size(); ++k) {
        to[static_cast<std::size_t>(op.axes[k])] -= window[k] - 1;
        to.push_back(window[k]);
    }
    check_shape("sliding_window", to, at);
    return apply<Windows, T>(op, at, x);
}
template <class T, class D>
Tensor<T, D> sliding_window(const Tensor<T, D>& x, std::int64_t window, std::int64_t axis,
                            Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return sliding_window(x, Shape{window}, Axes{axis}, at);
}

/// Differences of neighbours along an axis, y[i] = x[i + 1] − x[i], n times over. (numpy.diff has n before the axis.) Throws ShapeError
/// for an axis out of range and a negative n.
template <class T, class D>
    requires(!std::is_same_v<T, bool>)
Tensor<T, D> diff(const Tensor<T, D>& x, std::int64_t axis = -1, std::int64_t n = 1,
                  Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const std::size_t k = normalize_axis("diff", axis, x.shape("diff", at), at);
    if (n < 0) fail<ShapeError>("diff", "of order " + std::to_string(n), at);
    Tensor<T, D> y = x;
    for (; n > 0; --n) {
        y = apply<Difference, T>(Difference{k}, at, y);
        if (y.shape()[k] == 0) break;
    }
    return y;
}

}  // namespace wengert
