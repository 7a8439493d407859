// Sums of products over named axes: einsum, tensordot, kron, trace, cross. Two operands meet in one matrix product where they have an
// axis to sum over, else in an elementwise product.
#pragma once

#include <string>
#include <vector>

#include "arrange.hpp"
#include "../elementwise/arithmetic.hpp"
#include "../matmul.hpp"

namespace wengert {

/// The subscripts of einsum, "ij,jk->ik", and the line of the call.
struct Subscripts {
    std::string_view text;
    Site at;
    constexpr Subscripts(const char* s, Site where = {__builtin_FILE(), __builtin_LINE()})
        : text(s), at(where)
    {}
    Subscripts(const std::string& s, Site where = {__builtin_FILE(), __builtin_LINE()}) : text(s), at(where)
    {}
};

namespace detail {

/// What subscripts say of operands of given shapes: a label for each axis. Axes of an ellipsis have digits.
struct Contractions {
    std::vector<std::string> operands;
    std::string result;
    std::int64_t extents[256] = {};  ///< of each label
};
/// Throws ShapeError for subscripts that do not fit the shapes, or mean nothing.
Contractions read_subscripts(const Subscripts& s, const std::vector<Shape>& shapes);

/// The two of the operands whose product has the fewest multiplications, the first ones of equal pairs.
std::pair<std::size_t, std::size_t> cheapest_pair(const Contractions& c);

/// The labels of two operands by what becomes of them.
struct SharedLabels {
    std::string batch;   ///< in both and in the result
    std::string summed;  ///< in both and in no other operand, nor in the result
    std::string left, right;
};
SharedLabels shared_labels(const std::string& a, const std::string& b, const std::string& kept);

/// Where the labels stand among those of an operand.
Axes places_of(const std::string& labels, const std::string& among);

/// A tensor with a label for each axis.
template <class T, class D> struct LabelledAxes {
    Tensor<T, D> x;
    std::string labels;
};

/// Axes of equal labels become their diagonal, axes of extent 1 that an ellipsis repeats go, and those that nobody else has and
/// the result does not want are summed.
template <class T, class D>
LabelledAxes<T, D> prepared(LabelledAxes<T, D> a, const Contractions& c, const std::string& kept,
                            const Site& at)
{
    for (std::size_t i = 0; i < a.labels.size();) {
        const std::size_t j = a.labels.find(a.labels[i], i + 1);
        if (j == std::string::npos) {
            ++i;
            continue;
        }
        const Axes both{static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)};
        a.x = diagonal(moveaxis(a.x, both, Axes{-2, -1}, at), 0, at);
        a.labels.push_back(a.labels[i]);
        a.labels.erase(j, 1).erase(i, 1);
        i = 0;
    }
    std::string single, alone;
    for (std::size_t i = 0; i < a.labels.size(); ++i) {
        const char label = a.labels[i];
        if (a.x.shape()[i] == 1 && c.extents[static_cast<unsigned char>(label)] != 1)
            single.push_back(label);
        else if (kept.find(label) == std::string::npos)
            alone.push_back(label);
    }
    if (!single.empty()) a.x = squeeze(a.x, places_of(single, a.labels), at);
    std::erase_if(a.labels, [&](char l) { return single.find(l) != std::string::npos; });
    if (!alone.empty()) a.x = sum(a.x, places_of(alone, a.labels), false, at);
    std::erase_if(a.labels, [&](char l) { return alone.find(l) != std::string::npos; });
    return a;
}

/// The axes of x in the order of `labels`, with an axis of extent 1 for each that x does not have.
template <class T, class D>
Tensor<T, D> arranged(const LabelledAxes<T, D>& a, const std::string& labels, const Site& at)
{
    std::string own;
    Shape shape;
    for (const char l : labels) {
        const std::size_t i = a.labels.find(l);
        if (i != std::string::npos) own.push_back(l);
        shape.push_back(i == std::string::npos ? 1 : a.x.shape()[i]);
    }
    const Tensor<T, D> y = own == a.labels ? a.x : transpose(a.x, places_of(own, a.labels), at);
    return own == labels ? y : reshape(y, shape, at);
}

/// The same with the axes of `rows` as one, and those of `columns` as one: matrices, one for each place of `batch`.
template <class T, class D>
Tensor<T, D> as_matrices(const LabelledAxes<T, D>& a, const std::string& batch, const std::string& rows,
                         const std::string& columns, const Site& at)
{
    const Tensor<T, D> x = arranged(a, batch + rows + columns, at);
    const Shape& from = x.shape();
    Shape to(from.data(), batch.size());
    std::int64_t r = 1, c = 1;
    for (std::size_t k = 0; k < rows.size(); ++k) r *= from[batch.size() + k];
    for (std::size_t k = 0; k < columns.size(); ++k) c *= from[batch.size() + rows.size() + k];
    to.push_back(r);
    to.push_back(c);
    return from == to ? x : reshape(x, to, at);
}

/// Σ a b over the labels that both have and `kept` has not.
template <class T, class D>
LabelledAxes<T, D> contract(const LabelledAxes<T, D>& a, const LabelledAxes<T, D>& b, const std::string& kept,
                            const Site& at)
{
    const SharedLabels s = shared_labels(a.labels, b.labels, kept);
    const std::string labels = s.batch + s.left + s.right;
    if (s.summed.empty() || (s.left.empty() && s.right.empty())) {
        const std::string all = labels + s.summed;
        const Tensor<T, D> y = ops::multiply(arranged(a, all, at), arranged(b, all, at), at, 0);
        return {s.summed.empty() ? y : sum(y, places_of(s.summed, all), false, at), labels};
    }
    const Tensor<T, D> x = as_matrices(a, s.batch, s.left, s.summed, at),
                       y = as_matrices(b, s.batch, s.summed, s.right, at), xy = matmul(x, y, at);
    Shape shape;
    for (const char l : labels) {
        const std::size_t i = a.labels.find(l);
        shape.push_back(i != std::string::npos ? a.x.shape()[i] : b.x.shape()[b.labels.find(l)]);
    }
    return {xy.shape() == shape ? xy : reshape(xy, shape, at), labels};
}

/// The labels of the result and of all operands but one or two.
std::string kept_by_others(const Contractions& c, std::size_t i, std::size_t j);

template <class T, class D>
Tensor<T, D> einsum(const Subscripts& s, const std::vector<Tensor<T, D>>& operands)
{
    std::vector<Shape> shapes;
    for (const auto& x : operands) shapes.push_back(x.shape("einsum", s.at));
    Contractions c = read_subscripts(s, shapes);
    std::vector<LabelledAxes<T, D>> left;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        left.push_back(
            prepared(LabelledAxes<T, D>{operands[i], c.operands[i]}, c, kept_by_others(c, i, i), s.at));
        c.operands[i] = left[i].labels;
    }
    while (left.size() > 1) {
        const auto [i, j] = cheapest_pair(c);
        left[i] = contract(left[i], left[j], kept_by_others(c, i, j), s.at);
        c.operands[i] = left[i].labels;
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(j));
        c.operands.erase(c.operands.begin() + static_cast<std::ptrdiff_t>(j));
    }
    const Tensor<T, D> y = arranged(left[0], c.result, s.at);
    Shape shape;
    for (const char l : c.result) shape.push_back(c.extents[static_cast<unsigned char>(l)]);
    return broadcast_to(y, shape, s.at);
}

}  // namespace detail

