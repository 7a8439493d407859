// The functions of <cmath> for Real, found by their argument, so that `using std::sqrt; sqrt(x)` serves double and Real alike.
#pragma once

#include <algorithm>
#include <numbers>

#include "../../functions/rules/probability.hpp"
#include "real.hpp"

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

/// std::round of a number that is recorded: what is added is less than ½, or the sum would round up from below ½. Zeros keep
/// their sign, and a NaN is one: ceil of them is flat, as all of it.
template <class X> X rounded_away(const X& x)
{
    const X half(0.5 - 0.25 * limits_of<X>::epsilon());
    return x < X(0) ? ceil(x - half) : x > X(0) ? floor(x + half) : ceil(x);
}

}  // namespace detail

// clang-format off
template <detail::ActiveNumber X> X sqrt(const X& x) { using std::sqrt; return detail::Computed<X>::unary(ScalarOp::sqrt, x, sqrt(x.plain())); }
template <detail::ActiveNumber X> X cbrt(const X& x) { using std::cbrt; return detail::Computed<X>::unary(ScalarOp::cbrt, x, cbrt(x.plain())); }
template <detail::ActiveNumber X> X exp(const X& x) { using std::exp; return detail::Computed<X>::unary(ScalarOp::exp, x, exp(x.plain())); }
template <detail::ActiveNumber X> X exp2(const X& x) { using std::exp2; return detail::Computed<X>::unary(ScalarOp::exp2, x, exp2(x.plain())); }
template <detail::ActiveNumber X> X expm1(const X& x) { using std::expm1; return detail::Computed<X>::unary(ScalarOp::expm1, x, expm1(x.plain())); }
template <detail::ActiveNumber X> X log(const X& x) { using std::log; return detail::Computed<X>::unary(ScalarOp::log, x, log(x.plain())); }
template <detail::ActiveNumber X> X log2(const X& x) { using std::log2; return detail::Computed<X>::unary(ScalarOp::log2, x, log2(x.plain())); }
template <detail::ActiveNumber X> X log10(const X& x) { using std::log10; return detail::Computed<X>::unary(ScalarOp::log10, x, log10(x.plain())); }
template <detail::ActiveNumber X> X log1p(const X& x) { using std::log1p; return detail::Computed<X>::unary(ScalarOp::log1p, x, log1p(x.plain())); }
template <detail::ActiveNumber X> X sin(const X& x) { using std::sin; return detail::Computed<X>::unary(ScalarOp::sin, x, sin(x.plain())); }
template <detail::ActiveNumber X> X cos(const X& x) { using std::cos; return detail::Computed<X>::unary(ScalarOp::cos, x, cos(x.plain())); }
template <detail::ActiveNumber X> X tan(const X& x) { using std::tan; return detail::Computed<X>::unary(ScalarOp::tan, x, tan(x.plain())); }
template <detail::ActiveNumber X> X asin(const X& x) { using std::asin; return detail::Computed<X>::unary(ScalarOp::asin, x, asin(x.plain())); }
template <detail::ActiveNumber X> X acos(const X& x) { using std::acos; return detail::Computed<X>::unary(ScalarOp::acos, x, acos(x.plain())); }
template <detail::ActiveNumber X> X atan(const X& x) { using std::atan; return detail::Computed<X>::unary(ScalarOp::atan, x, atan(x.plain())); }
template <detail::ActiveNumber X> X sinh(const X& x) { using std::sinh; return detail::Computed<X>::unary(ScalarOp::sinh, x, sinh(x.plain())); }
template <detail::ActiveNumber X> X cosh(const X& x) { using std::cosh; return detail::Computed<X>::unary(ScalarOp::cosh, x, cosh(x.plain())); }
template <detail::ActiveNumber X> X tanh(const X& x) { using std::tanh; return detail::Computed<X>::unary(ScalarOp::tanh, x, tanh(x.plain())); }
template <detail::ActiveNumber X> X asinh(const X& x) { using std::asinh; return detail::Computed<X>::unary(ScalarOp::asinh, x, asinh(x.plain())); }
template <detail::ActiveNumber X> X acosh(const X& x) { using std::acosh; return detail::Computed<X>::unary(ScalarOp::acosh, x, acosh(x.plain())); }
template <detail::ActiveNumber X> X atanh(const X& x) { using std::atanh; return detail::Computed<X>::unary(ScalarOp::atanh, x, atanh(x.plain())); }
template <detail::ActiveNumber X> X erf(const X& x) { using std::erf; return detail::Computed<X>::unary(ScalarOp::erf, x, erf(x.plain())); }
template <detail::ActiveNumber X> X erfc(const X& x) { using std::erfc; return detail::Computed<X>::unary(ScalarOp::erfc, x, erfc(x.plain())); }

template <detail::ActiveNumber X> X erfinv(const X& x) { return detail::Computed<X>::unary(ScalarOp::erfinv, x, erfinv(x.plain())); }
template <detail::ActiveNumber X> X log_sigmoid(const X& x) { return detail::Computed<X>::unary(ScalarOp::log_sigmoid, x, log_sigmoid(x.plain())); }

