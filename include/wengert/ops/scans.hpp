// Scans: cumsum, cumprod, cummax, logcumsumexp; trapezoid. Elements are combined one after another along the axis, as NumPy does, in
// that order on every executor; so sums of floats are those of a plain loop.
#pragma once

#include "along.hpp"
#include "elementwise/cast.hpp"
#include "elementwise/math.hpp"

namespace wengert {

/// yₖ = Σ xⱼ over j ≤ k along an axis, or over j ≥ k
struct CumSum {
    static constexpr std::string_view name = "cumsum";
    static constexpr bool linear = true;
    std::size_t axis;
    bool reverse;
    void describe(Index& p) const
    {
        const Positions i = p.axes_of(0);
        p.scan(i[axis], Scan::add, reverse);
        p.write(i);
        p.read(0, i);
    }
    std::string parameters() const { return "axis=" + std::to_string(axis) + (reverse ? ", reverse" : ""); }
};

/// sᵢ = bᵢ + aᵢ₊ₕ sᵢ₋₁, or with sᵢ₊₁ where reverse; the first one is b.
/// λ = b̄ is the recurrence of s̄ from the other end;  āᵢ₊ₕ = λᵢ sᵢ₋₁
struct Recurrence {
    static constexpr std::string_view name = "recurrence";
    static constexpr unsigned saves = 0b101;
    std::size_t axis;
    bool reverse;
    std::int64_t shift;  ///< h
    void describe(Index& p) const
    {
        const Positions i = p.axes_of(1);
        Positions a = i;
        a[axis] = masked(i[axis] + shift);
        p.scan(i[axis], Scan::recurrence, reverse);
        p.write(i);
        p.read(1, i);
        p.coefficient(0, a);
    }
    /// From one element to the next one that is computed.
    std::int64_t way() const { return reverse ? -1 : 1; }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>& a, const Tensor<T>&, const Tensor<T>&) const
    {
        return apply<Recurrence, T>(Recurrence{axis, !reverse, shift + way()}, Site{}, a, g);
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& a, const Tensor<T>& b,
                   const Tensor<T>& s) const
    {
        const Tensor<T> r = pull(wrt<1>{}, g, a, b, s);
        return detail::shifted(r * detail::shifted(s, axis, way(), 0), axis, shift, 0);
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& da, const Tensor<T>& db, const Tensor<T>& a, const Tensor<T>&,
                   const Tensor<T>& s) const
    {
        const Tensor<T> from = detail::shifted(da, axis, -shift, 0) * detail::shifted(s, axis, way(), 0);
        return apply<Recurrence, T>(*this, Site{}, a, db + from);
    }
    std::string parameters() const
    {
        return "axis=" + std::to_string(axis) + ", shift=" + std::to_string(shift) +
               (reverse ? ", reverse" : "");
    }
};

/// yₖ = Π xⱼ over j ≤ k along an axis, or over j ≥ k.
/// x̄ᵢ = Eᵢ Sᵢ with Eᵢ = Π xⱼ over j < i, Sᵢ = ȳᵢ + xᵢ₊₁ Sᵢ₊₁: nothing is divided, so zeros do no harm;  ẏᵢ = yᵢ₋₁ ẋᵢ + xᵢ ẏᵢ₋₁
struct CumProd {
    static constexpr std::string_view name = "cumprod";
    static constexpr unsigned saves = 0b01;
    std::size_t axis;
    bool reverse;
    void describe(Index& p) const
    {
        const Positions i = p.axes_of(0);
        p.scan(i[axis], Scan::multiply, reverse);
        p.write(i);
        p.read(0, i);
    }
    std::int64_t way() const { return reverse ? -1 : 1; }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>&) const
    {
        const Tensor<T> before = apply<CumProd, T>(*this, Site{}, detail::shifted(x, axis, way(), 1));
        return before * apply<Recurrence, T>(Recurrence{axis, !reverse, way()}, Site{}, x, g);
    }
    template <class T> Tensor<T> push(const Tensor<T>& dx, const Tensor<T>& x, const Tensor<T>& y) const
    {
        const Tensor<T> before = detail::shifted(y, axis, way(), 1);
        return apply<Recurrence, T>(Recurrence{axis, reverse, 0}, Site{}, x, before * dx);
    }
    std::string parameters() const { return "axis=" + std::to_string(axis) + (reverse ? ", reverse" : ""); }
};