/// Σ of products over named axes, as numpy.einsum: one letter for each axis of each operand, and those of the result behind "->".
/// A letter that the result does not have is summed over. Without "->" the result has the letters that stand once, in the
/// order of the alphabet. A letter that an operand has twice names its diagonal. "..." are axes without a name, which
/// broadcast. Operands are multiplied two by two, the cheapest pair first. Throws ShapeError for subscripts that do not fit.
template <class T, class D, class... More>
    requires(std::is_same_v<Total<T>, T> && (std::is_convertible_v<const More&, Tensor<T, D>> && ...))
Tensor<T, D> einsum(Subscripts subscripts, const Tensor<T, D>& x, const More&... more)
{
    return detail::einsum(subscripts, std::vector<Tensor<T, D>>{x, more...});
}
template <class T, class D>
    requires std::is_same_v<Total<T>, T>
Tensor<T, D> einsum(Subscripts subscripts, const std::vector<Tensor<T, D>>& operands)
{
    return detail::einsum(subscripts, operands);
}

/// Σ a b over axis of_a[k] of a and of_b[k] of b, for all k at once. The result has a's other axes and then b's. Throws ShapeError
/// for axes out of range or given twice, and for extents that differ.
template <class T, class D>
    requires std::is_same_v<Total<T>, T>
