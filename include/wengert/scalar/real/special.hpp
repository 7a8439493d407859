// The gamma function and C++17's special functions for numbers that record, with derivatives that are such functions themselves
// (Abramowitz & Stegun 1964, 6.3, 9.1, 9.6, 10.1, 17.3). Those of the integral kind come from the standard library where it has them.
#pragma once

#include <array>
#include <atomic>

#include "../../functions/polygamma.hpp"
#include "functions.hpp"

namespace wengert {

template <class T, std::size_t N> class Tangents;

namespace detail {

/// The number underneath.
template <class N> double plain_of(const N& x)
{
    if constexpr (std::is_arithmetic_v<N>)
        return static_cast<double>(x);
    else
        return plain_of(x.plain());
}
/// Which numbers find the long rules of special functions here, as the sweep does, which every program of scalar code compiles: a
/// program has these rules once it calls such a function. −1 for all others.
template <class N> inline constexpr int slopes_number = -1;
template <> inline constexpr int slopes_number<double> = 0;
template <> inline constexpr int slopes_number<Real<double>> = 1;
template <> inline constexpr int slopes_number<Tangents<double, 1>> = 2;

/// The rules by order and the elliptic ones. All shared objects of a program have the same, as one may sweep what another has
/// recorded. So they are erased: a variable whose type names one of ours may be hidden with that.
inline constinit std::atomic<void (*)()> provided_slopes[3][2] __attribute__((visibility("default"))) = {};

template <class N> using SlopeOfOrder = N (*)(ScalarOp op, const N& order, const N& x);
template <class N> using EllipticSlopes = std::array<N, 2> (*)(const N& k, const N& phi);

/// Throws TapeError where shared objects were built to share nothing.
template <class Slopes> Slopes provided(const std::atomic<void (*)()>& slopes)
{
    if (void (*const f)() = slopes.load(std::memory_order_relaxed)) [[likely]]
        return reinterpret_cast<Slopes>(f);
    fail<TapeError>("backward",
                    "the derivative of a special function is in another shared object, which hides it", {});
}
/// For the numbers of the sweep: scalar/real/directions.hpp has the body.
template <class = void> void provide_special_slopes();

/// A function f of an order, which is a constant, and a number.
template <class X, class Order, class F> X of_order(ScalarOp op, Order order, const X& x, const F& f)
{
    using T = typename X::plain_type;
    provide_special_slopes();
    return Computed<X>::binary(op, X(order), x, static_cast<T>(f(order, x.plain())));
}

}  // namespace detail

// clang-format off
template <detail::ActiveNumber X> X polygamma(unsigned n, const X& x) { return detail::Computed<X>::binary(ScalarOp::polygamma, X(n), x, polygamma(n, x.plain())); }
/// ψ(x) = Γ'(x) / Γ(x)
template <detail::ActiveNumber X> X digamma(const X& x) { return polygamma(0u, x); }
// clang-format on

#ifdef __STDCPP_MATH_SPEC_FUNCS__

// clang-format off
template <detail::ActiveNumber X> X expint(const X& x) { using std::expint; return detail::Computed<X>::unary(ScalarOp::expint, x, expint(x.plain())); }
template <detail::ActiveNumber X> X comp_ellint_1(const X& k) { detail::provide_special_slopes(); using std::comp_ellint_1; return detail::Computed<X>::unary(ScalarOp::comp_ellint_1, k, comp_ellint_1(k.plain())); }
template <detail::ActiveNumber X> X comp_ellint_2(const X& k) { detail::provide_special_slopes(); using std::comp_ellint_2; return detail::Computed<X>::unary(ScalarOp::comp_ellint_2, k, comp_ellint_2(k.plain())); }
template <class A, class B, class R = detail::number_of<A, B>> R ellint_1(const A& k, const B& phi) { detail::provide_special_slopes(); const R x(k), z(phi); using std::ellint_1; return detail::Computed<R>::binary(ScalarOp::ellint_1, x, z, ellint_1(x.plain(), z.plain())); }
template <class A, class B, class R = detail::number_of<A, B>> R ellint_2(const A& k, const B& phi) { detail::provide_special_slopes(); const R x(k), z(phi); using std::ellint_2; return detail::Computed<R>::binary(ScalarOp::ellint_2, x, z, ellint_2(x.plain(), z.plain())); }
template <class A, class B, class R = detail::number_of<A, B>> R beta(const A& a, const B& b) { const R x(a), z(b); using std::beta; return detail::Computed<R>::binary(ScalarOp::beta, x, z, beta(x.plain(), z.plain())); }
// The order is a constant: a derivative by it is no elementary function.
template <detail::ActiveNumber X> X cyl_bessel_j(double nu, const X& x) { using std::cyl_bessel_j; return detail::of_order<X>(ScalarOp::cyl_bessel_j, nu, x, [](auto n, const auto& p) { return cyl_bessel_j(n, p); }); }
template <detail::ActiveNumber X> X cyl_neumann(double nu, const X& x) { using std::cyl_neumann; return detail::of_order<X>(ScalarOp::cyl_neumann, nu, x, [](auto n, const auto& p) { return cyl_neumann(n, p); }); }
template <detail::ActiveNumber X> X cyl_bessel_i(double nu, const X& x) { using std::cyl_bessel_i; return detail::of_order<X>(ScalarOp::cyl_bessel_i, nu, x, [](auto n, const auto& p) { return cyl_bessel_i(n, p); }); }
template <detail::ActiveNumber X> X cyl_bessel_k(double nu, const X& x) { using std::cyl_bessel_k; return detail::of_order<X>(ScalarOp::cyl_bessel_k, nu, x, [](auto n, const auto& p) { return cyl_bessel_k(n, p); }); }
template <detail::ActiveNumber X> X sph_bessel(unsigned n, const X& x) { using std::sph_bessel; return detail::of_order<X>(ScalarOp::sph_bessel, n, x, [](auto l, const auto& p) { return sph_bessel(l, p); }); }
template <detail::ActiveNumber X> X sph_neumann(unsigned n, const X& x) { using std::sph_neumann; return detail::of_order<X>(ScalarOp::sph_neumann, n, x, [](auto l, const auto& p) { return sph_neumann(l, p); }); }
// clang-format on

namespace detail {

/// Fₙ' of a solution of Bessel's equation, from one with its recurrences: a Fₙ₋₁ + b Fₙ₊₁ (9.1.27, 9.6.26).
template <class N, class F> N bessel_slope(double nu, const N& x, double a, double b, const F& f)
{
    if (nu == 0) return 2.0 * b * f(1.0, x);
    if (nu >= 1) return a * f(nu - 1, x) + b * f(nu + 1, x);
    return nu / x * f(nu, x) + 2.0 * b * f(nu + 1, x);
}
/// And of a spherical one (10.1.20).
template <class N, class F> N spherical_slope(unsigned n, const N& x, const F& f)
{
    const double l = n;
    if (n == 0) return -f(1u, x);
    return (l * f(n - 1, x) - (l + 1) * f(n + 1, x)) / (2 * l + 1);
}
template <class N> N slope_of_order(ScalarOp op, const N& order, const N& x)
{
    using std::cyl_bessel_i, std::cyl_bessel_j, std::cyl_bessel_k, std::cyl_neumann, std::sph_bessel,
        std::sph_neumann;
    const double nu = plain_of(order);
    const auto n = static_cast<unsigned>(nu);
    const auto by = [&](double a, double b, const auto& f) { return bessel_slope(nu, x, a, b, f); };
    switch (op) {
    case ScalarOp::cyl_bessel_j:
        return by(0.5, -0.5, [](double l, const N& p) { return cyl_bessel_j(l, p); });
    case ScalarOp::cyl_neumann: return by(0.5, -0.5, [](double l, const N& p) { return cyl_neumann(l, p); });
    case ScalarOp::cyl_bessel_i: return by(0.5, 0.5, [](double l, const N& p) { return cyl_bessel_i(l, p); });
    case ScalarOp::cyl_bessel_k:
        return by(-0.5, -0.5, [](double l, const N& p) { return cyl_bessel_k(l, p); });
    case ScalarOp::sph_bessel:
        return spherical_slope(n, x, [](unsigned l, const N& p) { return sph_bessel(l, p); });
    default: return spherical_slope(n, x, [](unsigned l, const N& p) { return sph_neumann(l, p); });
    }
}

/// ∂F/∂k and ∂E/∂k of the incomplete integrals up to φ, near k = 0 by their series: s₂ and s₄ are ∫ sin²φ and ∫ sin⁴φ.
template <class N> std::array<N, 2> ellint_slopes(const N& k, const N& phi)
{
    using std::cos, std::sin, std::sqrt, std::ellint_1, std::ellint_2;
    if (k < N(1e-3) && k > N(-1e-3)) {
        const N s2 = 0.5 * phi - 0.25 * sin(2.0 * phi);
        const N s4 = 0.375 * phi - 0.25 * sin(2.0 * phi) + sin(4.0 * phi) / 32.0;
        return {k * s2 + 1.5 * k * k * k * s4, -k * s2 - 0.5 * k * k * k * s4};
    }
    const N F = ellint_1(k, phi), E = ellint_2(k, phi), m = 1.0 - k * k, s = sin(phi);
    return {E / (k * m) - F / k - k * s * cos(phi) / (m * sqrt(1.0 - k * k * s * s)), (E - F) / k};
}

}  // namespace detail

#else

namespace detail {

/// Without the standard library's special functions, none of their operations is recorded.
template <class N> N slope_of_order(ScalarOp, const N&, const N&) { return N(0.0); }
template <class N> std::array<N, 2> ellint_slopes(const N&, const N&) { return {N(0.0), N(0.0)}; }

}  // namespace detail

#endif

namespace detail {

template <class N> N special_slope(ScalarOp op, const N& order, const N& x)
{
    if constexpr (constexpr int k = slopes_number<N>; k >= 0)
        return provided<SlopeOfOrder<N>>(provided_slopes[k][0])(op, order, x);
    else
        return slope_of_order(op, order, x);
}
template <class N> std::array<N, 2> elliptic_slopes(const N& k, const N& phi)
{
    if constexpr (constexpr int i = slopes_number<N>; i >= 0)
        return provided<EllipticSlopes<N>>(provided_slopes[i][1])(k, phi);
    else
        return ellint_slopes(k, phi);
}
/// Of the complete integrals.
template <class N> N elliptic_slope(ScalarOp op, const N& k)
{
    return elliptic_slopes(k, N(std::numbers::pi / 2))[op == ScalarOp::comp_ellint_2];
}

/// The rules of special functions, apart so that those of sin and exp stay small: g ∂y/∂x.
template <class N> [[gnu::noinline]] N special_rule(ScalarOp op, const N& g, const N& x)
{
    using std::exp;
    return op == ScalarOp::expint ? N(g * exp(x) / x) : N(g * elliptic_slope(op, x));
}
/// ψ(a) − ψ(a + b), of plain numbers without cancellation.
template <class N> N digamma_drop_of(const N& a, const N& b)
{
    if constexpr (std::floating_point<N>)
        return static_cast<N>(polygamma_drop(0, static_cast<double>(a), static_cast<double>(b)));
    else
        return digamma(a) - digamma(a + b);
}
/// By the first operand.
template <class N>
[[gnu::noinline]] N special_first_rule(ScalarOp op, const N& g, const N& x, const N& z, const N& y)
{
    if (op == ScalarOp::beta) return g * y * digamma_drop_of(x, z);
    if (op == ScalarOp::ellint_1) return g * elliptic_slopes(x, z)[0];
    if (op == ScalarOp::ellint_2) return g * elliptic_slopes(x, z)[1];
    return N(0.0);  // an order, a constant
}
/// By the second one.
template <class N>
[[gnu::noinline]] N special_second_rule(ScalarOp op, const N& g, const N& x, const N& z, const N& y)
{
    using std::sin, std::sqrt;
    const auto root = [&] { return sqrt(1.0 - x * x * sin(z) * sin(z)); };
    switch (op) {
    case ScalarOp::beta: return g * y * digamma_drop_of(z, x);
    case ScalarOp::polygamma: return g * polygamma(static_cast<unsigned>(plain_of(x)) + 1, z);
    case ScalarOp::ellint_1: return g / root();
    case ScalarOp::ellint_2: return g * root();
    default: return g * special_slope(op, x, z);
    }
}

}  // namespace detail

// Orthogonal polynomials, by their recurrences in the degree.

// clang-format off
namespace detail {

/// (k + 1) pₖ₊₁ = a(k) pₖ − b(k) pₖ₋₁ from p₀ = 1 and p₁ on.
template <class X, class A, class B> X by_degree(unsigned n, const X& first, const A& a, const B& b)
{
    X before(1), p = first;
    if (n == 0) return before;
    for (unsigned k = 1; k < n; ++k) {
        const X next = (a(static_cast<double>(k)) * p - b(static_cast<double>(k)) * before) / (k + 1.0);
        before = p, p = next;
    }
    return p;
}

}  // namespace detail
template <detail::ActiveNumber X> X legendre(unsigned n, const X& x) { return detail::by_degree(n, x, [&](double k) { return (2 * k + 1) * x; }, [](double k) { return k; }); }
template <detail::ActiveNumber X> X laguerre(unsigned n, const X& x) { return detail::by_degree(n, X(1.0 - x), [&](double k) { return 2 * k + 1 - x; }, [](double k) { return k; }); }
template <detail::ActiveNumber X> X assoc_laguerre(unsigned n, unsigned m, const X& x) { return detail::by_degree(n, X(1.0 + m - x), [&](double k) { return 2 * k + 1 + m - x; }, [&](double k) { return k + m; }); }
template <detail::ActiveNumber X> X hermite(unsigned n, const X& x) { return detail::by_degree(n, X(2.0 * x), [&](double k) { return 2.0 * (k + 1) * x; }, [](double k) { return 2 * k * (k + 1); }); }
namespace detail {
/// P of degree l and order m without the phase (−1)ᵐ, as std has it, from (2m − 1)!! sᵐ for l = m on (8.5.3, 8.6.6). `power` is sᵐ,
/// where s is √(1 − x²).
template <class X> X legendre_of_order(unsigned l, unsigned m, const X& x, const X& power)
{
    if (m > l) return X(0.0) * x;
    X before(0.0), p = power;
    for (unsigned k = 0; k < m; ++k) p = (2.0 * k + 1.0) * p;
    for (unsigned k = m; k < l; ++k) {
        const X next = ((2.0 * k + 1.0) * x * p - static_cast<double>(k + m) * before) / (k + 1.0 - m);
        before = p, p = next;
    }
    return p;
}
/// √(q)ᵐ with the derivatives that it has at 0, where the root has none.
template <class X> X power_of_root(const X& q, unsigned m)
{
    if (m % 2) return m == 1 ? sqrt(q) : pow(q, X(0.5 * m));
    X p(1.0);
    for (unsigned k = 0; k < m / 2; ++k) p = q * p;
    return p;
}
/// sᵐ of an angle's sine without its sign.
template <class X> X power_of_size(const X& s, unsigned m)
{
    X p(1.0);
    for (unsigned k = 0; k < m; ++k) p = s * p;
    return m % 2 && s < X(0.0) ? X(-p) : p;
}
}  // namespace detail
template <detail::ActiveNumber X> X assoc_legendre(unsigned l, unsigned m, const X& x) { return detail::legendre_of_order(l, m, x, detail::power_of_root(X(1.0 - x * x), m)); }
/// Of the angle θ, normalized, with the phase (−1)ᵐ.
template <detail::ActiveNumber X> X sph_legendre(unsigned l, unsigned m, const X& theta)
{
    double square = (2.0 * l + 1.0) / (4.0 * std::numbers::pi);
    for (unsigned k = l - std::min(l, m) + 1; k <= l + m; ++k) square /= k;
    const X s = sin(theta);
    return (m % 2 ? -1.0 : 1.0) * std::sqrt(square) * detail::legendre_of_order(l, m, X(cos(theta)), detail::power_of_size(s, m));
}

// Functions whose derivatives are not of this kind.

namespace detail {
template <class X> inline constexpr bool has_derivative_here = false;
}
template <class A, class B, class C>
    requires(detail::ActiveNumber<A> || detail::ActiveNumber<B> || detail::ActiveNumber<C>)
double ellint_3(const A&, const B&, const C&)
{
    static_assert(detail::has_derivative_here<A>, "wengert: ellint_3 of a Real has no derivative here: wrap it in external(), or pass value()");
    return 0;
}
template <class A, class B>
    requires(detail::ActiveNumber<A> || detail::ActiveNumber<B>)
double comp_ellint_3(const A&, const B&)
{
    static_assert(detail::has_derivative_here<A>, "wengert: comp_ellint_3 of a Real has no derivative here: wrap it in external(), or pass value()");
    return 0;
}
template <detail::ActiveNumber X> double riemann_zeta(const X&)
{
    static_assert(detail::has_derivative_here<X>, "wengert: riemann_zeta of a Real has no derivative here: wrap it in external(), or pass value()");
    return 0;
}
// clang-format on

}  // namespace wengert
