// vmap: one more axis for any function. The rows go through scan, so that whatever f may do (loops, branches on data, derivatives,
// library calls) it may do here, with the same bits row by row; while a graph is being traced all rows are one operation.
#pragma once

#include <limits>

#include "../../ops/composed/arrange.hpp"
#include "../../transforms/closure.hpp"
#include "functions.hpp"

namespace wengert {

/// Which axes vmap maps over.
struct VmapOptions {
    /// In place of an axis: an argument that every row is given whole.
    static constexpr std::int64_t whole = std::numeric_limits<std::int64_t>::min();

    std::vector<std::int64_t> in_axes{};  ///< one for each argument, or `whole`; none: 0 for all
    std::int64_t out_axis = 0;            ///< of the results
};

namespace detail {

template <class T, class D> Tensor<T, D> every_row(const Tensor<T, D>& x, std::int64_t rows, const Site& at)
{
    Shape shape{rows};
    for (const std::int64_t n : x.shape("vmap", at)) shape.push_back(n);
    return broadcast_to(x, shape, at);
}
template <class T, class D>
Tensor<T, D> axis_moved(const Tensor<T, D>& x, std::int64_t from, std::int64_t to, const Site& at)
{
    const Shape& shape = x.shape("vmap", at);
    const bool there = normalize_axis("vmap", from, shape, at) == normalize_axis("vmap", to, shape, at);
    return there ? x : moveaxis(x, from, to, at);
}

template <class F> class Vmapped : public Closure<Vmapped<F>> {
public:
    Vmapped(F f, VmapOptions options, const Site& made)
        : Closure<Vmapped>(made), function_(std::move(f)), options_(std::move(options))
    {}
    template <class... X> static constexpr bool accepts() { return std::is_invocable_v<F&, Argument<X>&...>; }
    template <class... X> auto at_line(const Site& at, const X&... x) const
    {
        static_assert((tree::contains_leaf<Argument<X>> || ...), "wengert: vmap: no argument has tensors");
        const std::int64_t rows = rows_of(at, argument(x)...);
        const auto xs = [&]<std::size_t... k>(std::index_sequence<k...>) {
            return std::tuple<Argument<X>...>(in_front(argument(x), axis_of(k), rows, at)...);
        }(std::index_sequence_for<X...>());
        const auto row = [&](const std::tuple<>&, std::tuple<Argument<X>...> one) {
            return std::pair(std::tuple<>(), apply_at(function_, at, one));
        };
        return tree::map_arrays(
            [&]<class T, class D>(const Tensor<T, D>& y) { return axis_moved(y, 0, options_.out_axis, at); },
            scan(row, std::tuple<>(), xs, at).second);
    }

private:
    std::int64_t axis_of(std::size_t argument) const
    {
        return options_.in_axes.empty() ? 0 : options_.in_axes[argument];
    }
    void demand_axes(std::size_t arguments, const Site& at) const
    {
        if (const std::size_t n = options_.in_axes.size(); n > 0 && n != arguments)
            fail<ShapeError>("vmap",
                             std::to_string(n) + " axes for " + std::to_string(arguments) + " arguments", at);
    }
    /// How many rows all mapped arguments have. Throws ShapeError.
    template <class... X> std::int64_t rows_of(const Site& at, const X&... x) const
    {
        demand_axes(sizeof...(X), at);
        std::int64_t rows = -1;
        std::size_t next = 0;
        const auto look = [&](const auto& argument, std::int64_t axis) {
            if (axis == VmapOptions::whole) return;
            const auto one = [&](const auto& t) {
                if (!t.defined()) return;
                const Shape& shape = t.shape();
                const std::int64_t n = shape[normalize_axis("vmap", axis, shape, at)];
                if (rows >= 0 && n != rows)
                    fail<ShapeError>("vmap",
                                     "shape " + to_string(shape) + " has " + std::to_string(n) +
                                         " rows along axis " + std::to_string(axis) + " where others have " +
                                         std::to_string(rows),
                                     at);
                rows = n;
            };
            tree::for_each_array(one, argument);
        };
        (look(x, axis_of(next++)), ...);
        if (rows < 0) fail<ShapeError>("vmap", "every argument is `whole`: there are no rows", at);
        return rows;
    }
    template <class X> X in_front(const X& x, std::int64_t axis, std::int64_t rows, const Site& at) const
    {
        return tree::map_arrays(
            [&]<class T, class D>(const Tensor<T, D>& t) {
                return axis == VmapOptions::whole ? every_row(t, rows, at) : axis_moved(t, axis, 0, at);
            },
            x);
    }

    mutable F function_;  // it may be a mutable lambda
    VmapOptions options_;
};

}  // namespace detail

/// f for each row: vmap(f)(x, …) is f(x[0], …), f(x[1], …), … stacked along a new axis. Arguments and results are tensors or any
/// structs, tuples, vectors of them; in_axes says which axis holds the rows, `VmapOptions::whole` that an argument has none. Any
/// transform may be inside or outside. Throws ShapeError where arguments have
/// different numbers of rows, or are not as many as in_axes.
template <class F> auto vmap(F&& f, VmapOptions options = {}, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::Vmapped<std::decay_t<F>>(std::forward<F>(f), std::move(options), at);
}

}  // namespace wengert
