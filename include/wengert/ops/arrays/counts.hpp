// How often there is what: unique, bincount, histogram. Counts are whole numbers and have no derivative; sums of weights have one.
#pragma once

#include <optional>
#include <utility>

#include "../../tape/recorder.hpp"
#include "../along.hpp"
#include "../arg_reductions.hpp"
#include "../composed/order.hpp"
#include "../creation.hpp"
#include "../reductions.hpp"
#include "../shape.hpp"
#include "ascending.hpp"

namespace wengert {

/// The places in a sorted vector of elements that differ from the one before. All NaN are one value.
template <class T> struct FirstOfEach {
    static constexpr std::string_view name = "unique";
    static constexpr bool flat = true, infallible = true;
    template <class> Ref<Block> value(const Ref<Block>& of, const Site&) const
    {
        const Ref<Block> sorted = contiguous(of);
        const T* const x = sorted->template as<T>();
        std::vector<std::int64_t> places;
        for (std::size_t k = 0; k < sorted->count; ++k)
            if (k == 0 || detail::is_before(x[k - 1], x[k])) places.push_back(static_cast<std::int64_t>(k));
        auto y = make_block(DType::int64, Shape{places.size()});
        std::copy(places.begin(), places.end(), y->template as<std::int64_t>());
        return y;
    }
};

/// y = x, the edges of bins. Throws NumericError where they do not ascend; equal ones have an empty bin between them.
struct AscendingEdges {
    static constexpr std::string_view name = "histogram";
    static constexpr bool flat = true;  // they are compared with, and no more
    template <class T> Ref<Block> value(const Ref<Block>& of, const Site& at) const
    {
        return detail::ascending<T>(name, "edge", false,
                                    "edges must ascend, and data that are not finite have none", of, at);
    }
};

namespace detail {

/// Throws TapeError where x is a value of a graph: shapes there are fixed.
template <class T, class D>
void refuse_in_graphs(std::string_view name, const Tensor<T, D>& x, std::string_view instead, const Site& at)
{
    Recorder* const r = recorder();
    if (r && r->trace() && r->knows(*x.any(name, at).value))
        r->refuse(std::string(name) +
                      ": its shape depends on the elements, and shapes in a graph are fixed; " +
                      std::string(instead),
                  at);
}

/// One more than the greatest id, or `minlength`. In a frozen function this is a guard.
template <class D>
std::int64_t length_of_counts(const Tensor<std::int64_t, D>& ids, std::int64_t minlength, const Site& at)
{
    if (ids.shape("bincount", at).size() != 1 || minlength < 0)
        fail<ShapeError>("bincount",
                         "ids of shape " + to_string(ids.shape()) + " and minlength " +
                             std::to_string(minlength) + " where a vector and a length are expected",
                         at);
    if (ids.size() == 0 || all(ids < minlength, at).item(at)) return minlength;
    const std::int64_t most = amax(ids, at).item(at);
    check_shape("bincount", Shape{most}, at);
    return most + 1;
}

/// n + 1 numbers from lo to hi, both included, at equal distances.
template <class T, class D>
Tensor<T, D> equal_edges(const Tensor<T, D>& lo, const Tensor<T, D>& hi, std::int64_t n, const Site& at)
{
    check_shape("histogram", Shape{n}, at);
    const Tensor<T, D> k = cast<T>(arange<std::int64_t, D>(0, n + 1, 1, at), at);
    return where(k == static_cast<T>(n), hi, lo + k * ((hi - lo) / static_cast<T>(n)));
}

/// The edges that numpy.histogram chooses for the elements of a vector.
template <class T, class D> Tensor<T, D> edges_of(const Tensor<T, D>& x, std::int64_t n, const Site& at)
{
    if (x.size() == 0) return equal_edges(Tensor<T, D>(0), Tensor<T, D>(1), n, at);
    const Tensor<T, D> lo = amin(x, at), hi = amax(x, at);
    const T nan = std::numeric_limits<T>::quiet_NaN();
    const Tensor<T, D> around = where(is_finite(hi - lo), where(lo == hi, full_like(lo, T(0.5)), T(0)), nan);
    return equal_edges(lo - around, hi + around, n, at);
}

/// The sums of weights between edges, each with its lower edge and the last one with both. What lies outside goes to one bin more,
/// which is left out.
template <class T, class W, class D>
Tensor<W, D> sums_between(const Tensor<T, D>& x, const Tensor<W, D>& weights, const Tensor<T, D>& edges,
                          const Site& at)
{
    const std::int64_t n = edges.shape()[0] - 1;
    const auto place = searchsorted(edges, x, true, at) - 1;
    const auto last = take(edges, Tensor<std::int64_t, D>(n), 0, at);
    const auto bin = where(x == last, n - 1, where(place < 0 || place >= n, n, place));
    return take(exact_segment_sum(weights, bin, n + 1, at), arange<std::int64_t, D>(0, n, 1, at), 0, at);
}

/// The edges that a user has chosen, as they are compared with.
template <class T, class D> Tensor<T, D> demand_edges(const Tensor<T, D>& edges, const Site& at)
{
    if (edges.shape("histogram", at).size() != 1 || edges.size() < 2)
        fail<ShapeError>("histogram",
                         "edges of shape " + to_string(edges.shape()) +
                             " where a vector of two or more ascending numbers is expected",
                         at);
    return apply<AscendingEdges, T>({}, at, edges);
}
template <class T, class W, class D>
void demand_weights(const Tensor<T, D>& x, const Tensor<W, D>& weights, const Site& at)
{
    if (!(x.shape("histogram", at) == weights.shape("histogram", at)))
        fail<ShapeError>(
            "histogram",
            "weights of shape " + to_string(weights.shape()) + " for shape " + to_string(x.shape()), at);
}
template <class T, class D>
Tensor<std::int64_t, D> counts_between(const Tensor<T, D>& x, const Tensor<T, D>& edges, const Site& at)
{
    const Tensor<T, D> flat = flatten(x, at);
    return sums_between(flat, cast<std::int64_t>(ones_like(flat), at), edges, at);
}
inline void demand_bins(std::int64_t bins, const Site& at)
{
    if (bins < 1) fail<ShapeError>("histogram", std::to_string(bins) + " bins", at);
}

}  // namespace detail

/// The values of x, each once, ascending; all NaN are one, the last. The derivative goes to the first element of each value.
/// Throws TapeError in a frozen function, where shapes are fixed.
template <class T, class D>
Tensor<T, D> unique(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::refuse_in_graphs("unique", x, "call it outside, or sort(x) and count differences", at);
    const ComposedAt line(at);
    const Tensor<T, D> sorted = sort(flatten(x, at), 0, false, at);
    return take(sorted, apply<FirstOfEach<T>, std::int64_t>({}, at, sorted), 0, at);
}

/// How often each number 0, 1, … is there: y[k] counts the i with ids[i] = k. There are `minlength` of them, or more if the ids are
/// larger. In a frozen function that is a guard: segment_sum of ones has a length that is given. Throws ShapeError where ids are no
/// vector, IndexError for a negative one.
template <class D>
Tensor<std::int64_t, D> bincount(const Tensor<std::int64_t, D>& ids, std::int64_t minlength = 0,
                                 Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const std::int64_t n = detail::length_of_counts(ids, minlength, at);
    return segment_sum(ones_like(ids), ids, n, at);
}
/// The same of weights: y[k] is the sum of the weights[i] with ids[i] = k.
template <Differentiable T, class D>
Tensor<T, D> bincount(const Tensor<std::int64_t, D>& ids, const Tensor<T, D>& weights,
                      std::int64_t minlength = 0, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const std::int64_t n = detail::length_of_counts(ids, minlength, at);
    return detail::exact_segment_sum(weights, ids, n, at);
}

/// (counts, edges) of all elements of x, in bins between edges that ascend. Each bin has its lower edge, the last one both. NaN and
/// what lies outside is not counted. Throws ShapeError where edges are no vector of two or more, NumericError where they do not ascend
/// or one is NaN.
template <Differentiable T, class D>
std::pair<Tensor<std::int64_t, D>, Tensor<T, D>> histogram(const Tensor<T, D>& x, const Tensor<T, D>& edges,
                                                           Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Tensor<T, D> ascending = detail::demand_edges(edges, at);
    return {detail::counts_between(x, ascending, at), edges};
}
/// The same in bins of equal width from the least element to the greatest, as numpy.histogram. Where those are equal the width of
/// all is 1. Throws ShapeError where bins < 1, NumericError where an element is not finite.
template <Differentiable T, class D>
std::pair<Tensor<std::int64_t, D>, Tensor<T, D>> histogram(const Tensor<T, D>& x, std::int64_t bins,
                                                           Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_bins(bins, at);
    const ComposedAt line(at);
    const Tensor<T, D> edges = detail::edges_of(flatten(x, at), bins, at);
    return {detail::counts_between(x, detail::demand_edges(edges, at), at), edges};
}
/// Sums of weights in place of counts, with their derivative. Throws ShapeError where weights have another shape than x.
template <Differentiable T, class D>
std::pair<Tensor<T, D>, Tensor<T, D>> histogram(const Tensor<T, D>& x, const Tensor<T, D>& edges,
                                                const std::type_identity_t<Tensor<T, D>>& weights,
                                                Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_weights(x, weights, at);
    const Tensor<T, D> ascending = detail::demand_edges(edges, at);
    return {detail::sums_between(flatten(x, at), flatten(weights, at), ascending, at), edges};
}
template <Differentiable T, class D>
std::pair<Tensor<T, D>, Tensor<T, D>> histogram(const Tensor<T, D>& x, std::int64_t bins,
                                                const std::type_identity_t<Tensor<T, D>>& weights,
                                                Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_bins(bins, at);
    const ComposedAt line(at);
    detail::demand_weights(x, weights, at);
    const Tensor<T, D> edges = detail::edges_of(flatten(x, at), bins, at),
                       ascending = detail::demand_edges(edges, at);
    return {detail::sums_between(flatten(x, at), flatten(weights, at), ascending, at), edges};
}

}  // namespace wengert
