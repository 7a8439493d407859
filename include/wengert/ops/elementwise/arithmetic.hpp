// Arithmetic, comparisons, logic, selection.
#pragma once

#include "elementwise.hpp"

namespace wengert {

/// y = a + b;  ā = ȳ,  b̄ = ȳ
struct Add {
    static constexpr std::string_view name = "add";
    template <class V> static V value(const V& a, const V& b) { return wrapping_add(a, b); }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V&, const V&, const V&) { return g; }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V&, const V&, const V&) { return g; }
};

/// y = a − b;  ā = ȳ,  b̄ = −ȳ
struct Subtract {
    static constexpr std::string_view name = "subtract";
    template <class V> static V value(const V& a, const V& b) { return wrapping_subtract(a, b); }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V&, const V&, const V&) { return g; }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V&, const V&, const V&)
    {
        return -g;
    }
};

/// y = a b;  ā = ȳ b,  b̄ = ȳ a
struct Multiply {
    static constexpr std::string_view name = "multiply";
    template <class V> static V value(const V& a, const V& b) { return wrapping_multiply(a, b); }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V&, const V& b, const V&)
    {
        return g * b;
    }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V& a, const V&, const V&)
    {
        return g * a;
    }
};

/// y = a / b;  ā = ȳ / b,  b̄ = −ȳ y / b
struct Divide {
    static constexpr std::string_view name = "divide";
    template <class V> static V value(const V& a, const V& b) { return static_cast<V>(a / b); }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V&, const V& b, const V&)
    {
        return g / b;
    }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V&, const V& b, const V& y)
    {
        return -(g * (y / b));
    }
};

/// y = −x;  x̄ = −ȳ
struct Negative {
    static constexpr std::string_view name = "negative";
    template <class V> static V value(const V& x) { return wrapping_negate(x); }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V&, const V&) { return -g; }
};

/// y = x, as a constant.
struct StopGradient {
    static constexpr std::string_view name = "stop_gradient";
    static constexpr bool constant = true;  // no node, not even a zero tangent: −0 + 0 is not −0
    template <class V> static V value(const V& x) { return x; }
};

struct Less {
    static constexpr std::string_view name = "less";
    template <class V> static auto value(const V& a, const V& b) { return a < b; }
};
struct LessEqual {
    static constexpr std::string_view name = "less_equal";
    template <class V> static auto value(const V& a, const V& b) { return a <= b; }
};
struct Equal {
    static constexpr std::string_view name = "equal";
    template <class V> static auto value(const V& a, const V& b) { return a == b; }
};
struct NotEqual {
    static constexpr std::string_view name = "not_equal";
    template <class V> static auto value(const V& a, const V& b) { return a != b; }
};
struct LogicalAnd {
    static constexpr std::string_view name = "logical_and";
    template <class V> static auto value(const V& a, const V& b) { return a != V(0) && b != V(0); }
};
struct LogicalOr {
    static constexpr std::string_view name = "logical_or";
    template <class V> static auto value(const V& a, const V& b) { return a != V(0) || b != V(0); }
};
struct LogicalNot {
    static constexpr std::string_view name = "logical_not";
    template <class V> static auto value(const V& a) { return a == V(0); }
};
struct IsFinite {
    static constexpr std::string_view name = "is_finite";
    template <class V> static auto value(const V& a) { return is_finite(a); }
};

struct IsNan {
    static constexpr std::string_view name = "isnan";
    template <class V> static auto value(const V& x) { return is_nan(x); }
};

/// y = c ? a : b;  ā = c ? ȳ : 0,  b̄ = c ? 0 : ȳ. The unselected branch never reaches the gradient.
struct Where {
    static constexpr std::string_view name = "where";
    template <class C, class V> static V value(const C& c, const V& a, const V& b) { return where(c, a, b); }
    template <class C, class V>
    static constexpr V pull(wrt<1>, const V& g, const C& c, const V&, const V&, const V&)
    {
        return where(c, g, zero_like(g));
    }
    template <class C, class V>
    static constexpr V pull(wrt<2>, const V& g, const C& c, const V&, const V&, const V&)
    {
        return where(c, zero_like(g), g);
    }
};

