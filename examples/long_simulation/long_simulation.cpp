// A long simulation and its gradient in little memory: which part of the initial field, and how much viscosity, would have
// changed the energy that is left at the end? 256 × 256 cells of the viscous Burgers equation
//     u_t + c u (u_x + u_y) = ν ∇²u
// with upwind differences, the five-point Laplacian and explicit Euler steps; the binomial schedule keeps 20 states.
//   long_simulation [STEPS [FOLDER_FOR_THE_PLOT]]        10000 steps are the full size, 1000 take a few seconds

#include <wengert/wengert.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "../plot.hpp"

namespace wg = wengert;
using Field = wg::Tensor<double>;
using wg::range;

constexpr std::int64_t n = 256;
constexpr double dx = 1.0 / n, dt = 1e-4,
                 speed = 2.0;  // dt · c · u / dx ≤ 0.06 and 4 ν dt / dx² ≤ 0.03: stable
constexpr std::uint64_t snapshots = 20;

/// One step; the edge keeps its values. u ≥ 0, so the upwind neighbours lie at smaller indices.
Field burgers(const Field& u, const Field& viscosity)
{
    const auto inner = range(1, n - 1), before = range(0, n - 2), after = range(2, n);
    const Field here = view(u, inner, inner), north = view(u, before, inner), west = view(u, inner, before);
    const Field around = north + west + view(u, after, inner) + view(u, inner, after);
    const Field advection = here * (2.0 * here - north - west) * (speed / dx);
    const Field diffusion = viscosity * ((around - 4.0 * here) * (1 / (dx * dx)));
    Field next = u;
    view(next, inner, inner) += dt * (diffusion - advection);
    return next;
}

double energy_cells(const Field& u) { return sum(u * u).item() * dx * dx; }

Field initial()
{
    const Field x = (wg::arange<double>(n) + 0.5) * dx;
    const auto bump = [&](double row, double column, double width) {
        const Field down = reshape(square((x - row) / width), {n, 1}), across = square((x - column) / width);
        return exp(-(down + across));
    };
    return 0.6 * bump(0.3, 0.3, 0.12) + 0.4 * bump(0.55, 0.3, 0.08);
}

struct Result {
    double loss = 0, viscosity_gradient = 0;
    Field sensitivity;
    wg::LoopReport report;
    double megabytes = 0, seconds = 0;
};

/// Value and gradient of the final energy. The step is a frozen graph, made at its first call.
Result differentiate(const Field& u0, double nu, std::uint64_t steps)
{
    Result r;
    auto step = wg::freeze(burgers);
    std::uint64_t made = 0;
    const auto loss = [&](const Field& u, const Field& viscosity) {
        const auto advance = [&, viscosity](const Field& now, std::uint64_t i) {
            if (++made % 2000 == 0)
                std::printf("\r  step %6llu, %llu made ", (unsigned long long)i, (unsigned long long)made),
                    std::fflush(stdout);
            return step(now, viscosity);
        };
        const Field end =
            wg::checkpoint_loop(advance, u, {.steps = steps, .snapshots = snapshots, .report = &r.report});
        return sum(end * end) * (dx * dx);
    };
    const auto before = wg::memory::stats().current_bytes;
    wg::memory::reset_peak();
    const auto start = std::chrono::steady_clock::now();
    auto [value, gradient] = wg::value_and_grad<0, 1>(loss)(u0, Field(nu));
    r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    r.megabytes = static_cast<double>(wg::memory::stats().peak_bytes - before) / 1e6;
    r.loss = value.item();
    r.sensitivity = std::get<0>(gradient);
    r.viscosity_gradient = std::get<1>(gradient).item();
    std::printf("\r%40s\r", "");
    return r;
}

double final_energy(Field u, double nu, std::uint64_t steps)
{
    auto step = wg::freeze(burgers);
    const Field viscosity(nu);
    for (std::uint64_t i = 0; i < steps; ++i) u = step(u, viscosity);
    return energy_cells(u);
}

void draw(const std::filesystem::path& folder, const Field& u0, const Field& sensitivity)
{
    Plot plot(folder, "long_simulation", 1100, 520);
    plot.data("field", u0);
    plot.data("sensitivity", sensitivity / (dx * dx));
    plot.script << "set multiplot layout 1,2; set palette rgb 33,13,10; set size ratio 1; set xrange [-0.5:"
                << n - 0.5 << "]; set yrange [-0.5:" << n - 0.5
                << "]\nset title 'initial field'\nplot $field matrix with image notitle\n"
                << "set title 'derivative of the final energy (per area)'\nplot $sensitivity matrix with "
                   "image notitle\n";
    plot.show();
}

int main(int argc, char** argv)
{
    const std::uint64_t steps = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
    const double nu = 0.0012;
    const Field u0 = initial();
    std::printf("Burgers, %lld x %lld cells, %llu steps, %llu states of %.2f MB kept\n", (long long)n,
                (long long)n, (unsigned long long)steps, (unsigned long long)snapshots,
                static_cast<double>(u0.size()) * 8 / 1e6);
    const Result r = differentiate(u0, nu, steps);
    const auto ideal = wg::revolve::forward_steps(steps, snapshots);
    std::printf("schedule: %llu forward steps planned and %llu made (optimum %llu, %.2f for each step), %llu "
                "recorded\n",
                (unsigned long long)r.report.planned, (unsigned long long)r.report.forward,
                (unsigned long long)ideal, static_cast<double>(ideal) / static_cast<double>(steps),
                (unsigned long long)r.report.recorded);
    std::printf("peak %.1f MB (the whole tape: about %.0f MB); %.1f s\n", r.megabytes,
                3.0 * static_cast<double>(steps) * static_cast<double>(u0.size()) * 8 / 1e6, r.seconds);

    const Field direction = wg::normal<double>(wg::Key(5), {n, n}) * u0;
    const double h = 1e-4, slope = sum(r.sensitivity * direction).item();
    const double measured =
        (final_energy(u0 + h * direction, nu, steps) - final_energy(u0 - h * direction, nu, steps)) / (2 * h);
    const double hn = 1e-7,
                 by_nu = (final_energy(u0, nu + hn, steps) - final_energy(u0, nu - hn, steps)) / (2 * hn);
    std::printf("along a random direction: gradient %.9g, central difference %.9g\n", slope, measured);
    std::printf("with respect to viscosity: gradient %.9g, central difference %.9g\n", r.viscosity_gradient,
                by_nu);
    const bool good = std::abs(slope / measured - 1) < 1e-5 &&
                      std::abs(r.viscosity_gradient / by_nu - 1) < 1e-5 && r.report.forward == ideal &&
                      r.megabytes < 64;
    std::printf("%s (gradients right to 1e-5, as many forward steps as the optimum, less than 64 MB)\n",
                good ? "good" : "not good");
    std::fflush(stdout);
    draw(argc > 2 ? argv[2] : ".", u0, r.sensitivity);
    return good ? 0 : 1;
}
