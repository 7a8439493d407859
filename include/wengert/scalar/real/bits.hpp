// The functions of <cmath> that take a number apart, step or classify it. Exponents, quotients and classes are constants, and so not for kernels:
// there they would be one cell's.
#pragma once

#include <functional>

#include "functions.hpp"
#include "../stream/lines.hpp"

namespace wengert {

namespace detail {

/// The number itself, of which what is computed does not depend smoothly.
template <class X> auto taken_apart(const X& x, std::string_view function)
{
    if (x.is_active() && in_kernel())
        fail<TapeError>(
            ScalarStream::current()->cell_tensors->who,
            std::string(function) +
                " reads the bits of a number that differs from cell to cell, or from call to call",
            line_of_user());
    return x.plain();
}

}  // namespace detail

/// x 2ᵉ by powers of two that the type has, the smallest one first: so one product rounds at most.
template <detail::ActiveNumber X> X ldexp(const X& x, int e)
{
    constexpr int most = detail::limits_of<X>::max_exponent - 2;
    const int limited = std::clamp(e, -3 * most, 3 * most);
    X y = x * std::ldexp(1.0, limited % most);
    for (int left = limited / most; left != 0; left += left > 0 ? -1 : 1)
        y = y * std::ldexp(1.0, left > 0 ? most : -most);
    return y;
}

// clang-format off
template <detail::ActiveNumber X> X scalbn(const X& x, int e) { return ldexp(x, e); }
template <detail::ActiveNumber X> X scalbln(const X& x, long e) { return ldexp(x, static_cast<int>(std::clamp(e, -5000L, 5000L))); }
template <detail::ActiveNumber X> int ilogb(const X& x) { using std::ilogb; return ilogb(detail::taken_apart(x, "ilogb")); }
template <detail::ActiveNumber X> X logb(const X& x) { using std::logb; return X(logb(detail::taken_apart(x, "logb"))); }
/// x = y 2ᵉ with ½ ≤ |y| < 1
template <detail::ActiveNumber X> X frexp(const X& x, int* e) { using std::frexp; static_cast<void>(frexp(detail::taken_apart(x, "frexp"), e)); return ldexp(x, -*e); }
template <detail::ActiveNumber X> X nextafter(const X& x, const std::type_identity_t<X>& to) { using std::nextafter; return detail::Computed<X>::unary(ScalarOp::copy, x, nextafter(detail::taken_apart(x, "nextafter"), to.plain())); }
template <detail::ActiveNumber X> X nexttoward(const X& x, long double to) { using std::nexttoward; return detail::Computed<X>::unary(ScalarOp::copy, x, nexttoward(detail::taken_apart(x, "nexttoward"), to)); }
template <class A, class B, class R = detail::number_of<A, B>> R remquo(const A& a, const B& b, int* quotient)
{
    const R x(a), z(b);
    using std::remquo;
    static_cast<void>(remquo(detail::taken_apart(x, "remquo"), detail::taken_apart(z, "remquo"), quotient));
    return remainder(x, z);
}
template <detail::ActiveNumber X> long long llrint(const X& x, Site at = {__builtin_FILE(), __builtin_LINE()}) { using std::llrint; return llrint(x.value(at)); }

template <detail::ActiveNumber X> int fpclassify(const X& x) { using std::fpclassify; return fpclassify(detail::taken_apart(x, "fpclassify")); }
template <detail::ActiveNumber X> bool isnormal(const X& x) { using std::isnormal; return isnormal(detail::taken_apart(x, "isnormal")); }
template <class A, class B, class R = detail::number_of<A, B>> bool isgreater(const A& a, const B& b) { return R(a) > R(b); }
template <class A, class B, class R = detail::number_of<A, B>> bool isgreaterequal(const A& a, const B& b) { return R(a) >= R(b); }
template <class A, class B, class R = detail::number_of<A, B>> bool isless(const A& a, const B& b) { return R(a) < R(b); }
template <class A, class B, class R = detail::number_of<A, B>> bool islessequal(const A& a, const B& b) { return R(a) <= R(b); }
template <class A, class B, class R = detail::number_of<A, B>> bool islessgreater(const A& a, const B& b) { return R(a) < R(b) || R(a) > R(b); }
template <class A, class B, class R = detail::number_of<A, B>> bool isunordered(const A& a, const B& b) { return R(a) != R(a) || R(b) != R(b); }

/// The larger one by < as std::max has it, where one of the operands is a plain number: std::max takes two of a type.
template <class A, class B, class R = detail::number_of<A, B>> requires(!std::is_same_v<A, B>) R max(const A& a, const B& b) { const R x(a), z(b); return x < z ? z : x; }
template <class A, class B, class R = detail::number_of<A, B>> requires(!std::is_same_v<A, B>) R min(const A& a, const B& b) { const R x(a), z(b); return z < x ? z : x; }

// clang-format on

/// Whole and fractional part, which has the derivative.
template <detail::ActiveNumber X> X modf(const X& x, X* whole)
{
    using std::modf;
    *whole = trunc(x);
    if (detail::in_kernel()) return x - *whole;
    typename X::plain_type plain_whole;
    const typename X::plain_type part = modf(x.plain(), &plain_whole);
    return isinf(x) ? X(part) : detail::Computed<X>::unary(ScalarOp::copy, x, part);
}

/// √(a² + b² + c²) without overflow on the way.
template <class A, class B, class C, class R = detail::number_of_three<A, B, C>>
R hypot(const A& a, const B& b, const C& c)
{
    using std::hypot;
    const R x(a), y(b), z(c);
    return detail::Computed<R>::binary(scalar_op<Hypot>(), hypot(x, y), z,
                                       hypot(x.plain(), y.plain(), z.plain()));
}
/// a b + c, rounded once, as std::fma rounds.
template <class A, class B, class C, class R = detail::number_of_three<A, B, C>>
R fma(const A& a, const B& b, const C& c)
{
    using std::fma;
    const R x(a), y(b), z(c);
    return detail::Computed<R>::binary(ScalarOp::add, x * y, z, fma(x.plain(), y.plain(), z.plain()));
}
/// (a + b)/2 without overflow on the way.
template <class A, class B, class R = detail::number_of<A, B>> R midpoint(const A& a, const B& b)
{
    const R x(a), z(b), sum = x + z;
    return isfinite(sum) ? sum * R(0.5) : x * R(0.5) + z * R(0.5);
}
/// a + t (b − a), as std::lerp rounds it: exact at both ends.
template <class A, class B, class C, class R = detail::number_of_three<A, B, C>>
R lerp(const A& from, const B& to, const C& at)
{
    const R a(from), b(to), t(at);
    if ((a <= R(0) && b >= R(0)) || (a >= R(0) && b <= R(0))) return t * b + (R(1) - t) * a;
    if (t == R(1)) return b + (t - R(1)) * (b - a);
    const R y = a + t * (b - a);
    return (t > R(1)) == (b > a) ? (y < b ? b : y)
                                 : (y > b ? b : y);  // y where they are equal: it has the derivative
}

}  // namespace wengert

/// By value, as == compares.
template <class T> struct std::hash<wengert::Real<T>> {
    std::size_t operator()(const wengert::Real<T>& x) const
    {
        return std::hash<T>()(wengert::detail::taken_apart(x, "std::hash"));
    }
};
