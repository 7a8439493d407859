#pragma once

// The scalar codes of wengert_scalar_codes, each written once for double and for wengert's numbers.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "../examples/bundle_adjustment/residual.hpp"
#include "../examples/hydro/lagrange.hpp"

namespace bench {

using ::kinetic_energy, ::of_block, ::residual;  // of the examples

inline constexpr double chain_operations = 8000;

/// 8 operations a round: three quarters + - *, one eighth /, one eighth sqrt.
template <int rounds, class Number> Number chain(Number x, const Number& y)
{
    using std::sqrt;
    for (int i = 0; i < rounds; ++i) {
        const Number a = x * y, b = a + x, c = b - y, d = c * 0.5, e = d / y, f = e + 1.0;
        x = sqrt(f * x);
    }
    return x;
}
template <class Number> Number chain_of_functions(Number x, const Number& y)
{
    using std::cos, std::exp, std::log, std::sin, std::tanh, std::pow, std::atan2;
    for (int i = 0; i < 1000; ++i) {
        const Number a = sin(x), b = exp(a), c = log(b + y), d = tanh(c);
        x = atan2(pow(d, 1.5), cos(a));
    }
    return x;
}

// ---- one-dimensional Lagrangian hydrodynamics: examples/hydro/lagrange.hpp

inline std::vector<double> shock_tube(std::size_t n)
{
    std::vector<double> energy(n);
    for (std::size_t i = 0; i < n; ++i)
        energy[i] = (i < n / 2 ? 2.5 : 2.0) + 0.02 * std::sin(0.7 * static_cast<double>(i));
    return energy;
}

/// The last loop of step() for one cell, from its width, the velocities of its nodes, its state and its mass.
template <class Number>
std::array<Number, 4> updated_cell(const Number& width, const Number& left, const Number& right,
                                   const Number& rho, const Number& e, const Number& p, const Number& mass)
{
    using std::sqrt;
    const Number du = right - left, before = 1.0 / rho, density = mass / width;
    Number q = 0.0 * du;
    if (du < 0.0) q = density * (2.0 * du * du - 0.3 * du * sqrt(heat_ratio * p / density));
    const Number energy = e - (p + q) * (1.0 / density - before);
    return {density, q, energy, pressure(density, energy)};
}

inline std::array<std::vector<double>, 7> cells(std::size_t n)
{
    std::array<std::vector<double>, 7> x;
    for (std::size_t i = 0; i < n; ++i) {
        const auto s = static_cast<double>(i);
        const double now[] = {1.0 + 0.1 * std::sin(s),
                              std::cos(0.7 * s),
                              std::cos(0.7 * s + 0.7),
                              1.0,
                              2.5 + std::sin(s),
                              1.0,
                              1.0};
        for (std::size_t k = 0; k < 7; ++k) x[k].push_back(now[k]);
    }
    return x;
}

// ---- Burgers' equation in two dimensions, upwind

inline constexpr std::size_t grid = 256;

inline std::vector<double> wave()
{
    std::vector<double> u(grid * grid);
    for (std::size_t i = 0; i < grid; ++i)
        for (std::size_t j = 0; j < grid; ++j)
            u[i * grid + j] = 0.5 + 0.25 * std::sin(0.02 * static_cast<double>(i * j % 700));
    return u;
}

template <class Number> std::vector<Number> burgers_step(const std::vector<Number>& u)
{
    constexpr double dx = 1.0 / grid, dt = 0.2 * dx, nu = 0.2 * dx;
    std::vector<Number> next = u;
    for (std::size_t i = 1; i + 1 < grid; ++i)
        for (std::size_t j = 1; j + 1 < grid; ++j) {
            const Number &c = u[i * grid + j], before = u[(i - 1) * grid + j] + u[i * grid + j - 1];
            const Number around = before + u[(i + 1) * grid + j] + u[i * grid + j + 1];
            next[i * grid + j] =
                c + (dt * nu / (dx * dx)) * (around - 4.0 * c) - (dt / dx) * c * (2.0 * c - before);
        }
    return next;
}

// ---- Heston's model

/// Spot, variance, reversion, long-run variance, volatility of the variance: what is differentiated by.
inline constexpr std::array<double, 5> market = {100.0, 0.04, 2.0, 0.05, 0.3};
inline constexpr double correlation = -0.6, rate = 0.03, strike = 105.0;

/// Euler's step with full truncation of log price x and variance v.
template <class Number, class... More>
auto heston_step(const Number& x, const Number& v, const Number& z1, const Number& z2,
                 const Number& reversion, const Number& mean, const Number& spread, const Number& rho,
                 const Number& r, const Number& dt)
{
    using std::sqrt;
    Number positive = 0.0 * v, root = 0.0 * v;
    if (v > 0.0) {
        positive = v;
        root = sqrt(v * dt);
    }
    const Number z = rho * z1 + sqrt(1.0 - rho * rho) * z2;
    return std::array<Number, 2>{x + (r - 0.5 * positive) * dt + root * z1,
                                 v + reversion * (mean - positive) * dt + spread * root * z};
}

/// The discounted payoff of paths whose normals lie together.
inline double heston_by_path(const std::vector<double>& z, std::size_t paths, std::size_t steps)
{
    const auto [spot, variance, reversion, mean, spread] = market;
    const double dt = 1.0 / static_cast<double>(steps);
    double sum = 0;
    for (std::size_t p = 0; p < paths; ++p) {
        double x = std::log(spot), v = variance;
        const double* q = z.data() + p * steps * 2;
        for (std::size_t s = 0; s < steps; ++s, q += 2) {
            const auto next = heston_step(x, v, q[0], q[1], reversion, mean, spread, correlation, rate, dt);
            x = next[0], v = next[1];
        }
        sum += std::max(std::exp(x) - strike, 0.0);
    }
    return std::exp(-rate) * sum / static_cast<double>(paths);
}
/// The same with the step outside of the paths of a block, which compilers vectorize.
inline double heston_by_step(const std::vector<double>& z, std::size_t blocks, std::size_t paths,
                             std::size_t steps)
{
    const auto [spot, variance, reversion, mean, spread] = market;
    const double dt = 1.0 / static_cast<double>(steps);
    std::vector<double> x(paths), v(paths);
    double sum = 0;
    for (std::size_t b = 0; b < blocks; ++b) {
        std::fill(x.begin(), x.end(), std::log(spot)), std::fill(v.begin(), v.end(), variance);
        for (std::size_t s = 0; s < steps; ++s) {
            const double *z1 = z.data() + (b * steps + s) * 2 * paths, *z2 = z1 + paths;
            for (std::size_t p = 0; p < paths; ++p) {
                const auto next =
                    heston_step(x[p], v[p], z1[p], z2[p], reversion, mean, spread, correlation, rate, dt);
                x[p] = next[0], v[p] = next[1];
            }
        }
        for (std::size_t p = 0; p < paths; ++p) sum += std::max(std::exp(x[p]) - strike, 0.0);
    }
    return std::exp(-rate) * sum / static_cast<double>(blocks * paths);
}

// ---- bundle adjustment: examples/bundle_adjustment/residual.hpp

/// A problem of some size with numbers near those of ADBench's files.
struct Bundle {
    std::size_t cameras, points, observations;
    std::vector<double> x;  ///< cameras, points, weights: the unknowns
    std::array<std::vector<double>, 2> seen;

