// Where was the heat? A plate is seen, with noise, 100 time steps after it was heated at two places; gradient descent
// through all of those steps finds the initial field.
//   heat_inverse [FOLDER_FOR_THE_PLOT]

#include <wengert/wengert.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>

#include "../adam.hpp"
#include "../plot.hpp"

namespace wg = wengert;
using Field = wg::Tensor<double>;
using wg::range;
using wg::placeholders::_;

constexpr std::size_t n = 48;  // cells along each side
constexpr int steps = 100;
constexpr double diffusion = 0.1;  // κ Δt / Δx², below 1/4 for stability
constexpr double noise =
    0.005;  // standard deviation of the observation's error, where the hottest spot had 1
constexpr double smoothing = 10;  // weight of steepness in the cost
constexpr int iterations = 300;

/// 100 explicit steps of ∂u/∂t = κ ∇²u with u = 0 along the edge.
Field later(Field u)
{
    const auto inner = range(1, -1), before = range(_, -2), after = range(2, _);
    for (int s = 0; s < steps; ++s) {
        const Field around =
            view(u, before, inner) + view(u, after, inner) + view(u, inner, before) + view(u, inner, after);
        view(u, inner, inner) += diffusion * (around - 4 * view(u, inner, inner));
    }
    return u;
}

/// A Gaussian spot of height h and width w around (row, column).
Field spot(double row, double column, double h, double w)
{
    const Field at = wg::arange<double>(n);
    const Field down = reshape(square((at - row) / w), {n, 1}), across = square((at - column) / w);
    return h * exp(-0.5 * (down + across));
}

/// No field is below zero, and that is what makes the problem solvable: heat = softplus(θ) for any θ.
Field heat_of(const Field& theta) { return softplus(theta); }

/// ½ Σ (predicted − observed)² / noise² plus a little for steepness; the first term is about n²/2 at the truth.
Field cost(const Field& theta, const Field& observed)
{
    const Field u = heat_of(theta);
    const Field misfit = (later(u) - observed) / noise;
    const Field down = view(u, range(1, _), wg::all()) - view(u, range(_, -1), wg::all());
    const Field across = view(u, wg::all(), range(1, _)) - view(u, wg::all(), range(_, -1));
    return 0.5 * sum(square(misfit)) + smoothing * (sum(square(down)) + sum(square(across)));
}

double rms(const Field& x) { return std::sqrt(mean(square(x)).item()); }

/// Reverse mode through the 100 steps against a central difference along a random direction: the relative difference.
double gradient_error(const Field& theta, const Field& observed)
{
    constexpr double h = 1e-4;
    const Field d = wg::normal<double>(wg::Key(3), {n, n});
    const Field g = wg::grad(cost)(theta, observed);
    const double slope = sum(g * d).item();
    const double difference =
        (cost(theta + h * d, observed) - cost(theta - h * d, observed)).item() / (2 * h);
    std::printf("gradient along a random direction: %.8g, by central difference: %.8g\n", slope, difference);
    return std::abs(slope / difference - 1);
}

