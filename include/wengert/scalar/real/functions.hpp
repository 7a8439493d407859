// The functions of <cmath> for Real, found by their argument, so that `using std::sqrt; sqrt(x)` serves double and Real alike.
#pragma once

#include <algorithm>
#include <numbers>

#include "real.hpp"
#include "../stream/entry.hpp"

namespace wengert {

namespace detail {

/// The number that an operation of two operands gives: one of them is an active number, the other the same or a plain one.
template <class A, class B> struct NumberOf {};
template <ActiveNumber X> struct NumberOf<X, X> {
    using type = X;
};
template <ActiveNumber X, class N>
    requires(std::is_arithmetic_v<N> || std::is_same_v<N, Literal>)
struct NumberOf<X, N> {
    using type = X;
};
template <class N, ActiveNumber X>
    requires(std::is_arithmetic_v<N> || std::is_same_v<N, Literal>)
struct NumberOf<N, X> {
    using type = X;
};
template <class A, class B> using number_of = typename NumberOf<A, B>::type;

/// The number that an operation of three gives.
template <class A, class B, class C> struct NumberOfThree : NumberOfThree<B, C, A> {};
template <ActiveNumber X, class B, class C> struct NumberOfThree<X, B, C> {
    using type = X;
};
template <class A, class B, class C>
    requires(ActiveNumber<A> || ActiveNumber<B> || ActiveNumber<C>)
using number_of_three = typename NumberOfThree<A, B, C>::type;

/// How a number with the value y follows from its operands; Tangents have their own (scalar/real/directions.hpp).
template <class X> struct Computed;
template <class T> struct Computed<Real<T>> {
    static Real<T> unary(ScalarOp op, const Real<T>& x, T y)
    {
        return x.is_active() ? recorded(op, x, y) : Real<T>(y);
    }
    static Real<T> binary(ScalarOp op, const Real<T>& a, const Real<T>& b, T y)
    {
        return Real<T>::passive(a, b) ? Real<T>(y) : recorded(op, a, b, y);
    }
    /// A function that is flat: a constant, but in a kernel.
    static Real<T> flat(ScalarOp op, const Real<T>& x, T y)
    {
        return x.is_active() && in_kernel() ? recorded(op, x, y) : Real<T>(y);
    }
};

/// The value of F of plain numbers. Those of Tangents may be active numbers in their turn: these have rules of their own.
template <class F, class V> V inner_value(const V& x)
{
    if constexpr (ActiveNumber<V>)
        return call<F>(x, Site{});
    else
        return F::value(x);
}
template <class F, class V> V inner_value(const V& x, const V& z)
{
    if constexpr (ActiveNumber<V>)
        return call<F>(x, z, Site{});
    else
        return F::value(x, z);
}

/// Real's and Tangents' functions (functions/calls.hpp): the value of the plain number is that of <cmath>, where it has one.
template <class F, class X> X called(const X& x)
{
    const typename X::plain_type y = inner_value<F>(x.plain());
    if constexpr (requires(Uses u) { F::pull(wrt<0>{}, u, u, u); })
        return Computed<X>::unary(scalar_op<F>(), x, y);
    else
        return Computed<X>::flat(scalar_op<F>(), x, y);
}
template <class F, class X> X called(const X& x, const X& z)
{
    return Computed<X>::binary(scalar_op<F>(), x, z, inner_value<F>(x.plain(), z.plain()));
}

/// std::round of a number that is recorded: what is added is less than ½, or the sum would round up from below ½. Zeros keep
/// their sign, and a NaN is one: ceil of them is flat, as all of it.
template <class X> X rounded_away(const X& x)
{
    const X half(0.5 - 0.25 * limits_of<X>::epsilon());
    return x < X(0) ? ceil(x - half) : x > X(0) ? floor(x + half) : ceil(x);
}

/// x, with half of the derivative from each. Halves of subnormal numbers may be rounded; a difference of infinities is NaN.
template <class X> X mean_of_equal(const X& x, const X& z)
{
    const X halves = x * X(0.5) + z * X(0.5);
    return halves == x ? halves : x + (z - x) * X(0.5);
}

}  // namespace detail

// clang-format off
template <detail::ActiveNumber X> X sqrt(const X& x) { using std::sqrt; return detail::Computed<X>::unary(ScalarOp::sqrt, x, sqrt(x.plain())); }

template <detail::ActiveNumber X> X floor(const X& x) { using std::floor; return detail::Computed<X>::flat(scalar_op<Floor>(), x, floor(x.plain())); }
template <detail::ActiveNumber X> X ceil(const X& x) { using std::ceil; return detail::Computed<X>::flat(scalar_op<Ceil>(), x, ceil(x.plain())); }
template <detail::ActiveNumber X> X nearbyint(const X& x) { using std::nearbyint; return detail::Computed<X>::flat(scalar_op<Round>(), x, nearbyint(x.plain())); }
template <detail::ActiveNumber X> X rint(const X& x) { using std::rint; return detail::Computed<X>::flat(scalar_op<Round>(), x, rint(x.plain())); }
/// Halves away from zero, as std::round has them.
template <detail::ActiveNumber X> X round(const X& x) { using std::round; return detail::in_kernel() ? detail::rounded_away(x) : X(round(x.plain())); }
template <detail::ActiveNumber X> long lround(const X& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { using std::lround; return lround(x.value(at)); }
template <detail::ActiveNumber X> long long llround(const X& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { using std::llround; return llround(x.value(at)); }
template <detail::ActiveNumber X> long lrint(const X& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { using std::lrint; return lrint(x.value(at)); }

/// The larger one itself, as a branch would choose it: at equal operands the first.
template <class A, class B, class R = detail::number_of<A, B>> R fmax(const A& a, const B& b) { const R x(a), z(b); return x >= z || z != z ? x : z; }
template <class A, class B, class R = detail::number_of<A, B>> R fmin(const A& a, const B& b) { const R x(a), z(b); return x <= z || z != z ? x : z; }
template <class A, class B, class R = detail::number_of<A, B>> R fdim(const A& a, const B& b) { const R x(a), z(b); return x <= z ? R(0) : x - z; }
/// Of NaN they are NaN, and flat as for tensors.
template <class A, class B, class R = detail::number_of<A, B>> R maximum(const A& a, const B& b) { const R x(a), z(b); return x == z ? detail::mean_of_equal(x, z) : x > z ? x : z > x ? z : floor(x + z); }
template <class A, class B, class R = detail::number_of<A, B>> R minimum(const A& a, const B& b) { const R x(a), z(b); return x == z ? detail::mean_of_equal(x, z) : x < z ? x : z < x ? z : floor(x + z); }

template <detail::ActiveNumber X> bool isnan(const X& x) { return x != x; }
template <detail::ActiveNumber X> bool isinf(const X& x) { const X inf(detail::limits_of<X>::infinity()); return x == inf || x == -inf; }
template <detail::ActiveNumber X> bool isfinite(const X& x) { const X most(detail::limits_of<X>::max()); return x <= most && x >= -most; }
/// As rules call them.
template <detail::ActiveNumber X> bool is_finite(const X& x) { return isfinite(x); }
template <detail::ActiveNumber X> X round_even(const X& x) { return nearbyint(x); }
template <class A, class B, class R = detail::number_of<A, B>> R where(bool condition, const A& a, const B& b) { return condition ? R(a) : R(b); }
template <detail::ActiveNumber X> bool signbit(const X& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { using std::signbit; return signbit(x.value(at)); }
// clang-format on

/// Numbers in place of NaN and the infinities.
template <detail::ActiveNumber X>
X nan_to_num(const X& x, double nan = 0, double posinf = detail::limits_of<X>::max(),
             double neginf = detail::limits_of<X>::lowest())
{
    return isfinite(x) ? x : X(isnan(x) ? nan : x > X(0) ? posinf : neginf);
}

/// The derivative is 0 at 0, and NaN of NaN, as for tensors.
template <detail::ActiveNumber X> X abs(const X& x)
{
    using std::abs;
    if (!x.is_active()) return X(abs(x.plain()));
    return x > X(0) ? x : x < X(0) ? -x : x == X(0) ? X(0) : x * x;
}
template <detail::ActiveNumber X> X fabs(const X& x) { return abs(x); }
/// −1, 0 or 1, NaN of NaN; flat.
template <detail::ActiveNumber X> X sign(const X& x)
{
    return x > X(0) ? X(1) : x < X(0) ? X(-1) : x == X(0) ? X(0) : floor(x);
}
/// x limited to [lo, hi]; hi wins where lo > hi. The gradient is 1 inside and at the bounds, as for tensors.
template <class A, class L, class H, class R = detail::number_of_three<A, L, H>,
          class = std::void_t<detail::number_of<A, R>, detail::number_of<L, R>, detail::number_of<H, R>>>
R clip(const A& x, const L& lo, const H& hi)
{
    const R z(x), low(lo), high(hi);
    if (z > high || low > high) return high;
    if (z < low) return low;
    return z >= low && z <= high ? z : floor(z + low + high);  // a NaN is flat
}
template <class A, class B, class R = detail::number_of<A, B>> R copysign(const A& a, const B& b)
{
    using std::signbit;
    const R x(a), z(b), size = abs(x);
    if (!z.is_active() || !detail::in_kernel()) return signbit(z.plain()) ? -size : size;
    return z < R(0) || R(1) / z < R(0) ? -size : size;  // of −0, too
}
// clang-format off
template <detail::ActiveNumber X> X square(const X& x) { return x * x; }
template <detail::ActiveNumber X> X reciprocal(const X& x) { return X(1) / x; }
/// max(x, 0); the gradient at 0 and of NaN is 0.
template <detail::ActiveNumber X> X relu(const X& x) { return x > X(0) ? x : x != x ? floor(x) : X(0); }
/// Φ(x), the distribution function of the normal distribution.
template <detail::ActiveNumber X> X normal_cdf(const X& x) { return normal_cdf_by_erfc(x); }
/// x Φ(x).
template <detail::ActiveNumber X> X gelu(const X& x) { return x * normal_cdf(x); }
/// x sigmoid x.
template <detail::ActiveNumber X> X silu(const X& x) { return x * sigmoid(x); }
// clang-format on

}  // namespace wengert
