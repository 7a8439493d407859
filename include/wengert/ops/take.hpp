// Elements named by integer tensors: take (gather), scatter_add, one_hot.
#pragma once

#include "slices.hpp"

namespace wengert {

using Indices = Tensor<std::int64_t>;

namespace detail {

/// x seen as (outer, extent, inner) around an axis.
struct Lines {
    std::size_t outer = 1, extent = 1, inner = 1;
    Lines(const Shape& shape, std::size_t axis)
    {
        for (std::size_t i = 0; i < shape.size(); ++i)
            (i < axis ? outer : i > axis ? inner : extent) *= static_cast<std::size_t>(shape[i]);
    }
};

/// The shape of take(x, indices, axis): the indices' axes stand in the place of `axis`.
inline Shape taken_shape(const Shape& x, const Shape& indices, std::size_t axis)
{
    Shape out;
    for (std::size_t i = 0; i < axis; ++i) out.push_back(x[i]);
    for (auto e : indices) out.push_back(e);
    for (std::size_t i = axis + 1; i < x.size(); ++i) out.push_back(x[i]);
    return out;
}

/// Throws ShapeError where updates have not the shape of take(x, indices, axis).
inline void demand_updates(std::string_view primitive, const Shape& x, const Shape& indices,
                           const Shape& updates, std::size_t axis, const Site& at)
{
    const Shape wanted = taken_shape(x, indices, axis);
    if (!(updates == wanted))
        fail<ShapeError>(primitive,
                         "updates of shape " + to_string(updates) + " where shape " + to_string(x) +
                             " and indices of shape " + to_string(indices) + " need " + to_string(wanted),
                         at);
}

/// Where the elements of a taken array stand in it and in the array that they are taken from.
struct TakenPositions {
    Positions taken, whole;
    TakenPositions(Index& p, std::size_t axis, std::size_t array, std::size_t indices)
    {
        const Shape &x = p.shape(array), &along = p.shape(indices);
        if (axis >= x.size()) throw ShapeError("axis " + std::to_string(axis) + " of shape " + to_string(x));
        taken = p.axes(taken_shape(x, along, axis));
        Positions at;
        for (std::size_t k = 0; k < along.size(); ++k) at.push_back(taken[axis + k]);
        for (std::size_t k = 0; k < axis; ++k) whole.push_back(taken[k]);
        whole.push_back(p.element(indices, at, true));
        for (std::size_t k = axis + 1; k < x.size(); ++k) whole.push_back(taken[k - 1 + along.size()]);
    }
};
/// Operand 0 with `updates` added at `indices` along an axis.
inline void describe_added(Index& p, std::size_t axis, std::size_t indices, std::size_t updates)
{
    const TakenPositions i(p, axis, 0, indices);
    const Shape wanted = taken_shape(p.shape(0), p.shape(indices), axis);
    if (!(p.shape(updates) == wanted))
        throw ShapeError("updates of shape " + to_string(p.shape(updates)) + " that should be " +
                         to_string(wanted));
    p.write_into(i.whole, 0);
    p.adding();
    p.read(updates, i.taken);
}

/// Positions along an axis of `shape`: in row-major order, and known to be there.
struct CheckedIndices {
    Ref<Block> flat;
    /// Throws IndexError. A graph runs kernels on indices that no function has seen before, so each kernel looks.
    CheckedIndices(std::string_view primitive, const Ref<Block>& indices, std::size_t axis,
                   const Shape& shape, const Site& at)
        : flat(contiguous(indices))
    {
        const std::int64_t* index = flat->as<std::int64_t>();
        const auto extent = static_cast<std::uint64_t>(shape[axis]);
        bool good = true;  // all of −extent ≤ index < extent, without a branch
        for (std::size_t k = 0; k < flat->count; ++k)
            good &= static_cast<std::uint64_t>(index[k]) + extent < 2 * extent;
        if (good) return;
        for (std::size_t k = 0; k < flat->count; ++k)
            static_cast<void>(normalize_index(primitive, flat->as<std::int64_t>()[k], axis, shape, at));
    }
};

/// The element that an index names, counted from the end where it is negative.
inline std::int64_t from_start(std::int64_t index, std::int64_t extent)
{
    return index + (index >> 63 & extent);
}

/// fn(line of x, line of the taken array) for each index; lines are counted in units of `inner` elements.
template <class F> void for_lines(const Lines& x, const CheckedIndices& indices, const F& fn)
{
    const std::int64_t* index = indices.flat->as<std::int64_t>();
    const std::size_t n = indices.flat->count;
    for (std::size_t o = 0; o < x.outer; ++o)
        for (std::size_t k = 0; k < n; ++k) {
            const std::int64_t i = from_start(index[k], static_cast<std::int64_t>(x.extent));
            fn(o * x.extent + static_cast<std::size_t>(i), o * n + k);
        }
}

/// into[…, index, …] += updates, in place; equal indices add up in order.
template <class T>
void add_lines(std::string_view primitive, Block& into, const Ref<Block>& indices, const Ref<Block>& updates,
               std::size_t axis, const Site& at)
{
    const CheckedIndices checked(primitive, indices, axis, into.shape, at);
    const Lines lines(into.shape, axis);
    const Ref<Block> from = contiguous(updates);
    const T* u = from->template as<T>();
    T* x = into.as<T>();
    if (lines.inner == 1) {
        for_lines(lines, checked, [&](std::size_t i, std::size_t k) { x[i] = wrapping_add(x[i], u[k]); });
        return;
    }
    for_lines(lines, checked, [&](std::size_t i, std::size_t k) {
        for (std::size_t j = 0; j < lines.inner; ++j)
            x[i * lines.inner + j] = wrapping_add(x[i * lines.inner + j], u[k * lines.inner + j]);
    });
}

}  // namespace detail

/// y = x with updates added at indices along an axis;  x̄ = ȳ,  ū = take of ȳ
struct ScatterAdd {
    static constexpr std::string_view name = "scatter_add";
    static constexpr bool linear = true;
    static constexpr unsigned saves = 2;
    std::size_t axis;
    void describe(Index& p) const { detail::describe_added(p, axis, 1, 2); }
    template <class T>
    Ref<Block> value(const Ref<Block>& x, const Ref<Block>& indices, const Ref<Block>& updates,
                     const Site& at) const
    {
        auto out = copy_of(*x);
        detail::add_lines<T>(name, *out, indices, updates, axis, at);
        return out;
    }
    template <class T> void update_any(Block& x, const Ref<Block>* rest, const Site& at) const
    {
        detail::add_lines<T>(name, x, rest[0], rest[1], axis, at);
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Indices&, const Tensor<T>&,
                   const Tensor<T>&) const
    {
        return g;
    }
    template <class T>
    Tensor<T> pull(wrt<2>, const Tensor<T>& g, const Tensor<T>&, const Indices& indices, const Tensor<T>&,
                   const Tensor<T>&) const;
    std::string parameters() const { return "axis=" + std::to_string(axis); }
};

/// y = the slices of x at indices along an axis;  x̄ = ȳ scattered, equal indices added up, in place where it can be
struct Take {
    static constexpr std::string_view name = "take";
    static constexpr bool linear = true;
    static constexpr unsigned saves = 2;
    std::size_t axis;
    Shape of;
    void describe(Index& p) const
    {
        if (!(of == p.shape(0)))
            throw ShapeError("an array of shape " + to_string(p.shape(0)) + " that is said to be " +
                             to_string(of));
        const detail::TakenPositions i(p, axis, 0, 1);
        p.write(i.taken);
        p.read(0, i.whole);
    }
    /// Of accumulate: (x̄, ȳ, indices).
    void describe(wrt<0>, Index& p) const { detail::describe_added(p, axis, 2, 1); }
    template <class T> Ref<Block> value(const Ref<Block>& x, const Ref<Block>& indices, const Site& at) const
    {
        const detail::CheckedIndices checked(name, indices, axis, x->shape, at);
        const detail::Lines lines(x->shape, axis);
        auto out = make_block(dtype_of<T>(), detail::taken_shape(x->shape, indices->shape, axis));
        const Ref<Block> from = contiguous(x);
        const std::size_t bytes = lines.inner * sizeof(T);
        if (lines.inner == 1) {  // single elements: a copy of unknown length would be a call for each
            const T* const elements = from->template as<T>();
            T* const y = out->template as<T>();
            detail::for_lines(lines, checked, [&](std::size_t i, std::size_t k) { y[k] = elements[i]; });
            return out;
        }
        detail::for_lines(lines, checked, [&](std::size_t i, std::size_t k) {
            std::memcpy(out->data + k * bytes, from->data + i * bytes, bytes);
        });
        return out;
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Indices& indices,
                   const Tensor<T>&) const
    {
        const Tensor<T> zeros(AnyTensor{zeros_beside(*g.any().value, dtype_of<T>(), of), {}});
        return apply<ScatterAdd, T>(ScatterAdd{axis}, Site{}, zeros, indices, g);
    }
    template <class T>
    bool accumulate(wrt<0>, Block& into, const Tensor<T>& g, const Tensor<T>&, const Indices& indices,
                    const Tensor<T>&) const
    {
        detail::add_lines<T>(name, into, indices.any().value, g.any().value, axis, Site{});
        return true;
    }
    std::string parameters() const { return "axis=" + std::to_string(axis); }
};

template <class T>
Tensor<T> ScatterAdd::pull(wrt<2>, const Tensor<T>& g, const Tensor<T>&, const Indices& indices,
                           const Tensor<T>&, const Tensor<T>&) const
{
    return apply<Take, T>(Take{axis, g.shape()}, Site{}, g, indices);
}

/// The slices of x at the given positions of an axis, as numpy.take: the indices' shape stands in that axis' place.
/// Negative ones count from the end. Throws IndexError for one out of range.
template <class T, class D>
Tensor<T, D> take(const Tensor<T, D>& x, const std::type_identity_t<Tensor<std::int64_t, D>>& indices,
                  std::int64_t axis, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const std::size_t k = normalize_axis("take", axis, x.shape("take", at), at);
    check_shape("take", detail::taken_shape(x.shape(), indices.shape("take", at), k), at);
    return apply<Take, T>(Take{k, x.shape()}, at, x, indices);
}
/// Another name of take.
template <class T, class D>
Tensor<T, D> gather(const Tensor<T, D>& x, const std::type_identity_t<Tensor<std::int64_t, D>>& indices,
                    std::int64_t axis, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return take(x, indices, axis, at);
}

/// x with updates, shaped like take(x, indices, axis), added at those places; equal indices add up. Throws IndexError for
/// an index out of range, ShapeError for other updates.
template <class T, class D>
Tensor<T, D> scatter_add(const Tensor<T, D>& x, const std::type_identity_t<Tensor<std::int64_t, D>>& indices,
                         const std::type_identity_t<Tensor<T, D>>& updates, std::int64_t axis,
                         Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const std::size_t k = normalize_axis("scatter_add", axis, x.shape("scatter_add", at), at);
    detail::demand_updates("scatter_add", x.shape(), indices.shape("scatter_add", at),
                           updates.shape("scatter_add", at), k, at);
    return apply<ScatterAdd, T>(ScatterAdd{k}, at, x, indices, updates);
}

/// y = 1 at the labels along a new last axis, else 0.
struct OneHot {
    static constexpr std::string_view name = "one_hot";
    static constexpr bool flat = true;  // nothing that it reads has a derivative
    std::int64_t classes;
    void describe(Index& p) const
    {
        Positions i = p.axes_of(0);
        Shape shape = p.shape(0);
        shape.push_back(classes);
        i.push_back(p.element(0, i));
        p.write(i, shape);
        p.put(1);
    }
    template <class T> Ref<Block> value(const Ref<Block>& labels, const Site& at) const
    {
        Shape shape = labels->shape;
        shape.push_back(classes);
        auto out = zeros_block(dtype_of<T>(), shape);
        const Ref<Block> rows = contiguous(labels);
        const auto n = static_cast<std::size_t>(classes);
        for (std::size_t i = 0; i < rows->count; ++i) {
            const std::int64_t label = rows->as<std::int64_t>()[i];
            if (label < 0 || label >= classes)
                detail::index_out_of_range(name, label, shape.size() - 1, shape, at);
            out->template as<T>()[i * n + static_cast<std::size_t>(label)] = T(1);
        }
        return out;
    }
};

/// 1 where the last axis, of extent n, has the label's position, else 0. Throws IndexError for a label out of [0, n).
template <class T, class D = cpu>
Tensor<T, D> one_hot(const Tensor<std::int64_t, D>& labels, std::int64_t n,
                     Site at = {__builtin_FILE(), __builtin_LINE()})
{
    Shape shape = labels.shape("one_hot", at);
    shape.push_back(n);
    check_shape("one_hot", shape, at);
    return apply<OneHot, T>(OneHot{n}, at, labels);
}

}  // namespace wengert
