// Cubic splines: the curve through points that is a cubic polynomial between neighbours and twice continuously differentiable.
#pragma once

#include "../composed/order.hpp"
#include "../creation.hpp"
#include "ascending.hpp"
#include "tridiagonal.hpp"

namespace wengert {

/// What a cubic spline does at its ends: `not_a_knot`, the outer two polynomials at each end are one, as SciPy's CubicSpline has it;
/// `natural`, the second derivative is 0 there.
enum class SplineEnds { not_a_knot, natural };

/// y = x. Throws NumericError where x does not ascend strictly.  x̄ = ȳ
struct Ascending {
    static constexpr std::string_view name = "cubic_spline";
    template <class T> Ref<Block> value(const Ref<Block>& of, const Site& at) const
    {
        return detail::ascending<T>(name, "knot", true, "knots must ascend", of, at);
    }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const
    {
        return g;
    }
    template <class T> Tensor<T> push(const Tensor<T>& dx, const Tensor<T>&, const Tensor<T>&) const
    {
        return dx;
    }
};

namespace detail {

/// The system for the slopes of a spline at its knots (de Boor 1978, IV). Numbers of intervals stand in columns, so that they meet
/// values of any number of columns.
template <class T, class D> struct SlopeSystem {
    Tensor<T, D> width, rise;  ///< of the intervals: (n − 1, 1), (n − 1, columns)
    SplineEnds ends;
    Site at;

    /// Rows from `first` up to `last`, which count from the end where negative.
    Tensor<T, D> rows(const Tensor<T, D>& x, std::int64_t first, std::int64_t last) const
    {
        return take(x, arange<std::int64_t, D>(first, last, 1, at), 0, at);
    }
    /// An equation at one end: a s₀ + b s₁ = c, where s₀ is the end's slope.
    struct End {
        Tensor<T, D> a, b, c;
    };
    /// Of the outer interval and the next.
    End end(const Tensor<T, D>& h, const Tensor<T, D>& h1, const Tensor<T, D>& r,
            const Tensor<T, D>& r1) const
    {
        const Tensor<T, D> one = ones_like(h);
        if (ends == SplineEnds::natural) return {T(2) * one, one, T(3) * r};
        if (width.shape()[0] == 2) return {one, one, T(2) * r};  // three knots: one parabola
        const Tensor<T, D> both = h + h1;
        return {h1, both, ((h + T(2) * both) * h1 * r + h * h * r1) / both};
    }
    Tensor<T, D> slopes() const
    {
        const std::int64_t m = width.shape()[0];
        if (m == 1) return concatenate({rise, rise}, 0, at);
        const Tensor<T, D> left = rows(width, 0, m - 1), right = rows(width, 1, m),
                           below = rows(rise, 0, m - 1), above = rows(rise, 1, m),
                           none = zeros_like(rows(width, 0, 1));
        const End first = end(rows(width, 0, 1), rows(width, 1, 2), rows(rise, 0, 1), rows(rise, 1, 2));
        const End last = end(rows(width, m - 1, m), rows(width, m - 2, m - 1), rows(rise, m - 1, m),
                             rows(rise, m - 2, m - 1));
        const Shape flat{m + 1};
        return solve_tridiagonal(
            reshape(concatenate({none, right, last.b}, 0, at), flat, at),
            reshape(concatenate({first.a, T(2) * (left + right), last.a}, 0, at), flat, at),
            reshape(concatenate({first.b, left, none}, 0, at), flat, at),
            concatenate({first.c, T(3) * (right * below + left * above), last.c}, 0, at), at);
    }
};

}  // namespace detail

/// A cubic spline: what cubic_spline returns. A struct of tensors, so it may be an argument of functions that are differentiated.
template <class T, class D = cpu> struct CubicSpline {
    Tensor<T, D> knots;         ///< (n)
    Tensor<T, D> coefficients;  ///< (4, n − 1, …): Σ c[k, i] (x − knots[i])ᵏ between knots i and i + 1

    /// The curve at x, of shape (x.shape…, y.shape[1]…), or its derivative of that order in x. Beyond the ends it goes on with the
    /// outer polynomials. Has derivatives in x, in the knots and the values. Throws IndexError for a negative order.
    Tensor<T, D> operator()(const Tensor<T, D>& x, std::int64_t order = 0,
                            Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        if (order < 0) fail<IndexError>("cubic_spline", "a derivative of order " + std::to_string(order), at);
        const ComposedAt line(at);
        const std::int64_t n = knots.shape()[0];
        const auto i = clip(searchsorted(knots, x, true, at) - 1, std::int64_t(0), n - 2);
        Shape shape = x.shape("cubic_spline", at);
        for (std::size_t k = 2; k < coefficients.dimension(); ++k) shape.push_back(1);
        const Tensor<T, D> h = reshape(x - take(knots, i, 0, at), shape, at);
        const Tensor<T, D> c = take(coefficients, i, 1, at);
        const auto part = [&](std::int64_t k) { return take(c, Tensor<std::int64_t, D>(k), 0, at); };
        Tensor<T, D> y = zeros_like(part(3));
        for (std::int64_t k = 3; k >= order; --k) {  // by Horner: the factor is k! / (k − order)!
            double factor = 1;
            for (std::int64_t j = k; j > k - order; --j) factor *= static_cast<double>(j);
            y = y * h + static_cast<T>(factor) * part(k);
        }
        return y;
    }
    Tensor<T, D> operator()(T x, std::int64_t order = 0, Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        return (*this)(Tensor<T, D>(x), order, at);
    }
};

/// The cubic spline through the points (x[i], y[i]), as scipy.interpolate.CubicSpline: x ascends, y may have further axes. Two knots
/// give a line, three without a knot in the middle a parabola. Throws ShapeError where x is no vector of two or more, or y has
/// another first extent, NumericError where x does not ascend.
template <Differentiable T, class D>
CubicSpline<T, D> cubic_spline(const Tensor<T, D>& x, const std::type_identity_t<Tensor<T, D>>& y,
                               SplineEnds ends = SplineEnds::not_a_knot,
                               Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Shape &of = x.shape("cubic_spline", at), &values = y.shape("cubic_spline", at);
    if (of.size() != 1 || of[0] < 2 || values.size() == 0 || values[0] != of[0])
        fail<ShapeError>("cubic_spline",
                         "knots of shape " + to_string(of) + " and values of shape " + to_string(values) +
                             ": a vector of n > 1 and (n, …) are expected",
                         at);
    const ComposedAt line(at);
    const std::int64_t n = of[0], columns = static_cast<std::int64_t>(y.size()) / n;
    const Tensor<T, D> knots = apply<Ascending, T>({}, at, x), flat = reshape(y, Shape{n, columns}, at);
    const Tensor<T, D> width = reshape(diff(knots, 0, 1, at), Shape{n - 1, 1}, at);
    const detail::SlopeSystem<T, D> system{width, diff(flat, 0, 1, at) / width, ends, at};
    const Tensor<T, D> s = system.slopes(), left = system.rows(s, 0, n - 1), right = system.rows(s, 1, n);
    const Tensor<T, D> bend = (left + right - T(2) * system.rise) / width;
    const Tensor<T, D> all =
        stack({system.rows(flat, 0, n - 1), left, (system.rise - left) / width - bend, bend / width}, 0, at);
    Shape shape{4, n - 1};
    for (std::size_t k = 1; k < values.size(); ++k) shape.push_back(values[k]);
    return {knots, reshape(all, shape, at)};
}

}  // namespace wengert
