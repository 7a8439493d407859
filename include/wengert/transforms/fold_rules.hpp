// The derivatives of folds that write none: their formulas, evaluated on tensors that carry tangents (Dual, lambda.hpp).
//
// The cotangent of the state goes down a tree of halves: where two states have become one, that is c = combine(a, b), a's is
// Σ c̄ᵢ ∂cᵢ/∂a. What is added up needs no tree.
#pragma once

#include <vector>

#include "../ops/reductions.hpp"
#include "../ops/shape.hpp"
#include "../ops/view.hpp"
#include "lambda.hpp"

namespace wengert::detail {

/// A fold's operand with the folded axes in front, as (n, lines).
struct FoldedAxes {
    Axes order, back;
    Shape from, ordered, result;
    std::int64_t n = 1, lines = 1;

    FoldedAxes(const Fold& f, const Shape& shape)
        : from(shape), result(reduced_shape(*f.axes, f.keepdims, shape))
    {
        std::vector<bool> folded(shape.size());
        for (auto a : *f.axes) folded[static_cast<std::size_t>(a)] = true;
        for (const bool now : {true, false})
            for (std::size_t i = 0; i < shape.size(); ++i) {
                if (folded[i] != now) continue;
                order.push_back(static_cast<std::int64_t>(i)), ordered.push_back(shape[i]);
                (now ? n : lines) *= shape[i];
            }
        back = order;
        for (std::size_t k = 0; k < order.size(); ++k)
            back[static_cast<std::size_t>(order[k])] = static_cast<std::int64_t>(k);
    }
    template <class T> Tensor<T> in_front(const Tensor<T>& x) const
    {
        return reshape(transpose(x, order, Site{}), {n, lines}, Site{});
    }
    template <class T> Tensor<T> as_before(const Tensor<T>& x) const
    {
        return transpose(reshape(x, ordered, Site{}), back, Site{});
    }
};

template <class Op, class T> struct FoldRules {
    using P = kernels::detail::pass_at<Op, 0>;
    using V = Tensor<T>;
    using W = Dual<V>;
    static constexpr std::size_t numbers = numbers_of<P>();
    template <class U> using Numbers = std::array<U, numbers>;

    /// x is not looked at where the fold is linear.
    static V pull(const Op& op, const V& g, const V& x, const Shape& shape)
    {
        const FoldedAxes axes(fold_by(op), shape);
        if (element_count(shape) == 0) return zeros_like(g, shape);
        const FoldLine<W> line = line_of(op, axes);
        const V g_line = reshape(g, {1, axes.lines}, Site{});
        const V at = linear<Op>() ? broadcast_to(g_line, {axes.n, axes.lines}, Site{}) : axes.in_front(x);
        std::vector<Numbers<V>> levels{whole<V>(mapped_numbers(line, W{at, zero()}), at)};
        while (levels.back()[0].shape()[0] > 1) levels.push_back(halved(levels.back()));
        Numbers<V> c = pull_result(line, levels.back(), g_line);
        for (levels.pop_back(); !levels.empty(); levels.pop_back()) c = pull_halved(levels.back(), c);
        V total = guarded(c[0], mapped_numbers(line, W{at, c[0]})[0].dot);
        for (std::size_t i = 1; i < numbers; ++i)
            total = total + guarded(c[i], mapped_numbers(line, W{at, c[i]})[i].dot);
        return axes.as_before(spread(total, at, at.shape()));
    }
    static V push(const Op& op, const V& dot, const V& x)
    {
        const FoldedAxes axes(fold_by(op), x.shape());
        if (x.size() == 0) return zeros_like(x, axes.result);
        const FoldLine<W> line = line_of(op, axes);
        const V at = axes.in_front(x);
        const W x_line{at, axes.in_front(dot)};
        Numbers<W> s = whole<W>(mapped_numbers(line, x_line), at);
        for (W& one : s) one.dot = guarded(x_line.dot, one.dot);
        while (s[0].value.shape()[0] > 1) s = halved(s);
        V moved = s[0].dot;  // 0 where none of the numbers has a tangent
        for (std::size_t i = 1; i < numbers; ++i) moved = abs(moved) + abs(s[i].dot);
        const V y = guarded(moved, spread(resulting<P>(line, state(s)).dot, at, {1, axes.lines}));
        return reshape(y, axes.result, Site{});
    }

private:
    /// The zero-cotangent rule (docs/design.md): where g is 0, what a formula makes of infinities is none. Constants are finite.
    static V guarded(const V& g, const V& r)
    {
        if (linear<Op>() || Tape::current().allow_nan || g.shape() != r.shape()) return r;
        return zero_where_undefined(g, r);
    }
    static V zero() { return V(T(0)); }
    static V zeros_like(const V& x, const Shape& shape)
    {
        return V(AnyTensor{zeros_beside(*x.any().value, dtype_of<T>(), shape), {}});
    }
    /// Formulas that read anything else of their line find an empty tensor.
    static FoldLine<W> line_of(const Op& op, const FoldedAxes& axes)
    {
        FoldLine<W> line;
        line.n = W{V(static_cast<T>(axes.n)), zero()};
        line.number = W{V(static_cast<T>(fold_by(op).number)), zero()};
        return line;
    }
    template <class U> static auto state(const Numbers<U>& s)
    {
        if constexpr (numbers == 1)
            return s[0];
        else
            return s;
    }
    template <class S> static auto numbers_in(const S& s)
    {
        if constexpr (numbers == 1)
            return std::array{s};
        else
            return s;
    }
    static Numbers<W> mapped_numbers(const FoldLine<W>& line, const W& x)
    {
        return numbers_in(mapped<P>(line, x));
    }
    template <class U> static Numbers<U> combined_numbers(const Numbers<U>& a, const Numbers<U>& b)
    {
        return numbers_in(P::combine(state(a), state(b)));
    }
    /// A constant of a formula is a number on the device in charge: it becomes as large as `like` or as a row, beside that.
    static V spread(const V& x, const V& like, const Shape& shape)
    {
        return x.shape() == shape ? x : broadcast_to(zeros_like(like, Shape()) + x, shape, Site{});
    }
    template <class U> static Numbers<U> whole(const Numbers<W>& s, const V& like)
    {
        Numbers<U> all;
        for (std::size_t i = 0; i < numbers; ++i) {
            const V value = spread(s[i].value, like, like.shape());
            if constexpr (std::is_same_v<U, V>)
                all[i] = value;
            else
                all[i] = {value, spread(s[i].dot, like, like.shape())};
        }
        return all;
    }

    static V part(const V& x, std::int64_t from, std::int64_t to) { return view(x, range(from, to)); }
    static W part(const W& x, std::int64_t from, std::int64_t to)
    {
        return {part(x.value, from, to), part(x.dot, from, to)};
    }
    template <class U> static Numbers<U> parts(const Numbers<U>& x, std::int64_t from, std::int64_t to)
    {
        Numbers<U> all;
        for (std::size_t i = 0; i < numbers; ++i) all[i] = part(x[i], from, to);
        return all;
    }
    static V joined(const V& a, const V& b) { return concatenate<T>({a, b}, 0, Site{}); }
    static W joined(const W& a, const W& b) { return {joined(a.value, b.value), joined(a.dot, b.dot)}; }
    static std::int64_t rows(const V& x) { return x.shape()[0]; }
    static std::int64_t rows(const W& x) { return rows(x.value); }
    static V added(const V& x) { return sum(x, {0}, true, Site{}); }
    static W added(const W& x) { return {added(x.value), added(x.dot)}; }
    static constexpr bool adds = std::is_same_v<monoid_of<P>, monoid::Add>;

    /// Rows with those half of all further down; one that is left over stays.
    template <class U> static Numbers<U> halved(const Numbers<U>& s)
    {
        if constexpr (adds)
            return {added(s[0])};
        else {
            const std::int64_t n = rows(s[0]), h = n / 2;
            Numbers<U> c = combined_numbers(parts(s, 0, h), parts(s, h, 2 * h));
            if (n % 2)
                for (std::size_t i = 0; i < numbers; ++i) c[i] = joined(c[i], part(s[i], 2 * h, n));
            return c;
        }
    }
    static Numbers<V> pull_halved(const Numbers<V>& s, const Numbers<V>& c)
    {
        if constexpr (adds)
            return {broadcast_to(c[0], s[0].shape(), Site{})};
        else {
            const std::int64_t n = rows(s[0]), h = n / 2;
            const Numbers<V> both[] = {parts(s, 0, h), parts(s, h, 2 * h)}, above = parts(c, 0, h);
            Numbers<V> of[2];
            for (const std::size_t side : {0U, 1U})
                for (std::size_t i = 0; i < numbers; ++i) of[side][i] = pull_combine(both, side, i, above);
            Numbers<V> all;
            for (std::size_t i = 0; i < numbers; ++i) {
                all[i] = joined(of[0][i], of[1][i]);
                if (n % 2) all[i] = joined(all[i], part(c[i], h, h + 1));
            }
            return all;
        }
    }
    /// Of number i of one side: Σ c̄ₖ ∂cₖ/∂that.
    static V pull_combine(const Numbers<V> (&both)[2], std::size_t side, std::size_t i, const Numbers<V>& c)
    {
        Numbers<W> of[2];
        for (const std::size_t s : {0U, 1U})
            for (std::size_t k = 0; k < numbers; ++k)
                of[s][k] = {both[s][k], s == side && k == i ? V(T(1)) : zero()};
        const Numbers<W> r = combined_numbers(of[0], of[1]);
        V total = guarded(c[0], c[0] * r[0].dot);
        for (std::size_t k = 1; k < numbers; ++k) total = total + guarded(c[k], c[k] * r[k].dot);
        return spread(total, c[0], c[0].shape());
    }
    static Numbers<V> pull_result(const FoldLine<W>& line, const Numbers<V>& s, const V& g)
    {
        Numbers<V> c;
        for (std::size_t i = 0; i < numbers; ++i) {
            Numbers<W> seeded;
            for (std::size_t k = 0; k < numbers; ++k) seeded[k] = {s[k], k == i ? g : zero()};
            c[i] = guarded(g, spread(resulting<P>(line, state(seeded)).dot, g, g.shape()));
        }
        return c;
    }
};

}  // namespace wengert::detail
