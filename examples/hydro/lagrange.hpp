// A one-dimensional Lagrangian hydrodynamics code, as somebody would have written it for double: staggered grid, artificial
// viscosity (von Neumann & Richtmyer 1950), time step by Courant's condition. To differentiate it, `double` became `Number`.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

template <class Number> struct Tube {
    std::vector<Number> x, u;          // of nodes: position, velocity
    std::vector<Number> rho, e, p, q;  // of cells: density, specific energy, pressure, viscosity
    std::vector<double> mass;
};

constexpr double heat_ratio = 1.4;

template <class Number> Number pressure(const Number& rho, const Number& e)
{
    return (heat_ratio - 1) * rho * e;
}

template <class Number> Tube<Number> sod(const std::vector<Number>& energy)
{
    const std::size_t n = energy.size();
    Tube<Number> t{std::vector<Number>(n + 1), std::vector<Number>(n + 1), std::vector<Number>(n), energy,
                   std::vector<Number>(n),     std::vector<Number>(n),     std::vector<double>(n)};
    for (std::size_t i = 0; i <= n; ++i) t.x[i] = static_cast<double>(i) / static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i) {
        t.rho[i] = i < n / 2 ? 1.0 : 0.125;
        t.mass[i] = (i < n / 2 ? 1.0 : 0.125) / static_cast<double>(n);
        t.p[i] = pressure(t.rho[i], t.e[i]);
    }
    return t;
}

template <class Number> Number courant_step(const Tube<Number>& t)
{
    using std::sqrt;
    Number dt = 1.0;
    for (std::size_t i = 0; i < t.e.size(); ++i) {
        const Number sound = sqrt(heat_ratio * t.p[i] / t.rho[i]);
        const Number limit = 0.4 * (t.x[i + 1] - t.x[i]) / sound;
        if (limit < dt) dt = limit;
    }
    return dt;
}

/// Nodes go where their velocity takes them; the cells between them follow.
template <class Number> void move(Tube<Number>& t, const Number& dt)
{
    using std::sqrt;
    const std::size_t n = t.e.size();
    for (std::size_t i = 0; i <= n; ++i) t.x[i] += dt * t.u[i];
    for (std::size_t i = 0; i < n; ++i) {
        const Number du = t.u[i + 1] - t.u[i], before = 1.0 / t.rho[i];
        t.rho[i] = t.mass[i] / (t.x[i + 1] - t.x[i]);
        t.q[i] = 0.0;
        if (du < 0.0) t.q[i] = t.rho[i] * (2.0 * du * du - 0.3 * du * sqrt(heat_ratio * t.p[i] / t.rho[i]));
        t.e[i] -= (t.p[i] + t.q[i]) * (1.0 / t.rho[i] - before);
        t.p[i] = pressure(t.rho[i], t.e[i]);
    }
}

template <class Number> void step(Tube<Number>& t)
{
    const std::size_t n = t.e.size();
    const Number dt = courant_step(t);
    for (std::size_t i = 1; i < n; ++i)
        t.u[i] -= dt * (t.p[i] + t.q[i] - t.p[i - 1] - t.q[i - 1]) / (0.5 * (t.mass[i] + t.mass[i - 1]));
    move(t, dt);
}

template <class Number> Number kinetic_energy(const std::vector<Number>& energy, int steps)
{
    Tube<Number> t = sod(energy);
    for (int s = 0; s < steps; ++s) step(t);
    Number total = 0.0;
    for (std::size_t i = 1; i < t.e.size(); ++i)
        total += 0.25 * (t.mass[i] + t.mass[i - 1]) * t.u[i] * t.u[i];
    return total;
}