/// r, or 0 where g is 0 and r is not finite: keeps a zero cotangent from making a NaN when rules are recorded. The
/// derivative with respect to r survives where g is 0, so the Hessian of Σ tanh² x at 0 is 2·I.
struct ZeroWhereUndefined {
    static constexpr std::string_view name = "zero_where_undefined";
    template <class V> static V value(const V& g, const V& r)
    {
        return where(undefined(g, r), zero_like(r), r);
    }
    template <class V> static constexpr V pull(wrt<1>, const V& h, const V& g, const V& r, const V&)
    {
        return where(undefined(g, r), zero_like(h), h);
    }
    /// ṙ is linear in (g, ġ), so the rule holds where both are 0. r = g √t has ṙ = ġ √t + g ṫ / (2 √t), at t = 0 a NaN.
    template <class T>
    static AnyTensor push(const AnyTensor& dg, const AnyTensor& dr, const Tensor<T>& g, const Tensor<T>& r)
    {
        if (!dr.value) return {};
        const Tensor<T> passed = pull(wrt<1>{}, Tensor<T>(dr), g, r, r);
        return detail::zero_where_undefined(detail::first_nonzero(g, dg), passed).any();
    }
    template <class V> static constexpr auto undefined(const V& g, const V& r)
    {
        return g == zero_like(g) && !is_finite(r);
    }
};

/// Another element type; floating point to floating point is differentiable.
template <class U> struct Cast {
    static constexpr std::string_view name = "cast";
    template <class V> static U value(const V& x)
    {
        if constexpr (std::is_same_v<V, bool>)
            return x ? U(1) : U(0);  // which compilers make SIMD of
        else
            return static_cast<U>(x);
    }
    static Term value(const Term& x) { return x.cast(dtype_of<U>()); }
};

namespace ops {
template <class T, class D>
Tensor<T, D> add(const Tensor<T, D>& a, const Tensor<T, D>& b, const Site& at, unsigned temporaries)
{
    return apply_operator<Add>(a, b, at, temporaries);
}
template <class T, class D>
Tensor<T, D> subtract(const Tensor<T, D>& a, const Tensor<T, D>& b, const Site& at, unsigned temporaries)
{
    return apply_operator<Subtract>(a, b, at, temporaries);
}
template <class T, class D>
Tensor<T, D> multiply(const Tensor<T, D>& a, const Tensor<T, D>& b, const Site& at, unsigned temporaries)
{
    return apply_operator<Multiply>(a, b, at, temporaries);
}
template <class T, class D> Tensor<T, D> negative(const Tensor<T, D>& x, const Site& at)
{
    return apply_elementwise<Negative, T>(at, x);
}
template <class T, class D> Tensor<T, D> detached(const Tensor<T, D>& x)
{
    return apply_elementwise<StopGradient, T>({}, x);
}
template <class T, class D> Tensor<bool, D> less(const Tensor<T, D>& a, const Tensor<T, D>& b, const Site& at)
{
    return apply_elementwise<Less, bool>(at, a, b);
}
template <class T, class D>
Tensor<bool, D> less_equal(const Tensor<T, D>& a, const Tensor<T, D>& b, const Site& at)
{
    return apply_elementwise<LessEqual, bool>(at, a, b);
}
template <class T, class D>
Tensor<bool, D> equal(const Tensor<T, D>& a, const Tensor<T, D>& b, const Site& at)
{
    return apply_elementwise<Equal, bool>(at, a, b);
}
template <class T, class D>
Tensor<bool, D> not_equal(const Tensor<T, D>& a, const Tensor<T, D>& b, const Site& at)
{
    return apply_elementwise<NotEqual, bool>(at, a, b);
}
template <class T, class D>
Tensor<bool, D> logical_and(const Tensor<T, D>& a, const Tensor<T, D>& b, const Site& at)
{
    return apply_elementwise<LogicalAnd, bool>(at, a, b);
}
template <class T, class D>
Tensor<bool, D> logical_or(const Tensor<T, D>& a, const Tensor<T, D>& b, const Site& at)
{
    return apply_elementwise<LogicalOr, bool>(at, a, b);
}
template <class T, class D> Tensor<bool, D> logical_not(const Tensor<T, D>& x, const Site& at)
{
    return apply_elementwise<LogicalNot, bool>(at, x);
}
}  // namespace ops

