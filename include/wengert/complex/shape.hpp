// New complex tensors, and moving, joining, selecting and adding up their elements: what real tensors have, on the axes before that
// of the parts. An axis counted from the end is counted from the last of those.
#pragma once

#include "../io/print.hpp"
#include "../ops/arg_reductions.hpp"
#include "../ops/composed/arrange.hpp"
#include "../ops/indexing.hpp"
#include "../ops/moves.hpp"
#include "../ops/reductions.hpp"
#include "../ops/scans.hpp"
#include "functions.hpp"

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
/// Subscripts of z as those of its parts.
template <class T, class D>
std::vector<Slice> slices_of(std::vector<Slice> slices, const Tensor<std::complex<T>, D>& z, const Site& at)
{
    bool open = false;
    for (const Slice& s : slices) open = open || s.kind == Slice::Kind::ellipsis;
    static_cast<void>(
        resolve(slices.data(), slices.size(), z.shape("view", at), at));  // refuses one too many
    if (open) slices.push_back(all());
    return slices;
}

}  // namespace detail

// ---- new ones

template <class C, class Device = cpu>
    requires is_complex<C>
Tensor<C, Device> full(const Shape& shape, std::type_identity_t<C> value,
                       Site at = {__builtin_FILE(), __builtin_LINE()})
{
    check_shape("full", shape, at);
    const Tensor<C, Device> one(value);
    return detail::as_complex(copy(broadcast_to(one.parts(), detail::with_parts(shape), at), at));
}
template <class C, class Device = cpu>
    requires is_complex<C>
Tensor<C, Device> zeros(const Shape& shape, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    check_shape("zeros", shape, at);
    return detail::as_complex(zeros<typename C::value_type, Device>(detail::with_parts(shape), at));
}
template <class C, class Device = cpu>
    requires is_complex<C>
Tensor<C, Device> ones(const Shape& shape, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return full<C, Device>(shape, C(1), at);
}
template <class T, class D>
Tensor<std::complex<T>, D> zeros_like(const Tensor<std::complex<T>, D>& z,
                                      Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(zeros_like(z.parts("zeros_like", at), at));
}
/// z in row-major order in memory of its own, recorded.
template <class T, class D>
Tensor<std::complex<T>, D> copy(const Tensor<std::complex<T>, D>& z,
                                Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(copy(z.parts("copy", at), at));
}
template <class T, class D> Tensor<std::complex<T>, D> stop_gradient(const Tensor<std::complex<T>, D>& z)
{
    return z.detach();
}
/// Equal shapes and |a − b| ≤ tolerance (1 + |b|) everywhere; a NaN equals nothing.
template <class T, class D>
bool allclose(const Tensor<std::complex<T>, D>& a, const std::type_identity_t<Tensor<std::complex<T>, D>>& b,
              double tolerance = close_enough<T>, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    if (!(a.shape("allclose", at) == b.shape("allclose", at))) return false;
    const Tensor<std::complex<T>, D> x = copy(a.detach(), at), y = copy(b.detach(), at);
    const std::complex<T>*const p = x.data(at), *const q = y.data(at);
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (p[i] == q[i]) continue;
        const auto distance = static_cast<double>(std::abs(p[i] - q[i])),
                   size = static_cast<double>(std::abs(q[i]));
        if (!(distance <= tolerance * (1 + size)) || !std::isfinite(size)) return false;
    }
    return true;
}

// ---- moves

