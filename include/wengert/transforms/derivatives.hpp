// Whole derivative matrices, and Hessian-vector products.
#pragma once

#include "../ops/shape.hpp"
#include "grad.hpp"
#include "jvp.hpp"

namespace wengert {

namespace detail {

/// The k-th unit tensor of a shape.
template <class T>
Tensor<T> unit(const Shape& shape, std::size_t k)
{
    auto b = zeros_block(dtype_of<T>(), shape);
    b->template as<T>()[k] = T(1);
    return Tensor<T>(AnyTensor{std::move(b), {}});
}

inline Shape joined(const Shape& a, const Shape& b)
{
    Shape s = a;
    for (auto e : b) s.push_back(e);
    return s;
}

/// Row by row: one pullback for each element of the result.
template <class T, class Pullback>
Tensor<T> jacobian_by_rows(const Pullback& pullback, const Shape& y, const Shape& x)
{
    std::vector<Tensor<T>> rows;
    for (std::size_t k = 0; k < element_count(y); ++k) rows.push_back(pullback(unit<T>(y, k)));
    if (rows.empty()) return Tensor<T>(AnyTensor{zeros_block(dtype_of<T>(), joined(y, x)), {}});
    return reshape(stack(rows, 0), joined(y, x), Site{});
}

/// Column by column: one tangent for each element of the argument.
template <class T, class F>
Tensor<T> jacobian_by_columns(F& f, const Tensor<T>& at, const Shape& y)
{
    std::vector<Tensor<T>> columns;
    for (std::size_t k = 0; k < at.size(); ++k) columns.push_back(jvp(f, at, unit<T>(at.shape(), k)).second);
    const auto last = static_cast<std::int64_t>(y.size());
    if (columns.empty()) return Tensor<T>(AnyTensor{zeros_block(dtype_of<T>(), joined(y, at.shape())), {}});
    return reshape(stack(columns, last), joined(y, at.shape()), Site{});
}

}  // namespace detail

/// jacobian(f)(x): all derivatives of a tensor-valued f, shape (f(x).shape…, x.shape…). Forward mode where x has fewer
/// elements than f(x), reverse mode otherwise.
template <class F>
auto jacobian(F f)
{
    return [held = detail::Held<F>{std::move(f)}]<class T>(const Tensor<T>& x) {
        const auto [y, pullback] = vjp(held.function, x);
        if (x.size() < y.size()) return detail::jacobian_by_columns(held.function, x, y.shape());
        return detail::jacobian_by_rows<T>(pullback, y.shape(), x.shape());
    };
}

/// hessian(f)(x): second derivatives of a scalar f, shape (x.shape…, x.shape…).
template <class F>
auto hessian(F f)
{
    return jacobian(grad(std::move(f)));
}

/// hvp(f)(x, v): the Hessian of a scalar f times v, forward over reverse (Pearlmutter 1994). x may be any struct of tensors.
template <class F>
auto hvp(F f)
{
    return [g = grad(std::move(f))](const auto& x, const auto& v) { return jvp(g, x, v).second; };
}

}  // namespace wengert
