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

/// Keys, one for each row, as scan has them: their bits, shape (rows, 2). In a row those of one key. A template: programs without it
/// compile nothing of it.
template <class Bits = std::int64_t> struct KeyRows {
    Tensor<Bits> bits;

    KeyRows(const std::vector<Key>& keys, const Site& at)
        : bits(AnyTensor{zeros_block(dtype_of<Bits>(), {0, 2}), {}})
    {
        std::vector<Tensor<Bits>> rows;
        for (const AnyTensor& key : read_tree(recorder(), keys).leaves) rows.emplace_back(key);
        if (!rows.empty()) bits = stack(rows, 0, at);
    }
    auto fields() { return std::tie(bits); }
    operator Key() const
    {
        Key k(0);
        write_tree(recorder() ? recorder()->trace_of_loops() : nullptr, k, {bits.any()});
        return k;
    }
};
template <class A> inline constexpr bool are_keys = std::is_same_v<A, std::vector<Key>>;
/// What a row is given of an argument, and what the argument is held as.
template <class A> using RowOf = std::conditional_t<are_keys<A>, Key, A>;
template <class A> using RowsOf = std::conditional_t<are_keys<A>, KeyRows<>, A>;
template <class A> decltype(auto) held_rows(const A& x, const Site& at)
{
    if constexpr (are_keys<A>)
        return KeyRows<>(x, at);
    else
        return (x);
}

template <class F> class Vmapped : public Closure<Vmapped<F>> {
public:
    Vmapped(F f, VmapOptions options, const Site& made)
        : Closure<Vmapped>(made), function_(std::move(f)), options_(std::move(options))
    {}
    /// f may take all keys as they are: then they are the same in every row.
    template <class... X> static constexpr bool accepts()
    {
        return std::disjunction_v<std::is_invocable<F&, RowOf<Argument<X>>&...>,
                                  std::is_invocable<F&, Argument<X>&...>>;
    }
    template <class... X> auto at_line(const Site& at, const X&... x) const
    {
        static_assert((tree::contains_leaf<RowsOf<Argument<X>>> || ...),
                      "wengert: vmap: no argument has tensors, or a key for each row");
        if constexpr (std::is_invocable_v<F&, RowOf<Argument<X>>&...>)
            return mapped<RowOf<Argument<X>>...>(at, held_rows<Argument<X>>(argument(x), at)...);
        else
            return mapped<Argument<X>...>(at, argument(x)...);
    }

private:
    /// `One`: what f is given.
    template <class... One, class... X> auto mapped(const Site& at, const X&... x) const
    {
        const std::int64_t rows = rows_of(at, x...);
        const auto xs = [&]<std::size_t... k>(std::index_sequence<k...>) {
            return std::tuple<X...>(in_front(x, axis_of(k), rows, at)...);
        }(std::index_sequence_for<X...>());
        const auto row = [&](const std::tuple<>&, std::tuple<X...> held) {
            std::tuple<One...> one(std::move(held));
            return std::pair(std::tuple<>(), apply_at(function_, at, one));
        };
        return tree::map_arrays(
            [&]<class T, class D>(const Tensor<T, D>& y) { return axis_moved(y, 0, options_.out_axis, at); },
            scan(row, std::tuple<>(), xs, at).second);
    }
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
        const auto look = [&]<class A>(const A& argument, std::int64_t axis) {
            if (std::is_same_v<A, KeyRows<>> && axis != 0)
                fail<ShapeError>(
                    "vmap", "keys have one axis, of a key for each row: capture what all rows share", at);
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
/// structs, tuples, vectors of them; in_axes says which axis holds the rows, `VmapOptions::whole` that an argument has none. Of a
/// `std::vector<Key>`, as split(key, n) gives it, each row is given one key. Any transform may be inside or outside. Throws ShapeError
/// where arguments have different numbers of rows, or are not as many as in_axes.
template <class F> auto vmap(F&& f, VmapOptions options = {}, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::Vmapped<std::decay_t<F>>(std::forward<F>(f), std::move(options), at);
}

}  // namespace wengert
