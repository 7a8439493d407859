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

}  // namespace wengert::detail

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
