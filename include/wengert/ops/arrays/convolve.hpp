// Convolutions and correlations, of any rank.
#pragma once

#include <algorithm>

#include "../moves.hpp"
#include "convolved_line.hpp"

namespace wengert {

namespace detail {

/// Steps a counter of the axes before the last one; false when it has been around.
inline bool next_line(Axes& at, const Shape& of)
{
    for (std::size_t d = of.size() - 1; d-- > 0;) {
        if (++at[d] < of[d]) return true;
        at[d] = 0;
    }
    return false;
}
/// The first element of the line `at` + `shift` of an array of shape `of`, or −1 where it has no such line.
inline std::int64_t line_start(const Shape& of, const Axes& at, const Axes& shift)
{
    std::int64_t start = 0;
    for (std::size_t d = 0; d + 1 < of.size(); ++d) {
        const std::int64_t i = at[d] + shift[d];
        if (i < 0 || i >= of[d]) return -1;
        start = start * of[d] + i;
    }
    return start * of.back();
}

}  // namespace detail

/// y[k] = Σ a[k + first − j] v[j] over all j, shape `to`; a is 0 outside. Axes of k, j and `first` are those of a and v.
/// ā is the convolution of ȳ with v from its end, v̄ that of ȳ with a from its end.
struct Convolution {
    static constexpr std::string_view name = "convolve";
    static constexpr unsigned saves = 0b011;
    static constexpr bool bilinear = true;
    Axes first;
    Shape a, v, to;  ///< of the operands and the result

    template <class T> Ref<Block> value(const Ref<Block>& left, const Ref<Block>& right, const Site&) const
    {
        const Ref<Block> x = contiguous(left), kernel = contiguous(right);
        auto y = zeros_block(dtype_of<T>(), to);
        if (y->count == 0 || x->count == 0) return y;
        const T *const of = x->template as<T>(), *by = kernel->template as<T>();
        using Line = detail::ConvolvedLine<T, xsimd::default_arch>;
        const std::int64_t n = to.back();
        Axes j = Axes::filled(to.size(), 0);
        do {
            Axes shift = first, k = Axes::filled(to.size(), 0);
            for (std::size_t d = 0; d < shift.size(); ++d) shift[d] -= j[d];
            T* line = y->template as<T>();
            do {
                const std::int64_t start = detail::line_start(a, k, shift);
                if (start >= 0) Line{of + start, a.back(), first.back(), by, v.back()}.add_to(line, n);
                line += n;
            } while (detail::next_line(k, to));
            by += v.back();
        } while (detail::next_line(j, v));
        return y;
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>& kernel,
                   const Tensor<T>&) const
    {
        return against(g, flip(kernel, Site{}), v, a);
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>&, const Tensor<T>&) const
    {
        return against(g, flip(x, Site{}), a, v);
    }
    std::string parameters() const { return "first=" + to_string(first) + ", to=" + to_string(to); }

private:
    /// ȳ with an operand from its end: the cotangent of the other one, of shape `other`.
    template <class T>
    Tensor<T> against(const Tensor<T>& g, const Tensor<T>& operand, const Shape& its,
                      const Shape& other) const
    {
        Axes from = first;
        for (std::size_t d = 0; d < from.size(); ++d) from[d] = its[d] - 1 - first[d];
        return apply<Convolution, T>({from, to, its, other}, Site{}, g, operand);
    }
};

/// What convolve gives: `full` all places where a and v meet, `same` as many as the longer has, from the middle, `valid` those where
/// the shorter lies inside of the longer.
enum class ConvolveMode { full, same, valid };

namespace detail {

template <class T, class D>
Tensor<T, D> convolved(std::string_view name, const Tensor<T, D>& a, const Tensor<T, D>& v, ConvolveMode mode,
                       const Site& at)
{
    const Shape &of = a.shape(name, at), &by = v.shape(name, at);
    bool fits = !of.empty() && of.size() == by.size(), a_inside = true, v_inside = true;
    for (std::size_t d = 0; fits && d < of.size(); ++d) {
        fits = of[d] > 0 && by[d] > 0;
        v_inside = v_inside && by[d] <= of[d];
        a_inside = a_inside && of[d] <= by[d];
    }
    if (!fits || (mode != ConvolveMode::full && !a_inside && !v_inside))
        fail<ShapeError>(name,
                         "shapes " + to_string(of) + " and " + to_string(by) +
                             ": arrays of one rank with an element along each axis are expected" +
                             (fits ? ", one of them inside of the other" : ""),
                         at);
    const bool other = mode == ConvolveMode::full ? element_count(of) < element_count(by) : !v_inside;
    if (other) return convolved(name, v, a, mode, at);  // the same sums, in fewer and longer lines
    Convolution op{Axes::filled(of.size(), 0), of, by, of};
    for (std::size_t d = 0; d < of.size(); ++d) {
        if (mode == ConvolveMode::full) op.to[d] += by[d] - 1;
        if (mode == ConvolveMode::valid) op.to[d] -= by[d] - 1;
        op.first[d] = mode == ConvolveMode::full   ? 0
                      : mode == ConvolveMode::same ? (by[d] - 1) / 2
                                                   : by[d] - 1;
    }
    check_shape(name, op.to, at);
    return apply<Convolution, T>(op, at, a, v);
}

}  // namespace detail

/// Σ a[k − j] v[j] over j, along all axes, of arrays of one rank, as scipy.signal.convolve; of vectors it is numpy.convolve. Summed
/// directly, in a·v steps: fft.hpp serves where both are long. Throws ShapeError for other ranks, an empty array, and, unless `full`,
/// where neither lies inside of the other.
template <Differentiable T, class D>
Tensor<T, D> convolve(const Tensor<T, D>& a, const std::type_identity_t<Tensor<T, D>>& v,
                      ConvolveMode mode = ConvolveMode::full, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::convolved("convolve", a, v, mode, at);
}
/// Σ a[k + j] v[j] over j: the convolution of a with v from its end. `valid` is what layers of networks call a convolution. Throws as
/// convolve.
template <Differentiable T, class D>
Tensor<T, D> correlate(const Tensor<T, D>& a, const std::type_identity_t<Tensor<T, D>>& v,
                       ConvolveMode mode = ConvolveMode::valid,
                       Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const ComposedAt line(at, "correlate");
    if (element_count(a.shape("correlate", at)) < element_count(v.shape("correlate", at)))
        return flip(detail::convolved("correlate", v, flip(a, at), mode, at), at);
    return detail::convolved("correlate", a, flip(v, at), mode, at);
}

}  // namespace wengert
