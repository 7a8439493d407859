// Functions of two numbers and more: powers, angles, selection by size; the operators' functions by name.
#pragma once

#include "math.hpp"

namespace wengert {

/// aᵇ of integers, wrapping; what 1/a^|b| leaves of a whole number for negative b (0 for 0).
template <std::integral T> constexpr T pow_whole(T a, T b)
{
    if (b < 0) return static_cast<T>(a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0);
    using U = std::make_unsigned_t<T>;
    U y = 1;
    for (U base = static_cast<U>(a), rest = static_cast<U>(b); rest; rest >>= 1, base *= base)
        if (rest & 1) y *= base;
    return static_cast<T>(y);
}

/// y = aᵇ with std::pow's values;  ā = ȳ b aᵇ⁻¹ (0 for b = 0, but with the derivative 1/a with respect to b),  b̄ = ȳ y ln a (0 for a = 0 and b ≥ 0, NaN for a < 0)
struct Pow {
    static constexpr std::string_view name = "pow";
    template <class V> static V value(const V& a, const V& b)
    {
        using std::pow;
        if constexpr (std::integral<V>)
            return pow_whole(a, b);
        else
            return pow(a, b);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& a, const V& b, const V&)
    {
        using std::pow;
        const V slope = pow(a, b - lit(1)), r = g * (b * slope);
        return where(b == lit(0), where(is_finite(slope), r, zero_like(g)), r);
    }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V& a, const V& b, const V& y)
    {
        using std::log;
        return where((a == lit(0)) && (b >= lit(0)), zero_like(g), g * (y * log(a)));
    }
};

/// y = the angle of (b, a);  ā = ȳ b/r²,  b̄ = −ȳ a/r², r² = a² + b²; 0 at the origin
struct Atan2 {
    static constexpr std::string_view name = "atan2";
    template <class V> static V value(const V& a, const V& b)
    {
        using std::atan2;
        return atan2(a, b);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& a, const V& b, const V&)
    {
        return turned(g, b, a, b);
    }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V& a, const V& b, const V&)
    {
        return turned(-g, a, a, b);
    }
    /// g p/r², without overflow of r².
    template <class V> static constexpr V turned(const V& g, const V& p, const V& a, const V& b)
    {
        using std::hypot;
        const V r = hypot(a, b);
        return where(r == lit(0), zero_like(g), g * (p / r / r));
    }
};

/// y = √(a² + b²);  ā = ȳ a/y,  b̄ = ȳ b/y; 0 at the origin
struct Hypot {
    static constexpr std::string_view name = "hypot";
    template <class V> static V value(const V& a, const V& b)
    {
        using std::hypot;
        return hypot(a, b);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& a, const V&, const V& y)
    {
        return where(y == lit(0), zero_like(g), g * (a / y));
    }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V&, const V& b, const V& y)
    {
        return where(y == lit(0), zero_like(g), g * (b / y));
    }
};

/// y = max(a, b);  the cotangent goes to the larger one, half to each of two equal ones
struct Maximum {
    static constexpr std::string_view name = "maximum";
    template <class V> static V value(const V& a, const V& b) { return maximum(a, b); }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& a, const V& b, const V&)
    {
        return where(a > b, g, half(g, a, b));
    }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V& a, const V& b, const V&)
    {
        return where(b > a, g, half(g, a, b));
    }
    template <class V> static constexpr V half(const V& g, const V& a, const V& b)
    {
        return where(a == b, lit(0.5) * g, zero_like(g));
    }
};

/// y = min(a, b);  as maximum
struct Minimum {
    static constexpr std::string_view name = "minimum";
    template <class V> static V value(const V& a, const V& b) { return minimum(a, b); }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& a, const V& b, const V&)
    {
        return where(a < b, g, Maximum::half(g, a, b));
    }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V& a, const V& b, const V&)
    {
        return where(b < a, g, Maximum::half(g, a, b));
    }
};

/// y = min(max(x, l), h);  x̄ = ȳ for l ≤ x ≤ h,  l̄ = ȳ for x < l ≤ h,  h̄ = ȳ where x or l is above h
struct Clip {
    static constexpr std::string_view name = "clip";
    template <class V> static V value(const V& x, const V& l, const V& h)
    {
        return minimum(maximum(x, l), h);
    }
    template <class V>
    static constexpr V pull(wrt<0>, const V& g, const V& x, const V& l, const V& h, const V&)
    {
        return where((x >= l) && (x <= h), g, zero_like(g));
    }
    template <class V>
    static constexpr V pull(wrt<1>, const V& g, const V& x, const V& l, const V& h, const V&)
    {
        return where((x < l) && (l <= h), g, zero_like(g));
    }
    template <class V>
    static constexpr V pull(wrt<2>, const V& g, const V& x, const V& l, const V& h, const V&)
    {
        return where((x > h) || (l > h), g, zero_like(g));
    }
};

/// What may stand for a tensor as a first operand.
template <class S>
concept LiteralOperand = std::is_arithmetic_v<S> || std::same_as<S, Literal>;

namespace detail {
template <class T, class D, LiteralOperand S> Tensor<T, D> literal_tensor(S s)
{
    if constexpr (std::same_as<S, Literal>)
        return number<T, D>(s.value);
    else
        return number<T, D>(s);
}
}  // namespace detail

