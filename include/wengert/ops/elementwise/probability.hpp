// Functions of probabilities and of their logarithms, and of what is no number. Rules are in functions/rules/probability.hpp.
#pragma once

#include "../../functions/rules/probability.hpp"
#include "pairs.hpp"

namespace wengert {

// clang-format off
/// True where x is NaN.
template <class T, class D> Tensor<bool, D> isnan(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<IsNan, bool>(at, x); }
/// True where x is neither NaN nor infinite.
template <class T, class D> Tensor<bool, D> isfinite(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return is_finite(x, at); }
/// True where x is infinite.
template <Differentiable T, class D> Tensor<bool, D> isinf(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Equal, bool>(at, abs(x, at), detail::number<T, D>(std::numeric_limits<T>::infinity())); }
// clang-format on

/// Numbers in place of NaN and the infinities. The gradient is 1 where x stays, 0 elsewhere.
template <Differentiable T, class D>
Tensor<T, D> nan_to_num(const Tensor<T, D>& x, T nan = 0, T posinf = std::numeric_limits<T>::max(),
                        T neginf = std::numeric_limits<T>::lowest(),
                        Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const auto number = [](T v) { return detail::number<T, D>(v); };
    const Tensor<T, D> infinite =
        apply_elementwise<Where, T>(at, ops::less<T>(number(0), x, at), number(posinf), number(neginf));
    const Tensor<T, D> other = apply_elementwise<Where, T>(at, isnan(x, at), number(nan), infinite);
    return apply_elementwise<Where, T>(at, is_finite(x, at), x, other);
}

}  // namespace wengert