/// The elements of x as U. Gradients pass between float and double; into and out of integers there are none.
template <class U, class T, class D>
Tensor<U, D> cast(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()});

template <class T, class D>
Quotient<T, D> ops::divide(const Tensor<T, D>& a, const Tensor<T, D>& b, const Site& at, unsigned temporaries)
{
    if constexpr (is_differentiable<T>)
        return apply_operator<Divide>(a, b, at, temporaries);
    else
        return apply_elementwise<Divide, double>(at, cast<double>(a, at), cast<double>(b, at));
}

/// The types that may take the place of a tensor as a first operand: plain numbers, and those that record themselves.
template <class S, class T>
concept LiteralOperand = std::is_arithmetic_v<S> || std::same_as<S, Literal> || RecordedNumber<S, T>;

namespace detail {
template <class T, class D, LiteralOperand<T> S> Tensor<T, D> literal_tensor(const S& s, const Site& at)
{
    if constexpr (std::same_as<S, Literal>)
        return number<T, D>(s.value, at);
    else if constexpr (RecordedNumber<S, T>)
        return Tensor<T, D>(tensor(s, at).any());
    else
        return number<T, D>(s, at);
}
}  // namespace detail

/// Elements of a where the condition holds, of b elsewhere; all three broadcast.
template <class T, class D>
Tensor<T, D> where(const std::type_identity_t<Tensor<bool, D>>& c, const Tensor<T, D>& a,
                   const std::type_identity_t<Operand<T, D>>& b)
{
    return apply_elementwise<Where, T>(b.at, c, a, *b);
}
template <class T, class D, LiteralOperand<T> S>
Tensor<T, D> where(const std::type_identity_t<Tensor<bool, D>>& c, const S& a, const Tensor<T, D>& b,
                   Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return apply_elementwise<Where, T>(at, c, detail::literal_tensor<T, D>(a, at), b);
}
template <class D, class S>
    requires std::is_arithmetic_v<S>
Tensor<S, D> where(const Tensor<bool, D>& c, S a, std::type_identity_t<S> b,
                   Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return apply_elementwise<Where, S>(at, c, detail::literal_tensor<S, D>(a, at),
                                       detail::literal_tensor<S, D>(b, at));
}
/// x with `value` where the mask holds; both broadcast.
template <class T, class D>
Tensor<T, D> masked_fill(const Tensor<T, D>& x, const std::type_identity_t<Tensor<bool, D>>& mask,
                         const std::type_identity_t<Operand<T, D>>& value)
{
    return apply_elementwise<Where, T>(value.at, mask, *value, x);
}
/// True where x is neither NaN nor infinite, as rules call it.
template <class T, class D>
Tensor<bool, D> is_finite(const Tensor<T, D>& x, const Site& at = {__builtin_FILE(), __builtin_LINE()})
{
    return apply_elementwise<IsFinite, bool>(at, x);
}
/// As rules call it.
template <class T, class D> Tensor<bool, D> is_nan(const Tensor<T, D>& x)
{
    return apply_elementwise<IsNan, bool>({}, x);
}

namespace detail {
/// The number 1 on the device of x.
template <class T, class D> Tensor<T, D> one_beside(const Tensor<T, D>& x)
{
    return Tensor<T, D>(AnyTensor{full_beside<T>(*x.any().value, Shape(), T(1)), {}});
}
}  // namespace detail
template <class T, class D>
Tensor<T, D> detail::zero_where_undefined(const Tensor<T, D>& g, const Tensor<T, D>& r)
{
    return apply_elementwise<ZeroWhereUndefined, T>({}, g, r);
}
template <class T, class D> Tensor<T, D> detail::first_nonzero(const Tensor<T, D>& g, const AnyTensor& dg)
{
    return dg.value ? where(g == zero_like(g), Tensor<T, D>(dg), g) : g;
}

}  // namespace wengert