/// The place along an axis of the greatest element so far, the first one of equal ones; of the first NaN from there on.
struct CumArgMax {
    static constexpr std::string_view name = "cumargmax";
    std::size_t axis;
    bool reverse;
    void describe(Index& p) const
    {
        const Positions i = p.axes_of(0);
        p.scan(i[axis], Scan::first_maximum, reverse);
        p.write(i);
        p.read(0, i);
    }
    std::string parameters() const { return "axis=" + std::to_string(axis) + (reverse ? ", reverse" : ""); }
};

/// yₖ = the greatest xⱼ with j ≤ k along an axis, or j ≥ k, NaN from the first one on;  x̄ = ȳ added up where y was found
struct CumMax {
    static constexpr std::string_view name = "cummax";
    static constexpr unsigned saves = 0b01;
    std::size_t axis;
    bool reverse;
    void describe(Index& p) const
    {
        const Positions i = p.axes_of(0);
        p.scan(i[axis], Scan::maximum, reverse);
        p.write(i);
        p.read(0, i);
    }
    template <class T> Tensor<std::int64_t> places(const Tensor<T>& x) const
    {
        return apply<CumArgMax, std::int64_t>(CumArgMax{axis, reverse}, Site{}, x);
    }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>&) const
    {
        return detail::linear_part<true, TakeAlong, 0, T, T, std::int64_t>(TakeAlong{axis}, x.shape(), g, x,
                                                                           places(x));
    }
    template <class T> Tensor<T> push(const Tensor<T>& dx, const Tensor<T>& x, const Tensor<T>&) const
    {
        return apply<TakeAlong, T>(TakeAlong{axis}, Site{}, dx, places(x));
    }
    std::string parameters() const { return "axis=" + std::to_string(axis) + (reverse ? ", reverse" : ""); }
};

namespace detail {
/// x as a scan's operand: sums and products of integers are of int64.
template <class Op, class U, class T, class D>
Tensor<U, D> scanned(const Tensor<T, D>& x, std::int64_t axis, bool reverse, const Site& at)
{
    const std::size_t k = normalize_axis(Op::name, axis, x.shape(Op::name, at), at);
    if constexpr (std::is_same_v<T, U>)
        return apply<Op, U>(Op{k, reverse}, at, x);
    else
        return apply<Op, U>(Op{k, reverse}, at, cast<U>(x, at));
}
template <class T, class D>
Tensor<T, D> in_one_line(std::string_view name, const Tensor<T, D>& x, const Site& at)
{
    static_cast<void>(x.shape(name, at));
    return reshape(x, Shape{static_cast<std::int64_t>(x.size())}, at);
}
/// (yᵢ + yᵢ₊₁)/2 along an axis.
template <class T, class D> Tensor<T, D> halves(const Tensor<T, D>& y, std::size_t axis)
{
    const std::int64_t less = y.shape()[axis] == 0 ? 0 : -1;
    Pad first{Extents::filled(y.shape().size()), Extents::filled(y.shape().size()), 0, 0}, second = first;
    first.after[axis] = less;
    second.before[axis] = less;
    return T(0.5) * (apply<Pad, T>(first, Site{}, y) + apply<Pad, T>(second, Site{}, y));
}
}  // namespace detail

/// Sums of all elements up to each along an axis, or from each on where `reverse`; integers and bools give std::int64_t. Floats are
/// added one after another. Throws ShapeError for an axis out of range.
template <class T, class D>
Tensor<Total<T>, D> cumsum(const Tensor<T, D>& x, std::int64_t axis, bool reverse = false,
                           Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::scanned<CumSum, Total<T>>(x, axis, reverse, at);
}
/// The same along all elements in row-major order.
template <class T, class D>
Tensor<Total<T>, D> cumsum(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return cumsum(detail::in_one_line("cumsum", x, at), 0, false, at);
}

/// Products of all elements up to each along an axis, or from each on where `reverse`; integers and bools give std::int64_t.
/// Differentiable where elements are zero too. Throws ShapeError for an axis out of range.
template <class T, class D>
Tensor<Total<T>, D> cumprod(const Tensor<T, D>& x, std::int64_t axis, bool reverse = false,
                            Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::scanned<CumProd, Total<T>>(x, axis, reverse, at);
}
/// The same along all elements in row-major order.
template <class T, class D>
Tensor<Total<T>, D> cumprod(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return cumprod(detail::in_one_line("cumprod", x, at), 0, false, at);
}

