// Elements by their order: sort, argsort, topk, median, quantile, searchsorted, interp. What is found are places, which have no
// derivative; elements taken from there have that of take_along_axis. A NaN counts as greater than any number.
#pragma once

#include <algorithm>
#include <numeric>
#include <utility>

#include "../along.hpp"
#include "../elementwise/pairs.hpp"
#include "../take.hpp"

namespace wengert {

namespace detail {

/// Is a before b in ascending order, NaN last?
template <class T> bool is_before(T a, T b)
{
    if constexpr (std::is_floating_point_v<T>)
        return a < b || (b != b && a == a);
    else
        return a < b;
}

/// The first `kept` of the places 0, 1, … n − 1 in the order of x[place * stride]; equal elements in the order of their places.
template <class T>
void sort_places(const T* x, std::int64_t stride, std::int64_t kept, bool descending,
                 std::vector<std::int64_t>& places)
{
    std::iota(places.begin(), places.end(), std::int64_t(0));
    const auto before = [=](std::int64_t i, std::int64_t j) {
        const T a = x[(descending ? j : i) * stride], b = x[(descending ? i : j) * stride];
        return is_before(a, b) || (!is_before(b, a) && i < j);
    };
    std::partial_sort(places.begin(), places.begin() + kept, places.end(), before);
}

}  // namespace detail

/// The places of the first `kept` elements of each line along an axis, sorted; of equal elements the first place comes first.
template <class T> struct ArgSort {
    static constexpr std::string_view name = "argsort";
    static constexpr bool flat = true, infallible = true;
    std::size_t axis;
    std::int64_t kept;
    bool descending;
    template <class> Ref<Block> value(const Ref<Block>& of, const Site& at) const
    {
        const Ref<Block> x = contiguous(of);
        Shape shape = x->shape;
        const std::int64_t n = shape[axis];
        // A graph may have another extent than the call that it was recorded from.
        demand_elements(name, shape, static_cast<std::int64_t>(axis), at);
        shape[axis] = kept;
        auto y = make_block(DType::int64, shape);
        std::int64_t inner = 1;
        for (std::size_t k = axis + 1; k < shape.size(); ++k) inner *= shape[k];
        std::vector<std::int64_t> places(static_cast<std::size_t>(n));
        std::int64_t* out = y->template as<std::int64_t>();
        for (std::int64_t line = 0; y->count > 0 && line < static_cast<std::int64_t>(y->count) / kept;
             ++line) {
            const std::int64_t i = line % inner, outer = line / inner;
            detail::sort_places(x->template as<T>() + outer * n * inner + i, inner, kept, descending, places);
            for (std::int64_t k = 0; k < kept; ++k)
                out[(outer * kept + k) * inner + i] = places[static_cast<std::size_t>(k)];
        }
        return y;
    }
    void demand_elements(std::string_view who, const Shape& of, std::int64_t asked_axis, const Site& at) const
    {
        if (kept < 0 || kept > of[axis])
            fail<ShapeError>(who,
                             std::to_string(kept) + " elements along axis " + std::to_string(asked_axis) +
                                 " of shape " + to_string(of),
                             at);
    }
    std::string parameters() const
    {
        return "axis=" + std::to_string(axis) + ", kept=" + std::to_string(kept) +
               (descending ? ", descending" : "");
    }
};

/// How many elements of a sorted vector come before each v, those equal to it among them where `right`.
template <class T> struct SearchSorted {
    static constexpr std::string_view name = "searchsorted";
    static constexpr bool flat = true, infallible = true;
    bool right;
    template <class> Ref<Block> value(const Ref<Block>& of, const Ref<Block>& values, const Site&) const
    {
        const Ref<Block> sorted = contiguous(of), v = contiguous(values);
        auto y = make_block(DType::int64, v->shape);
        const T *x = sorted->template as<T>(), *first = v->template as<T>();
        for (std::size_t k = 0; k < y->count; ++k) {
            const T* place = right ? std::upper_bound(x, x + sorted->count, first[k], detail::is_before<T>)
                                   : std::lower_bound(x, x + sorted->count, first[k], detail::is_before<T>);
            y->template as<std::int64_t>()[k] = place - x;
        }
        return y;
    }
    std::string parameters() const { return right ? "right" : "left"; }
};

namespace detail {

template <class T, class D>
Tensor<std::int64_t, D> first_places(std::string_view name, const Tensor<T, D>& x, std::int64_t axis,
                                     std::int64_t kept, bool descending, const Site& at)
{
    const ArgSort<T> op{normalize_axis(name, axis, x.shape(name, at), at), kept, descending};
    op.demand_elements(name, x.shape(), axis, at);
    return apply<ArgSort<T>, std::int64_t>(op, at, x);
}
template <class T, class D>
Tensor<std::int64_t, D> all_places(std::string_view name, const Tensor<T, D>& x, std::int64_t axis,
                                   bool descending, const Site& at)
{
    const std::size_t k = normalize_axis(name, axis, x.shape(name, at), at);
    return first_places(name, x, axis, x.shape()[k], descending, at);
}

}  // namespace detail

/// The places of the elements along an axis in sorted order; equal ones stay in their order, NaN is the greatest. Throws
/// ShapeError for an axis out of range.
template <class T, class D>
Tensor<std::int64_t, D> argsort(const Tensor<T, D>& x, std::int64_t axis = -1, bool descending = false,
                                Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::all_places("argsort", x, axis, descending, at);
}

/// The elements along an axis in sorted order. Equal ones keep their order, also in the derivative. Throws ShapeError for an axis
/// out of range.
template <class T, class D>
Tensor<T, D> sort(const Tensor<T, D>& x, std::int64_t axis = -1, bool descending = false,
                  Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return take_along_axis(x, detail::all_places("sort", x, axis, descending, at), axis, at);
}

/// The k greatest elements along an axis, or the k least, the most extreme first, and their places. Throws ShapeError for an axis
/// out of range and for more than there are.
template <class T, class D>
std::pair<Tensor<T, D>, Tensor<std::int64_t, D>> topk(const Tensor<T, D>& x, std::int64_t k,
                                                      std::int64_t axis = -1, bool largest = true,
                                                      Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Tensor<std::int64_t, D> places = detail::first_places("topk", x, axis, k, largest, at);
    return {take_along_axis(x, places, axis, at), places};
}

namespace detail {

/// a + part (b − a), where that distance is not finite by a sum of two parts: two equal infinities are that infinity.
template <class T, class D>
Tensor<T, D> between(const Tensor<T, D>& a, const Tensor<T, D>& b, const Tensor<T, D>& part)
{
    const Tensor<T, D> way = b - a;
    const Tape& tape = Tape::current();  // forward mode would round a tangent otherwise than the trace does
    const bool may_look = !recorder() && (tape.active & tape.forward_levels) == 0;
    if (may_look && !way.any().value->device() && all_finite(*way.any().value)) return a + way * part;
    const Tensor<T, D> far = where(part == T(0), a, (T(1) - part) * a + part * b);
    return where(is_finite(way), a + way * part, far);
}

}  // namespace detail

/// The value below which a part q of the elements along an axis lie, between two of them in proportion (R's type 7, NumPy's
/// "linear"); NaN where there is one. Throws ShapeError for an axis out of range or empty, IndexError for q outside [0, 1].
template <Differentiable T, class D>
Tensor<T, D> quantile(const Tensor<T, D>& x, double q, std::int64_t axis, bool keepdims = false,
                      Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const std::size_t d = normalize_axis("quantile", axis, x.shape("quantile", at), at);
    const std::int64_t n = x.shape()[d];
    if (n == 0)
        fail<ShapeError>("quantile",
                         "axis " + std::to_string(axis) + " of shape " + to_string(x.shape()) + " is empty",
                         at);
    if (!(q >= 0 && q <= 1))
        fail<IndexError>("quantile", "q = " + detail::digits_of(q, 17) + " is not in [0, 1]", at);
    const ComposedAt line(at);
    const double place = q * static_cast<double>(n - 1);
    const auto low = static_cast<std::int64_t>(place), high = std::min(low + 1, n - 1);
    const double part = place - static_cast<double>(low);
    const auto places = take(detail::all_places("quantile", x, axis, false, at),
                             Tensor<std::int64_t, D>{low, high, n - 1}, axis, at);
    const Tensor<T, D> found = take_along_axis(x, places, axis, at);
    const auto element = [&](std::int64_t k) {
        return take(found, keepdims ? Tensor<std::int64_t, D>{k} : Tensor<std::int64_t, D>(k), axis, at);
    };
    const Tensor<T, D> a = element(0), last = element(2);
    if (part == 0) return where(is_nan(last), last, a);
    const Tensor<T, D> y = detail::between(a, element(1), Tensor<T, D>(static_cast<T>(part)));
    return where(is_nan(last), last, y);
}
/// Of all elements.
template <Differentiable T, class D>
Tensor<T, D> quantile(const Tensor<T, D>& x, double q, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return quantile(flatten(x, at), q, 0, false, at);
}

/// The quantile at one half: the element in the middle, the mean of two for an even number. Throws as quantile.
template <Differentiable T, class D>
Tensor<T, D> median(const Tensor<T, D>& x, std::int64_t axis, bool keepdims = false,
                    Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const ComposedAt line(at, "median");
    return quantile(x, 0.5, axis, keepdims, at);
}
template <Differentiable T, class D>
Tensor<T, D> median(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const ComposedAt line(at, "median");
    return quantile(x, 0.5, at);
}

/// Where each v would be inserted into a sorted vector: before elements equal to it, or behind them where `right`. Throws
/// ShapeError where `sorted` is no vector.
template <class T, class D>
Tensor<std::int64_t, D> searchsorted(const Tensor<T, D>& sorted, const std::type_identity_t<Tensor<T, D>>& v,
                                     bool right = false, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    if (sorted.shape("searchsorted", at).size() != 1)
        fail<ShapeError>("searchsorted",
                         "shape " + to_string(sorted.shape()) + " where a sorted vector is expected", at);
    return apply<SearchSorted<T>, std::int64_t>(SearchSorted<T>{right}, at, sorted, v);
}

/// The line through the points (xp[k], fp[k]) at x, as numpy.interp: xp ascends, beyond its ends are those of fp. Has
/// derivatives in x, xp and fp. Throws ShapeError where xp and fp are no vectors of one length above 0.
template <Differentiable T, class D>
Tensor<T, D> interp(const Tensor<T, D>& x, const std::type_identity_t<Tensor<T, D>>& xp,
                    const std::type_identity_t<Tensor<T, D>>& fp,
                    Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Shape &sx = xp.shape("interp", at), &sf = fp.shape("interp", at);
    if (sx.size() != 1 || !(sx == sf) || sx[0] == 0)
        fail<ShapeError>("interp",
                         "shapes " + to_string(sx) + " and " + to_string(sf) +
                             " of points where vectors of one length are expected",
                         at);
    const ComposedAt line(at);
    const auto end = [&](const Tensor<T, D>& of, std::int64_t k) {
        return take(of, Tensor<std::int64_t, D>(k), 0, at);
    };
    const std::int64_t n = sx[0];
    const Tensor<T, D> first = end(fp, 0), last = end(fp, n - 1);
    const auto before =
        clip(searchsorted(xp, x, true, at) - 1, std::int64_t(0), std::max<std::int64_t>(n - 2, 0));
    const auto after = minimum(before + 1, n - 1);
    const Tensor<T, D> x0 = take(xp, before, 0, at), width = take(xp, after, 0, at) - x0;
    const Tensor<T, D> inside =
        detail::between(take(fp, before, 0, at), take(fp, after, 0, at), (x - x0) / width);
    return where(x < end(xp, 0), first, where(x >= end(xp, n - 1), last, inside));
}

}  // namespace wengert