/// Seconds of the quickest of ten calls.
template <class F> double seconds_of(const F& f)
{
    double best = 1e9;
    for (int i = 0; i < 10; ++i) {
        const auto start = std::chrono::steady_clock::now();
        f();
        best =
            std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return best;
}

/// Value and gradient frozen: one trace through all 100 steps, whose stencils then run as fused loops. To the bit what the
/// tape gives.
bool frozen_is_the_same(const Field& theta, const Field& observed)
{
    const auto eager = wg::value_and_grad(cost);
    const auto frozen = wg::freeze(eager);
    frozen(theta, observed);
    const auto [value, g] = frozen(theta + 0.5, observed);
    const auto [value0, g0] = eager(theta + 0.5, observed);
    const double apart = seconds_of([&] { eager(theta, observed); });
    const double together = seconds_of([&] { frozen(theta, observed); });
    std::printf("value and gradient: %.2f ms, frozen %.2f ms, %zu operations in %zu kernels\n", 1e3 * apart,
                1e3 * together, frozen.stats().recorded_ops, frozen.stats().kernels);
    return allclose(value, value0, 0.0) && allclose(g, g0, 0.0) && frozen.stats().traces == 1;
}

Field recover(const Field& observed)
{
    Field theta = wg::full<double>({n, n}, -3.0);
    Adam adam(theta);
    const auto value_and_gradient = wg::freeze(wg::value_and_grad(cost));
    for (int i = 0; i < iterations; ++i) {
        const auto [value, g] = value_and_gradient(theta, observed);
        adam.step(theta, g, 0.1);
        if (i % 20 == 0 || i + 1 == iterations) {
            std::printf("iteration %3d of %d   cost %10.1f   misfit / noise %7.3f\n", i, iterations,
                        value.item(), rms(later(heat_of(theta)) - observed) / noise);
            std::fflush(stdout);
        }
    }
    return heat_of(theta);
}

void draw(const std::filesystem::path& folder, const Field& truth, const Field& observed, const Field& found)
{
    Plot plot(folder, "heat_inverse", 1100, 700);
    const auto hottest = [](const Field& u) { return amax(u, {0}); };
    plot.data("profiles", wg::stack({hottest(truth), hottest(observed), hottest(found)}, 1));
    plot.script << "set multiplot; set palette rgb 34,35,36; set cbrange [0:1]; set xrange [-0.5:" << n
                << "-0.5]; set yrange [-0.5:" << n
                << "-0.5]; set size ratio 1; set xtics 10 out nomirror; set ytics 10 out nomirror\n";
    const std::vector<std::pair<const char*, const Field*>> maps = {
        {"true, step 0", &truth}, {"observed, step 100", &observed}, {"recovered, step 0", &found}};
    for (std::size_t i = 0; i < maps.size(); ++i) {
        const std::string name = "map" + std::to_string(i);
        plot.data(name, *maps[i].second);
        plot.script << "set size 0.36,0.56; set origin " << 0.32 * double(i) << ",0.44; set title '"
                    << maps[i].first << "'\nplot $" << name << " matrix with image notitle\n";
    }
    plot.script
        << "set size noratio 0.98,0.42; set origin 0.01,0.01; set yrange [-0.02:1.1]; set ytics 0.2; set "
           "grid\n"
           "set title 'hottest cell of each column'; set xlabel 'column'\n"
           "plot $profiles using 0:1 with lines lw 3 lc 'gray' title 'true',"
           " '' using 0:2 with lines lw 2 title 'observed', '' using 0:3 with lines lw 2 title 'recovered'\n";
    plot.show();
}

int main(int argc, char** argv)
{
    const auto start = std::chrono::steady_clock::now();
    const Field truth = spot(17, 15, 1.0, 3.0) + spot(30, 29, 0.8, 4.0);
    const Field observed = later(truth) + noise * wg::normal<double>(wg::Key(7), {n, n});

    const double wrong = gradient_error(wg::full<double>({n, n}, -1.0), observed);
    const bool same = frozen_is_the_same(wg::full<double>({n, n}, -1.0), observed);
    const Field found = recover(observed);

    const double before = rms(observed - truth) / rms(truth), after = rms(found - truth) / rms(truth);
    const double misfit = rms(later(found) - observed) / noise;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("relative error of the observation as an answer %.3f, of the recovered field %.3f; misfit "
                "%.3f of the "
                "noise; %.1f s\n",
                before, after, misfit, seconds);
    const bool good = same && wrong < 1e-6 && after < 0.15 && misfit > 0.9 && misfit < 1.1;
    std::printf("%s (error below 0.15, misfit within a tenth of the noise, gradient right to 1e-6, frozen as "
                "eager)\n",
                good ? "good" : "not good");
    std::fflush(stdout);
    draw(argc > 1 ? argv[1] : ".", truth, observed, found);
    return good ? 0 : 1;
}
