#pragma once

// Stiff chemistry of many reactors, as old codes integrate it: H. H. Robertson, "The solution of a set of reaction rate equations",
// Numerical Analysis, 1966. Its three rates follow Arrhenius. Implicit Euler; Newton's iteration with the Jacobian by hand and
// factors without pivots, as V. Damian, A. Sandu et al., "The kinetic preprocessor KPP", Comput. Chem. Eng. 26, 2002.

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace bench {

struct Robertson {
    static constexpr std::size_t species = 3;
    static constexpr double rate[3] = {0.04, 3e7, 1e4};  ///< at the temperature 1
    static constexpr double activation[3] = {2.0, 0.3, 0.7};
    static constexpr int most_iterations = 10;
    static constexpr double tolerance = 1e-9;  ///< of a mole fraction
};

template <class Number> struct Reactor {
    Number y[Robertson::species];
    Number k[3];
};

/// x of A x = b, in place of b. A is overwritten by its factors.
template <class Number, std::size_t n> void solve_in_place(Number (&a)[n][n], Number (&b)[n])
{
    for (std::size_t k = 0; k < n; ++k)
        for (std::size_t i = k + 1; i < n; ++i) {
            a[i][k] = a[i][k] / a[k][k];
            for (std::size_t j = k + 1; j < n; ++j) a[i][j] -= a[i][k] * a[k][j];
            b[i] -= a[i][k] * b[k];
        }
    for (std::size_t i = n; i-- > 0;) {
        for (std::size_t j = i + 1; j < n; ++j) b[i] -= a[i][j] * b[j];
        b[i] = b[i] / a[i][i];
    }
}

/// y after a step h: y − y₀ − h f(y) = 0.
template <class Number, class Time> void implicit_step(Reactor<Number>& r, const Time& h)
{
    const Number before[3] = {r.y[0], r.y[1], r.y[2]};
    for (int it = 0; it < Robertson::most_iterations; ++it) {
        const Number slow = r.k[0] * r.y[0], fast = r.k[1] * r.y[1] * r.y[1], back = r.k[2] * r.y[1] * r.y[2];
        Number change[3] = {before[0] - r.y[0] + h * (back - slow),
                            before[1] - r.y[1] + h * (slow - back - fast), before[2] - r.y[2] + h * fast};
        const Number by_second = 2.0 * r.k[1] * r.y[1];
        Number jacobian[3][3] = {{1.0 + h * r.k[0], -h * r.k[2] * r.y[2], -h * r.k[2] * r.y[1]},
                                 {-h * r.k[0], 1.0 + h * (r.k[2] * r.y[2] + by_second), h * r.k[2] * r.y[1]},
                                 {Number(0.0), -h * by_second, Number(1.0)}};
        solve_in_place(jacobian, change);
        for (std::size_t i = 0; i < 3; ++i) r.y[i] += change[i];
        const Number size = change[0] * change[0] + change[1] * change[1] + change[2] * change[2];
        if (size < Robertson::tolerance * Robertson::tolerance) break;
    }
}

/// The rates at a temperature, and the composition at first.
template <class Number> Reactor<Number> reactor_at(const Number& temperature, const Number& first)
{
    using std::exp;
    Reactor<Number> r;
    for (std::size_t i = 0; i < 3; ++i)
        r.k[i] = Robertson::rate[i] * exp(Robertson::activation[i] * (1.0 - 1.0 / temperature));
    r.y[0] = first, r.y[1] = 0.0, r.y[2] = 1.0 - first;
    return r;
}

/// What a reactor has made after steps that grow from 1e-4.
template <class Number> Number burned(const Number& temperature, const Number& first, int steps)
{
    Reactor<Number> r = reactor_at(temperature, first);
    double h = 1e-4;
    for (int s = 0; s < steps; ++s, h *= 1.4) implicit_step(r, h);
    return r.y[2] + 1e3 * r.y[1];
}

/// Of temperatures and compositions, one after another, the sum.
template <class Number> Number burn_all(const std::vector<Number>& x, int steps)
{
    const std::size_t n = x.size() / 2;
    Number sum = 0.0;
    for (std::size_t i = 0; i < n; ++i) sum += burned(x[i], x[n + i], steps);
    return sum;
}

inline std::vector<double> reactors(std::size_t n)
{
    std::vector<double> x(2 * n);
    for (std::size_t i = 0; i < n; ++i) {
        x[i] = 1.0 + 0.2 * std::sin(0.9 * static_cast<double>(i));
        x[n + i] = 0.9 + 0.1 * std::cos(1.3 * static_cast<double>(i));
    }
    return x;
}

}  // namespace bench
