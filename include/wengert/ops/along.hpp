// Elements named by integers along an axis: take_along_axis, put_along_axis, segment_sum.
#pragma once

#include "elementwise/arithmetic.hpp"
#include "moves.hpp"
#include "sum.hpp"

namespace wengert {

namespace detail {

/// x's positions where it is read as if it had the shape of `i`: aligned at the end, extents of 1 repeated.
inline Positions broadcast_positions(const Positions& i, const Shape& x)
{
    Positions at;
    for (std::size_t d = 0; d < x.size(); ++d)
        at.push_back(x[d] == 1 ? Position(0) : i[i.size() - x.size() + d]);
    return at;
}
/// Indices and x broadcast against each other, but not along the axis, where the indices' extent counts.
inline Shape along_shape(std::string_view primitive, const Shape& x, const Shape& indices, std::size_t axis,
                         const Site& at)
{
    Shape around = x;
    if (x.size() != indices.size() || axis >= x.size())
        fail<ShapeError>(primitive,
                         "indices of shape " + to_string(indices) + " for shape " + to_string(x) +
                             " have another number of axes",
                         at);
    around[axis] = indices[axis];
    return broadcast_shapes(primitive, around, indices, at);
}

/// Positions of operand 0, and those of the segments that operand 1 names for its first axis.
struct SegmentPositions {
    Positions from, to;
    Shape result;
    SegmentPositions(Index& p, std::int64_t segments) : from(p.axes_of(0)), to(from), result(p.shape(0))
    {
        Positions id;
        id.push_back(from[0]);
        to[0] = p.element(1, id);
        result[0] = segments;
    }
};

/// Throws ShapeError where ids are not one for each element of x's first axis.
inline void demand_segments(std::string_view primitive, const Shape& x, const Shape& ids,
                            std::int64_t segments, const Site& at)
{
    if (x.size() == 0 || ids.size() != 1 || ids[0] != x[0] || segments < 0)
        fail<ShapeError>(primitive,
                         "shape " + to_string(x) + " with ids of shape " + to_string(ids) + " for " +
                             std::to_string(segments) + " segments",
                         at);
    Shape to = x;
    to[0] = segments;
    check_shape(primitive, to, at);
}

}  // namespace detail

/// y[…, j, …] = x[…, i[…, j, …], …] along an axis
struct TakeAlong {
    static constexpr std::string_view name = "take_along_axis";
    static constexpr bool linear = true;
    std::size_t axis;
    void describe(Index& p) const
    {
        const Positions i = p.axes(detail::along_shape(name, p.shape(0), p.shape(1), axis, {}));
        p.write(i);
        Positions from = detail::broadcast_positions(i, p.shape(0));
        from[axis] = p.element(1, detail::broadcast_positions(i, p.shape(1)), true);
        p.read(0, from);
    }
    std::string parameters() const { return "axis=" + std::to_string(axis); }
};

/// y = x, and then y[…, i[…, j, …], …] = v[…, j, …] along an axis, in ascending order, so the last one of several stays.
/// x̄ = ȳ with 0 there;  v̄ = ȳ there, and 0 for those that did not stay
struct PutAlong {
    static constexpr std::string_view name = "put_along_axis";
    static constexpr bool linear = true;
    static constexpr unsigned saves = 0b010;
    std::size_t axis;
    Shape values;  ///< of v
    void describe(Index& p) const
    {
        const Shape& x = p.shape(0);
        const Positions i = p.axes(detail::along_shape(name, x, p.shape(1), axis, {}));
        Positions to = i;
        to[axis] = p.element(1, detail::broadcast_positions(i, p.shape(1)), true);
        p.write_into(to, 0);
        p.read(2, detail::broadcast_positions(i, p.shape(2)));
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<std::int64_t>& i,
                   const Tensor<T>&, const Tensor<T>&) const
    {
        return apply<PutAlong, T>(PutAlong{axis, {}}, Site{}, g, i, zero_like(g));
    }
    template <class T>
    Tensor<T> pull(wrt<2>, const Tensor<T>& g, const Tensor<T>&, const Tensor<std::int64_t>& i,
                   const Tensor<T>&, const Tensor<T>&) const
    {
        using Whole = Tensor<std::int64_t>;
        const Shape each = detail::along_shape(name, g.shape(), i.shape(), axis, {});
        const Whole order = numbers(each),
                    none(AnyTensor{zeros_beside(*g.any().value, DType::int64, g.shape()), {}});
        const Whole put = apply<PutAlong, std::int64_t>(PutAlong{axis, each}, Site{}, none, i, order);
        const Tensor<bool> stays = apply<TakeAlong, std::int64_t>(TakeAlong{axis}, Site{}, put, i) == order;
        const Tensor<T> there = apply<TakeAlong, T>(TakeAlong{axis}, Site{}, g, i);
        return sum_to(where(stays, there, zero_like(g)), values);
    }
    std::string parameters() const { return "axis=" + std::to_string(axis); }

private:
    static Tensor<std::int64_t> numbers(const Shape& shape)
    {
        auto b = make_block(DType::int64, shape);
        for (std::size_t k = 0; k < b->count; ++k) b->as<std::int64_t>()[k] = static_cast<std::int64_t>(k);
        return Tensor<std::int64_t>(AnyTensor{placed(std::move(b)), {}});
    }
};

/// y[s] = Σ x[i] over all i with ids[i] = s, in ascending order
struct SegmentSum {
    static constexpr std::string_view name = "segment_sum";
    static constexpr bool linear = true;
    std::int64_t segments;
    void describe(Index& p) const
    {
        const detail::SegmentPositions i(p, segments);
        p.write(i.to, i.result);
        p.adding();
        p.read(0, i.from);
    }
    std::string parameters() const { return "segments=" + std::to_string(segments); }
};

/// The elements of x at the given places of an axis, as numpy.take_along_axis: y[…, j, …] = x[…, i[…, j, …], …]. x and the indices
/// have as many axes and are broadcast along all but that one. Negative indices count from the end. Throws ShapeError for other
/// shapes and an axis out of range, IndexError for an index out of range.
template <class T, class D>
Tensor<T, D> take_along_axis(const Tensor<T, D>& x,
                             const std::type_identity_t<Tensor<std::int64_t, D>>& indices, std::int64_t axis,
                             Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const std::size_t k = normalize_axis("take_along_axis", axis, x.shape("take_along_axis", at), at);
    static_cast<void>(
        detail::along_shape("take_along_axis", x.shape(), indices.shape("take_along_axis", at), k, at));
    return apply<TakeAlong, T>(TakeAlong{k}, at, x, indices);
}

/// x with values at the given places of an axis, as numpy.put_along_axis, but x itself stays as it is: y[…, i[…, j, …], …] =
/// v[…, j, …], where the last one stays of several for one place. The values are broadcast to the indices, both along all
/// other axes to x. Throws as take_along_axis.
template <class T, class D>
Tensor<T, D> put_along_axis(const Tensor<T, D>& x,
                            const std::type_identity_t<Tensor<std::int64_t, D>>& indices,
                            const std::type_identity_t<Tensor<T, D>>& values, std::int64_t axis,
                            Site at = {__builtin_FILE(), __builtin_LINE()})
{
    constexpr std::string_view name = PutAlong::name;
    const std::size_t k = normalize_axis(name, axis, x.shape(name, at), at);
    const Shape each = detail::along_shape(name, x.shape(), indices.shape(name, at), k, at);
    Shape around = x.shape();
    around[k] = each[k];
    if (!(broadcast_shapes(name, values.shape(name, at), each, at) == each) || !(each == around))
        fail<ShapeError>(name,
                         "values of shape " + to_string(values.shape()) + " at indices of shape " +
                             to_string(indices.shape()) + " do not fit shape " + to_string(x.shape()),
                         at);
    return apply<PutAlong, T>(PutAlong{k, values.shape()}, at, x, indices, values);
}

/// Sums of x along its first axis by segment: y[s] = Σ x[i] over all i with ids[i] = s, in ascending order. `ids` has one element
/// for each of the first axis, in [0, segments). Throws ShapeError for other shapes, IndexError for an id that is none.
template <class T, class D>
    requires(!std::is_same_v<T, bool>)
Tensor<T, D> segment_sum(const Tensor<T, D>& x, const std::type_identity_t<Tensor<std::int64_t, D>>& ids,
                         std::int64_t segments, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_segments("segment_sum", x.shape("segment_sum", at), ids.shape("segment_sum", at), segments,
                            at);
    return apply<SegmentSum, T>(SegmentSum{segments}, at, x, ids);
}

namespace detail {

/// The same, of floats added up in double: one sum of a million 0.1 would be 0.9 % too large.
template <class T, class D>
Tensor<T, D> exact_segment_sum(const Tensor<T, D>& x, const Tensor<std::int64_t, D>& ids,
                               std::int64_t segments, const Site& at)
{
    if constexpr (is_differentiable<T> && sizeof(T) < sizeof(double))
        return cast<float>(segment_sum(cast<double>(x, at), ids, segments, at), at);
    else
        return segment_sum(x, ids, segments, at);
}

}  // namespace detail

}  // namespace wengert
