// The public functions of numbers, for every value type: tensors, reals, tangents, lanes, terms, saved sets, dual numbers. How a
// type calls a function it says once, for all of them: `calls<F>` and `call<F>(x…, at)`.
//
// Plain numbers have those of <cmath>. What is not there is here for them, too.
#pragma once

#include <concepts>
#include <type_traits>

#include "../base/literal.hpp"
#include "../base/site.hpp"
#include "list.hpp"

namespace wengert {

namespace detail {

/// 0: V has no function F. Of two operands the one of the larger rank says how F is called.
template <class V, class F> inline constexpr int rank_of = 0;
template <class V, class F>
    requires requires { V::template calls<F>; }
inline constexpr int rank_of<V, F> = V::template calls<F>;

template <class V, class F>
concept Calls = rank_of<V, F> > 0;
template <class V, class F>
concept CallsOrNumber = std::floating_point<V> || Calls<V, F>;
/// One calls F, and the other does so or is a number.
template <class A, class B, class F>
concept CallsPair = (Calls<A, F> && (Calls<B, F> || std::is_arithmetic_v<B> || std::is_same_v<B, Literal>)) ||
                    (Calls<B, F> && (std::is_arithmetic_v<A> || std::is_same_v<A, Literal>));
template <class A, class B, class F>
concept CallsPairOrNumbers = CallsPair<A, B, F> || (std::floating_point<A> && std::is_same_v<A, B>);

/// Of plain numbers: an approximation of their own, or what F is composed of.
template <class F, class T> T plain_value(T x)
{
    if constexpr (requires { F::number(x); })
        return F::number(x);
    else
        return F::value(x);
}

template <class F, class V> [[gnu::always_inline]] constexpr auto call(const V& x, const Site& at)
{
    if constexpr (std::floating_point<V>)
        return plain_value<F>(x);
    else
        return V::template call<F>(x, at);
}
template <class F, class A, class B>
[[gnu::always_inline]] constexpr auto call(const A& a, const B& b, const Site& at)
{
    if constexpr (rank_of<A, F> == 0 && rank_of<B, F> == 0)
        return F::value(a, b);
    else if constexpr (rank_of<A, F> >= rank_of<B, F>)
        return A::template call<F>(a, b, at);
    else
        return B::template call<F>(a, b, at);
}

}  // namespace detail

// clang-format off
/// The gradient at 0 is infinite.
template <detail::Calls<Cbrt> V> [[gnu::always_inline]] constexpr auto cbrt(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Cbrt>(x, at); }
template <detail::Calls<Exp> V> [[gnu::always_inline]] constexpr auto exp(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Exp>(x, at); }
template <detail::Calls<Exp2> V> [[gnu::always_inline]] constexpr auto exp2(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Exp2>(x, at); }
template <detail::Calls<Expm1> V> [[gnu::always_inline]] constexpr auto expm1(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Expm1>(x, at); }
template <detail::Calls<Log> V> [[gnu::always_inline]] constexpr auto log(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Log>(x, at); }
template <detail::Calls<Log2> V> [[gnu::always_inline]] constexpr auto log2(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Log2>(x, at); }
template <detail::Calls<Log10> V> [[gnu::always_inline]] constexpr auto log10(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Log10>(x, at); }
template <detail::Calls<Log1p> V> [[gnu::always_inline]] constexpr auto log1p(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Log1p>(x, at); }
template <detail::Calls<Sin> V> [[gnu::always_inline]] constexpr auto sin(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Sin>(x, at); }
template <detail::Calls<Cos> V> [[gnu::always_inline]] constexpr auto cos(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Cos>(x, at); }
template <detail::Calls<Tan> V> [[gnu::always_inline]] constexpr auto tan(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Tan>(x, at); }
template <detail::Calls<Asin> V> [[gnu::always_inline]] constexpr auto asin(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Asin>(x, at); }
template <detail::Calls<Acos> V> [[gnu::always_inline]] constexpr auto acos(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Acos>(x, at); }
template <detail::Calls<Atan> V> [[gnu::always_inline]] constexpr auto atan(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Atan>(x, at); }
template <detail::Calls<Sinh> V> [[gnu::always_inline]] constexpr auto sinh(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Sinh>(x, at); }
template <detail::Calls<Cosh> V> [[gnu::always_inline]] constexpr auto cosh(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Cosh>(x, at); }
template <detail::Calls<Tanh> V> [[gnu::always_inline]] constexpr auto tanh(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Tanh>(x, at); }
template <detail::Calls<Asinh> V> [[gnu::always_inline]] constexpr auto asinh(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Asinh>(x, at); }
template <detail::Calls<Acosh> V> [[gnu::always_inline]] constexpr auto acosh(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Acosh>(x, at); }
template <detail::Calls<Atanh> V> [[gnu::always_inline]] constexpr auto atanh(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Atanh>(x, at); }
template <detail::Calls<Erf> V> [[gnu::always_inline]] constexpr auto erf(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Erf>(x, at); }
/// 1 − erf x without cancellation: accurate relative to itself down to the smallest numbers.
template <detail::Calls<Erfc> V> [[gnu::always_inline]] constexpr auto erfc(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Erfc>(x, at); }
/// e^(x²) erfc x, the scaled complementary error function: without underflow where x is large.
template <detail::CallsOrNumber<Erfcx> V> [[gnu::always_inline]] constexpr auto erfcx(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Erfcx>(x, at); }
/// Γ(x).
template <detail::Calls<Tgamma> V> [[gnu::always_inline]] constexpr auto tgamma(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Tgamma>(x, at); }
/// ln |Γ(x)|.
template <detail::Calls<Lgamma> V> [[gnu::always_inline]] constexpr auto lgamma(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Lgamma>(x, at); }
/// ψ(x) = Γ'(x)/Γ(x); NaN at the poles 0, −1, −2, …
template <detail::CallsOrNumber<Digamma> V> [[gnu::always_inline]] constexpr auto digamma(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Digamma>(x, at); }
/// 1/(1 + e⁻ˣ).
template <detail::CallsOrNumber<Sigmoid> V> [[gnu::always_inline]] constexpr auto sigmoid(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Sigmoid>(x, at); }
/// Φ(x), the distribution function of the normal distribution.
template <detail::CallsOrNumber<NormalCdf> V> [[gnu::always_inline]] constexpr auto normal_cdf(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<NormalCdf>(x, at); }
/// The inverse of erf on [−1, 1]; ±∞ at ±1, NaN beyond.
template <detail::CallsOrNumber<Erfinv> V> [[gnu::always_inline]] constexpr auto erfinv(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Erfinv>(x, at); }
/// −ln(1 + e⁻ˣ), accurate in both tails.
template <detail::CallsOrNumber<LogSigmoid> V> [[gnu::always_inline]] constexpr auto log_sigmoid(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<LogSigmoid>(x, at); }
template <detail::CallsOrNumber<Reciprocal> V> [[gnu::always_inline]] constexpr auto reciprocal(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Reciprocal>(x, at); }
template <detail::CallsOrNumber<Softplus> V> [[gnu::always_inline]] constexpr auto softplus(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Softplus>(x, at); }
/// max(x, 0); the gradient at 0 is 0.
template <detail::CallsOrNumber<Relu> V> [[gnu::always_inline]] constexpr auto relu(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Relu>(x, at); }
/// x Φ(x), the exact form (no tanh).
template <detail::CallsOrNumber<Gelu> V> [[gnu::always_inline]] constexpr auto gelu(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Gelu>(x, at); }
template <detail::CallsOrNumber<Silu> V> [[gnu::always_inline]] constexpr auto silu(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Silu>(x, at); }
/// The whole number next to x towards 0.
template <detail::Calls<Trunc> V> [[gnu::always_inline]] constexpr auto trunc(const V& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Trunc>(x, at); }
/// aᵇ, all sign cases as std::pow. The exponent's gradient is 0 where a is 0 and b ≥ 0, NaN where a is negative.
/// Integers wrap; a negative exponent leaves the whole part of 1/a^|b|.
template <class A, class B> requires detail::CallsPair<A, B, Pow> [[gnu::always_inline]] constexpr auto pow(const A& a, const B& b, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Pow>(a, b, at); }
/// The angle of the point (b, a), in (−π, π]; the gradient at the origin is 0.
template <class A, class B> requires detail::CallsPair<A, B, Atan2> [[gnu::always_inline]] constexpr auto atan2(const A& a, const B& b, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Atan2>(a, b, at); }
/// √(a² + b²) without overflow on the way; the gradient at the origin is 0.
template <class A, class B> requires detail::CallsPair<A, B, Hypot> [[gnu::always_inline]] constexpr auto hypot(const A& a, const B& b, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Hypot>(a, b, at); }
/// a − b trunc(a/b), exactly, of the sign of a.
template <class A, class B> requires detail::CallsPair<A, B, Fmod> [[gnu::always_inline]] constexpr auto fmod(const A& a, const B& b, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Fmod>(a, b, at); }
/// a − b n for the whole number n next to a/b, the even one of two, exactly.
template <class A, class B> requires detail::CallsPair<A, B, Remainder> [[gnu::always_inline]] constexpr auto remainder(const A& a, const B& b, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Remainder>(a, b, at); }
/// ln(eᵃ + eᵇ) without overflow.
template <class A, class B> requires detail::CallsPairOrNumbers<A, B, LogAddExp> [[gnu::always_inline]] constexpr auto logaddexp(const A& a, const B& b, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<LogAddExp>(a, b, at); }
/// a ln b, 0 where a is 0: a term of an entropy.
template <class A, class B> requires detail::CallsPairOrNumbers<A, B, Xlogy> [[gnu::always_inline]] constexpr auto xlogy(const A& a, const B& b, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::call<Xlogy>(a, b, at); }
// clang-format on

}  // namespace wengert
