// Whole derivative matrices, and Hessian-vector products.
#pragma once

#include <algorithm>

#include "../ops/shape.hpp"
#include "grad.hpp"
#include "jvp.hpp"

namespace wengert {

namespace detail {

/// The k-th unit tensor of x's shape, on x's device.
template <class T, class D> Tensor<T, D> unit(const Tensor<T, D>& x, std::size_t k)
{
    auto b = zeros_block(dtype_of<T>(), x.shape());
    b->template as<T>()[k] = T(1);
    return Tensor<T, D>(AnyTensor{placed(std::move(b), x.any().value->device()), {}});
}

inline Shape joined(const Shape& a, const Shape& b)
{
    Shape s = a;
    for (auto e : b) s.push_back(e);
    return s;
}

/// Row by row: one pullback for each element of the result.
template <class T, class Pullback, class D>
Tensor<T, D> jacobian_by_rows(const Pullback& pullback, const Tensor<T, D>& y, const Shape& x, const Site& at)
{
    std::vector<Tensor<T, D>> rows;
    const Shape shape = joined(y.shape("jacobian", at), x);
    for (std::size_t k = 0; k < y.size(); ++k) rows.push_back(pullback(unit(y, k), at));
    if (rows.empty()) return Tensor<T, D>(AnyTensor{zeros_beside(*y.any().value, dtype_of<T>(), shape), {}});
    return reshape(stack(rows, 0, at), shape, at);
}

/// Column by column: one tangent for each element of the argument.
template <class T, class F, class D>
Tensor<T, D> jacobian_by_columns(F& f, const Tensor<T, D>& x, const Shape& y, const Site& at)
{
    std::vector<Tensor<T, D>> columns;
    for (std::size_t k = 0; k < x.size(); ++k)
        columns.push_back(forward(f, x, unit(x, k), "jacobian", at).second);
    const auto last = static_cast<std::int64_t>(y.size());
    if (columns.empty())
        return Tensor<T, D>(AnyTensor{zeros_beside(*x.any().value, dtype_of<T>(), joined(y, x.shape())), {}});
    return reshape(stack(columns, last, at), joined(y, x.shape()), at);
}

template <class F> class Jacobian : public Closure<Jacobian<F>> {
public:
    Jacobian(F f, const Site& made) : Closure<Jacobian>(made), function_(std::move(f)) {}
    template <class... X> static constexpr bool accepts() { return std::is_invocable_v<F&, Argument<X>&...>; }
    template <class T, class D> Tensor<T, D> at_line(const Site& at, const Tensor<T, D>& x) const
    {
        static_assert(!is_complex_tensor<Tensor<T, D>> &&
                          !is_complex_tensor<std::remove_cvref_t<decltype(call_with(function_, x, at))>>,
                      "wengert: jacobian is of real numbers: differentiate a function of real() and imag()");
        if constexpr (of_numbers<decltype(call_with(function_, x, at))>) {
            return ByTensors<Tensor<T, D>>::jacobian(function_, x, at);
        } else {
            const auto [y, pullback] = vjp_at(function_, at, x);
            // under AnomalyMode rows: what is not selected has a cotangent of 0, but any tangent
            if (x.size() < y.size() && !Tape::current().anomaly) try {
                    return jacobian_by_columns(function_, x, y.shape(), at);
                } catch (const NoForwardMode&) {  // of a rule for reverse mode alone
                }
            return jacobian_by_rows<T>(pullback, y, x.shape(), at);
        }
    }
    template <class X>
        requires(of_numbers<X>)
    auto at_line(const Site& at, const X& x) const
    {
        return ByTensors<X>::jacobian(function_, x, at);
    }
    template <class... X>
        requires(sizeof...(X) != 1 || (!of_numbers<X> && ...))
    void at_line(const Site&, const X&...) const
    {
        static_assert(sizeof...(X) == 0,
                      "wengert: jacobian and hessian take one tensor, or numbers: capture what is beside it, "
                      "or concatenate the parts of a struct and take them apart in the function");
    }

private:
    mutable F function_;
};

/// How many of the first k arguments hold tensors, and which is the k-th that does.
template <class... X> consteval std::size_t leaves_before(std::size_t k)
{
    constexpr bool holds[] = {tree::contains_leaf<X>...};
    return static_cast<std::size_t>(std::count(holds, holds + k, true));
}
template <class... X> consteval std::size_t nth_leaf(std::size_t k)
{
    std::size_t i = 0;
    while (leaves_before<X...>(i + 1) <= k) ++i;
    return i;
}

/// The gradient by each argument: a tuple where there are several, in which those without tensors are as they were.
template <class F> class GradOfAll : public Closure<GradOfAll<F>> {
public:
    GradOfAll(F f, const Site& made) : Closure<GradOfAll>(made), function_(std::move(f)) {}
    template <class... X> static constexpr bool accepts() { return std::is_invocable_v<F&, Argument<X>&...>; }
    template <class... X> auto at_line(const Site& at, const X&... x) const
    {
        constexpr std::size_t leaves = leaves_before<Argument<X>...>(sizeof...(X));
        return [&]<std::size_t... k>(std::index_sequence<k...>) {
            auto gradients =
                reverse<nth_leaf<Argument<X>...>(k)...>(function_, "grad", at, argument(x)...).second;
            if constexpr (sizeof...(X) == 1)
                return std::move(std::get<0>(gradients));
            else
                return parts(gradients, std::tuple<Argument<X>...>(argument(x)...),
                             std::index_sequence_for<X...>());
        }(std::make_index_sequence<leaves>());
    }

private:
    template <class Gradients, class... X, std::size_t... i>
    static std::tuple<X...> parts(const Gradients& gradients, const std::tuple<X...>& x,
                                  std::index_sequence<i...>)
    {
        const auto part = [&]<std::size_t j>(std::integral_constant<std::size_t, j>) {
            if constexpr (tree::contains_leaf<std::tuple_element_t<j, std::tuple<X...>>>)
                return std::get<leaves_before<X...>(j)>(gradients);
            else
                return std::get<j>(x);
        };
        return std::tuple<X...>(part(std::integral_constant<std::size_t, i>())...);
    }
    mutable F function_;
};

template <class F> class Hvp : public Closure<Hvp<F>> {
public:
    Hvp(F f, const Site& made) : Closure<Hvp>(made), gradient_(std::move(f), made) {}
    template <class... X> static constexpr bool accepts() { return sizeof...(X) == 2; }
    template <class X, class V> auto at_line(const Site& at, const X& x, const V& v) const
    {
        return forward(gradient_, argument(x), argument(v), "hvp", at).second;
    }

private:
    GradOfAll<F> gradient_;
};

}  // namespace detail

/// jacobian(f)(x): all derivatives of a tensor-valued f, shape (f(x).shape…, x.shape…). Forward mode where x has fewer
/// elements than f(x) and f has it, reverse mode otherwise.
template <class F> auto jacobian(F f, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::Jacobian<F>(std::move(f), at);
}

/// hessian(f)(x): second derivatives of a scalar f, shape (x.shape…, x.shape…).
template <class F> auto hessian(F f, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return jacobian(grad(std::move(f), at), at);
}

/// hvp(f)(x, v): the Hessian of a scalar f times v, forward over reverse (Pearlmutter 1994). x may be any struct of tensors,
/// or a tuple of several arguments, which gives the tuple of their parts; those without tensors are as they were.
template <class F> auto hvp(F f, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::Hvp<F>(std::move(f), at);
}

}  // namespace wengert
