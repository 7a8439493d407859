// Whole derivative matrices. While a graph is traced, their rows or columns are one loop (vmap), however many there are.
#pragma once

#include "../../ops/shape.hpp"
#include "../../transforms/hvp.hpp"
#include "../../transforms/unit_tensors.hpp"
#include "vmap.hpp"

namespace wengert {

namespace detail {

/// So many rows or columns are traced one after another: a loop would not be shorter.
inline constexpr std::size_t few_rows = 4;

/// f of each row of x, stacked: a function for each type, as the loop's code is long.
template <class T, class D>
Tensor<T, D> each_row(const std::function<Tensor<T, D>(const Tensor<T, D>&)>& f, const Tensor<T, D>& x,
                      const Site& at)
{
    return vmap(f, {}, at)(x, at);
}

/// Row by row: one pullback for each element of the result y.
template <class T, class Pullback, class D>
Tensor<T, D> jacobian_by_rows(const Pullback& pullback, const Tensor<T, D>& y, const Shape& x, const Site& at)
{
    std::vector<Tensor<T, D>> rows;
    for (std::size_t k = 0; k < y.size(); ++k) rows.push_back(pullback(unit(y, k), at));
    const Shape shape = joined(y.shape(), x);
    if (rows.empty()) return Tensor<T, D>(AnyTensor{zeros_beside(*y.any().value, dtype_of<T>(), shape), {}});
    return reshape(stack(rows, 0, at), shape, at);
}

/// Column by column: one tangent for each element of the argument.
template <class T, class F, class D>
Tensor<T, D> jacobian_by_columns(F& f, const Tensor<T, D>& x, const Shape& y, const Site& at)
{
    const auto column = [&](const Tensor<T, D>& u) { return forward(f, x, u, "jacobian", at).second; };
    const Shape shape = joined(y, x.shape());
    const auto last = static_cast<std::int64_t>(y.size());
    if (is_traced() && x.size() > few_rows)
        return reshape(moveaxis(each_row<T, D>(column, units_of(x), at), 0, last, at), shape, at);
    std::vector<Tensor<T, D>> columns;
    for (std::size_t k = 0; k < x.size(); ++k) columns.push_back(column(unit(x, k)));
    if (columns.empty())
        return Tensor<T, D>(AnyTensor{zeros_beside(*x.any().value, dtype_of<T>(), shape), {}});
    return reshape(stack(columns, last, at), shape, at);
}

template <class F> class Jacobian : public Closure<Jacobian<F>> {
public:
    Jacobian(F f, const Site& made) : Closure<Jacobian>(made), function_(std::move(f)) {}
    template <class... X> static constexpr bool accepts()
    {
        return sizeof...(X) == 1 && (std::is_invocable_v<F&, Argument<X>&> && ...);
    }
    template <class T, class D> Tensor<T, D> at_line(const Site& at, const Tensor<T, D>& x) const
    {
        static_assert(!is_complex_tensor<Tensor<T, D>> &&
                          !is_complex_tensor<std::remove_cvref_t<decltype(call_with(function_, x, at))>>,
                      "wengert: jacobian is of real numbers: differentiate a function of real() and imag()");
        if constexpr (of_numbers<decltype(call_with(function_, x, at))>) {
            return ByTensors<Tensor<T, D>>::jacobian(function_, x, at);
        } else {
            const Block* const effect = last_effect();
            const auto [y, pullback] = vjp_at(function_, at, x);
            if (x.size() < y.size()) return jacobian_by_columns(function_, x, y.shape(), at);
            if (!is_traced() || y.size() <= few_rows || last_effect() != effect)
                return jacobian_by_rows<T>(pullback, y, x.shape(), at);
            // a pullback belongs to one call: in the loop f runs again, which is why it must have no effects
            const auto row = [&](const Tensor<T, D>& u) { return vjp_at(function_, at, x).second(u, at); };
            return reshape(each_row<T, D>(row, units_of(y), at), joined(y.shape(), x.shape()), at);
        }
    }
    template <class X>
        requires(of_numbers<X>)
    auto at_line(const Site& at, const X& x) const
    {
        return ByTensors<X>::jacobian(function_, x, at);
    }

private:
    static const Block* last_effect() { return recorder() ? recorder()->effect.get() : nullptr; }

    mutable F function_;
};

}  // namespace detail

/// jacobian(f)(x): all derivatives of a tensor-valued f, shape (f(x).shape…, x.shape…). Forward mode where x has fewer
/// elements than f(x), reverse mode otherwise.
template <class F> auto jacobian(F f, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::Jacobian<F>(std::move(f), at);
}

/// hessian(f)(x): second derivatives of a scalar f, shape (x.shape…, x.shape…).
template <class F> auto hessian(F f, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return jacobian(grad(std::move(f), at), at);
}

}  // namespace wengert