/// The greatest of all elements up to each along an axis, or from each on where `reverse`; NaN from the first one on. The first one
/// of equal elements takes the gradient. Throws ShapeError for an axis out of range.
template <class T, class D>
    requires(!std::is_same_v<T, bool>)
Tensor<T, D> cummax(const Tensor<T, D>& x, std::int64_t axis, bool reverse = false,
                    Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::scanned<CumMax, T>(x, axis, reverse, at);
}
/// The same along all elements in row-major order.
template <class T, class D>
    requires(!std::is_same_v<T, bool>)
Tensor<T, D> cummax(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return cummax(detail::in_one_line("cummax", x, at), 0, false, at);
}

/// ln Σ e^x of all elements up to each along an axis, or from each on where `reverse`. Nothing overflows: with the greatest element
/// M so far, y = M + ln s and sₖ = sₖ₋₁ e^(Mₖ₋₁ − Mₖ) + e^(xₖ − Mₖ). Throws ShapeError for an axis out of range.
template <Differentiable T, class D>
Tensor<T, D> logcumsumexp(const Tensor<T, D>& x, std::int64_t axis, bool reverse = false,
                          Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const std::size_t k = normalize_axis("logcumsumexp", axis, x.shape("logcumsumexp", at), at);
    const ComposedAt line(at);
    const Tensor<T, D> most = cummax(x.detach(), axis, reverse, at);
    const Tensor<T, D> level = where(is_finite(most), most, T(0));
    constexpr T none = -std::numeric_limits<T>::infinity();
    const auto before = [&](const Tensor<T, D>& of) { return detail::shifted(of, k, reverse ? -1 : 1, 0); };
    const Tensor<T, D> shrinks = where(before(most) == none, T(0), exp(before(level) - level));
    const Tensor<T, D> s = apply<Recurrence, T>(Recurrence{k, reverse, 0}, at, shrinks, exp(x - level));
    const auto is_empty = s == T(0);  // −∞ so far: log would have an infinite derivative there
    return where(is_empty, most, level + log(where(is_empty, T(1), s)));
}
/// The same along all elements in row-major order.
template <Differentiable T, class D>
Tensor<T, D> logcumsumexp(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return logcumsumexp(detail::in_one_line("logcumsumexp", x, at), 0, false, at);
}

/// ∫ y along an axis by the trapezoidal rule, at points that are `distance` apart: less than two points give 0. Throws ShapeError
/// for an axis out of range.
template <Differentiable T, class D>
Tensor<T, D> trapezoid(const Tensor<T, D>& y, double distance = 1, std::int64_t axis = -1,
                       Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const std::size_t k = normalize_axis("trapezoid", axis, y.shape("trapezoid", at), at);
    const ComposedAt line(at);
    return sum(detail::halves(y, k), Axes{axis}, false, at) * static_cast<T>(distance);
}
/// At points x, which broadcast to y: Σ (xᵢ₊₁ − xᵢ)(yᵢ + yᵢ₊₁)/2.
template <Differentiable T, class D>
Tensor<T, D> trapezoid(const Tensor<T, D>& y, const std::type_identity_t<Tensor<T, D>>& x,
                       std::int64_t axis = -1, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const std::size_t k = normalize_axis("trapezoid", axis, y.shape("trapezoid", at), at);
    const Shape& points = x.shape("trapezoid", at);
    const bool vector = points.size() == 1 && points[0] == y.shape()[k];
    if (!vector && (points.size() != y.shape().size() || points[k] != y.shape()[k] ||
                    !(broadcast_shapes("trapezoid", points, y.shape(), at) == y.shape())))
        fail<ShapeError>("trapezoid",
                         "values of shape " + to_string(y.shape()) + " along axis " + std::to_string(axis) +
                             " need as many points, or points of their shape, not shape " + to_string(points),
                         at);
    Shape along = Shape::filled(y.shape().size(), 1);
    along[k] = y.shape()[k];
    const ComposedAt line(at);
    const Tensor<T, D> widths = diff(vector ? reshape(x, along, at) : x, axis, 1, at);
    return sum(widths * detail::halves(y, k), Axes{axis}, false, at);
}

}  // namespace wengert
