// A trend and a rhythm in noisy measurements: a Gaussian process whose six parameters are found by the gradient of the marginal
// likelihood (Rasmussen & Williams 2006, sections 2.3 and 5.4), and what it says where nothing was measured.
//   gaussian_process [FOLDER_FOR_THE_PLOT]

#include <wengert/linalg.hpp>
#include <wengert/wengert.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "../adam.hpp"
#include "../plot.hpp"

namespace wg = wengert;
namespace la = wengert::linalg;
using D = wg::Tensor<double>;

constexpr std::int64_t points = 120;
constexpr int iterations = 300;
constexpr double noise = 0.15, period = 1.3;

/// Logarithms: of sizes and lengths of the trend and of the rhythm, of its period, of the noise.
struct Parameters {
    D trend = D(0.0), trend_length = D(0.7), rhythm = D(0.0), rhythm_length = D(0.0),
      period = D(std::log(1.2)), noise = D(-1.0);
};

D truth(const D& x) { return 0.6 * sin(0.5 * x) + 0.08 * x + 0.5 * sin(2 * std::numbers::pi / period * x); }

/// The covariance of the function's values at a with those at b: squared exponential, and periodic.
D covariance(const Parameters& p, const D& a, const D& b)
{
    const D apart = expand_dims(a, 1) - b;
    const D slow = exp(2.0 * p.trend - 0.5 * square(apart / exp(p.trend_length)));
    const D turn = sin(std::numbers::pi * apart / exp(p.period)) / exp(p.rhythm_length);
    return slow + exp(2.0 * p.rhythm - 2.0 * square(turn));
}

/// The Cholesky factor of the measurements' covariance.
D factor(const Parameters& p, const D& x)
{
    return la::cholesky(covariance(p, x, x) + exp(2.0 * p.noise) * wg::eye<double>(points));
}

/// −ln of the likelihood of y at x, by measurement.
D loss(const Parameters& p, const D& x, const D& y)
{
    const D l = factor(p, x);
    const D misfit = 0.5 * sum(y * la::cho_solve(l, y)), volume = sum(log(diagonal(l)));
    return (misfit + volume) / double(points) + 0.5 * std::log(2 * std::numbers::pi);
}

Parameters fit(const D& x, const D& y)
{
    Parameters p;
    Adam adam(p);
    const auto value_and_gradient = wg::freeze([&](const Parameters& q) {
        return wg::value_and_grad([&](const Parameters& r) { return loss(r, x, y); })(q);
    });
    for (int i = 0; i < iterations; ++i) {
        const auto [value, g] = value_and_gradient(p);
        adam.step(p, g, 0.05);
        if (i % 30 == 0 || i + 1 == iterations) {
            std::printf("iteration %3d of %d   -ln likelihood %8.4f   period %.4f   noise %.4f\n", i,
                        iterations, value.item(), exp(p.period).item(), exp(p.noise).item());
            std::fflush(stdout);
        }
    }
    return p;
}

/// Mean and standard deviation of the function at these places, given y at x.
std::pair<D, D> predict(const Parameters& p, const D& x, const D& y, const D& places)
{
    const D l = factor(p, x), k = covariance(p, x, places);
    const D known = la::solve_triangular(l, k, {.lower = true});
    const D variance = exp(2.0 * p.trend) + exp(2.0 * p.rhythm) - sum(square(known), 0);
    return {matmul(transpose(k), la::cho_solve(l, y)), sqrt(maximum(variance, 0.0))};
}

void draw(const std::filesystem::path& folder, const D& x, const D& y, const D& places, const D& mean,
          const D& spread)
{
    Plot plot(folder, "gaussian_process", 1100, 480);
    plot.data("measured", wg::stack({x, y}, 1));
    plot.data("curve", wg::stack({places, mean, mean - 2.0 * spread, mean + 2.0 * spread, truth(places)}, 1));
    plot.script
        << "set title 'Gaussian process: a trend and a rhythm, found by the gradient of the likelihood'\n"
           "set key horizontal center bmargin; set grid lc 'gray90'; set xrange [0:13]; set border 3\n"
           "set tics nomirror; set style fill solid 0.25 noborder\n"
           "plot $curve using 1:3:4 with filledcurves lc '#1f77b4' title 'mean ± 2 deviations',"
           " '' using 1:5 with lines lw 2 dt 2 lc 'gray40' title 'truth',"
           " '' using 1:2 with lines lw 2.5 lc '#1f77b4' title 'mean',"
           " $measured with points pt 7 ps 0.6 lc '#d62728' title 'measured'\n";
    plot.show();
}

int main(int argc, char** argv)
{
    const auto start = std::chrono::steady_clock::now();
    const D u = wg::uniform<double>(wg::Key(1), {points}, 0.0, 8.0);
    const D x = where(u > 4.0, u + 1.5, u);  // nothing is measured from 4 to 5.5, and from 9.5 on
    const D y = truth(x) + noise * wg::normal<double>(wg::Key(2), {points});
    const Parameters p = fit(x, y);

    const D places = wg::linspace<double>(0.0, 13.0, 400);
    const auto [mean, spread] = predict(p, x, y, places);
    const double inside = wg::mean(wg::cast<double>(abs(mean - truth(places)) < 2.0 * spread)).item();
    const double period_found = exp(p.period).item(), noise_found = exp(p.noise).item();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("period %.3f (true: %.3f), noise %.3f (true: %.3f), truth within the band at %.0f %% of all "
                "places; %.1f s\n",
                period_found, period, noise_found, noise, 100 * inside, seconds);
    const bool good = std::abs(period_found / period - 1) < 0.01 && std::abs(noise_found / noise - 1) < 0.2 &&
                      inside > 0.85;
    std::printf("%s (period within 1 %%, noise within 20 %%, truth in the band at 85 %% of all places)\n",
                good ? "good" : "not good");
    std::fflush(stdout);
    draw(argc > 1 ? argv[1] : ".", x, y, places, mean, spread);
    return good ? 0 : 1;
}
