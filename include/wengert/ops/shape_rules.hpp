// Rules of the operations that move elements without computing; the functions are in ops/shape.hpp.
#pragma once

#include "selection.hpp"
#include "describe/variadic.hpp"

namespace wengert {

/// yᵢ = x with axes permuted, a view: axis k of y is axis perm[k] of x;  x̄ = ȳ with the inverse permutation
struct Transpose {
    static constexpr std::string_view name = "transpose";
    static constexpr bool linear = true;
    Axes perm;
    Axes inverse() const
    {
        Axes back = Axes::filled(perm.size());
        for (std::size_t k = 0; k < perm.size(); ++k)
            back[static_cast<std::size_t>(perm[k])] = static_cast<std::int64_t>(k);
        return back;
    }
    template <class T> Ref<Block> value(const Ref<Block>& x, const Site&) const
    {
        const Strides from = x->strides();
        Shape shape = Shape::filled(perm.size());
        Strides strides = Strides::filled(perm.size());
        for (std::size_t k = 0; k < perm.size(); ++k) {
            shape[k] = x->shape[static_cast<std::size_t>(perm[k])];
            strides[k] = from[static_cast<std::size_t>(perm[k])];
        }
        return make_view(x, shape, &strides, 0);
    }
    void describe(Index& p) const
    {
        const Positions x = p.axes_of(0);
        Positions y;
        for (auto a : perm) y.push_back(x[a]);
        p.write(y);
        p.read(0, x);
    }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const
    {
        return apply<Transpose, T>(Transpose{inverse()}, Site{}, g);
    }
    std::string parameters() const { return "perm=" + to_string(perm); }
};

/// y = x with axes of extent 1 put in, a view; `axes` are y's, sorted.  x̄ = ȳ without them
struct ExpandDims {
    static constexpr std::string_view name = "expand_dims";
    static constexpr bool linear = true;
    Axes axes;
    template <class T> Ref<Block> value(const Ref<Block>& x, const Site&) const
    {
        const Strides from = x->strides();
        Shape shape;
        Strides strides;
        std::size_t next = 0, taken = 0;
        for (std::size_t k = 0; k < x->shape.size() + axes.size(); ++k) {
            const bool fresh = next < axes.size() && axes[next] == static_cast<std::int64_t>(k);
            shape.push_back(fresh ? 1 : x->shape[taken]);
            strides.push_back(fresh ? 0 : from[taken]);
            ++(fresh ? next : taken);
        }
        return make_view(x, shape, x->strided ? &strides : nullptr, 0);
    }
    void describe(Index& p) const
    {
        const Positions x = p.axes_of(0);
        detail::demand_axes(axes, x.size() + axes.size());
        Positions y;
        std::size_t next = 0;
        for (std::size_t k = 0; k < x.size() + axes.size(); ++k) {
            const bool fresh = next < axes.size() && axes[next] == static_cast<std::int64_t>(k);
            y.push_back(fresh ? Position(0) : x[k - next]);
            next += fresh;
        }
        p.write(y);
        p.read(0, x);
    }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const;
    std::string parameters() const { return "axes=" + to_string(axes); }
};

/// y = x without some axes of extent 1, a view; `axes` are x's, sorted.  x̄ = ȳ with them put in
struct Squeeze {
    static constexpr std::string_view name = "squeeze";
    static constexpr bool linear = true;
    Axes axes;
    template <class T> Ref<Block> value(const Ref<Block>& x, const Site&) const
    {
        const Strides from = x->strides();
        Shape shape;
        Strides strides;
        std::size_t next = 0;
        for (std::size_t k = 0; k < x->shape.size(); ++k) {
            if (next < axes.size() && axes[next] == static_cast<std::int64_t>(k)) {
                ++next;
                continue;
            }
            shape.push_back(x->shape[k]);
            strides.push_back(from[k]);
        }
        return make_view(x, shape, x->strided ? &strides : nullptr, 0);
    }
    void describe(Index& p) const
    {
        const Shape& of = p.shape(0);
        detail::demand_axes(axes, of.size());
        Positions x, y;
        std::size_t next = 0;
        for (std::size_t k = 0; k < of.size(); ++k) {
            if (next < axes.size() && axes[next] == static_cast<std::int64_t>(k)) {
                detail::demand(of[k] == 1, "axis " + std::to_string(k) + " of shape " + to_string(of) +
                                               " has not extent 1");
                x.push_back(0);
                ++next;
                continue;
            }
            x.push_back(p.axis(of[k]));
            y.push_back(x.back());
        }
        p.write(y);
        p.read(0, x);
    }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const
    {
        return apply<ExpandDims, T>(ExpandDims{axes}, Site{}, g);
    }
    std::string parameters() const { return "axes=" + to_string(axes); }
};

template <class T>
Tensor<T> ExpandDims::pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const
{
    return apply<Squeeze, T>(Squeeze{axes}, Site{}, g);
}

/// One of the parts of a split or a concatenation, a view.
struct Split : Select {
    static constexpr std::string_view name = "split";
    template <class F> void each(F&& f) { f(part); }
};

namespace detail {

/// A block of op.shape with input i copied to op.part(i).
template <class T, class Op> Ref<Block> put_together(const Op& op, const AnyTensor* const* in, std::size_t n)
{
    auto out = make_block(dtype_of<T>(), op.shape);
    for (std::size_t i = 0; i < n; ++i) copy_elements(*in[i]->value, *op.part(i).view(out));
    return out;
}
/// The only operand of p is a part of an array.
inline void describe_joined(Index& p, const Selection& part)
{
    check_extents(part.of);
    same_shape(selected(part, part.of), p.shape(0), "an operand");
    const Positions i = p.axes_of(0);
    p.write_part(part.positions(i), part.of);
    p.read(0, i);
}

}  // namespace detail

/// y = the inputs one after another along an axis;  x̄ᵢ = its part of ȳ, a view
struct Concatenate {
    static constexpr std::string_view name = "concatenate";
    std::size_t axis;
    Shape shape;     ///< of the result
    Extents ends{};  ///< of the inputs along the axis
    /// One more input.
    void add(std::int64_t extent) { ends.push_back((ends.empty() ? 0 : ends.back()) + extent); }
    Selection part(std::size_t i) const
    {
        const std::int64_t first = i == 0 ? 0 : ends[i - 1];
        return Selection::part(shape, axis, first, ends[i] - first);
    }
    void describe(Index& p, std::size_t i) const
    {
        detail::demand_axis(axis, shape);
        detail::demand(i < ends.size(),
                       "the parameters are for " + std::to_string(ends.size()) + " operands");
        detail::describe_joined(p, part(i));
    }
    template <class T> Ref<Block> value(const AnyTensor* const* in, std::size_t n) const
    {
        return detail::put_together<T>(*this, in, n);
    }
    template <class T> Tensor<T> pull(std::size_t i, const Tensor<T>& g) const
    {
        return apply<Split, T>(Split{{part(i)}}, Site{}, g);
    }
    std::string parameters() const { return "axis=" + std::to_string(axis); }
};

/// y = the inputs side by side along a new axis;  x̄ᵢ = its part of ȳ, a view
struct Stack {
    static constexpr std::string_view name = "stack";
    std::size_t axis;
    Shape shape;  ///< of the result
    Selection part(std::size_t i) const { return Selection::at(shape, axis, static_cast<std::int64_t>(i)); }
    void describe(Index& p, std::size_t i) const
    {
        detail::demand_axis(axis, shape);
        detail::describe_joined(p, part(i));
    }
    template <class T> Ref<Block> value(const AnyTensor* const* in, std::size_t n) const
    {
        return detail::put_together<T>(*this, in, n);
    }
    template <class T> Tensor<T> pull(std::size_t i, const Tensor<T>& g) const
    {
        return apply<Split, T>(Split{{part(i)}}, Site{}, g);
    }
    std::string parameters() const { return "axis=" + std::to_string(axis); }
};

/// yᵢⱼ = xᵢⱼ in one triangle of the last two axes, 0 in the other, whatever x is there;  x̄ = the same of ȳ
struct Triangle {
    static constexpr bool linear = true;
    std::int64_t k;
    template <class F> void each(F&& f) { f(k); }
    /// Each row as far as it goes to either side of what is kept: columns that are none are left out.
    void describe_kept(Index& p, bool lower) const
    {
        const Shape& x = p.shape(0);
        if (x.size() < 2) throw ShapeError("no matrix: shape " + to_string(x));
        const std::size_t rank = x.size();
        const std::int64_t rows = x[rank - 2], columns = x[rank - 1];
        const std::int64_t diagonal = std::clamp(k, -rows - 1, columns + 1);
        Positions i;
        for (std::size_t d = 0; d + 1 < rank; ++d) i.push_back(p.axis(x[d]));
        const std::int64_t first = lower ? 1 - rows : diagonal,
                           count = std::max<std::int64_t>(lower ? rows + diagonal : columns - diagonal, 0);
        i.push_back(masked(i[rank - 2] + p.axis(count) + first));
        p.write(i, x);
        p.read(0, i);
    }
    /// Keeps j − i ≤ k (lower) or j − i ≥ k.
    template <class T> Ref<Block> keep(const Ref<Block>& x, bool lower) const
    {
        auto out = copy_of(*x);
        const std::size_t rank = x->shape.size();
        const std::int64_t rows = x->shape[rank - 2], columns = x->shape[rank - 1];
        const std::int64_t diagonal = std::clamp(k, -rows - 1, columns + 1);  // farther ones are all the same
        T* row = out->template as<T>();
        const std::int64_t all = columns ? static_cast<std::int64_t>(out->count) / columns : 0;
        for (std::int64_t r = 0; r < all; ++r, row += columns) {
            const std::int64_t i = r % rows;
            const std::int64_t edge = std::clamp(i + diagonal + (lower ? 1 : 0), std::int64_t{0}, columns);
            if (lower)
                std::fill(row + edge, row + columns, T(0));
            else
                std::fill(row, row + edge, T(0));
        }
        return out;
    }
    std::string parameters() const { return "k=" + std::to_string(k); }
};
struct Tril : Triangle {
    static constexpr std::string_view name = "tril";
    void describe(Index& p) const { describe_kept(p, true); }
    template <class T> Ref<Block> value(const Ref<Block>& x, const Site&) const { return keep<T>(x, true); }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const
    {
        return apply<Tril, T>(*this, Site{}, g);
    }
};
struct Triu : Triangle {
    static constexpr std::string_view name = "triu";
    void describe(Index& p) const { describe_kept(p, false); }
    template <class T> Ref<Block> value(const Ref<Block>& x, const Site&) const { return keep<T>(x, false); }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const
    {
        return apply<Triu, T>(*this, Site{}, g);
    }
};

/// The main diagonal of the last two axes as a view.
inline Ref<Block> diagonal_view(const Ref<Block>& x)
{
    const std::size_t rank = x->shape.size();
    const Strides from = x->strides();
    Shape shape(x->shape.data(), rank - 1);
    Strides strides(from.data(), rank - 1);
    shape.back() = std::min(x->shape[rank - 2], x->shape[rank - 1]);
    strides.back() = from[rank - 2] + from[rank - 1];
    return make_view(x, shape, &strides, 0);
}

namespace detail {
inline Shape diagonal_shape(const Shape& x)
{
    demand_rank(x, 2, true);
    Shape out(x.data(), x.size() - 1);
    out.back() = std::min(x[x.size() - 2], x.back());
    return out;
}
/// i, the last one twice
inline Positions on_diagonal(Positions i)
{
    i.push_back(Position(i.back()));
    return i;
}
}  // namespace detail

/// y = zeros of shape `of` with x on the diagonal;  x̄ = ȳ's diagonal
struct EmbedDiagonal {
    static constexpr std::string_view name = "embed_diagonal";
    static constexpr bool linear = true;
    Shape of;
    template <class T> Ref<Block> value(const Ref<Block>& x, const Site&) const
    {
        auto out = zeros_block(dtype_of<T>(), of);
        copy_elements(*x, *diagonal_view(out));
        return out;
    }
    void describe(Index& p) const
    {
        check_extents(of);
        detail::same_shape(detail::diagonal_shape(of), p.shape(0), "an operand");
        const Positions i = p.axes_of(0);
        p.write(detail::on_diagonal(i), of);
        p.read(0, i);
    }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const;
};

/// yᵢ = xᵢᵢ, a view;  x̄ = ȳ on the diagonal, added in place
struct Diagonal {
    static constexpr std::string_view name = "diagonal";
    static constexpr bool linear = true;
    Shape of;
    template <class T> Ref<Block> value(const Ref<Block>& x, const Site&) const { return diagonal_view(x); }
    void describe(Index& p) const
    {
        const Positions i = p.axes(detail::diagonal_shape(detail::stated(of, p.shape(0))));
        p.write(i);
        p.read(0, detail::on_diagonal(i));
    }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const
    {
        return apply<EmbedDiagonal, T>(EmbedDiagonal{of}, Site{}, g);
    }
    void accumulate(wrt<0>, Block& into, const Block& g) const
    {
        add_into(*diagonal_view(Ref<Block>(&into)), g);
    }
};

template <class T>
Tensor<T> EmbedDiagonal::pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const
{
    return apply<Diagonal, T>(Diagonal{of}, Site{}, g);
}

}  // namespace wengert