template <detail::ActiveNumber X> X floor(const X& x) { using std::floor; return detail::Computed<X>::flat(ScalarOp::floor, x, floor(x.plain())); }
template <detail::ActiveNumber X> X ceil(const X& x) { using std::ceil; return detail::Computed<X>::flat(ScalarOp::ceil, x, ceil(x.plain())); }
template <detail::ActiveNumber X> X trunc(const X& x) { using std::trunc; return detail::Computed<X>::flat(ScalarOp::trunc, x, trunc(x.plain())); }
template <detail::ActiveNumber X> X nearbyint(const X& x) { using std::nearbyint; return detail::Computed<X>::flat(ScalarOp::round_even, x, nearbyint(x.plain())); }
template <detail::ActiveNumber X> X rint(const X& x) { using std::rint; return detail::Computed<X>::flat(ScalarOp::round_even, x, rint(x.plain())); }
/// Halves away from zero, as std::round has them.
template <detail::ActiveNumber X> X round(const X& x) { using std::round; return detail::in_kernel() ? detail::rounded_away(x) : X(round(x.plain())); }
template <detail::ActiveNumber X> long lround(const X& x) { using std::lround; return lround(x.value()); }
template <detail::ActiveNumber X> long long llround(const X& x) { using std::llround; return llround(x.value()); }
template <detail::ActiveNumber X> long lrint(const X& x) { using std::lrint; return lrint(x.value()); }

template <class A, class B, class R = detail::number_of<A, B>> R pow(const A& a, const B& b) { const R x(a), z(b); using std::pow; return detail::Computed<R>::binary(ScalarOp::pow, x, z, pow(x.plain(), z.plain())); }
template <class A, class B, class R = detail::number_of<A, B>> R atan2(const A& a, const B& b) { const R x(a), z(b); using std::atan2; return detail::Computed<R>::binary(ScalarOp::atan2, x, z, atan2(x.plain(), z.plain())); }
template <class A, class B, class R = detail::number_of<A, B>> R hypot(const A& a, const B& b) { const R x(a), z(b); using std::hypot; return detail::Computed<R>::binary(ScalarOp::hypot, x, z, hypot(x.plain(), z.plain())); }
template <class A, class B, class R = detail::number_of<A, B>> R fmod(const A& a, const B& b) { const R x(a), z(b); using std::fmod; return detail::Computed<R>::binary(ScalarOp::fmod, x, z, fmod(x.plain(), z.plain())); }
template <class A, class B, class R = detail::number_of<A, B>> R logaddexp(const A& a, const B& b) { const R x(a), z(b); return detail::Computed<R>::binary(ScalarOp::logaddexp, x, z, logaddexp(x.plain(), z.plain())); }
template <class A, class B, class R = detail::number_of<A, B>> R xlogy(const A& a, const B& b) { const R x(a), z(b); return detail::Computed<R>::binary(ScalarOp::xlogy, x, z, xlogy(x.plain(), z.plain())); }
/// The larger one itself, as a branch would choose it: at equal operands the first.
template <class A, class B, class R = detail::number_of<A, B>> R fmax(const A& a, const B& b) { const R x(a), z(b); return x >= z || z != z ? x : z; }
template <class A, class B, class R = detail::number_of<A, B>> R fmin(const A& a, const B& b) { const R x(a), z(b); return x <= z || z != z ? x : z; }
template <class A, class B, class R = detail::number_of<A, B>> R fdim(const A& a, const B& b) { const R x(a), z(b); return x <= z ? R(0) : x - z; }
template <class A, class B, class R = detail::number_of<A, B>> R maximum(const A& a, const B& b) { const R x(a), z(b); return x == z ? x * R(0.5) + z * R(0.5) : x > z || x != x ? x : z; }
template <class A, class B, class R = detail::number_of<A, B>> R minimum(const A& a, const B& b) { const R x(a), z(b); return x == z ? x * R(0.5) + z * R(0.5) : x < z || x != x ? x : z; }

template <detail::ActiveNumber X> bool isnan(const X& x) { return x != x; }
template <detail::ActiveNumber X> bool isinf(const X& x) { const X inf(detail::limits_of<X>::infinity()); return x == inf || x == -inf; }
template <detail::ActiveNumber X> bool isfinite(const X& x) { const X most(detail::limits_of<X>::max()); return x <= most && x >= -most; }
/// As rules call them.
template <detail::ActiveNumber X> bool is_finite(const X& x) { return isfinite(x); }
template <detail::ActiveNumber X> X round_even(const X& x) { return nearbyint(x); }
template <detail::ActiveNumber X> X where(bool condition, const X& a, const X& b) { return condition ? a : b; }
template <detail::ActiveNumber X> bool signbit(const X& x) { using std::signbit; return signbit(x.value()); }
// clang-format on

/// Numbers in place of NaN and the infinities.
template <detail::ActiveNumber X>
X nan_to_num(const X& x, double nan = 0, double posinf = detail::limits_of<X>::max(),
             double neginf = detail::limits_of<X>::lowest())
{
    return isfinite(x) ? x : X(isnan(x) ? nan : x > X(0) ? posinf : neginf);
}

/// 0 at 0 has the derivative 0, as for tensors.
template <detail::ActiveNumber X> X abs(const X& x)
{
    using std::abs;
    if (!x.is_active()) return X(abs(x.plain()));
    return x > X(0) ? x : x == X(0) ? X(0) : -x;
}
template <detail::ActiveNumber X> X fabs(const X& x) { return abs(x); }
template <class A, class B, class R = detail::number_of<A, B>> R copysign(const A& a, const B& b)
{
    using std::signbit;
    const R x(a), z(b), size = abs(x);
    if (!z.is_active() || !detail::in_kernel()) return signbit(z.plain()) ? -size : size;
    return z < R(0) || R(1) / z < R(0) ? -size : size;  // of −0, too
}
template <detail::ActiveNumber X> X square(const X& x) { return x * x; }

}  // namespace wengert
