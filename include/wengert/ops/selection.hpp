// Selections: which elements of an array a slice, a part or a split shows, as a strided view and as its transpose.
#pragma once

#include "sum.hpp"

namespace wengert {

/// Element j of the result is element start + Σₖ jₖ · stepₖ · (unit vector of axis fromₖ) of an array of shape `of`.
struct Selection {
    Shape of, shape;
    Extents start;  ///< one for each axis of `of`
    Extents from;   ///< one for each axis of the result: the axis that it runs along, −1 for a new one
    Extents step;   ///< one for each axis of the result

    Selection() = default;
    template <class F> void each(F&& f) { f(of), f(shape), f(start), f(from), f(step); }
    /// Everything.
    explicit Selection(const Shape& all)
        : of(all), shape(all), start(Extents::filled(all.size())), step(Extents::filled(all.size(), 1))
    {
        for (std::size_t i = 0; i < all.size(); ++i) from.push_back(static_cast<std::int64_t>(i));
    }
    /// Nothing yet; to be filled axis by axis.
    struct Empty {};
    Selection(Empty, const Shape& all) : of(all), start(Extents::filled(all.size())) {}

    void keep(std::size_t axis, std::int64_t first, std::int64_t stride, std::int64_t count)
    {
        start[axis] = first;
        from.push_back(static_cast<std::int64_t>(axis));
        step.push_back(stride);
        shape.push_back(count);
    }
    void insert()
    {
        from.push_back(-1);
        step.push_back(0);
        shape.push_back(1);
    }
    /// The part [first, first + count) of an axis.
    static Selection part(const Shape& of, std::size_t axis, std::int64_t first, std::int64_t count)
    {
        Selection s(of);
        s.start[axis] = first;
        s.shape[axis] = count;
        return s;
    }
    /// Position i of an axis, which the result does not have.
    static Selection at(const Shape& of, std::size_t axis, std::int64_t i)
    {
        Selection s(Empty{}, of);
        for (std::size_t a = 0; a < of.size(); ++a)
            if (a == axis)
                s.start[a] = i;
            else
                s.keep(a, 0, 1, of[a]);
        return s;
    }

    /// The selected elements of x (shape `of`), no copy.
    Ref<Block> view(const Ref<Block>& x) const
    {
        const Strides s = x->strides();
        Strides strides = Strides::filled(shape.size());
        std::int64_t offset = 0;
        for (std::size_t i = 0; i < of.size(); ++i) offset += start[i] * s[i];
        for (std::size_t k = 0; k < shape.size(); ++k)
            strides[k] = from[k] < 0 ? 0 : step[k] * s[static_cast<std::size_t>(from[k])];
        return make_view(x, shape, &strides, element_count(shape) ? offset : 0);
    }
    Ref<Block> view(Block& x) const { return view(Ref<Block>(&x)); }
    bool everything() const { return of == shape; }
    /// Where its elements i are in the array.
    Positions positions(const Positions& i) const
    {
        Positions x;
        for (auto s : start) x.push_back(s);
        for (std::size_t k = 0; k < shape.size(); ++k)
            if (from[k] >= 0) x[from[k]] = x[from[k]] + i[k] * step[k];
        return x;
    }
};

namespace detail {

/// Positions start + j·step of one axis of a selection, j < count, are in [0, extent).
inline bool in_axis(std::int64_t start, std::int64_t step, std::int64_t count, std::int64_t extent)
{
    std::int64_t way, last;
    return start >= 0 && start < extent && !__builtin_mul_overflow(step, count - 1, &way) &&
           !__builtin_add_overflow(start, way, &last) && last >= 0 && last < extent;
}

/// Every element of a selection is one of `of`, and no two of them are the same.
inline bool is_injective(const Selection& s)
{
    const std::size_t rank = s.shape.size();
    if (s.start.size() != s.of.size() || s.from.size() != rank || s.step.size() != rank) return false;
    bool none = false;
    for (auto e : s.shape) none = none || e == 0;
    std::vector<bool> taken(s.of.size());
    const Strides strides = row_major(s.of);
    for (std::size_t k = 0; k < rank; ++k) {
        const std::int64_t step = s.step[k], count = s.shape[k];
        if (s.from[k] < -1 || s.from[k] >= static_cast<std::int64_t>(s.of.size())) return false;
        if (s.from[k] < 0) {
            if (count != 1) return false;
            continue;
        }
        const auto axis = static_cast<std::size_t>(s.from[k]);
        std::int64_t stride;
        if (taken[axis] || __builtin_mul_overflow(step, strides[axis], &stride)) return false;
        if (!none &&
            (!in_axis(s.start[axis], count > 1 ? step : 1, count, s.of[axis]) || (count > 1 && step == 0)))
            return false;
        taken[axis] = true;
    }
    for (std::size_t axis = 0; axis < s.of.size() && !none; ++axis)
        if (!taken[axis] && !in_axis(s.start[axis], 1, 1, s.of[axis])) return false;
    return true;
}
/// A selection of an array of shape x.
inline const Shape& selected(const Selection& s, const Shape& x)
{
    stated(s.of, x);
    check_extents(s.shape);
    if (!is_injective(s))
        throw ShapeError("the part start=" + to_string(s.start) + " step=" + to_string(s.step) + " shape " +
                         to_string(s.shape) + " does not lie in shape " + to_string(x));
    return s.shape;
}

}  // namespace detail

/// y = zeros of shape `of` with x at the selection, the transpose of a view;  x̄ = view of ȳ
struct Embed {
    static constexpr std::string_view name = "embed";
    static constexpr bool linear = true;
    Selection part;
    template <class T> Ref<Block> value(const Ref<Block>& x, const Site&) const
    {
        auto out = zeros_block(dtype_of<T>(), part.of);
        copy_elements(*x, *part.view(out));
        return out;
    }
    void describe(Index& p) const
    {
        check_extents(part.of);
        detail::same_shape(detail::selected(part, part.of), p.shape(0), "an operand");
        const Positions i = p.axes_of(0);
        p.write(part.positions(i), part.of);
        p.read(0, i);
    }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const;
};

/// y = the selected elements of x, no copy;  x̄ = ȳ at the selection, added in place
struct Select {
    static constexpr std::string_view name = "view";
    static constexpr bool linear = true;
    Selection part;
    template <class T> Ref<Block> value(const Ref<Block>& x, const Site&) const { return part.view(x); }
    void describe(Index& p) const
    {
        const Positions i = p.axes(detail::selected(part, p.shape(0)));
        p.write(i);
        p.read(0, part.positions(i));
    }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const
    {
        return apply<Embed, T>(Embed{part}, Site{}, g);
    }
    void accumulate(wrt<0>, Block& into, const Block& g) const { add_into(*part.view(into), g); }
    std::string parameters() const
    {
        return "start=" + to_string(part.start) + " step=" + to_string(part.step);
    }
};

template <class T> Tensor<T> Embed::pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const
{
    return apply<Select, T>(Select{part}, Site{}, g);
}

}  // namespace wengert
