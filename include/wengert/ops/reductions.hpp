// Reductions other than sum: mean, prod, amax, amin, var, stddev, norm, logsumexp, argmax, argmin, all, any.
//
// Each has f(x), over every axis, and f(x, axes, keepdims = false) with axes counted from the end where negative; an axis
// out of range or given twice is a ShapeError. Over no elements: mean and var are NaN, prod is 1, logsumexp −inf, norm 0;
// amax, amin, argmax and argmin throw a ShapeError.
#pragma once

#include <algorithm>
#include <optional>

#include "elementwise/cast.hpp"
#include "reduction_rules.hpp"

namespace wengert {

namespace detail {

template <class Op, class T, class D>
Tensor<T, D> reduced(const Tensor<T, D>& x, const Axes* axes, bool keepdims, const Site& at)
{
    return apply<Op, T>(Op{along(Op::name, x, axes, keepdims, at)}, at, x);
}

/// Runs of adjacent axes one after the other, each as the middle axis of (outer, n, inner).
template <class T, class D>
Tensor<Total<T>, D> product_over(const Tensor<T, D>& x, const Axes* axes, bool keepdims, const Site& at)
{
    const Along a = along("prod", x, axes, keepdims, at);
    const auto extent = [&](std::int64_t i) { return a.from[static_cast<std::size_t>(i)]; };
    const auto pass = [&]<class U>(const Tensor<U, D>& y, std::int64_t first, std::int64_t last) {
        Shape s{1, 1, 1};
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(a.from.size()); ++i) {
            const bool done = i > last && std::find(a.axes.begin(), a.axes.end(), i) != a.axes.end();
            s[i < first ? 0 : i <= last ? 1 : 2] *= done ? 1 : extent(i);
        }
        return apply<Prod, Total<T>>(Prod{}, at, reshape(y, s, at));
    };
    std::size_t end = a.axes.size();
    std::optional<Tensor<Total<T>, D>> y;
    do {
        std::size_t begin = end ? end - 1 : 0;
        while (begin > 0 && a.axes[begin - 1] + 1 == a.axes[begin]) --begin;
        const std::int64_t first = end ? a.axes[begin] : 0, last = end ? a.axes[end - 1] : -1;
        y = y ? pass(*y, first, last) : pass(x, first, last);
        end = begin;
    } while (end > 0);
    return reshape(*y, keepdims ? a.kept() : a.dropped(), at);
}

template <class T, class D> Tensor<T, D> root(const Tensor<T, D>& variance, const Site& at)
{
    return apply_elementwise<RootFlatAtZero, T>(at, variance);
}

}  // namespace detail

/// Σ x / n; integers and bools give double.
template <class T, class D> auto mean(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    if constexpr (is_differentiable<T>)
        return detail::reduced<Mean>(x, nullptr, false, at);
    else
        return mean(cast<double>(x, at), at);
}
template <class T, class D>
auto mean(const Tensor<T, D>& x, const AxesArgument& axes, bool keepdims = false,
          Site at = {__builtin_FILE(), __builtin_LINE()})
{
    if constexpr (is_differentiable<T>)
        return detail::reduced<Mean>(x, &axes, keepdims, at);
    else
        return mean(cast<double>(x, at), axes, keepdims, at);
}

template <class T, class D> Quotient<T, D> Tensor<T, D>::mean(Site at) const
{
    return wengert::mean(*this, at);
}
template <class T, class D>
Quotient<T, D> Tensor<T, D>::mean(const AxesArgument& axes, bool keepdims, Site at) const
{
    return wengert::mean(*this, axes, keepdims, at);
}

/// Π x; integers and bools give std::int64_t. Differentiable where elements are zero too.
template <class T, class D>
Tensor<Total<T>, D> prod(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::product_over(x, nullptr, false, at);
}
template <class T, class D>
Tensor<Total<T>, D> prod(const Tensor<T, D>& x, const AxesArgument& axes, bool keepdims = false,
                         Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::product_over(x, &axes, keepdims, at);
}

/// The largest element; NaN if there is one. Ties share the gradient equally.
template <class T, class D>
Tensor<T, D> amax(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::reduced<Extremum<true>>(x, nullptr, false, at);
}
template <class T, class D>
Tensor<T, D> amax(const Tensor<T, D>& x, const AxesArgument& axes, bool keepdims = false,
                  Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::reduced<Extremum<true>>(x, &axes, keepdims, at);
}

/// The smallest element; NaN if there is one. Ties share the gradient equally.
template <class T, class D>
Tensor<T, D> amin(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::reduced<Extremum<false>>(x, nullptr, false, at);
}
template <class T, class D>
Tensor<T, D> amin(const Tensor<T, D>& x, const AxesArgument& axes, bool keepdims = false,
                  Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::reduced<Extremum<false>>(x, &axes, keepdims, at);
}

/// Σ (x − mean)² / (n − ddof); NaN or infinite when ddof ≥ n.
template <Differentiable T, class D>
Tensor<T, D> var(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return apply<Var, T>(Var{detail::along("var", x, nullptr, false, at), 0}, at, x);
}
template <Differentiable T, class D>
Tensor<T, D> var(const Tensor<T, D>& x, const AxesArgument& axes, bool keepdims = false, std::size_t ddof = 0,
                 Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return apply<Var, T>(Var{detail::along("var", x, &axes, keepdims, at), ddof}, at, x);
}

/// √var. Where the variance is zero the derivative is taken to be 0.
template <Differentiable T, class D>
Tensor<T, D> stddev(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::root(apply<Var, T>(Var{detail::along("stddev", x, nullptr, false, at), 0}, at, x), at);
}
template <Differentiable T, class D>
Tensor<T, D> stddev(const Tensor<T, D>& x, const AxesArgument& axes, bool keepdims = false,
                    std::size_t ddof = 0, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::root(apply<Var, T>(Var{detail::along("stddev", x, &axes, keepdims, at), ddof}, at, x), at);
}

/// The 2-norm √Σx², without overflow on the way. At the origin the derivative is taken to be 0.
template <Differentiable T, class D>
Tensor<T, D> norm(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::reduced<Norm>(x, nullptr, false, at);
}
template <Differentiable T, class D>
Tensor<T, D> norm(const Tensor<T, D>& x, const Axes& axes, bool keepdims = false,
                  Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::reduced<Norm>(x, &axes, keepdims, at);
}

/// ln Σ eˣ, without overflow on the way.
template <Differentiable T, class D>
Tensor<T, D> logsumexp(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::reduced<LogSumExp>(x, nullptr, false, at);
}
template <Differentiable T, class D>
Tensor<T, D> logsumexp(const Tensor<T, D>& x, const AxesArgument& axes, bool keepdims = false,
                       Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::reduced<LogSumExp>(x, &axes, keepdims, at);
}

}  // namespace wengert
