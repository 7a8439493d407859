// Reductions that have no derivative: argmax, argmin, all, any.
#pragma once

#include "reduction_rules.hpp"

namespace wengert {

/// The index of the first largest or smallest element; of the first NaN if there is one.
template <bool largest> struct ArgExtremum {
    static constexpr std::string_view name = largest ? "argmax" : "argmin";
    static constexpr Literal identity = lit(0);
    static constexpr bool places = true, needs_elements = true;
    Along along;
    void describe(Fold& f) const { along.describe(f); }
    template <class V, class P>
    static std::pair<V, P> combine(const std::pair<V, P>& a, const std::pair<V, P>& b)
    {
        const V &x = a.first, &y = b.first;
        const auto better = ((largest ? y > x : y < x) || is_nan(y)) && !is_nan(x);
        return {where(better, y, x), where(better, b.second, a.second)};
    }
    template <class T>
    static void kernel(const T* x, std::size_t outer, std::size_t n, std::size_t inner, std::int64_t* y)
    {
        largest ? kernels::argmax(x, outer, n, inner, y) : kernels::argmin(x, outer, n, inner, y);
    }
};

/// Do all, or does any, of the elements hold?
template <bool every> struct Quantifier {
    static constexpr std::string_view name = every ? "all" : "any";
    using passes = Passes<std::conditional_t<every, monoid::And, monoid::Or>>;
    Along along;
    void describe(Fold& f) const { along.describe(f); }
};

namespace detail {

template <class Op, class Out, class T, class D>
Tensor<Out, D> decided(const Tensor<T, D>& x, const Axes* axes, bool keepdims, const Site& at)
{
    return apply<Op, Out>(Op{along(Op::name, x, axes, keepdims, at)}, at, x);
}
template <class T, class D> Tensor<bool, D> truth(const Tensor<T, D>& x, const Site& at)
{
    if constexpr (std::is_same_v<T, bool>)
        return x;
    else
        return ops::not_equal<T>(x, Tensor<T, D>(0), at);
}

}  // namespace detail

/// Where the largest element is: along an axis, or in row-major order over all of x. Throws ShapeError for no elements.
template <class T, class D>
Tensor<std::int64_t, D> argmax(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::decided<ArgExtremum<true>, std::int64_t>(x, nullptr, false, at);
}
template <class T, class D>
Tensor<std::int64_t, D> argmax(const Tensor<T, D>& x, std::int64_t axis, bool keepdims = false,
                               Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Axes axes{axis};
    return detail::decided<ArgExtremum<true>, std::int64_t>(x, &axes, keepdims, at);
}

/// Where the smallest element is: along an axis, or in row-major order over all of x. Throws ShapeError for no elements.
template <class T, class D>
Tensor<std::int64_t, D> argmin(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::decided<ArgExtremum<false>, std::int64_t>(x, nullptr, false, at);
}
template <class T, class D>
Tensor<std::int64_t, D> argmin(const Tensor<T, D>& x, std::int64_t axis, bool keepdims = false,
                               Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Axes axes{axis};
    return detail::decided<ArgExtremum<false>, std::int64_t>(x, &axes, keepdims, at);
}

/// Are all elements other than zero? True for none.
template <class T, class D>
Tensor<bool, D> all(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::decided<Quantifier<true>, bool>(detail::truth(x, at), nullptr, false, at);
}
template <class T, class D>
Tensor<bool, D> all(const Tensor<T, D>& x, const AxesArgument& axes, bool keepdims = false,
                    Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::decided<Quantifier<true>, bool>(detail::truth(x, at), &axes, keepdims, at);
}

/// Is any element other than zero? False for none.
template <class T, class D>
Tensor<bool, D> any(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::decided<Quantifier<false>, bool>(detail::truth(x, at), nullptr, false, at);
}
template <class T, class D>
Tensor<bool, D> any(const Tensor<T, D>& x, const AxesArgument& axes, bool keepdims = false,
                    Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::decided<Quantifier<false>, bool>(detail::truth(x, at), &axes, keepdims, at);
}

}  // namespace wengert
