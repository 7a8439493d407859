// Where is it, how fast is it, and how much may the instrument be trusted? A Kalman filter follows a thing on a spring, pushed about
// in the plane, from noisy positions. The gradient of its likelihood through all steps of one frozen scan finds the noises (Särkkä 2013, chapter 12).
//   kalman [FOLDER_FOR_THE_PLOT]

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

constexpr int steps = 400, iterations = 120;
constexpr double dt = 0.1, spring = 0.25, friction = 0.05;
constexpr double push = 0.6, blur = 0.5;  // standard deviations: of accelerations, of measurements

/// ln of the two standard deviations.
struct Noises {
    D push = D(std::log(0.1)), blur = D(std::log(2.0));
};

/// x ← A x + noise of covariance Q; measured is H x + noise of covariance R. x is (place, velocity) in the plane.
struct System {
    D a, q, h, r;
};
System system_of(const Noises& p)
{
    const D one = wg::eye<double>(2), none = wg::zeros<double>({2, 2});
    const auto blocks = [](const D& u, const D& v, const D& w, const D& z) {
        return wg::concatenate({wg::concatenate({u, v}, 1), wg::concatenate({w, z}, 1)}, 0);
    };
    const double cube = dt * dt * dt / 3, square_ = dt * dt / 2;
    return {blocks(one, dt * one, -spring * dt * one, (1 - friction * dt) * one),
            exp(2.0 * p.push) * blocks(cube * one, square_ * one, square_ * one, dt * one),
            wg::concatenate({one, none}, 1), exp(2.0 * p.blur) * one};
}

/// What is believed: mean and covariance, and −ln of the likelihood of all that was measured.
struct Belief {
    D mean, covariance, loss;
};

/// A step's prediction, corrected by what is measured.
Belief step(const System& s, const Belief& b, const D& measured)
{
    const D mean = matmul(s.a, b.mean), p = matmul(matmul(s.a, b.covariance), transpose(s.a)) + s.q;
    const D hp = matmul(s.h, p), l = la::cholesky(matmul(hp, transpose(s.h)) + s.r);
    const D surprise = measured - matmul(s.h, mean), gain = la::cho_solve(l, hp);
    const D unlikely = 0.5 * sum(surprise * la::cho_solve(l, surprise)) + sum(log(diagonal(l)));
    return {mean + matmul(surprise, gain), p - matmul(transpose(hp), gain),
            b.loss + unlikely + std::log(2 * std::numbers::pi)};
}

/// The beliefs after each step.
std::pair<Belief, Belief> filter(const Noises& p, const D& measured)
{
    const System s = system_of(p);
    const Belief start{wg::zeros<double>({4}), 10.0 * wg::eye<double>(4), D(0.0)};
    return wg::scan(
        [&](const Belief& b, const D& m) {
            const Belief next = step(s, b, m);
            return std::pair(next, next);
        },
        start, measured);
}
D loss(const Noises& p, const D& measured) { return filter(p, measured).first.loss / double(steps); }

Noises fit(const D& measured)
{
    Noises p;
    Adam adam(p);
    const auto value_and_gradient =
        wg::freeze([](const Noises& q, const D& m) { return wg::value_and_grad(loss)(q, m); });
    for (int i = 0; i < iterations; ++i) {
        const auto [value, g] = value_and_gradient(p, measured);
        adam.step(p, g, 0.1);
        if (i % 20 == 0 || i + 1 == iterations) {
            std::printf("iteration %3d of %d   -ln likelihood of a step %8.4f   push %.3f   blur %.3f\n", i,
                        iterations, value.item(), exp(p.push).item(), exp(p.blur).item());
            std::fflush(stdout);
        }
    }
    return p;
}

/// A path of the system with these noises: places and velocities.
D simulate()
{
    const System s = system_of({D(std::log(push)), D(0.0)});
    const D root = la::cholesky(s.q),
            kicks = matmul(wg::normal<double>(wg::Key(5), {steps, 4}), transpose(root));
    return wg::scan(
               [&](const D& x, const D& kick) {
                   const D next = matmul(s.a, x) + kick;
                   return std::pair(next, next);
               },
               D{4.0, 0.0, 0.0, 2.0}, kicks)
        .second;
}

double rms(const D& x) { return std::sqrt(mean(square(x)).item()); }

void draw(const std::filesystem::path& folder, const D& truth, const D& measured, const Belief& b)
{
    Plot plot(folder, "kalman", 1100, 520);
    const D t = dt * wg::arange<double>(steps), deviation = sqrt(diagonal(b.covariance));
    const auto column = [](const D& x, std::int64_t k) { return view(x, wg::all(), k); };
    plot.data("path", wg::stack({column(truth, 0), column(truth, 1), column(measured, 0), column(measured, 1),
                                 column(b.mean, 0), column(b.mean, 1)},
                                1));
    plot.data("speed", wg::stack({t, column(truth, 2), column(b.mean, 2),
                                  column(b.mean, 2) - 2.0 * column(deviation, 2),
                                  column(b.mean, 2) + 2.0 * column(deviation, 2)},
                                 1));
    plot.script
        << "set multiplot layout 1,2; set grid lc 'gray90'; set border 3; set tics nomirror\n"
           "set style fill solid 0.25 noborder; set key horizontal center bmargin\n"
           "set title 'the path in the plane'; set size ratio -1\n"
           "plot $path using 3:4 with points pt 7 ps 0.4 lc '#d62728' title 'measured',"
           " '' using 1:2 with lines lw 2 lc 'gray50' title 'truth',"
           " '' using 5:6 with lines lw 1.5 lc '#1f77b4' title 'filter'\n"
           "set title 'velocity along x, which nobody measured'; set size noratio; set yrange [-7:7]\n"
           "plot $speed using 1:4:5 with filledcurves lc '#1f77b4' title '± 2 deviations',"
           " '' using 1:2 with lines lw 2 lc 'gray50' title 'truth', '' using 1:3 with lines lw 2 lc "
           "'#1f77b4' title 'filter'\n";
    plot.show();
}

int main(int argc, char** argv)
{
    const auto start = std::chrono::steady_clock::now();
    const D truth = simulate();
    const D places = view(truth, wg::all(), wg::range(0, 2));
    const D measured = places + blur * wg::normal<double>(wg::Key(6), {steps, 2});
    const Noises p = fit(measured);
    const Belief b = filter(p, measured).second;

    const double push_found = exp(p.push).item(), blur_found = exp(p.blur).item();
    const double before = rms(measured - places),
                 after = rms(view(b.mean, wg::all(), wg::range(0, 2)) - places);
    const D deviation = sqrt(diagonal(b.covariance));
    const double inside = mean(wg::cast<double>(abs(b.mean - truth) < 2.0 * deviation)).item();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("push %.3f (true: %.3f), blur %.3f (true: %.3f); error of a measured place %.3f, of the "
                "filter's %.3f; "
                "truth within two deviations %.0f %%; %.1f s\n",
                push_found, push, blur_found, blur, before, after, 100 * inside, seconds);
    const bool good = std::abs(std::log(push_found / push)) < 0.3 && std::abs(blur_found / blur - 1) < 0.1 &&
                      after < 0.7 * before && inside > 0.9;
    std::printf("%s (blur within 10 %%, push within 30 %%, an error below 0.7 of the instrument's, 90 %% "
                "within two deviations)\n",
                good ? "good" : "not good");
    std::fflush(stdout);
    draw(argc > 1 ? argv[1] : ".", truth, measured, b);
    return good ? 0 : 1;
}