/// Throws ShapeError when the sizes differ.
template <class T, class D>
Tensor<std::complex<T>, D> reshape(const Tensor<std::complex<T>, D>& z, Shape shape,
                                   Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(reshape(z.parts("reshape", at), detail::with_parts(shape), at));
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
    return detail::as_complex(broadcast_to(z.parts("broadcast_to", at), detail::with_parts(shape), at));
}
template <class T, class D>
Tensor<std::complex<T>, D> roll(const Tensor<std::complex<T>, D>& z, std::int64_t shift, std::int64_t axis,
                                Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(roll(z.parts("roll", at), shift, detail::axis_of("roll", axis, z, at), at));
}
template <class T, class D>
Tensor<std::complex<T>, D> flip(const Tensor<std::complex<T>, D>& z, const AxesArgument& axes,
                                Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(flip(z.parts("flip", at), detail::axes_of("flip", axes, z, at), at));
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
    const Tensor<T, D> other = detail::as_parts(b, b.at);
    return detail::as_complex(where(expand_dims(c, -1, b.at), a.parts("where", b.at), other));
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

// ---- parts of tensors

/// A part of a complex variable, to read from and to write to, as View of real tensors.
template <class T, class D> class View<std::complex<T>, D> : public Tensor<std::complex<T>, D> {
public:
    using Whole = Tensor<std::complex<T>, D>;
    using Arg = Operand<std::complex<T>, D>;
    View(Whole& target, const std::vector<Slice>& slices, const Site& at)
        : Whole(view(std::as_const(target.parts_unchecked()), slices, at), 0), target_(&target),
          slices_(slices), at_(at)
    {}
    View(const View&) = default;
    template <class... X> void requires_grad(X&&...) = delete;

    void operator=(const Arg& v) && { store(v); }
    void operator=(const View& v) && { store(Arg(static_cast<const Whole&>(v))); }
    void operator+=(const Arg& v) && { store(Arg(ops::add<T, D>(*this, v, v.at))); }
    void operator-=(const Arg& v) && { store(Arg(ops::subtract<T, D>(*this, v, v.at))); }
    void operator*=(const Arg& v) && { store(Arg(ops::multiply<T, D>(*this, v, v.at))); }
    void operator/=(const Arg& v) && { store(Arg(ops::divide<T, D>(*this, v, v.at))); }

private:
    /// This view's own hold of the elements must go first, or it would force a copy.
    void store(const Arg& v)
    {
        const Tensor<T, D> parts = detail::as_parts(v, v.at);
        this->parts_unchecked() = Tensor<T, D>();
        view(target_->parts_unchecked(), slices_, at_) = parts;
    }
    Whole* target_;
    std::vector<Slice> slices_;
    Site at_;
};

/// Part of a complex tensor, as NumPy's z[a, b, …]: no copy. On a variable the part can also be assigned to. Throws IndexError.
template <class T, class D>
Tensor<std::complex<T>, D> view(const Tensor<std::complex<T>, D>& z, const std::vector<Slice>& slices,
                                Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(view(z.parts("view", at), detail::slices_of(slices, z, at), at));
}
template <class T, class D>
View<std::complex<T>, D> view(Tensor<std::complex<T>, D>& z, const std::vector<Slice>& slices,
                              Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return {z, detail::slices_of(slices, z, at), at};
}
template <class T, class D>
Tensor<std::complex<T>, D> view(const Tensor<std::complex<T>, D>& z, Slice a = {}, Slice b = {}, Slice c = {},
                                Slice d = {}, Slice e = {}, Slice f = {},
                                Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Slice slices[] = {a, b, c, d, e, f};
    return view(z, std::vector<Slice>(slices, slices + detail::given(slices)), at);
}
template <class T, class D>
View<std::complex<T>, D> view(Tensor<std::complex<T>, D>& z, Slice a = {}, Slice b = {}, Slice c = {},
                              Slice d = {}, Slice e = {}, Slice f = {},
                              Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Slice slices[] = {a, b, c, d, e, f};
    return view(z, std::vector<Slice>(slices, slices + detail::given(slices)), at);
}

/// The real tensor of the parts, as it prints.
template <class T, class D> std::ostream& operator<<(std::ostream& out, const Tensor<std::complex<T>, D>& z)
{
    if (!z.defined()) return out << "Tensor<complex>(undefined)";
    return out << "complex, by (real, imaginary): " << z.parts();
}

}  // namespace wengert
