// ψ and its derivatives of plain numbers, which <cmath> does not have (Abramowitz & Stegun 1964, 6.3 and 6.4).
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <numbers>

#include "gamma.hpp"

namespace wengert {

namespace detail {

/// dⁿ/dxⁿ cot x of cot x.
inline double cot_derivative(unsigned n, double c)
{
    const std::vector<double> p = functions::cot_derivative(n);
    double y = p.back();  // c may be infinite
    for (std::size_t i = p.size() - 1; i-- > 0;) y = y * c + p[i];
    return y;
}

/// B₂, B₄, …, B₁₆
inline constexpr std::array bernoulli{1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                      5.0 / 66, -691.0 / 2730, 7.0 / 6,  -3617.0 / 510};

/// ψ⁽ⁿ⁾ of a large x by its asymptotic series (6.3.18, 6.4.11), (−1)ⁿ⁺¹ (n − 1)! left out where n > 0.
inline double polygamma_far(unsigned n, double x)
{
    const double square = x * x, order = n;
    double term = n == 0 ? 1 : order, sum = n == 0 ? std::log(x) - 0.5 / x : 1 + 0.5 * order / x;
    for (std::size_t k = 0; k < bernoulli.size(); ++k) {
        const double i = 2.0 * static_cast<double>(k + 1);
        // (2k + n − 1)! / ((2k)! (n − 1)! x²ᵏ), and for n = 0 1 / (2k x²ᵏ)
        term *= n == 0   ? 1 / square
                : k == 0 ? (order + 1) / (2 * square)
                         : (order + i - 2) * (order + i - 1) / ((i - 1) * i * square);
        sum += n == 0 ? -bernoulli[k] * term / i : bernoulli[k] * term;
    }
    return n == 0 ? sum : sum / std::pow(x, order);
}

/// p⁻ᵐ − q⁻ᵐ by its factor p⁻¹ − q⁻¹, of the reciprocals x and z: (x − z) Σᵢ xⁱ zᵐ⁻¹⁻ⁱ.
inline double difference_of_powers(double x, double z, double difference, unsigned m)
{
    double sum = 0, power = 1;
    for (unsigned i = 0; i < m; ++i, power *= z) sum = sum * x + power;
    return difference * sum;
}

}  // namespace detail

/// ψ⁽ⁿ⁾(x), the n-th derivative of ψ = Γ'/Γ. NaN at the poles 0, −1, −2, …
inline double polygamma(unsigned n, double x)
{
    if (x <= 0 && x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
    const double sign = n % 2 ? -1 : 1;
    if (x < 0) {  // ψ⁽ⁿ⁾(1 − x) = (−1)ⁿ (ψ⁽ⁿ⁾(x) + dⁿ/dxⁿ π cot πx)
        constexpr double pi = std::numbers::pi;
        const double cot = 1 / std::tan(pi * (x - std::round(x)));
        return sign * polygamma(n, 1 - x) - std::pow(pi, n + 1) * detail::cot_derivative(n, cot);
    }
    double sum = 0, scale = 1;  // (−1)ⁿ⁺¹ (n − 1)!
    for (unsigned k = 1; k < n; ++k) scale *= k;
    const double order = n ? n : 1;
    for (; x < 16 + n; ++x) sum += order / std::pow(x, n + 1.0);
    return n == 0 ? detail::polygamma_far(0, x) - sum : -sign * scale * (detail::polygamma_far(n, x) + sum);
}
inline float polygamma(unsigned n, float x) { return static_cast<float>(polygamma(n, double{x})); }

namespace detail {

/// ψ⁽ⁿ⁾(a) − ψ⁽ⁿ⁾(a + b) for a, b ≥ 0, without cancellation: the recurrence and the asymptotic series (6.4.6, 6.4.11), each term as one
/// difference.
inline double polygamma_drop(unsigned n, double a, double b)
{
    const double sign = n % 2 ? 1 : -1;  // of all terms
    if (std::isinf(b)) return n == 0 ? -std::numeric_limits<double>::infinity() : polygamma(n, a);
    if (a == 0)
        return b == 0 ? std::numeric_limits<double>::quiet_NaN()
                      : sign * std::numeric_limits<double>::infinity();
    double factorial = 1, sum = 0;  // (n − 1)!
    for (unsigned k = 1; k < n; ++k) factorial *= k;
    const auto drop = [&](double x, unsigned m) {
        return difference_of_powers(1 / x, 1 / (x + b), b / x / (x + b), m);
    };
    for (; a < 16 + n; ++a) sum += drop(a, n + 1);
    const double order = n ? n : 1;
    double far = n == 0 ? std::log1p(b / a) + 0.5 * drop(a, 1) : drop(a, n) + 0.5 * order * drop(a, n + 1);
    double factor = 1;  // (2k + n − 1)! / ((2k)! (n − 1)!), and for n = 0 1 / 2k
    for (unsigned k = 0; k < bernoulli.size(); ++k) {
        const double i = 2.0 * (k + 1);
        factor = n == 0   ? 1 / i
                 : k == 0 ? order * (order + 1) / 2
                          : factor * (order + i - 2) * (order + i - 1) / ((i - 1) * i);
        far += bernoulli[k] * factor * drop(a, 2 * (k + 1) + n);
    }
    return sign * factorial * (far + order * sum);
}

}  // namespace detail

}  // namespace wengert
