// Moving, joining and adding up the elements of complex tensors: what real tensors have, on the axes before that of the parts. An axis counted from the end is counted from the last of those.
#pragma once

#include "../ops/composed/arrange.hpp"
#include "../ops/indexing.hpp"
#include "../ops/moves.hpp"
#include "../ops/reductions.hpp"
#include "../ops/scans.hpp"
#include "creation.hpp"

namespace wengert {

namespace detail {

template <class T, class D>
std::int64_t axis_of(std::string_view name, std::int64_t axis, const Tensor<std::complex<T>, D>& z,
                     const Site& at)
{
    return static_cast<std::int64_t>(normalize_axis(name, axis, z.shape(name, at), at));
}
template <class T, class D>
Axes axes_of(std::string_view name, const Axes& axes, const Tensor<std::complex<T>, D>& z, const Site& at)
{
    Axes out;
    for (const std::int64_t a : axes) out.push_back(axis_of(name, a, z, at));
    return out;
}
template <class T, class D>
Axes all_axes(std::string_view name, const Tensor<std::complex<T>, D>& z, const Site& at)
{
    Axes out;
    for (std::size_t k = 0; k < z.shape(name, at).size(); ++k) out.push_back(static_cast<std::int64_t>(k));
    return out;
}
template <class T, class D>
std::vector<Tensor<T, D>> all_parts(std::string_view name, const Tensor<std::complex<T>, D>* z, std::size_t n,
                                    const Site& at)
{
    std::vector<Tensor<T, D>> parts;
    for (std::size_t i = 0; i < n; ++i) parts.push_back(z[i].parts(name, at));
    return parts;
}
/// The place of a new axis in the result, not negative.
template <class T, class D>
std::int64_t new_axis(std::string_view name, std::int64_t axis, const Tensor<std::complex<T>, D>& z,
                      const Site& at)
{
    const auto rank = static_cast<std::int64_t>(z.shape(name, at).size()) + 1;
    if (axis < -rank || axis >= rank)
        fail<ShapeError>(name,
                         "position " + std::to_string(axis) + " is out of range for a new axis in shape " +
                             to_string(z.shape()),
                         at);
    return axis < 0 ? axis + rank : axis;
}
}  // namespace detail

// ---- moves

/// Throws ShapeError when the sizes differ.
template <class T, class D>
Tensor<std::complex<T>, D> reshape(const Tensor<std::complex<T>, D>& z, Shape shape,
                                   Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Shape to = arranged("reshape", shape, z.shape("reshape", at), at);
    return detail::as_complex(reshape(z.parts(), detail::with_parts(to), at));
}
template <class T, class D>
Tensor<std::complex<T>, D> flatten(const Tensor<std::complex<T>, D>& z,
                                   Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return reshape(z, Shape{-1}, at);
}
/// Axis k of the result is axis perm[k] of z. A view. Throws ShapeError when perm is no permutation of z's axes.
template <class T, class D>
Tensor<std::complex<T>, D> transpose(const Tensor<std::complex<T>, D>& z, const Axes& perm,
                                     Site at = {__builtin_FILE(), __builtin_LINE()})
{
    Axes all = detail::axes_of("transpose", perm, z, at);
    if (all.size() != z.dimension())
        fail<ShapeError>("transpose",
                         to_string(perm) + " is no permutation of the axes of shape " + to_string(z.shape()),
                         at);
    all.push_back(static_cast<std::int64_t>(all.size()));
    return detail::as_complex(transpose(z.parts(), all, at));
}
/// All axes reversed. A view.
template <class T, class D>
Tensor<std::complex<T>, D> transpose(const Tensor<std::complex<T>, D>& z,
                                     Site at = {__builtin_FILE(), __builtin_LINE()})
{
    Axes perm = detail::all_axes("transpose", z, at);
    std::reverse(perm.begin(), perm.end());
    return transpose(z, perm, at);
}
template <class T, class D>
Tensor<std::complex<T>, D> swapaxes(const Tensor<std::complex<T>, D>& z, std::int64_t a, std::int64_t b,
                                    Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(swapaxes(z.parts("swapaxes", at), detail::axis_of("swapaxes", a, z, at),
                                       detail::axis_of("swapaxes", b, z, at), at));
}
/// The conjugate of each matrix in the last two axes, transposed.
template <class T, class D>
Tensor<std::complex<T>, D> adjoint(const Tensor<std::complex<T>, D>& z,
                                   Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return conj(swapaxes(z, -1, -2, at), at);
}
template <class T, class D>
Tensor<std::complex<T>, D> moveaxis(const Tensor<std::complex<T>, D>& z, const AxesArgument& from,
                                    const AxesArgument& to, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(moveaxis(z.parts("moveaxis", at), detail::axes_of("moveaxis", from, z, at),
                                       detail::axes_of("moveaxis", to, z, at), at));
}
template <class T, class D>
Tensor<std::complex<T>, D> expand_dims(const Tensor<std::complex<T>, D>& z, std::int64_t axis,
                                       Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(
        expand_dims(z.parts("expand_dims", at), detail::new_axis("expand_dims", axis, z, at), at));
}
template <class T, class D>
Tensor<std::complex<T>, D> squeeze(const Tensor<std::complex<T>, D>& z, const AxesArgument& axes,
                                   Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(squeeze(z.parts("squeeze", at), detail::axes_of("squeeze", axes, z, at), at));
}
template <class T, class D>
Tensor<std::complex<T>, D> broadcast_to(const Tensor<std::complex<T>, D>& z, const Shape& shape,
                                        Site at = {__builtin_FILE(), __builtin_LINE()})
{
    check_broadcast("broadcast_to", z.shape("broadcast_to", at), shape, at);
    return detail::as_complex(broadcast_to(z.parts(), detail::with_parts(shape), at));
}
/// All axes of extent 1.
template <class T, class D>
Tensor<std::complex<T>, D> squeeze(const Tensor<std::complex<T>, D>& z,
                                   Site at = {__builtin_FILE(), __builtin_LINE()})
{
    Axes single;
    for (const std::int64_t axis : detail::all_axes("squeeze", z, at))
        if (z.shape()[static_cast<std::size_t>(axis)] == 1) single.push_back(axis);
    return squeeze(z, single, at);
}
template <class T, class D>
Tensor<std::complex<T>, D> roll(const Tensor<std::complex<T>, D>& z, std::int64_t shift, std::int64_t axis,
                                Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(roll(z.parts("roll", at), shift, detail::axis_of("roll", axis, z, at), at));
}
/// In row-major order, from one end to the other.
template <class T, class D>
Tensor<std::complex<T>, D> roll(const Tensor<std::complex<T>, D>& z, std::int64_t shift,
                                Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return reshape(roll(flatten(z, at), shift, 0, at), z.shape(), at);
}
template <class T, class D>
Tensor<std::complex<T>, D> flip(const Tensor<std::complex<T>, D>& z, const Axes& axes,
                                Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(flip(z.parts("flip", at), detail::axes_of("flip", axes, z, at), at));
}
template <class T, class D>
Tensor<std::complex<T>, D> flip(const Tensor<std::complex<T>, D>& z, std::int64_t axis,
                                Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return flip(z, Axes{axis}, at);
}
template <class T, class D>
Tensor<std::complex<T>, D> flip(const Tensor<std::complex<T>, D>& z,
                                Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return flip(z, detail::all_axes("flip", z, at), at);
}
template <class T, class D>
Tensor<std::complex<T>, D> pad(const Tensor<std::complex<T>, D>& z, Padding widths,
                               Site at = {__builtin_FILE(), __builtin_LINE()})
{
    if (widths.size() == z.shape("pad", at).size())
        widths.emplace_back(0, 0);
    else
        widths.clear();  // which pad refuses
    return detail::as_complex(pad(z.parts(), widths, 0.0, at));
}
template <class T, class D>
Tensor<std::complex<T>, D> take(const Tensor<std::complex<T>, D>& z,
                                const std::type_identity_t<Tensor<std::int64_t, D>>& indices,
                                std::int64_t axis, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(take(z.parts("take", at), indices, detail::axis_of("take", axis, z, at), at));
}
/// Elements of a where the condition holds, of b elsewhere; all three broadcast.
template <class T, class D>
Tensor<std::complex<T>, D> where(const std::type_identity_t<Tensor<bool, D>>& c,
                                 const Tensor<std::complex<T>, D>& a,
                                 const std::type_identity_t<Operand<std::complex<T>, D>>& b)
{
    const Tensor<T, D>& parts = a.parts("where", b.at);
    const Tensor<T, D> other = detail::as_parts(b, b.at);
    // a user knows these shapes, and not those of parts
    static_cast<void>(broadcast_shapes("where", c.shape("where", b.at),
                                       broadcast_shapes("where", a.shape(), b.shape(), b.at), b.at));
    return detail::as_complex(
        where(expand_dims(c, -1, b.at), parts, Operand<T, D>(other, b.at.file, b.at.line)));
}

// ---- joined and taken apart

template <class T, class D>
Tensor<std::complex<T>, D> concatenate(const std::vector<Tensor<std::complex<T>, D>>& parts,
                                       std::int64_t axis = 0, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    if (!parts.empty()) axis = detail::axis_of("concatenate", axis, parts[0], at);
    return detail::as_complex(
        concatenate(detail::all_parts("concatenate", parts.data(), parts.size(), at), axis, at));
}
template <class T, class D>
Tensor<std::complex<T>, D> concatenate(std::initializer_list<Tensor<std::complex<T>, D>> parts,
                                       std::int64_t axis = 0, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return concatenate(std::vector<Tensor<std::complex<T>, D>>(parts), axis, at);
}
template <class T, class D>
Tensor<std::complex<T>, D> stack(const std::vector<Tensor<std::complex<T>, D>>& parts, std::int64_t axis = 0,
                                 Site at = {__builtin_FILE(), __builtin_LINE()})
{
    if (!parts.empty()) axis = detail::new_axis("stack", axis, parts[0], at);
    return detail::as_complex(stack(detail::all_parts("stack", parts.data(), parts.size(), at), axis, at));
}
template <class T, class D>
Tensor<std::complex<T>, D> stack(std::initializer_list<Tensor<std::complex<T>, D>> parts,
                                 std::int64_t axis = 0, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return stack(std::vector<Tensor<std::complex<T>, D>>(parts), axis, at);
}

// ---- sums

template <class T, class D>
Tensor<std::complex<T>, D> sum(const Tensor<std::complex<T>, D>& z,
                               Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(sum(z.parts("sum", at), detail::all_axes("sum", z, at), false, at));
}
template <class T, class D>
Tensor<std::complex<T>, D> sum(const Tensor<std::complex<T>, D>& z, const AxesArgument& axes,
                               bool keepdims = false, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(sum(z.parts("sum", at), detail::axes_of("sum", axes, z, at), keepdims, at));
}
template <class T, class D>
Tensor<std::complex<T>, D> mean(const Tensor<std::complex<T>, D>& z,
                                Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(mean(z.parts("mean", at), detail::all_axes("mean", z, at), false, at));
}
template <class T, class D>
Tensor<std::complex<T>, D> mean(const Tensor<std::complex<T>, D>& z, const AxesArgument& axes,
                                bool keepdims = false, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(mean(z.parts("mean", at), detail::axes_of("mean", axes, z, at), keepdims, at));
}
template <class T, class D>
Tensor<std::complex<T>, D> cumsum(const Tensor<std::complex<T>, D>& z, std::int64_t axis,
                                  bool reverse = false, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(
        cumsum(z.parts("cumsum", at), detail::axis_of("cumsum", axis, z, at), reverse, at));
}
template <class T, class D>
Tensor<std::complex<T>, D> cumsum(const Tensor<std::complex<T>, D>& z,
                                  Site at = {__builtin_FILE(), __builtin_LINE()})
{
    static_cast<void>(z.shape("cumsum", at));
    return cumsum(flatten(z, at), 0, false, at);
}

// ---- members

template <class V, class D> Tensor<std::complex<V>, D> Tensor<std::complex<V>, D>::T(Site at) const
{
    return wengert::transpose(*this, at);
}
template <class V, class D>
Tensor<std::complex<V>, D> Tensor<std::complex<V>, D>::reshape(const Shape& shape, Site at) const
{
    return wengert::reshape(*this, shape, at);
}
template <class V, class D> Tensor<std::complex<V>, D> Tensor<std::complex<V>, D>::sum(Site at) const
{
    return wengert::sum(*this, at);
}
template <class V, class D>
Tensor<std::complex<V>, D> Tensor<std::complex<V>, D>::sum(const AxesArgument& axes, bool keepdims,
                                                           Site at) const
{
    return wengert::sum(*this, axes, keepdims, at);
}
template <class V, class D> Tensor<std::complex<V>, D> Tensor<std::complex<V>, D>::mean(Site at) const
{
    return wengert::mean(*this, at);
}
template <class V, class D>
Tensor<std::complex<V>, D> Tensor<std::complex<V>, D>::mean(const AxesArgument& axes, bool keepdims,
                                                            Site at) const
{
    return wengert::mean(*this, axes, keepdims, at);
}

}  // namespace wengert
