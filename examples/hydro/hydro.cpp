// A one-dimensional Lagrangian hydrodynamics code, as somebody would have written it for double: staggered grid, artificial
// viscosity (von Neumann & Richtmyer 1950), time step by Courant's condition. To differentiate it, `double` became `Number`.
//
// Asked here: how does the kinetic energy of Sod's shock tube after some time depend on the energy of every cell at its
// beginning? The gradient is compared with differences, and its cost with that of the plain code.
#include <wengert/scalar.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

namespace wg = wengert;

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

template <class Number> void step(Tube<Number>& t)
{
    using std::sqrt;
    const std::size_t n = t.e.size();
    const Number dt = courant_step(t);
    for (std::size_t i = 1; i < n; ++i)
        t.u[i] -= dt * (t.p[i] + t.q[i] - t.p[i - 1] - t.q[i - 1]) / (0.5 * (t.mass[i] + t.mass[i - 1]));
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

template <class Number> Number kinetic_energy(const std::vector<Number>& energy, int steps)
{
    Tube<Number> t = sod(energy);
    for (int s = 0; s < steps; ++s) step(t);
    Number total = 0.0;
    for (std::size_t i = 1; i < t.e.size(); ++i)
        total += 0.25 * (t.mass[i] + t.mass[i - 1]) * t.u[i] * t.u[i];
    return total;
}

template <class F> double milliseconds(const F& f)
{
    double best = 1e30;
    for (int i = 0; i < 5; ++i) {
        const auto start = std::chrono::steady_clock::now();
        f();
        best = std::min(
            best,
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    }
    return best;
}

int main()
{
    using R = wg::Real<double>;
    const std::size_t n = 100;
    const int steps = 80;
    std::vector<double> energy(n);
    for (std::size_t i = 0; i < n; ++i)
        energy[i] = (i < n / 2 ? 2.5 : 2.0) +
                    0.02 * std::sin(0.7 * static_cast<double>(i));  // no ties in courant_step

    const auto f = [&](const std::vector<R>& e) { return kinetic_energy(e, steps); };
    const std::vector<R> e0(energy.begin(), energy.end());
    const auto [value, gradient] = wg::value_and_grad(f)(e0);
    std::printf("kinetic energy %.6f after %d steps of %zu cells\n", value.value(), steps, n);

    double worst = 0;
    for (std::size_t i : {std::size_t{5}, n / 2 - 8, n / 2 - 1, n / 2, n / 2 + 4}) {
        auto plus = energy, minus = energy;
        plus[i] += 1e-6, minus[i] -= 1e-6;
        const double difference = (kinetic_energy(plus, steps) - kinetic_energy(minus, steps)) / 2e-6;
        std::printf("  cell %3zu: gradient % .8f, difference % .8f\n", i, gradient[i].value(), difference);
        worst = std::max(worst, std::abs(gradient[i].value() - difference));
    }
    const double plain = milliseconds([&] { static_cast<void>(kinetic_energy(energy, steps)); });
    const double reverse = milliseconds([&] { static_cast<void>(wg::grad(f)(e0)); });
    std::printf("plain %.3f ms, gradient %.3f ms, %.1f times\n", plain, reverse, reverse / plain);
    const double own = kinetic_energy(energy, steps);  // its products and sums may be contracted
    if (!(std::abs(value.value() - own) < 1e-12 * own) || !(worst < 1e-7)) {
        std::printf("the gradient is wrong\n");
        return 1;
    }
    return 0;
}
