// Discrete Fourier transforms as NumPy has them, with derivatives of any order in both modes: docs/complex.md.
//
//     const Tensor<std::complex<double>> spectrum = wg::fft::rfft(wave);
//     const Tensor<double> filtered = wg::fft::irfft(spectrum * gain, n);
//
// Transforms are those of pocketfft, where its header is found when a program is compiled, else those of FFTW, where its library
// is found when the program runs (kernels/fourier/fourier.hpp). wengert.hpp does not include this header.
#pragma once

#include "complex.hpp"
#include "fft/transforms.hpp"

namespace wengert::fft {

/// What is divided by the number of points: backward transforms, both by its root, or forward transforms.
enum class Norm { backward, ortho, forward };

/// As many points as there are.
inline constexpr std::int64_t whole = std::numeric_limits<std::int64_t>::min();

namespace detail {

using wengert::detail::as_complex;
using wengert::detail::axis_of;

inline double factor(double points, bool inverse, Norm norm)
{
    if (norm == Norm::ortho) return 1 / std::sqrt(points);
    return (norm == Norm::backward) == inverse ? 1 / points : 1;
}
inline void demand_points(std::string_view name, std::int64_t n, const Shape& shape, const Site& at)
{
    if (n < 1)
        fail<ShapeError>(
            name,
            "shape " + to_string(shape) + ", " + std::to_string(n) + " points: at least one is expected", at);
}
/// x with n elements along an axis: cut off, or zeros behind it.
template <class X> X resized(const X& x, std::size_t axis, std::int64_t n, const Site& at)
{
    const Shape shape = x.shape();
    if (shape[axis] == n) return x;
    if (shape[axis] > n) {
        std::vector<Slice> slices(shape.size(), all());
        slices[axis] = range(0, n);
        return view(x, slices, at);
    }
    Padding widths(shape.size(), {0, 0});
    widths[axis].second = n - shape[axis];
    if constexpr (is_complex<typename X::value_type>)
        return pad(x, widths, at);
    else
        return pad(x, widths, 0.0, at);
}
/// The axis, and how many points are transformed along it.
struct Line {
    std::int64_t axis, n;
};
inline Line line_of(std::string_view name, const Shape& shape, std::int64_t n, std::int64_t axis,
                    const Site& at)
{
    const std::size_t k = normalize_axis(name, axis, shape, at);
    if (n == whole) n = shape[k];
    demand_points(name, n, shape, at);
    return {static_cast<std::int64_t>(k), n};
}
/// The axes of a transform of several, as NumPy: the last ones where extents alone are given, all where nothing is.
inline std::vector<Line> lines_of(std::string_view name, const Shape& shape, const Shape& s, const Axes& axes,
                                  const Site& at)
{
    Axes which = axes;
    const std::size_t count = s.empty() ? shape.size() : s.size();
    if (which.empty())
        for (std::size_t k = 0; k < count; ++k)
            which.push_back(static_cast<std::int64_t>(k) - static_cast<std::int64_t>(count));
    if (!s.empty() && s.size() != which.size())
        fail<ShapeError>(name, "extents " + to_string(s) + " for axes " + to_string(which), at);
    std::vector<Line> lines;
    for (std::size_t k = 0; k < which.size(); ++k) {
        lines.push_back(line_of(name, shape, s.empty() ? whole : s[k], which[k], at));
        for (std::size_t i = 0; i < k; ++i)
            if (lines[i].axis == lines[k].axis)
                fail<ShapeError>(
                    name,
                    "axis " + std::to_string(which[k]) + " is given twice for shape " + to_string(shape), at);
    }
    return lines;
}

template <class T, class D>
Tensor<std::complex<T>, D> transformed(std::string_view name, Tensor<std::complex<T>, D> z,
                                       const std::vector<Line>& lines, bool inverse, Norm norm,
                                       const Site& at)
{
    static_cast<void>(z.parts(name, at));
    const ComposedAt line(at);
    double points = 1;
    ComplexTransform op{{}, inverse, 1};
    for (const Line& l : lines) {
        z = resized(z, static_cast<std::size_t>(l.axis), l.n, at);
        op.axes.push_back(l.axis);
        points *= static_cast<double>(l.n);
    }
    op.scale = factor(points, inverse, norm);
    return lines.empty() ? z : as_complex(apply<ComplexTransform, T>(op, at, z.parts()));
}
template <class T, class D>
Tensor<std::complex<T>, D> half_of(const Tensor<T, D>& x, const Line& l, Norm norm, const Site& at)
{
    const ComposedAt line(at);
    const RealToHalf op{l.axis, l.n, factor(static_cast<double>(l.n), false, norm), false};
    return as_complex(apply<RealToHalf, T>(op, at, resized(x, static_cast<std::size_t>(l.axis), l.n, at)));
}
template <class T, class D>
Tensor<T, D> real_of(const Tensor<std::complex<T>, D>& z, const Line& l, Norm norm, const Site& at)
{
    const ComposedAt line(at);
    const HalfToReal op{l.axis, l.n, factor(static_cast<double>(l.n), true, norm), false};
    return apply<HalfToReal, T>(op, at,
                                resized(z, static_cast<std::size_t>(l.axis), l.n / 2 + 1, at).parts());
}
/// How many points a half spectrum of this extent has, unless they are given.
inline std::int64_t full_length(const Shape& shape, std::int64_t n, std::int64_t axis, std::string_view name,
                                const Site& at)
{
    return n == whole ? 2 * (shape[normalize_axis(name, axis, shape, at)] - 1) : n;
}

}  // namespace detail

// clang-format off
/// yₖ = Σ xⱼ e^(−2πi jk/n) along an axis, of x cut off or filled up with zeros to n elements. Throws ShapeError for n < 1 and an axis
/// that is not there, Error where there is no library of transforms.
template <class T, class D> Tensor<std::complex<T>, D> fft(const Tensor<std::complex<T>, D>& z, std::int64_t n = whole, std::int64_t axis = -1, Norm norm = Norm::backward, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::transformed("fft", z, {detail::line_of("fft", z.shape("fft", at), n, axis, at)}, false, norm, at); }
/// The inverse of fft.
template <class T, class D> Tensor<std::complex<T>, D> ifft(const Tensor<std::complex<T>, D>& z, std::int64_t n = whole, std::int64_t axis = -1, Norm norm = Norm::backward, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::transformed("ifft", z, {detail::line_of("ifft", z.shape("ifft", at), n, axis, at)}, true, norm, at); }
/// fft along several axes: the last ones where extents s are given alone, all where nothing is. Throws ShapeError as fft, and for an
/// axis that is given twice.
template <class T, class D> Tensor<std::complex<T>, D> fftn(const Tensor<std::complex<T>, D>& z, const Shape& s = {}, const Axes& axes = {}, Norm norm = Norm::backward, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::transformed("fftn", z, detail::lines_of("fftn", z.shape("fftn", at), s, axes, at), false, norm, at); }
/// The inverse of fftn.
template <class T, class D> Tensor<std::complex<T>, D> ifftn(const Tensor<std::complex<T>, D>& z, const Shape& s = {}, const Axes& axes = {}, Norm norm = Norm::backward, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::transformed("ifftn", z, detail::lines_of("ifftn", z.shape("ifftn", at), s, axes, at), true, norm, at); }
/// fftn along two axes.
template <class T, class D> Tensor<std::complex<T>, D> fft2(const Tensor<std::complex<T>, D>& z, const Shape& s = {}, const Axes& axes = {-2, -1}, Norm norm = Norm::backward, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::transformed("fft2", z, detail::lines_of("fft2", z.shape("fft2", at), s, axes, at), false, norm, at); }
/// The inverse of fft2.
template <class T, class D> Tensor<std::complex<T>, D> ifft2(const Tensor<std::complex<T>, D>& z, const Shape& s = {}, const Axes& axes = {-2, -1}, Norm norm = Norm::backward, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::transformed("ifft2", z, detail::lines_of("ifft2", z.shape("ifft2", at), s, axes, at), true, norm, at); }

// The same of real numbers.
template <Differentiable T, class D> Tensor<std::complex<T>, D> fft(const Tensor<T, D>& x, std::int64_t n = whole, std::int64_t axis = -1, Norm norm = Norm::backward, Site at = {__builtin_FILE(), __builtin_LINE()}) { return fft(cast<std::complex<T>>(x, at), n, axis, norm, at); }
template <Differentiable T, class D> Tensor<std::complex<T>, D> ifft(const Tensor<T, D>& x, std::int64_t n = whole, std::int64_t axis = -1, Norm norm = Norm::backward, Site at = {__builtin_FILE(), __builtin_LINE()}) { return ifft(cast<std::complex<T>>(x, at), n, axis, norm, at); }
template <Differentiable T, class D> Tensor<std::complex<T>, D> fft2(const Tensor<T, D>& x, const Shape& s = {}, const Axes& axes = {-2, -1}, Norm norm = Norm::backward, Site at = {__builtin_FILE(), __builtin_LINE()}) { return fft2(cast<std::complex<T>>(x, at), s, axes, norm, at); }
template <Differentiable T, class D> Tensor<std::complex<T>, D> fftn(const Tensor<T, D>& x, const Shape& s = {}, const Axes& axes = {}, Norm norm = Norm::backward, Site at = {__builtin_FILE(), __builtin_LINE()}) { return fftn(cast<std::complex<T>>(x, at), s, axes, norm, at); }

/// The elements 0 … n/2 of the fft of real numbers; the others are their conjugates. Throws as fft.
template <Differentiable T, class D> Tensor<std::complex<T>, D> rfft(const Tensor<T, D>& x, std::int64_t n = whole, std::int64_t axis = -1, Norm norm = Norm::backward, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::half_of(x, detail::line_of("rfft", x.shape("rfft", at), n, axis, at), norm, at); }
// clang-format on

/// The real numbers with this half of a spectrum, 2 (m − 1) of m elements unless n says otherwise. The imaginary parts of elements 0
/// and n/2 do not count, and have the gradient 0. Throws as fft.
template <class T, class D>
Tensor<T, D> irfft(const Tensor<std::complex<T>, D>& z, std::int64_t n = whole, std::int64_t axis = -1,
                   Norm norm = Norm::backward, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Shape shape = z.shape("irfft", at);
    return detail::real_of(
        z, detail::line_of("irfft", shape, detail::full_length(shape, n, axis, "irfft", at), axis, at), norm,
        at);
}

namespace detail {

template <class T, class D>
Tensor<std::complex<T>, D> half_spectrum(std::string_view name, const Tensor<T, D>& x, const Shape& s,
                                         const Axes& axes, Norm norm, const Site& at)
{
    std::vector<Line> lines = lines_of(name, x.shape(name, at), s, axes, at);
    if (lines.empty())
        fail<ShapeError>(name, "shape " + to_string(x.shape()) + ": at least one axis is expected", at);
    const Line last = lines.back();
    lines.pop_back();
    return transformed(name, half_of(x, last, norm, at), lines, false, norm, at);
}
template <class T, class D>
Tensor<T, D> from_half_spectrum(std::string_view name, const Tensor<std::complex<T>, D>& z, const Shape& s,
                                const Axes& axes, Norm norm, const Site& at)
{
    const Shape shape = z.shape(name, at);
    std::vector<Line> lines = lines_of(name, shape, s, axes, at);
    if (lines.empty())
        fail<ShapeError>(name, "shape " + to_string(shape) + ": at least one axis is expected", at);
    Line last = lines.back();
    lines.pop_back();
    if (s.empty()) last.n = 2 * (last.n - 1);
    demand_points(name, last.n, shape, at);
    return real_of(transformed(name, z, lines, true, norm, at), last, norm, at);
}

}  // namespace detail

// clang-format off
/// rfft along the last of several axes, then fft along the others. Throws as fftn.
template <Differentiable T, class D> Tensor<std::complex<T>, D> rfftn(const Tensor<T, D>& x, const Shape& s = {}, const Axes& axes = {}, Norm norm = Norm::backward, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::half_spectrum("rfftn", x, s, axes, norm, at); }
/// rfftn along two axes.
template <Differentiable T, class D> Tensor<std::complex<T>, D> rfft2(const Tensor<T, D>& x, const Shape& s = {}, const Axes& axes = {-2, -1}, Norm norm = Norm::backward, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::half_spectrum("rfft2", x, s, axes, norm, at); }
/// The inverse of rfftn; s are the extents of the result, the last one 2 (m − 1) where they are not given.
template <class T, class D> Tensor<T, D> irfftn(const Tensor<std::complex<T>, D>& z, const Shape& s = {}, const Axes& axes = {}, Norm norm = Norm::backward, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::from_half_spectrum("irfftn", z, s, axes, norm, at); }
/// The inverse of rfft2.
template <class T, class D> Tensor<T, D> irfft2(const Tensor<std::complex<T>, D>& z, const Shape& s = {}, const Axes& axes = {-2, -1}, Norm norm = Norm::backward, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::from_half_spectrum("irfft2", z, s, axes, norm, at); }
// clang-format on

namespace detail {
/// 0, 1, … over n d: of rfft the first half, with n/2; of fft all n, the second half of which is negative.
template <class T>
Tensor<T> frequencies(std::string_view name, std::int64_t n, bool half, double d, const Site& at)
{
    const std::int64_t count = half ? n / 2 + 1 : n;
    check_shape(name, Shape{count}, at);
    auto f = make_block(dtype_of<T>(), Shape{count});
    for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t turns = !half && k >= n - n / 2 ? k - n : k;
        f->template as<T>()[k] = static_cast<T>(static_cast<double>(turns) / (static_cast<double>(n) * d));
    }
    return Tensor<T>(AnyTensor{placed(std::move(f)), {}});
}
}  // namespace detail

