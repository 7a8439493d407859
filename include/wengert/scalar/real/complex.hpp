// Functions of std::complex<Real<T>> that libstdc++ has with branches on the axes. There it forgets how the other part changes, and so
// do its functions that call these: asin, acos, asinh, acosh.
#pragma once

#include <complex>

#include "functions.hpp"

namespace wengert::detail {

/// u + i v = √(x + i y), u ≥ 0, with u v = y/2; the sign of y is that of v on the cut as well. Kahan 1987, "Branch cuts for complex
/// elementary functions".
template <class R> std::complex<R> complex_sqrt(const std::complex<R>& z)
{
    const R x = z.real(), y = z.imag(), half = R(0.5) * hypot(x, y);
    if (x == R(0) && y == R(0)) return {sqrt(half), y};
    if (!(x < R(0))) {
        const R u = sqrt(half + R(0.5) * x);
        return {u, R(0.5) * y / u};
    }
    const R v = copysign(sqrt(half - R(0.5) * x), y);
    return {R(0.5) * y / v, v};
}
/// |z|ᵖ at p times the angle.
template <class R> std::complex<R> complex_power(const std::complex<R>& z, const R& p)
{
    const R size = pow(hypot(z.real(), z.imag()), p), angle = p * atan2(z.imag(), z.real());
    return {size * cos(angle), size * sin(angle)};
}

/// A plain number beside complex ones of R.
template <class R, class S>
    requires std::is_arithmetic_v<S>
R beside_complex(const S& s)
{
    return R(s);
}
template <class R, class S> std::complex<R> beside_complex(const std::complex<S>& s)
{
    return {R(s.real()), R(s.imag())};
}
template <class S> inline constexpr bool is_plain_complex = std::is_arithmetic_v<S>;
template <class S> inline constexpr bool is_plain_complex<std::complex<S>> = std::is_arithmetic_v<S>;
template <class S>
concept PlainComplex = is_plain_complex<S>;

}  // namespace wengert::detail

namespace wengert {

// std has these for two numbers of a type alone; code that was written for double has literals.
// clang-format off
template <class T, detail::PlainComplex S> auto operator+(const std::complex<Real<T>>& z, const S& s) { return z + detail::beside_complex<Real<T>>(s); }
template <class T, detail::PlainComplex S> auto operator+(const S& s, const std::complex<Real<T>>& z) { return detail::beside_complex<Real<T>>(s) + z; }
template <class T, detail::PlainComplex S> auto operator-(const std::complex<Real<T>>& z, const S& s) { return z - detail::beside_complex<Real<T>>(s); }
template <class T, detail::PlainComplex S> auto operator-(const S& s, const std::complex<Real<T>>& z) { return detail::beside_complex<Real<T>>(s) - z; }
template <class T, detail::PlainComplex S> auto operator*(const std::complex<Real<T>>& z, const S& s) { return z * detail::beside_complex<Real<T>>(s); }
template <class T, detail::PlainComplex S> auto operator*(const S& s, const std::complex<Real<T>>& z) { return detail::beside_complex<Real<T>>(s) * z; }
template <class T, detail::PlainComplex S> auto operator/(const std::complex<Real<T>>& z, const S& s) { return z / detail::beside_complex<Real<T>>(s); }
template <class T, detail::PlainComplex S> auto operator/(const S& s, const std::complex<Real<T>>& z) { return detail::beside_complex<Real<T>>(s) / z; }
// clang-format on

}  // namespace wengert

/// For calls as std::sqrt(z), too, and for those of libstdc++'s own functions.
namespace std {
template <> inline complex<wengert::Real<double>> sqrt(const complex<wengert::Real<double>>& z)
{
    return wengert::detail::complex_sqrt(z);
}
template <> inline complex<wengert::Real<float>> sqrt(const complex<wengert::Real<float>>& z)
{
    return wengert::detail::complex_sqrt(z);
}
template <>
inline complex<wengert::Real<double>> pow(const complex<wengert::Real<double>>& z,
                                          const wengert::Real<double>& p)
{
    return wengert::detail::complex_power(z, p);
}
template <>
inline complex<wengert::Real<float>> pow(const complex<wengert::Real<float>>& z,
                                         const wengert::Real<float>& p)
{
    return wengert::detail::complex_power(z, p);
}
}  // namespace std