Tensor<T, D> tensordot(const Tensor<T, D>& a, const std::type_identity_t<Tensor<T, D>>& b, const Axes& of_a,
                       const Axes& of_b, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Shape &sa = a.shape("tensordot", at), &sb = b.shape("tensordot", at);
    const Axes i = detail::axes_in("tensordot", of_a, sa, true, at),
               j = detail::axes_in("tensordot", of_b, sb, true, at);
    bool fits = i.size() == j.size();
    for (std::size_t k = 0; k < i.size() && fits; ++k)
        fits = sa[static_cast<std::size_t>(i[k])] == sb[static_cast<std::size_t>(j[k])];
    if (!fits)
        fail<ShapeError>("tensordot",
                         "axes " + to_string(of_a) + " of shape " + to_string(sa) + " and axes " +
                             to_string(of_b) + " of shape " + to_string(sb) + " do not meet",
                         at);
    detail::LabelledAxes<T, D> x{a, {}}, y{b, {}};
    for (std::size_t k = 0; k < sa.size(); ++k) x.labels.push_back(static_cast<char>('a' + k));
    for (std::size_t k = 0; k < sb.size(); ++k) y.labels.push_back(static_cast<char>('A' + k));
    for (std::size_t k = 0; k < i.size(); ++k)
        y.labels[static_cast<std::size_t>(j[k])] = x.labels[static_cast<std::size_t>(i[k])];
    std::string kept;
    for (const char l : x.labels + y.labels)
        if (x.labels.find(l) == std::string::npos || y.labels.find(l) == std::string::npos) kept.push_back(l);
    return detail::contract(x, y, kept, at).x;
}
/// Over the last n axes of a and the first n of b.
template <class T, class D>
    requires std::is_same_v<Total<T>, T>
Tensor<T, D> tensordot(const Tensor<T, D>& a, const std::type_identity_t<Tensor<T, D>>& b, std::int64_t n = 2,
                       Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Shape &sa = a.shape("tensordot", at), &sb = b.shape("tensordot", at);
    if (n < 0 || n > static_cast<std::int64_t>(std::min(sa.size(), sb.size())))
        fail<ShapeError>("tensordot",
                         std::to_string(n) + " axes of shapes " + to_string(sa) + " and " + to_string(sb),
                         at);
    Axes of_a, of_b;
    for (std::int64_t k = 0; k < n; ++k) {
        of_a.push_back(k - n);
        of_b.push_back(k);
    }
    return tensordot(a, b, of_a, of_b, at);
}

/// The Kronecker product: y[i p + k, j q + l] = a[i, j] b[k, l] for b of shape (p, q), and so on for any rank.
template <class T, class D>
    requires(!std::is_same_v<T, bool>)
Tensor<T, D> kron(const Tensor<T, D>& a, const std::type_identity_t<Tensor<T, D>>& b,
                  Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const std::size_t rank = std::max(a.shape("kron", at).size(), b.shape("kron", at).size());
    const Shape n = detail::with_ones_in_front(a.shape(), rank),
                p = detail::with_ones_in_front(b.shape(), rank);
    Shape outer, inner, to = n;
    for (std::size_t k = 0; k < rank; ++k) {
        if (__builtin_mul_overflow(n[k], p[k], &to[k]))
            fail<ShapeError>("kron", "shapes " + to_string(a.shape()) + " and " + to_string(b.shape()), at);
        outer.push_back(n[k]);
        outer.push_back(1);
        inner.push_back(1);
        inner.push_back(p[k]);
    }
    check_shape("kron", to, at);
    return reshape(ops::multiply(reshape(a, outer, at), reshape(b, inner, at), at, 0), to, at);
}

/// Σ of the main diagonal of the last two axes. Throws ShapeError for fewer than two axes.
template <class T, class D>
Tensor<Total<T>, D> trace(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return sum(diagonal(x, 0, at), Axes{-1}, false, at);
}

/// a × b of vectors of three numbers along an axis; the others broadcast. Throws ShapeError for another extent than 3.
template <class T, class D>
    requires(!std::is_same_v<T, bool>)
Tensor<T, D> cross(const Tensor<T, D>& a, const std::type_identity_t<Tensor<T, D>>& b, std::int64_t axis = -1,
                   Site at = {__builtin_FILE(), __builtin_LINE()})
{
    for (const Tensor<T, D>* x : {&a, &b})
        if (x->shape("cross", at)[normalize_axis("cross", axis, x->shape(), at)] != 3)
            fail<ShapeError>("cross",
                             "shapes " + to_string(a.shape()) + " and " + to_string(b.shape()) +
                                 " where 3 components along axis " + std::to_string(axis) + " are expected",
                             at);
    const auto next = [&](const Tensor<T, D>& x, std::int64_t by) { return roll(x, -by, axis, at); };
    return ops::subtract(ops::multiply(next(a, 1), next(b, 2), at, 0),
                         ops::multiply(next(a, 2), next(b, 1), at, 0), at, 0);
}

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/contractions.ipp"
#endif
