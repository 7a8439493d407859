// vmap: one more axis for any function. The rows go through scan, so that whatever f may do (loops, branches on data, derivatives,
// library calls) it may do here, with the same bits row by row; while a graph is being traced all rows are one operation.
#pragma once

#include <limits>

#include "../../ops/composed/arrange.hpp"
#include "functions.hpp"

namespace wengert {

/// Which axes vmap maps over.
struct VmapOptions {
    /// In place of an axis: an argument that every row is given whole.
    static constexpr std::int64_t whole = std::numeric_limits<std::int64_t>::min();

    std::vector<std::int64_t> in_axes{};  ///< of each argument, or `whole`; 0 for those behind the last one
    std::int64_t out_axis = 0;            ///< of the results
};

namespace detail {

template <class T, class D>
Tensor<T, D> axis_in_front(const Tensor<T, D>& x, std::int64_t axis, const Site& at)
{
    return normalize_axis("vmap", axis, x.shape("vmap", at), at) == 0 ? x : moveaxis(x, axis, 0, at);
}
template <class T, class D> Tensor<T, D> every_row(const Tensor<T, D>& x, std::int64_t rows, const Site& at)
{
    Shape shape{rows};
    for (const std::int64_t n : x.shape("vmap", at)) shape.push_back(n);
    return broadcast_to(x, shape, at);
}

template <class F> struct Vmapped {
    F f;
    VmapOptions options;
    Site at;

    std::int64_t axis_of(std::size_t argument) const
    {
        return argument < options.in_axes.size() ? options.in_axes[argument] : 0;
    }
    template <class... X>
        requires std::is_invocable_v<const F&, const Argument<X>&...>
    auto operator()(const X&... x) const
    {
        static_assert((tree::contains_leaf<Argument<X>> || ...), "wengert: vmap: no argument has tensors");
        const std::int64_t rows = rows_of(x...);
        std::size_t next = 0;
        const std::tuple<Argument<X>...> xs{in_front(argument(x), axis_of(next++), rows)...};
        const auto row = [this](const std::tuple<>&, const std::tuple<Argument<X>...>& one) {
            return std::pair(std::tuple<>(), std::apply(f, one));
        };
        return tree::map(
            [&]<class T, class D>(const Tensor<T, D>& y) { return moveaxis(y, 0, options.out_axis, at); },
            scan(row, std::tuple<>(), xs, at).second);
    }

private:
    /// How many rows all mapped arguments have. Throws ShapeError.
    template <class... X> std::int64_t rows_of(const X&... x) const
    {
        std::int64_t rows = -1;
        std::size_t next = 0;
        const auto look = [&](const auto& argument, std::int64_t axis) {
            if (axis == VmapOptions::whole) return;
            for (const AnyTensor& t : leaves_of(argument)) {
                const Shape& shape = t.value->shape;
                const std::int64_t n = shape[normalize_axis("vmap", axis, shape, at)];
                if (rows >= 0 && n != rows)
                    fail<ShapeError>("vmap",
                                     "shape " + to_string(shape) + " has " + std::to_string(n) +
                                         " rows along axis " + std::to_string(axis) + " where others have " +
                                         std::to_string(rows),
                                     at);
                rows = n;
            }
        };
        (look(argument(x), axis_of(next++)), ...);
        if (rows < 0) fail<ShapeError>("vmap", "every argument is `whole`: there are no rows", at);
        return rows;
    }
    template <class X> X in_front(const X& x, std::int64_t axis, std::int64_t rows) const
    {
        return tree::map(
            [&]<class T, class D>(const Tensor<T, D>& t) {
                return axis == VmapOptions::whole ? every_row(t, rows, at) : axis_in_front(t, axis, at);
            },
            x);
    }
};

}  // namespace detail

/// f for each row: vmap(f)(x, …) is f(x[0], …), f(x[1], …), … stacked along a new axis. Arguments and results are tensors or any
/// structs, tuples, vectors of them; in_axes says which axis holds the rows, `VmapOptions::whole` that an argument has none. Any
/// transform may be inside or outside. Throws ShapeError where arguments have different numbers of rows.
template <class F> auto vmap(F&& f, VmapOptions options = {}, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::Vmapped<std::decay_t<F>>{std::forward<F>(f), std::move(options), at};
}

}  // namespace wengert
