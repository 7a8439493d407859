// The functions of <cmath> for Real, found by their argument, so that `using std::sqrt; sqrt(x)` serves double and Real alike.
#pragma once

#include <algorithm>
#include <numbers>

#include "real.hpp"

namespace wengert {

namespace detail {

/// One operand a Real, the other a Real of the same type or a number.
template <class A, class B> struct RealOf {};
template <class T> struct RealOf<Real<T>, Real<T>> {
    using type = Real<T>;
};
template <class T, class N>
    requires std::is_arithmetic_v<N>
struct RealOf<Real<T>, N> {
    using type = Real<T>;
};
template <class N, class T>
    requires std::is_arithmetic_v<N>
struct RealOf<N, Real<T>> {
    using type = Real<T>;
};
template <class A, class B> using real_of = typename RealOf<A, B>::type;

template <class T> Real<T> unary(ScalarOp op, const Real<T>& x, T y)
{
    return x.is_active() ? recorded(op, x, y) : Real<T>(y);
}
template <class T> Real<T> binary(ScalarOp op, const Real<T>& a, const Real<T>& b, T y)
{
    return Real<T>::passive(a, b) ? Real<T>(y) : recorded(op, a, b, y);
}
inline bool in_kernel() noexcept
{
    const ScalarStream* s = ScalarStream::current();
    return s && s->guards;
}
/// A function that is flat: a constant, but in a kernel.
template <class T> Real<T> flat(ScalarOp op, const Real<T>& x, T y)
{
    return x.is_active() && in_kernel() ? recorded(op, x, y) : Real<T>(y);
}

}  // namespace detail

// clang-format off
template <class T> Real<T> sqrt(const Real<T>& x) { return detail::unary(ScalarOp::sqrt, x, std::sqrt(x.plain())); }
template <class T> Real<T> cbrt(const Real<T>& x) { return detail::unary(ScalarOp::cbrt, x, std::cbrt(x.plain())); }
template <class T> Real<T> exp(const Real<T>& x) { return detail::unary(ScalarOp::exp, x, std::exp(x.plain())); }
template <class T> Real<T> exp2(const Real<T>& x) { return detail::unary(ScalarOp::exp2, x, std::exp2(x.plain())); }
template <class T> Real<T> expm1(const Real<T>& x) { return detail::unary(ScalarOp::expm1, x, std::expm1(x.plain())); }
template <class T> Real<T> log(const Real<T>& x) { return detail::unary(ScalarOp::log, x, std::log(x.plain())); }
template <class T> Real<T> log2(const Real<T>& x) { return detail::unary(ScalarOp::log2, x, std::log2(x.plain())); }
template <class T> Real<T> log10(const Real<T>& x) { return detail::unary(ScalarOp::log10, x, std::log10(x.plain())); }
template <class T> Real<T> log1p(const Real<T>& x) { return detail::unary(ScalarOp::log1p, x, std::log1p(x.plain())); }
template <class T> Real<T> sin(const Real<T>& x) { return detail::unary(ScalarOp::sin, x, std::sin(x.plain())); }
template <class T> Real<T> cos(const Real<T>& x) { return detail::unary(ScalarOp::cos, x, std::cos(x.plain())); }
template <class T> Real<T> tan(const Real<T>& x) { return detail::unary(ScalarOp::tan, x, std::tan(x.plain())); }
template <class T> Real<T> asin(const Real<T>& x) { return detail::unary(ScalarOp::asin, x, std::asin(x.plain())); }
template <class T> Real<T> acos(const Real<T>& x) { return detail::unary(ScalarOp::acos, x, std::acos(x.plain())); }
template <class T> Real<T> atan(const Real<T>& x) { return detail::unary(ScalarOp::atan, x, std::atan(x.plain())); }
template <class T> Real<T> sinh(const Real<T>& x) { return detail::unary(ScalarOp::sinh, x, std::sinh(x.plain())); }
template <class T> Real<T> cosh(const Real<T>& x) { return detail::unary(ScalarOp::cosh, x, std::cosh(x.plain())); }
template <class T> Real<T> tanh(const Real<T>& x) { return detail::unary(ScalarOp::tanh, x, std::tanh(x.plain())); }
template <class T> Real<T> asinh(const Real<T>& x) { return detail::unary(ScalarOp::asinh, x, std::asinh(x.plain())); }
template <class T> Real<T> acosh(const Real<T>& x) { return detail::unary(ScalarOp::acosh, x, std::acosh(x.plain())); }
template <class T> Real<T> atanh(const Real<T>& x) { return detail::unary(ScalarOp::atanh, x, std::atanh(x.plain())); }
template <class T> Real<T> erf(const Real<T>& x) { return detail::unary(ScalarOp::erf, x, std::erf(x.plain())); }
template <class T> Real<T> erfc(const Real<T>& x) { return detail::unary(ScalarOp::erfc, x, std::erfc(x.plain())); }

template <class T> Real<T> floor(const Real<T>& x) { return detail::flat(ScalarOp::floor, x, std::floor(x.plain())); }
template <class T> Real<T> ceil(const Real<T>& x) { return detail::flat(ScalarOp::ceil, x, std::ceil(x.plain())); }
template <class T> Real<T> trunc(const Real<T>& x) { return detail::flat(ScalarOp::trunc, x, std::trunc(x.plain())); }
template <class T> Real<T> nearbyint(const Real<T>& x) { return detail::flat(ScalarOp::round_even, x, std::nearbyint(x.plain())); }
template <class T> Real<T> rint(const Real<T>& x) { return detail::flat(ScalarOp::round_even, x, std::rint(x.plain())); }
/// Halves away from zero, as std::round has them.
template <class T> Real<T> round(const Real<T>& x) { return !detail::in_kernel() ? Real<T>(std::round(x.plain())) : x < Real<T>(0) ? -floor(T(0.5) - x) : floor(x + T(0.5)); }
template <class T> long lround(const Real<T>& x) { return std::lround(x.value()); }
template <class T> long long llround(const Real<T>& x) { return std::llround(x.value()); }
template <class T> long lrint(const Real<T>& x) { return std::lrint(x.value()); }

template <class A, class B, class R = detail::real_of<A, B>> R pow(const A& a, const B& b) { const R x(a), z(b); return detail::binary(ScalarOp::pow, x, z, std::pow(x.plain(), z.plain())); }
template <class A, class B, class R = detail::real_of<A, B>> R atan2(const A& a, const B& b) { const R x(a), z(b); return detail::binary(ScalarOp::atan2, x, z, std::atan2(x.plain(), z.plain())); }
template <class A, class B, class R = detail::real_of<A, B>> R hypot(const A& a, const B& b) { const R x(a), z(b); return detail::binary(ScalarOp::hypot, x, z, std::hypot(x.plain(), z.plain())); }
template <class A, class B, class R = detail::real_of<A, B>> R fmod(const A& a, const B& b) { const R x(a), z(b); return detail::binary(ScalarOp::fmod, x, z, std::fmod(x.plain(), z.plain())); }
/// The larger one itself, as a branch would choose it: at equal operands the first.
template <class A, class B, class R = detail::real_of<A, B>> R fmax(const A& a, const B& b) { const R x(a), z(b); return x >= z || z != z ? x : z; }
template <class A, class B, class R = detail::real_of<A, B>> R fmin(const A& a, const B& b) { const R x(a), z(b); return x <= z || z != z ? x : z; }
template <class A, class B, class R = detail::real_of<A, B>> R fdim(const A& a, const B& b) { const R x(a), z(b); return x <= z ? R(0) : x - z; }
template <class A, class B, class R = detail::real_of<A, B>> R maximum(const A& a, const B& b) { const R x(a), z(b); return x == z ? x * R(0.5) + z * R(0.5) : x > z || x != x ? x : z; }
template <class A, class B, class R = detail::real_of<A, B>> R minimum(const A& a, const B& b) { const R x(a), z(b); return x == z ? x * R(0.5) + z * R(0.5) : x < z || x != x ? x : z; }
template <class T> Real<T> ldexp(const Real<T>& x, int e) { return x * Real<T>(std::ldexp(T(1), e)); }
template <class T> Real<T> scalbn(const Real<T>& x, int e) { return ldexp(x, e); }

template <class T> bool isnan(const Real<T>& x) { return x != x; }
template <class T> bool isinf(const Real<T>& x) { const T inf = std::numeric_limits<T>::infinity(); return x == Real<T>(inf) || x == Real<T>(-inf); }
template <class T> bool isfinite(const Real<T>& x) { const T most = std::numeric_limits<T>::max(); return x <= Real<T>(most) && x >= Real<T>(-most); }
template <class T> bool signbit(const Real<T>& x) { return std::signbit(x.value()); }
// clang-format on

/// 0 at 0 has the derivative 0, as for tensors.
template <class T> Real<T> abs(const Real<T>& x)
{
    if (!x.is_active()) return Real<T>(std::abs(x.plain()));
    return x > Real<T>(0) ? x : x == Real<T>(0) ? Real<T>(0) : -x;
}
template <class T> Real<T> fabs(const Real<T>& x) { return abs(x); }
template <class A, class B, class R = detail::real_of<A, B>> R copysign(const A& a, const B& b)
{
    const R x(a), z(b), size = abs(x);
    if (!z.is_active()) return std::signbit(z.plain()) ? -size : size;
    return z < R(0) ? -size : size;
}
template <class T> Real<T> square(const Real<T>& x) { return x * x; }
/// Rounded once, as std::fma rounds.
template <class T> Real<T> fma(const Real<T>& a, const Real<T>& b, const Real<T>& c)
{
    const T y = std::fma(a.plain(), b.plain(), c.plain());
    if (Real<T>::passive(a, b))
        return c.is_active() ? detail::recorded(ScalarOp::add, a * b, c, y) : Real<T>(y);
    return detail::recorded(ScalarOp::add, a * b, c, y);
}

}  // namespace wengert
