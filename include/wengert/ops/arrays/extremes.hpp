// The greatest, the least and the mean of groups: scatter_max, scatter_min, segment_max, segment_min, segment_mean.
//
// Derivatives at ties are those of amax: elements equal to the result share its cotangent equally. A NaN in a group is its result.
#pragma once

#include <limits>

#include "../along.hpp"
#include "../composed/order.hpp"
#include "../elementwise/choices.hpp"
#include "../take.hpp"

namespace wengert {

namespace detail {

/// 1 where x is the result that it went to, else 0: a constant.
template <class T> Tensor<T> chosen(const Tensor<T>& x, const Tensor<T>& result)
{
    return apply_elementwise<SameValue, T>({}, x.detach(), result.detach());
}

}  // namespace detail

/// y = x, and then y[…, i[k], …] ← max(u[…, k, …], y[…, i[k], …]) along an axis, or min.  With nᵢ the number of elements, of x and
/// of u, that equal yᵢ:  x̄ᵢ = ȳᵢ / nᵢ where xᵢ = yᵢ,  ūₖ = ȳᵢ / nᵢ where uₖ = yᵢ, i = i[k], and 0 for all others.
template <bool largest> struct ScatterExtremum {
    static constexpr std::string_view name = largest ? "scatter_max" : "scatter_min";
    static constexpr unsigned saves = 0b1111;
    std::size_t axis;
    void describe(Index& p) const
    {
        const detail::TakenPositions i(p, axis, 0, 1);
        p.write_into(i.whole, 0);
        p.combining(largest ? Combine::maximum : Combine::minimum);
        p.read(2, i.taken);
    }
    template <class T> struct Shares {
        Tensor<T> of_x, of_u;
    };
    template <class T>
    Shares<T> shares(const Tensor<T>& x, const Indices& i, const Tensor<T>& u, const Tensor<T>& y) const
    {
        const auto axis_ = static_cast<std::int64_t>(axis);
        const Tensor<T> of_x = detail::chosen(x, y), of_u = detail::chosen(u, take(y, i, axis_, Site{}));
        const Tensor<T> n = scatter_add(of_x, i, of_u, axis_, Site{});
        return {quotient(of_x, n), quotient(of_u, take(n, i, axis_, Site{}))};
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& x, const Indices& i, const Tensor<T>& u,
                   const Tensor<T>& y) const
    {
        return g * shares(x, i, u, y).of_x;
    }
    template <class T>
    Tensor<T> pull(wrt<2>, const Tensor<T>& g, const Tensor<T>& x, const Indices& i, const Tensor<T>& u,
                   const Tensor<T>& y) const
    {
        return take(g, i, static_cast<std::int64_t>(axis), Site{}) * shares(x, i, u, y).of_u;
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& dx, const Indices&, const Tensor<T>& du, const Tensor<T>& x,
                   const Indices& i, const Tensor<T>& u, const Tensor<T>& y) const
    {
        const Shares<T> s = shares(x, i, u, y);
        return scatter_add(dx * s.of_x, i, du * s.of_u, static_cast<std::int64_t>(axis), Site{});
    }
    std::string parameters() const { return "axis=" + std::to_string(axis); }

private:
    template <class T> static Tensor<T> quotient(const Tensor<T>& a, const Tensor<T>& n)
    {
        return apply_elementwise<QuotientOrZero, T>({}, a, n);
    }
};

/// y[s] = the greatest x[i], or the least, over all i with ids[i] = s; −∞ or ∞ where there is none, for whole numbers the least or
/// greatest one.  x̄[i] = ȳ[s] / n[s] where x[i] = y[s], n the number of those, else 0.
template <bool largest> struct SegmentExtremum {
    static constexpr std::string_view name = largest ? "segment_max" : "segment_min";
    static constexpr unsigned saves = 0b111;
    std::int64_t segments;
    void describe(Index& p) const
    {
        constexpr double inf = std::numeric_limits<double>::infinity();
        const detail::SegmentPositions i(p, segments);
        p.write(i.to, i.result, largest ? -inf : inf);
        p.combining(largest ? Combine::maximum : Combine::minimum);
        p.read(0, i.from);
    }
    template <class T> Tensor<T> shares(const Tensor<T>& x, const Indices& ids, const Tensor<T>& y) const
    {
        const Tensor<T> of_x = detail::chosen(x, take(y, ids, 0, Site{}));
        const Tensor<T> n = segment_sum(of_x, ids, segments, Site{});
        return apply_elementwise<QuotientOrZero, T>({}, of_x, take(n, ids, 0, Site{}));
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& x, const Indices& ids,
                   const Tensor<T>& y) const
    {
        return take(g, ids, 0, Site{}) * shares(x, ids, y);
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& dx, const Indices&, const Tensor<T>& x, const Indices& ids,
                   const Tensor<T>& y) const
    {
        return segment_sum(dx * shares(x, ids, y), ids, segments, Site{});
    }
    std::string parameters() const { return "segments=" + std::to_string(segments); }
};

namespace detail {

template <bool largest, class T, class D>
Tensor<T, D> scattered(const Tensor<T, D>& x, const Tensor<std::int64_t, D>& indices,
                       const Tensor<T, D>& updates, std::int64_t axis, const Site& at)
{
    constexpr std::string_view name = ScatterExtremum<largest>::name;
    const std::size_t k = normalize_axis(name, axis, x.shape(name, at), at);
    demand_updates(name, x.shape(), indices.shape(name, at), updates.shape(name, at), k, at);
    return apply<ScatterExtremum<largest>, T>({k}, at, x, indices, updates);
}

template <bool largest, class T, class D>
Tensor<T, D> segment_extremum(const Tensor<T, D>& x, const Tensor<std::int64_t, D>& ids,
                              std::int64_t segments, const Site& at)
{
    constexpr std::string_view name = SegmentExtremum<largest>::name;
    demand_segments(name, x.shape(name, at), ids.shape(name, at), segments, at);
    return apply<SegmentExtremum<largest>, T>({segments}, at, x, ids);
}

}  // namespace detail

/// x with updates, shaped like take(x, indices, axis), put where they are greater than what is there. Throws IndexError for an
/// index out of range, ShapeError for other updates.
template <class T, class D>
    requires(!std::is_same_v<T, bool>)
Tensor<T, D> scatter_max(const Tensor<T, D>& x, const std::type_identity_t<Tensor<std::int64_t, D>>& indices,
                         const std::type_identity_t<Tensor<T, D>>& updates, std::int64_t axis,
                         Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::scattered<true>(x, indices, updates, axis, at);
}

/// The same where updates are less than what is there.
template <class T, class D>
    requires(!std::is_same_v<T, bool>)
Tensor<T, D> scatter_min(const Tensor<T, D>& x, const std::type_identity_t<Tensor<std::int64_t, D>>& indices,
                         const std::type_identity_t<Tensor<T, D>>& updates, std::int64_t axis,
                         Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::scattered<false>(x, indices, updates, axis, at);
}

/// The greatest of x along its first axis by segment: y[s] = max x[i] over all i with ids[i] = s. A segment without elements is −∞,
/// of whole numbers the least one, as in JAX. Throws ShapeError for other shapes than segment_sum's, IndexError for an id that is none.
template <class T, class D>
    requires(!std::is_same_v<T, bool>)
Tensor<T, D> segment_max(const Tensor<T, D>& x, const std::type_identity_t<Tensor<std::int64_t, D>>& ids,
                         std::int64_t segments, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::segment_extremum<true>(x, ids, segments, at);
}

/// The least of x along its first axis by segment; ∞ where a segment has no elements, of whole numbers the greatest one.
template <class T, class D>
    requires(!std::is_same_v<T, bool>)
Tensor<T, D> segment_min(const Tensor<T, D>& x, const std::type_identity_t<Tensor<std::int64_t, D>>& ids,
                         std::int64_t segments, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::segment_extremum<false>(x, ids, segments, at);
}

/// The mean of x along its first axis by segment; NaN where a segment has no elements, as mean has it. Throws as segment_max.
template <Differentiable T, class D>
Tensor<T, D> segment_mean(const Tensor<T, D>& x, const std::type_identity_t<Tensor<std::int64_t, D>>& ids,
                          std::int64_t segments, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_segments("segment_mean", x.shape("segment_mean", at), ids.shape("segment_mean", at),
                            segments, at);
    const ComposedAt line(at);
    const Tensor<T, D> n = cast<T>(segment_sum(ones_like(ids), ids, segments, at), at);
    Shape around = Shape::filled(x.dimension());
    for (auto& e : around) e = 1;
    around[0] = segments;
    return detail::exact_segment_sum(x, ids, segments, at) / reshape(n, around, at);
}

}  // namespace wengert
