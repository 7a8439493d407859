// Sum and its transpose, broadcasting: what undoes one undoes the other. Every elementwise derivative needs them.
#pragma once

#include "../kernels/cpu/reduce.hpp"
#include "describe/structural.hpp"

namespace wengert {

/// Axes sorted and non-negative; none given means all. Throws ShapeError for axes out of range or given twice.
inline Axes normalize_axes(std::string_view primitive, const Axes& axes, bool all, const Shape& shape,
                           const Site& at)
{
    Axes out;
    if (all)
        for (std::size_t i = 0; i < shape.size(); ++i) out.push_back(static_cast<std::int64_t>(i));
    else
        for (auto a : axes) {
            const auto axis = static_cast<std::int64_t>(normalize_axis(primitive, a, shape, at));
            std::size_t place = out.size();
            out.push_back(axis);
            for (; place > 0 && out[place - 1] >= axis; --place) {
                if (out[place - 1] == axis)
                    fail<ShapeError>(
                        primitive,
                        "axis " + std::to_string(a) + " is given twice for shape " + to_string(shape), at);
                out[place] = out[place - 1];
            }
            out[place] = axis;
        }
    return out;
}

/// y = broadcast of x to a larger shape, a view;  x̄ = Σ ȳ over the broadcast axes
struct BroadcastTo {
    static constexpr std::string_view name = "broadcast_to";
    static constexpr bool linear = true;
    Shape to, from;
    template <class T> Ref<Block> value(const Ref<Block>& x, const Site&) const
    {
        return broadcast_view(x, to);
    }
    void describe(Index& p) const
    {
        detail::stated(from, p.shape(0));
        const Positions i = p.axes(to);
        p.write(i);
        p.read(0, p.broadcast(i, 0));
    }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const
    {
        return sum_to(g, from);
    }
};

/// y = Σ x over axes;  x̄ = ȳ broadcast. Summed pairwise (Higham 1993); integers and bools into a wider integer.
struct Sum {
    static constexpr std::string_view name = "sum";
    using passes = Passes<monoid::Add>;
    static constexpr bool linear = true;
    Axes axes;
    bool keepdims;
    Shape from;
    Shape kept() const
    {
        Shape s = from;
        for (auto a : axes) s[static_cast<std::size_t>(a)] = 1;
        return s;
    }
    void describe(Fold& f) const { f.axes = &axes, f.keepdims = keepdims, f.from = &from; }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const
    {
        return broadcast_to(keepdims ? g : reshape(g, kept()), from);
    }
};

/// y = x with another shape, the same elements in row-major order; a view where x is contiguous;  x̄ = ȳ reshaped
struct Reshape {
    static constexpr std::string_view name = "reshape";
    static constexpr bool linear = true;
    Shape to, from;
    template <class T> Ref<Block> value(const Ref<Block>& x, const Site&) const
    {
        return make_view(contiguous(x), to, nullptr, 0);
    }
    void describe(Index& p) const
    {
        detail::stated(from, p.shape(0));
        const Positions i = p.axes_of(0);
        p.write(i);
        p.read(0, i);
        p.arrange(to);
    }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const
    {
        return reshape(g, from);
    }
};

/// x with another shape of the same size; one extent may be −1. Throws ShapeError when the sizes differ.
template <class T, class D>
Tensor<T, D> reshape(const Tensor<T, D>& x, Shape shape, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Shape& from = x.shape("reshape", at);
    return apply<Reshape, T>(Reshape{arranged("reshape", std::move(shape), from, at), from}, at, x);
}
template <class T, class D> Tensor<T, D> Tensor<T, D>::reshape(const Shape& shape, Site at) const
{
    return wengert::reshape(*this, shape, at);
}

/// x read as if it had the larger shape; no copy. Throws ShapeError when x does not broadcast to it.
template <class T, class D> Tensor<T, D> broadcast_to(const Tensor<T, D>& x, const Shape& shape, Site at)
{
    if (x.shape("broadcast_to", at) == shape) return x;
    check_broadcast("broadcast_to", x.shape(), shape, at);
    return apply<BroadcastTo, T>(BroadcastTo{shape, x.shape()}, at, x);
}

/// The sum over every axis.
template <class T, class D>
Tensor<Total<T>, D> sum(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return apply<Sum, Total<T>>(
        Sum{normalize_axes("sum", {}, true, x.shape("sum", at), at), false, x.shape()}, at, x);
}

/// The sum over the given axes, negative ones counted from the end. Throws ShapeError for an axis out of range.
template <class T, class D>
Tensor<Total<T>, D> sum(const Tensor<T, D>& x, const AxesArgument& axes, bool keepdims = false,
                        Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return apply<Sum, Total<T>>(
        Sum{normalize_axes("sum", axes, false, x.shape("sum", at), at), keepdims, x.shape()}, at, x);
}

template <class T, class D> Tensor<Total<T>, D> Tensor<T, D>::sum(Site at) const
{
    return wengert::sum(*this, at);
}
template <class T, class D>
Tensor<Total<T>, D> Tensor<T, D>::sum(const AxesArgument& axes, bool keepdims, Site at) const
{
    return wengert::sum(*this, axes, keepdims, at);
}

/// Undoes a broadcast: sums x over the axes along which `shape` was broadcast to x's shape. Along extents of 1 there is
/// nothing to sum: the elements get another shape.
template <class T, class D> Tensor<T, D> sum_to(const Tensor<T, D>& x, const Shape& shape)
{
    if (x.shape() == shape) return x;
    if (x.dimension() == 0) return broadcast_to(x, shape, Site{});  // zero_like
    if (x.size() > 0 && x.size() == element_count(shape)) return reshape(x, shape, Site{});
    Axes axes;
    const std::size_t lead = x.dimension() - shape.size();
    for (std::size_t i = 0; i < x.dimension(); ++i)
        if (i < lead || (shape[i - lead] == 1 && x.shape()[i] != 1))
            axes.push_back(static_cast<std::int64_t>(i));
    const Tensor<T, D> total = sum(x, axes, true, Site{});
    return lead == 0 ? total : reshape(total, shape, Site{});
}

}  // namespace wengert
