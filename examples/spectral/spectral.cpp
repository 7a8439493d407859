// How did the wave begin? Viscous Burgers, u_t + u u_x = ν u_xx on a ring, by Fourier transforms: a steepening wave is seen at a few
// places and times, with noise. Gradient descent on the complex amplitudes of the initial state finds it.
//   spectral [FOLDER_FOR_THE_PLOT]

#include <wengert/fft.hpp>
#include <wengert/wengert.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>

#include "../plot.hpp"

namespace wg = wengert;
using C = std::complex<double>;
using Field = wg::Tensor<double>;
using Modes = wg::Tensor<C>;
using wg::range;
using wg::placeholders::_;

constexpr std::int64_t n = 128, unknown = 10;  // points on the ring; amplitudes of waves 1 … 10
constexpr int steps = 120, iterations = 400;
constexpr double viscosity = 0.05, dt = 0.0125, noise = 0.01, pi = 3.14159265358979323846;

/// Burgers' equation for the transform û: û' = −ik/2 (u²)^ − ν k² û. The last term is solved exactly, û = e^(−νk²t) v, the rest by
/// Runge and Kutta. Waves above 2/3 of the highest are left out of products, which would alias (Orszag 1971).
class Burgers {
public:
    Burgers()
    {
        const Field k = wg::fft::rfftfreq(n) * double(n);
        half_ = exp(-viscosity * dt / 2 * square(k));
        slope_ = C(0, -0.5 * dt) * (k * wg::cast<double>(k < double(n) / 3));
    }
    Modes step(const Modes& v) const
    {
        const Modes there = half_ * v, a = change(v), b = change(there + half_ * a * 0.5),
                    c = change(there + b * 0.5), d = change(half_ * (there + c));
        return half_ * (half_ * (v + a / 6.0) + (b + c) / 3.0) + d / 6.0;
    }
    /// u after each step, from the amplitudes of the first waves at the beginning.
    Field history(const Modes& amplitudes) const
    {
        const auto next = [this](const Modes& v) {
            const Modes w = step(v);
            return std::pair(w, wg::fft::irfft(w, n));
        };
        return wg::scan(next, spectrum(amplitudes), steps).second;
    }
    static Modes spectrum(const Modes& amplitudes)
    {
        return pad(amplitudes * (n / 2.0), {{1, n / 2 - unknown}});
    }

private:
    Modes change(const Modes& v) const { return slope_ * wg::fft::rfft(square(wg::fft::irfft(v, n))); }
    Field half_;
    Modes slope_;
};

/// What is seen: u at every eighth point, at five times.
Field seen(const Field& history) { return view(history, range(steps / 5 - 1, _, steps / 5), range(_, _, 8)); }

/// ½ Σ (predicted − observed)² / noise², plus a little for steepness.
Field cost(const Burgers& burgers, const Modes& amplitudes, const Field& observed)
{
    const Field k = wg::arange<double>(1, unknown + 1);
    return 0.5 * sum(square((seen(burgers.history(amplitudes)) - observed) / noise)) +
           0.5 * sum(square(k * k * abs(amplitudes)));
}

/// Adam (Kingma & Ba 2015, algorithm 1), on complex numbers.
struct Adam {
    Modes m = wg::zeros<C>({unknown});
    Field v = wg::zeros<double>({unknown});
    int t = 0;
    void step(Modes& x, const Modes& g, double rate)
    {
        ++t;
        m = 0.9 * m + 0.1 * g;
        v = 0.999 * v + 0.001 * square(abs(g));
        x -= rate * (m / (1 - std::pow(0.9, t))) / (sqrt(v / (1 - std::pow(0.999, t))) + 1e-8);
    }
};

Field start_of(const Modes& amplitudes) { return wg::fft::irfft(Burgers::spectrum(amplitudes), n); }
double rms(const Field& x) { return std::sqrt(mean(square(x)).item()); }

/// The gradient against a central difference along a direction: the relative difference. A step d changes the cost by Re Σ conj(g) d.
double gradient_error(const Burgers& burgers, const Modes& x, const Field& observed)
{
    const auto f = [&](const Modes& a) { return cost(burgers, a, observed); };
    const Modes d =
        complex(wg::normal<double>(wg::Key(3), {unknown}), wg::normal<double>(wg::Key(4), {unknown}));
    const double slope = sum(real(conj(wg::grad(f)(x)) * d)).item(), h = 1e-5;
    const double difference = (f(x + h * d) - f(x - h * d)).item() / (2 * h);
    std::printf("gradient along a direction: %.9g, by central difference: %.9g\n", slope, difference);
    return std::abs(slope / difference - 1);
}

Modes recover(const Burgers& burgers, const Field& observed)
{
    Modes x = wg::zeros<C>({unknown});
    Adam adam;
    const auto both =
        wg::freeze(wg::value_and_grad([&](const Modes& a) { return cost(burgers, a, observed); }));
    for (int i = 0; i < iterations; ++i) {
        const auto [value, g] = both(x);
        adam.step(x, g, i < iterations / 2 ? 0.02 : 0.004);
        if (i % 50 == 0 || i + 1 == iterations) {
            std::printf("iteration %3d of %d   cost %10.1f\n", i, iterations, value.item());
            std::fflush(stdout);
        }
    }
    return x;
}

void draw(const std::filesystem::path& folder, const Field& x, const Field& truth, const Field& found,
          const Field& late)
{
    Plot plot(folder, "spectral", 900, 500);
    plot.data("waves", wg::stack({x, truth, found, late}, 1));
    plot.script << "set xrange [0:2*pi]; set grid; set xlabel 'x'; set ylabel 'u'; set title 'Burgers: how "
                   "did the wave begin?'\n"
                   "plot $waves using 1:2 with lines lw 4 lc 'gray' title 'true, at first', '' using 1:3 "
                   "with lines lw 2 title "
                   "'recovered', '' using 1:4 with lines lw 2 title 'true, at last'\n";
    plot.show();
}

int main(int argc, char** argv)
{
    const auto start = std::chrono::steady_clock::now();
    const Burgers burgers;
    const Field x = wg::arange<double>(n) * (2 * pi / n);
    const Field truth = sin(x) + 0.5 * cos(2.0 * x + 0.7) - 0.3 * sin(3.0 * x);
    const Modes amplitudes = view(wg::fft::rfft(truth), range(1, unknown + 1)) / (n / 2.0);
    const Field history = burgers.history(amplitudes);
    const Field observed = seen(history) + noise * wg::normal<double>(wg::Key(7), {5, n / 8});

    const double wrong = gradient_error(burgers, 0.5 * amplitudes, observed);
    const Modes found = recover(burgers, observed);
    const double error = rms(start_of(found) - truth) / rms(truth);
    const double misfit = rms(seen(burgers.history(found)) - observed) / noise;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("relative error of the recovered state %.3f; misfit %.3f of the noise; %.1f s\n", error,
                misfit, seconds);
    const bool good = wrong < 1e-6 && error < 0.06 && misfit > 0.7 && misfit < 1.2;
    std::printf("%s (error below 0.06, misfit near the noise, gradient right to 1e-6)\n",
                good ? "good" : "not good");
    std::fflush(stdout);
    draw(argc > 1 ? argv[1] : ".", x, truth, start_of(found), history(-1));
    return good ? 0 : 1;
}