/// The frequencies of fft's elements in cycles per unit: 0, 1, …, −2, −1 over n d. Throws ShapeError for n < 1.
template <Differentiable T = double>
Tensor<T> fftfreq(std::int64_t n, double d = 1, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_points("fftfreq", n, {n}, at);
    return detail::frequencies<T>("fftfreq", n, false, d, at);
}
/// Those of rfft's: 0, 1, …, n/2 over n d.
template <Differentiable T = double>
Tensor<T> rfftfreq(std::int64_t n, double d = 1, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_points("rfftfreq", n, {n}, at);
    return detail::frequencies<T>("rfftfreq", n, true, d, at);
}

namespace detail {
template <class X> X shifted(std::string_view name, X x, const Axes& axes, bool back, const Site& at)
{
    const ComposedAt line(at);
    const Shape shape = x.shape(name, at);
    const bool all = axes.empty();
    for (const std::int64_t axis :
         all ? wengert::detail::all_axes(shape) : wengert::detail::axes_in(name, axes, shape, true, at)) {
        const std::int64_t n = shape[static_cast<std::size_t>(axis)];
        x = roll(x, back ? (n + 1) / 2 : n / 2, axis, at);
    }
    return x;
}
}  // namespace detail

/// Frequency 0 in the middle, along these axes or all. Real and complex.
template <class T, class D>
Tensor<T, D> fftshift(const Tensor<T, D>& x, const Axes& axes = {},
                      Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::shifted("fftshift", x, axes, false, at);
}
/// Undoes fftshift.
template <class T, class D>
Tensor<T, D> ifftshift(const Tensor<T, D>& x, const Axes& axes = {},
                       Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::shifted("ifftshift", x, axes, true, at);
}

}  // namespace wengert::fft
