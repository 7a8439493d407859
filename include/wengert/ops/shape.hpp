// Moving elements without computing: axes rearranged, tensors joined and taken apart, padding, triangles.
#pragma once

#include "move_rules.hpp"
#include "shape_rules.hpp"

namespace wengert {

/// x as a vector, row by row; a view where x is contiguous.
template <class T, class D>
Tensor<T, D> flatten(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return reshape(x, Shape{-1}, at);
}

/// Axis k of the result is axis perm[k] of x. A view. Throws ShapeError when perm is no permutation of x's axes.
template <class T, class D>
Tensor<T, D> transpose(const Tensor<T, D>& x, const Axes& perm,
                       Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Axes all = normalize_axes("transpose", perm, false, x.shape("transpose", at), at);
    if (all.size() != x.dimension())
        fail<ShapeError>("transpose",
                         to_string(perm) + " is no permutation of the axes of shape " + to_string(x.shape()),
                         at);
    Axes sane = perm;
    for (auto& a : sane) a = a < 0 ? a + static_cast<std::int64_t>(x.dimension()) : a;
    return apply<Transpose, T>(Transpose{sane}, at, x);
}

/// All axes reversed. A view.
template <class T, class D>
Tensor<T, D> transpose(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    Axes perm = Axes::filled(x.shape("transpose", at).size());
    for (std::size_t k = 0; k < perm.size(); ++k) perm[k] = static_cast<std::int64_t>(perm.size() - 1 - k);
    return apply<Transpose, T>(Transpose{perm}, at, x);
}
template <class Value, class D> Tensor<Value, D> Tensor<Value, D>::T(Site at) const
{
    return transpose(*this, at);
}

/// Two axes exchanged. A view. Throws ShapeError for an axis out of range.
template <class T, class D>
Tensor<T, D> swapaxes(const Tensor<T, D>& x, std::int64_t a, std::int64_t b,
                      Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const std::size_t i = normalize_axis("swapaxes", a, x.shape("swapaxes", at), at),
                      j = normalize_axis("swapaxes", b, x.shape(), at);
    Axes perm = Axes::filled(x.dimension());
    for (std::size_t k = 0; k < perm.size(); ++k) perm[k] = static_cast<std::int64_t>(k);
    std::swap(perm[i], perm[j]);
    return apply<Transpose, T>(Transpose{perm}, at, x);
}

/// A new axis of extent 1 at position `axis` of the result. A view. Throws ShapeError for a position out of range.
template <class T, class D>
Tensor<T, D> expand_dims(const Tensor<T, D>& x, std::int64_t axis,
                         Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const auto rank = static_cast<std::int64_t>(x.shape("expand_dims", at).size()) + 1;
    if (axis < -rank || axis >= rank)
        fail<ShapeError>("expand_dims",
                         "position " + std::to_string(axis) + " is out of range for a new axis in shape " +
                             to_string(x.shape()),
                         at);
    return apply<ExpandDims, T>(ExpandDims{{axis < 0 ? axis + rank : axis}}, at, x);
}

/// Without the given axes. A view. Throws ShapeError when the extent of one of them is not 1.
template <class T, class D>
Tensor<T, D> squeeze(const Tensor<T, D>& x, const AxesArgument& axes,
                     Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Axes drop = normalize_axes("squeeze", axes, false, x.shape("squeeze", at), at);
    for (auto a : drop)
        if (x.shape()[static_cast<std::size_t>(a)] != 1)
            fail<ShapeError>(
                "squeeze",
                "axis " + std::to_string(a) + " of shape " + to_string(x.shape()) + " has not extent 1", at);
    return apply<Squeeze, T>(Squeeze{drop}, at, x);
}

/// Without any axis of extent 1. A view.
template <class T, class D>
Tensor<T, D> squeeze(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    Axes drop;
    for (std::size_t k = 0; k < x.shape("squeeze", at).size(); ++k)
        if (x.shape()[k] == 1) drop.push_back(static_cast<std::int64_t>(k));
    return apply<Squeeze, T>(Squeeze{drop}, at, x);
}

namespace detail {

template <class T, class D>
std::vector<const AnyTensor*> operands(std::string_view primitive, const Tensor<T, D>* parts, std::size_t n,
                                       const Site& at)
{
    if (n == 0) fail<ShapeError>(primitive, "needs at least one tensor", at);
    std::vector<const AnyTensor*> in(n);
    for (std::size_t i = 0; i < n; ++i) in[i] = &parts[i].any(primitive, at);
    return in;
}

template <class T, class D>
Tensor<T, D> concatenate(const Tensor<T, D>* parts, std::size_t n, std::int64_t axis, const Site& at)
{
    const auto in = operands("concatenate", parts, n, at);
    const Shape& first = parts[0].shape();
    Concatenate op{normalize_axis("concatenate", axis, first, at), first};
    op.shape[op.axis] = 0;
    for (const AnyTensor* x : in) {
        const Shape& shape = x->value->shape;
        bool fits = shape.size() == first.size();
        for (std::size_t k = 0; fits && k < shape.size(); ++k) fits = k == op.axis || shape[k] == first[k];
        if (!fits)
            fail<ShapeError>("concatenate",
                             "shapes " + to_string(first) + " and " + to_string(shape) +
                                 " differ in more than axis " + std::to_string(axis),
                             at);
        op.add(shape[op.axis]);
        op.shape[op.axis] += shape[op.axis];
        check_shape("concatenate", op.shape, at);  // each time: the next sum might wrap
    }
    return apply_variadic<Concatenate, T, D>(op, at, in.data(), n);
}

template <class T, class D>
Tensor<T, D> stack(const Tensor<T, D>* parts, std::size_t n, std::int64_t axis, const Site& at)
{
    const auto in = operands("stack", parts, n, at);
    const Shape& first = parts[0].shape();
    for (const AnyTensor* x : in)
        if (!(x->value->shape == first))
            fail<ShapeError>(
                "stack", "shapes " + to_string(first) + " and " + to_string(x->value->shape) + " differ", at);
    Shape shape = first;
    shape.push_back(1);
    const std::size_t k = normalize_axis("stack", axis, shape, at);
    for (std::size_t a = shape.size() - 1; a > k; --a) shape[a] = shape[a - 1];
    shape[k] = static_cast<std::int64_t>(n);
    check_shape("stack", shape, at);
    return apply_variadic<Stack, T, D>(Stack{k, shape}, at, in.data(), n);
}

}  // namespace detail

namespace detail {
/// An element of a list of tensors that are not all of one type.
struct Mixed {
    template <class T, class D> Mixed(const Tensor<T, D>&)
    {
        static_assert(!std::is_same_v<T, T>, "wengert: the tensors of a list have one dtype and one device: "
                                             "cast<T>(x), to<cuda>(x), to<cpu>(x)");
    }
};
}  // namespace detail

/// The tensors one after another along an axis. Throws ShapeError when they differ in another axis.
template <class T, class D>
Tensor<T, D> concatenate(std::initializer_list<Tensor<T, D>> parts, std::int64_t axis = 0,
                         Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::concatenate(parts.begin(), parts.size(), axis, at);
}
template <class T, class D>
Tensor<T, D> concatenate(const std::vector<Tensor<T, D>>& parts, std::int64_t axis = 0,
                         Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::concatenate(parts.data(), parts.size(), axis, at);
}

detail::Mixed concatenate(std::initializer_list<detail::Mixed> parts, std::int64_t axis = 0);

/// The tensors side by side along a new axis. Throws ShapeError when their shapes differ.
template <class T, class D>
Tensor<T, D> stack(std::initializer_list<Tensor<T, D>> parts, std::int64_t axis = 0,
                   Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::stack(parts.begin(), parts.size(), axis, at);
}
template <class T, class D>
Tensor<T, D> stack(const std::vector<Tensor<T, D>>& parts, std::int64_t axis = 0,
                   Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::stack(parts.data(), parts.size(), axis, at);
}
detail::Mixed stack(std::initializer_list<detail::Mixed> parts, std::int64_t axis = 0);

/// n equal parts along an axis, views. Throws ShapeError when n does not divide the extent.
template <class T, class D>
std::vector<Tensor<T, D>> split(const Tensor<T, D>& x, std::int64_t n, std::int64_t axis = 0,
                                Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const std::size_t k = normalize_axis("split", axis, x.shape("split", at), at);
    if (n <= 0 || x.shape()[k] % n != 0)
        fail<ShapeError>("split",
                         "axis " + std::to_string(axis) + " of shape " + to_string(x.shape()) + " has no " +
                             std::to_string(n) + " equal parts",
                         at);
    const std::int64_t width = x.shape()[k] / n;
    std::vector<Tensor<T, D>> parts;
    parts.reserve(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i)
        parts.push_back(apply<Split, T>(Split{{Selection::part(x.shape(), k, i * width, width)}}, at, x));
    return parts;
}

/// How many elements to put before and after, one pair for each axis.
using Padding = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// x with more elements around it: `value`, or what the mode says. Throws ShapeError when there is not one non-negative pair for
/// each axis, and where elements of an axis that has none would be repeated, DTypeError for a value that T does not have.
template <class T, class D>
Tensor<T, D> pad(const Tensor<T, D>& x, const Padding& widths, PadMode mode, double value = 0,
                 Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Shape& from = x.shape("pad", at);
    static_cast<void>(detail::number_as<T>(value, at));
    bool valid = widths.size() == from.size();
    for (const auto& [before, after] : widths) valid = valid && before >= 0 && after >= 0;
    if (!valid)
        fail<ShapeError>(
            "pad", "needs one pair of non-negative widths for each axis of shape " + to_string(from), at);
    constexpr auto too_wide = static_cast<std::int64_t>(max_elements) + 1;  // their sums do not wrap
    Pad op{{}, {}, static_cast<std::int64_t>(mode), value};
    Shape shape = from;
    for (std::size_t k = 0; k < shape.size(); ++k) {
        op.before.push_back(std::min(widths[k].first, too_wide));
        op.after.push_back(std::min(widths[k].second, too_wide));
        shape[k] += op.before[k] + op.after[k];
        if (from[k] == 0 && shape[k] > 0 && mode != PadMode::constant)
            fail<ShapeError>("pad",
                             "axis " + std::to_string(k) + " of shape " + to_string(from) +
                                 " has no element to repeat",
                             at);
    }
    check_shape("pad", shape, at);
    return apply<Pad, T>(op, at, x);
}
/// x surrounded by `value`. Throws ShapeError when there is not one non-negative pair for each axis.
template <class T, class D>
Tensor<T, D> pad(const Tensor<T, D>& x, const Padding& widths, double value = 0,
                 Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return pad(x, widths, PadMode::constant, value, at);
}

namespace detail {
template <class T, class D>
void needs_matrix(std::string_view primitive, const Tensor<T, D>& x, const Site& at)
{
    if (x.shape(primitive, at).size() < 2)
        fail<ShapeError>(primitive, "needs at least two axes, not shape " + to_string(x.shape()), at);
}
}  // namespace detail

/// Zero above the k-th diagonal of the last two axes. Throws ShapeError for fewer than two axes.
template <class T, class D>
Tensor<T, D> tril(const Tensor<T, D>& x, std::int64_t k = 0, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::needs_matrix("tril", x, at);
    return apply<Tril, T>(Tril{{k}}, at, x);
}
/// Zero below the k-th diagonal of the last two axes. Throws ShapeError for fewer than two axes.
template <class T, class D>
Tensor<T, D> triu(const Tensor<T, D>& x, std::int64_t k = 0, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::needs_matrix("triu", x, at);
    return apply<Triu, T>(Triu{{k}}, at, x);
}
/// The k-th diagonal of the last two axes, the main one, or above it for k > 0; a view. Throws ShapeError for fewer than two axes.
template <class T, class D>
Tensor<T, D> diagonal(const Tensor<T, D>& x, std::int64_t k = 0,
                      Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::needs_matrix("diagonal", x, at);
    if (k == 0) return apply<Diagonal, T>(Diagonal{x.shape("diagonal", at)}, at, x);
    const std::size_t axis = x.dimension() - (k > 0 ? 1 : 2);
    const std::int64_t n = x.shape()[axis],
                       first = k > 0 ? std::min(k, n) : n - std::max(n + k, std::int64_t(0));
    return diagonal(apply<Split, T>(Split{{Selection::part(x.shape(), axis, first, n - first)}}, at, x), 0,
                    at);
}

}  // namespace wengert
