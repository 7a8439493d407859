// The price of a European call in Heston's model (1993) by simulation, and its derivatives by every parameter, path by path
// (Glasserman 2003, chapter 7): one step of one path is a scalar function, `kernel` does it for all paths at once.
//
// The price is compared with the closed form, at two lengths of step on the same Brownian paths, and the derivatives with differences
// of the closed form.
#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/elementwise/pairs.hpp>
#include <wengert/ops/random.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/scalar.hpp>

#include <array>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdio>
#include <numbers>
#include <vector>

namespace wg = wengert;
using D = wg::Tensor<double>;

constexpr std::size_t parameters = 7;
constexpr const char* names[parameters] = {
    "spot", "variance", "reversion", "long-run variance", "vol. of variance", "correlation", "rate"};
using Point = std::array<double, parameters>;
using Parameters = std::array<D, parameters>;
constexpr Point market = {100.0, 0.04, 2.0, 0.05, 0.3, -0.6, 0.03};
constexpr double strike = 105.0, maturity = 1.0;

/// Euler's step with full truncation (Lord, Koekkoek & van Dijk 2010) of log price x and variance v.
const auto heston_step = wg::kernel([](auto x, auto v, auto z1, auto z2, auto reversion, auto mean,
                                       auto spread, auto rho, auto rate, auto dt) {
    using std::sqrt;
    auto positive = 0.0 * v, root = 0.0 * v;
    if (v > 0.0) {
        positive = v;
        root = sqrt(v * dt);
    }
    const auto z = rho * z1 + sqrt(1.0 - rho * rho) * z2;
    return std::array{x + (rate - 0.5 * positive) * dt + root * z1,
                      v + reversion * (mean - positive) * dt + spread * root * z};
});

/// The mean discounted payoff of some paths; normals are two for each step and path.
D price(const Parameters& p, const std::vector<std::array<D, 2>>& normals)
{
    const auto& [spot, variance, reversion, mean, spread, rho, rate] = p;
    const D none = wg::zeros_like(normals[0][0]);
    const double dt = maturity / static_cast<double>(normals.size());
    D x = log(spot) + none, v = variance + none;
    for (const auto& [z1, z2] : normals) {
        const std::vector<D> next = heston_step(x, v, z1, z2, reversion, mean, spread, rho, rate, dt);
        x = next[0], v = next[1];
    }
    return exp(-maturity * rate) * wg::mean(maximum(exp(x) - strike, 0.0));
}

/// Heston's formula with the square root of Albrecher et al. (2007), which stays on one branch of the logarithm.
double closed_form(const Point& p)
{
    using C = std::complex<double>;
    const auto& [spot, variance, reversion, mean, spread, rho, rate] = p;
    const C i(0, 1);
    const auto phi = [&](C u) {
        const C b = reversion - rho * spread * i * u,
                d = std::sqrt(b * b + spread * spread * (i * u + u * u));
        const C g = (b - d) / (b + d), e = std::exp(-d * maturity);
        return std::exp(i * u * (std::log(spot) + rate * maturity) +
                        reversion * mean / (spread * spread) *
                            ((b - d) * maturity - 2.0 * std::log((1.0 - g * e) / (1.0 - g))) +
                        variance / (spread * spread) * (b - d) * (1.0 - e) / (1.0 - g * e));
    };
    const double forward = spot * std::exp(rate * maturity);
    const auto integrand = [&](double u) {
        const C at = std::exp(-i * u * std::log(strike)) / (i * u);
        return (at * (phi(u - i) - strike * phi(u))).real();
    };
    constexpr int n = 4000;  // Simpson
    constexpr double from = 1e-8, to = 120.0, h = (to - from) / n;
    double sum = integrand(from) + integrand(to);
    for (int k = 1; k < n; ++k) sum += (k % 2 ? 4.0 : 2.0) * integrand(from + k * h);
    return std::exp(-rate * maturity) * (0.5 * (forward - strike) + sum * h / 3.0 / std::numbers::pi);
}

struct Estimate {
    Point greeks{}, errors{};
    double price = 0, error = 0;
};

/// Averages over blocks of paths, and their standard errors.
class Blocks {
public:
    void add(const D& value, const Parameters& g)
    {
        Sample s{};
        s[0] = value.item();
        for (std::size_t k = 0; k < parameters; ++k) s[k + 1] = g[k].item();
        samples_.push_back(s);
    }
    Estimate estimate() const
    {
        Estimate e;
        const auto n = static_cast<double>(samples_.size());
        for (std::size_t k = 0; k <= parameters; ++k) {
            double mean = 0, square = 0;
            for (const Sample& s : samples_) mean += s[k] / n;
            for (const Sample& s : samples_) square += (s[k] - mean) * (s[k] - mean) / (n - 1);
            (k ? e.greeks[k - 1] : e.price) = mean;
            (k ? e.errors[k - 1] : e.error) = std::sqrt(square / n);
        }
        return e;
    }

private:
    using Sample = std::array<double, parameters + 1>;
    std::vector<Sample> samples_;
};

int main()
{
    constexpr std::size_t blocks = 50, paths = 2000;
    constexpr int steps = 64;
    Parameters p;
    for (std::size_t k = 0; k < parameters; ++k) p[k] = D(market[k]);
    Blocks coarse, fine;
    double seconds = 0;
    for (std::size_t b = 0; b < blocks; ++b) {
        std::vector<std::array<D, 2>> halves, whole;
        const wg::Key key = wg::fold_in(wg::Key(1), b);
        for (int s = 0; s < 2 * steps; ++s) {
            const auto place = static_cast<std::uint64_t>(s);
            halves.push_back({wg::normal<double>(wg::fold_in(key, 2 * place), {paths}),
                              wg::normal<double>(wg::fold_in(key, 2 * place + 1), {paths})});
        }
        for (std::size_t s = 0; s < halves.size(); s += 2)
            whole.push_back({(halves[s][0] + halves[s + 1][0]) / std::numbers::sqrt2,
                             (halves[s][1] + halves[s + 1][1]) / std::numbers::sqrt2});
        const auto start = std::chrono::steady_clock::now();
        for (auto* of : {&coarse, &fine}) {
            const auto f = [&](const Parameters& q) { return price(q, of == &fine ? halves : whole); };
            const auto [value, greeks] = wg::value_and_grad(f)(p);
            of->add(value, greeks);
        }
        seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }

    const double exact = closed_form(market);
    const Estimate one = coarse.estimate(), two = fine.estimate();
    std::printf("closed form %.4f; %d steps %.4f, %d steps %.4f, standard error %.4f\n", exact, steps,
                one.price, 2 * steps, two.price, two.error);
    bool ok = std::abs(two.price - exact) < 3 * two.error && two.error < 0.1;
    for (std::size_t k = 0; k < parameters; ++k) {
        Point plus = market, minus = market;
        const double h = 1e-4 * std::max(std::abs(market[k]), 0.1);
        plus[k] += h, minus[k] -= h;
        const double difference = (closed_form(plus) - closed_form(minus)) / (2 * h);
        std::printf("  by %-18s %9.4f, of the closed form %9.4f, standard error %.4f\n", names[k],
                    two.greeks[k], difference, two.errors[k]);
        ok = ok && std::abs(two.greeks[k] - difference) < 4 * two.errors[k];
    }
    std::printf("%zu paths, price and %zu derivatives: %.2f s; a step: %s\n", blocks * paths, parameters,
                seconds, heston_step.explain().c_str());
    if (!ok) std::printf("the simulation does not agree with the closed form\n");
    return ok ? 0 : 1;
}
