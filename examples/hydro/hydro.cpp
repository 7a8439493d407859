// The gradient of a hydrodynamics code that was written for double (lagrange.hpp): how does the kinetic energy of Sod's shock tube after some time depend on the energy of every cell at its
// beginning? The gradient is compared with differences, and its cost with that of the plain code.
#include "lagrange.hpp"

#include <wengert/scalar.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

namespace wg = wengert;

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
