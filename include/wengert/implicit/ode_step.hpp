// What a step of any method gives, and one of Dormand and Prince's method 5(4), its error and what is between its ends. Dormand & Prince 1980; the polynomial of order
// 4 between the ends is that of Hairer, Nørsett & Wanner 1993, II.6.
#pragma once

#include <array>
#include <cmath>

#include "../ops/elementwise/choices.hpp"
#include "../ops/reductions.hpp"
#include "flat.hpp"

namespace wengert::detail {

/// The coefficients a of stage k, the times c, the error's weights, and those of the polynomial's last coefficient.
struct DormandPrince {
    static constexpr double a[7][6] = {
        {},
        {1.0 / 5},
        {3.0 / 40, 9.0 / 40},
        {44.0 / 45, -56.0 / 15, 32.0 / 9},
        {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
        {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
        {35.0 / 384, 0.0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84}};
    static constexpr double c[7] = {0.0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1.0, 1.0};
    static constexpr double error[7] = {71.0 / 57600,      0.0,          -71.0 / 16695, 71.0 / 1920,
                                        -17253.0 / 339200, 22.0 / 525.0, -1.0 / 40};
    static constexpr double between[7] = {-12715105075.0 / 11282082432.0,  0.0,
                                          87487479700.0 / 32700410799.0,   -10690763975.0 / 1880347072.0,
                                          701980252875.0 / 199316789632.0, -1453857185.0 / 822651844.0,
                                          69997945.0 / 29380423.0};
};

/// The polynomial over the last step, with its beginning and length: y(t + θ h) = r₀ + θ (r₁ + (1 − θ) (r₂ + θ (r₃ + (1 − θ) r₄))).
template <class V> struct StepPolynomial {
    V t, h;
    std::array<V, 5> r;

    V at(const V& time) const
    {
        const V theta = (time - t) / h, rest = ones_like(theta) - theta;
        return r[0] + theta * (r[1] + rest * (r[2] + theta * (r[3] + rest * r[4])));
    }
};

/// What a step gives: y and f(y, t) at its end, an estimate of y's error, the polynomial.
template <class V> struct OdeStep {
    V y, f, error;
    StepPolynomial<V> polynomial;
};

/// Σ wₖ kₖ of those whose weight is not 0.
template <class V> V weighted(const double* w, const std::vector<V>& k)
{
    using T = typename V::value_type;
    V s;
    for (std::size_t i = 0; i < k.size(); ++i)
        if (w[i] != 0) s = s.defined() ? s + T(w[i]) * k[i] : T(w[i]) * k[i];
    return s;
}

/// A step of length h from y at t, where f(y, t) is `slope`.
template <class V>
OdeStep<V> dormand_prince(const SlopeFunction<V>& f, const V& t, const V& y, const V& slope, const V& h)
{
    using T = typename V::value_type;
    std::vector<V> k{slope};
    V next;
    for (std::size_t i = 1; i < 7; ++i) {
        next = y + h * weighted(DormandPrince::a[i], k);
        k.push_back(f(next, t + T(DormandPrince::c[i]) * h));
    }
    const V step = next - y, bend = h * slope - step;
    return {next,
            k[6],
            h * weighted(DormandPrince::error, k),
            {t, h, {y, step, bend, step - h * k[6] - bend, h * weighted(DormandPrince::between, k)}}};
}

}  // namespace wengert::detail
