// Functions of probabilities and of their logarithms, and of what is no number. Rules are in functions/rules/probability.hpp.
#pragma once

#include "../../functions/rules/probability.hpp"
#include "pairs.hpp"

namespace wengert {

struct IsNan {
    static constexpr std::string_view name = "isnan";
    template <class V> static auto value(const V& x) { return is_nan(x); }
};

// clang-format off
/// The inverse of erf on [−1, 1]; ±∞ at ±1, NaN beyond.
template <Differentiable T, class D> Tensor<T, D> erfinv(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Erfinv, T>(at, x); }
/// −ln(1 + e⁻ˣ), accurate in both tails.
template <Differentiable T, class D> Tensor<T, D> log_sigmoid(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<LogSigmoid, T>(at, x); }
/// ln(eᵃ + eᵇ) without overflow.
template <Differentiable T, class D> Tensor<T, D> logaddexp(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return apply_elementwise<LogAddExp, T>(b.at, a, *b); }
/// a ln b, 0 where a is 0: a term of an entropy.
template <Differentiable T, class D> Tensor<T, D> xlogy(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return apply_elementwise<Xlogy, T>(b.at, a, *b); }
template <LiteralOperand S, Differentiable T, class D> Tensor<T, D> logaddexp(S a, const Tensor<T, D>& b, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<LogAddExp, T>(at, detail::literal_tensor<T, D>(a), b); }
template <LiteralOperand S, Differentiable T, class D> Tensor<T, D> xlogy(S a, const Tensor<T, D>& b, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Xlogy, T>(at, detail::literal_tensor<T, D>(a), b); }
/// True where x is NaN.
template <class T, class D> Tensor<bool, D> isnan(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<IsNan, bool>(at, x); }
/// True where x is neither NaN nor infinite.
template <class T, class D> Tensor<bool, D> isfinite(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return is_finite(x, at); }
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