    Bundle(std::size_t c, std::size_t p, std::size_t o)
        : cameras(c), points(p), observations(o), x(of_camera * c + of_point * p + o)
    {
        constexpr double one[] = {0.0157,          -0.0128, -0.0044, -0.0341, -0.1075,
                                  1.1202,          399.75,  -3.17,   1.28,    -0.0000003177,
                                  0.0000000000588, -0.6120, 0.5718,  -1.8471, 1.0};
        for (std::size_t k = 0; k < observations; ++k) {
            for (std::size_t j = 0; j < of_block; ++j)
                x[place(k, j)] = one[j] * (1.0 + 0.05 * std::sin(0.37 * static_cast<double>(place(k, j))));
            const double shift = std::cos(static_cast<double>(k));
            seen[0].push_back(-332.65 + shift), seen[1].push_back(262.09 - shift);
        }
    }
    /// Place of the j-th unknown of observation k.
    std::size_t place(std::size_t k, std::size_t j) const
    {
        if (j < of_camera) return of_camera * (k % cameras) + j;
        if (j < of_camera + of_point) return of_camera * cameras + of_point * (k % points) + j - of_camera;
        return of_camera * cameras + of_point * points + k;
    }
    /// Two residuals of each observation, then 1 − w² of each.
    void objective(std::vector<double>& r) const
    {
        for (std::size_t k = 0; k < observations; ++k) {
            std::array<double, of_block> q;
            for (std::size_t j = 0; j < of_block; ++j) q[j] = x[place(k, j)];
            const auto e = residual(q, seen[0][k], seen[1][k]);
            r[2 * k] = e[0], r[2 * k + 1] = e[1], r[2 * observations + k] = 1.0 - q[14] * q[14];
        }
    }
};

}  // namespace bench