// clang-format off
/// aᵇ, all sign cases as std::pow. The exponent's gradient is 0 where a is 0 and b ≥ 0, NaN where a is negative.
/// Integers wrap; a negative exponent leaves the whole part of 1/a^|b|.
template <Scalar T, class D> Tensor<T, D> pow(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return apply_elementwise<Pow, T>(b.at, a, *b); }
/// The angle of the point (x, y), in (−π, π]; the gradient at the origin is 0.
template <Differentiable T, class D> Tensor<T, D> atan2(const Tensor<T, D>& y, const std::type_identity_t<Operand<T, D>>& x) { return apply_elementwise<Atan2, T>(x.at, y, *x); }
/// √(a² + b²) without overflow on the way; the gradient at the origin is 0.
template <Differentiable T, class D> Tensor<T, D> hypot(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return apply_elementwise<Hypot, T>(b.at, a, *b); }
/// The larger one; NaN if either is. Two equal ones share the gradient, half each.
template <Scalar T, class D> Tensor<T, D> maximum(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return apply_elementwise<Maximum, T>(b.at, a, *b); }
/// The smaller one; NaN if either is. Two equal ones share the gradient, half each.
template <Scalar T, class D> Tensor<T, D> minimum(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return apply_elementwise<Minimum, T>(b.at, a, *b); }
/// x limited to [lo, hi]; hi wins where lo > hi. The gradient is 1 inside and at the bounds, 0 outside.
template <Scalar T, class D>
Tensor<T, D> clip(const Tensor<T, D>& x, const std::type_identity_t<Operand<T, D>>& lo, const std::type_identity_t<Operand<T, D>>& hi)
{
    return apply_elementwise<Clip, T>(hi.at, x, *lo, *hi);
}

template <LiteralOperand S, Scalar T, class D> Tensor<T, D> pow(S a, const Tensor<T, D>& b, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Pow, T>(at, detail::literal_tensor<T, D>(a), b); }
template <LiteralOperand S, Differentiable T, class D> Tensor<T, D> atan2(S y, const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Atan2, T>(at, detail::literal_tensor<T, D>(y), x); }
template <LiteralOperand S, Differentiable T, class D> Tensor<T, D> hypot(S a, const Tensor<T, D>& b, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Hypot, T>(at, detail::literal_tensor<T, D>(a), b); }
template <LiteralOperand S, Scalar T, class D> Tensor<T, D> maximum(S a, const Tensor<T, D>& b, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Maximum, T>(at, detail::literal_tensor<T, D>(a), b); }
template <LiteralOperand S, Scalar T, class D> Tensor<T, D> minimum(S a, const Tensor<T, D>& b, Site at = {__builtin_FILE(), __builtin_LINE()}) { return apply_elementwise<Minimum, T>(at, detail::literal_tensor<T, D>(a), b); }

// The operators by name.
template <Scalar T, class D> Tensor<T, D> add(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return ops::add<T>(a, *b, b.at); }
template <Scalar T, class D> Tensor<T, D> subtract(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return ops::subtract<T>(a, *b, b.at); }
template <Scalar T, class D> Tensor<T, D> multiply(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return ops::multiply<T>(a, *b, b.at); }
template <Scalar T, class D> Quotient<T, D> divide(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return ops::divide<T>(a, *b, b.at); }
template <Scalar T, class D> Tensor<T, D> negative(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return ops::negative<T>(x, at); }
template <LiteralOperand S, Scalar T, class D> Tensor<T, D> add(S a, const Tensor<T, D>& b, Site at = {__builtin_FILE(), __builtin_LINE()}) { return ops::add<T>(detail::literal_tensor<T, D>(a), b, at); }
template <LiteralOperand S, Scalar T, class D> Tensor<T, D> subtract(S a, const Tensor<T, D>& b, Site at = {__builtin_FILE(), __builtin_LINE()}) { return ops::subtract<T>(detail::literal_tensor<T, D>(a), b, at); }
template <LiteralOperand S, Scalar T, class D> Tensor<T, D> multiply(S a, const Tensor<T, D>& b, Site at = {__builtin_FILE(), __builtin_LINE()}) { return ops::multiply<T>(detail::literal_tensor<T, D>(a), b, at); }
template <LiteralOperand S, Scalar T, class D> Quotient<T, D> divide(S a, const Tensor<T, D>& b, Site at = {__builtin_FILE(), __builtin_LINE()}) { return ops::divide<T>(detail::literal_tensor<T, D>(a), b, at); }

/// a < b.
template <class T, class D> Tensor<bool, D> less(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return ops::less<T>(a, *b, b.at); }
/// a ≤ b.
template <class T, class D> Tensor<bool, D> less_equal(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return ops::less_equal<T>(a, *b, b.at); }
/// a > b.
template <class T, class D> Tensor<bool, D> greater(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return ops::less<T>(*b, a, b.at); }
/// a ≥ b.
template <class T, class D> Tensor<bool, D> greater_equal(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return ops::less_equal<T>(*b, a, b.at); }
/// a = b; a NaN equals nothing.
template <class T, class D> Tensor<bool, D> equal(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return ops::equal<T>(a, *b, b.at); }
/// a ≠ b.
template <class T, class D> Tensor<bool, D> not_equal(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return ops::not_equal<T>(a, *b, b.at); }
/// a and b; what is not 0 is true.
template <class T, class D> Tensor<bool, D> logical_and(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return ops::logical_and<T>(a, *b, b.at); }
/// a or b.
template <class T, class D> Tensor<bool, D> logical_or(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b) { return ops::logical_or<T>(a, *b, b.at); }
/// not x.
template <class T, class D> Tensor<bool, D> logical_not(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { return ops::logical_not<T>(x, at); }
// clang-format on

}  // namespace wengert
