#pragma once

// Forward rates of a LIBOR market model and a portfolio of swaptions: M. Giles & P. Glasserman, "Smoking adjoints: fast Monte Carlo
// Greeks", Risk, January 2006.

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace bench {

struct Market {
    static constexpr std::size_t rates = 80, steps = 40;
    static constexpr double period = 0.25;
    static constexpr std::array<std::size_t, 15> maturity = {4,  4,  4,  8,  8,  8,  20, 20,
                                                             20, 28, 28, 28, 40, 40, 40};
    static constexpr std::array<double, 15> swap_rate = {
        0.045, 0.05, 0.055, 0.045, 0.05, 0.055, 0.045, 0.05, 0.055, 0.045, 0.05, 0.055, 0.045, 0.05, 0.055};
};

/// Moves the forward rates of one path to the last maturity, by normals z.
template <class Number, class Normal>
void market_path(std::vector<Number>& rate, const std::vector<Number>& volatility, const Normal* z)
{
    using std::exp, std::sqrt;
    for (std::size_t n = 0; n < Market::steps; ++n) {
        const Normal shock = sqrt(Market::period) * z[n];
        Number drift = 0.0;
        for (std::size_t i = n + 1; i < Market::rates; ++i) {
            const Number lambda = volatility[i - n - 1], scaled = Market::period * lambda;
            drift += scaled * rate[i] / (1.0 + Market::period * rate[i]);
            const Number growth = exp(scaled * drift + lambda * (shock - 0.5 * scaled));
            rate[i] = rate[i] * growth;
        }
    }
}

/// What the swaptions pay on that path, discounted.
template <class Number> Number swaptions(const std::vector<Number>& rate)
{
    std::array<Number, Market::rates - Market::steps> bond, annuity;
    Number b = 1.0, s = 0.0, pays = 0.0;
    for (std::size_t n = Market::steps; n < Market::rates; ++n) {
        b = b / (1.0 + Market::period * rate[n]);
        s = s + Market::period * b;
        bond[n - Market::steps] = b;
        annuity[n - Market::steps] = s;
    }
    for (std::size_t k = 0; k < Market::maturity.size(); ++k) {
        const std::size_t m = Market::maturity[k] - 1;
        const Number worth = bond[m] + Market::swap_rate[k] * annuity[m] - 1.0;
        if (worth < 0.0) pays += -100.0 * worth;
    }
    for (std::size_t n = 0; n < Market::steps; ++n) pays = pays / (1.0 + Market::period * rate[n]);
    return pays;
}

/// Of one path, from the rates today and the volatilities, one after another.
template <class Number, class Normal> Number swaption_path(const std::vector<Number>& x, const Normal* z)
{
    const auto middle = x.begin() + static_cast<std::ptrdiff_t>(Market::rates);
    std::vector<Number> rate(x.begin(), middle);
    const std::vector<Number> volatility(middle, x.end());
    market_path(rate, volatility, z);
    return swaptions(rate);
}

inline std::vector<double> normals_of(std::size_t paths)
{
    std::vector<double> z(paths * Market::steps);
    for (std::size_t i = 0; i < z.size(); ++i) z[i] = 1.2 * std::sin(1.7 * static_cast<double>(i));
    return z;
}

inline std::vector<double> rates_today()
{
    std::vector<double> x(Market::rates, 0.05);
    x.resize(2 * Market::rates, 0.2);
    return x;
}

}  // namespace bench
