// How long is the rod, and how thick the air? A pendulum whose rod is a very stiff spring is seen with noise. A method for stiff
// equations takes steps of the swing's time, an explicit one steps of the spring's. Gauss and Newton's method finds the pendulum by
// forward derivatives of the whole motion.
//   pendulum [FOLDER_FOR_THE_PLOT]

#include <wengert/implicit.hpp>
#include <wengert/linalg.hpp>
#include <wengert/wengert.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>

#include "../plot.hpp"

namespace wg = wengert;
using D = wg::Tensor<double>;

constexpr double gravity = 9.81, stiffness = 1e5, damping = 6000;  // of a kilogram: N/m, N s/m
constexpr double noise = 0.03;                                     // m
constexpr std::int64_t pictures = 60;

/// The forces on the bob at (x, y) with velocity (u, v); p is (length of the rod, drag of the air, angle of the start).
D motion(const D& s, const D&, const D& p)
{
    const D place = view(s, wg::range(0, 2)), velocity = view(s, wg::range(2, 4));
    const D length = sqrt(sum(square(place))), along = place / length;
    const D pull = stiffness * (length - p(0)) + damping * sum(along * velocity);
    const D drag = p(1) * sqrt(sum(square(velocity)) + 1e-12) * velocity;
    return wg::concatenate({velocity, D{0.0, -gravity} - pull * along - drag}, 0);
}

D start_of(const D& p)
{
    const D hangs = p(0) + gravity * cos(p(2)) / stiffness;
    return wg::stack({hangs * sin(p(2)), -hangs * cos(p(2)), zeros_like(hangs), zeros_like(hangs)}, 0);
}

D path(const D& p, const D& times, const wg::OdeOptions& options)
{
    return wg::odeint(motion, start_of(p), times, p, options);
}
D places(const D& p, const D& times)
{
    const D all = path(p, times, {.method = wg::OdeMethod::rosenbrock, .rtol = 1e-4, .atol = 1e-6});
    return view(all, wg::all(), wg::range(0, 2));
}

/// Where the sum of squares is least, and the deviations of the answer.
std::pair<D, D> fit(D p, const D& times, const D& seen)
{
    const auto missed = wg::freeze([](const D& q, const D& t, const D& s) {
        return reshape((places(q, t) - s) / noise, {2 * pictures});
    });
    D inverse;
    for (int i = 0; i < 8; ++i) {
        const auto residual = [&](const D& q) { return missed(q, times, seen); };
        const D r = residual(p), j = wg::jacobian(residual)(p);  // 120 × 3: forward mode
        inverse = wg::linalg::inv(matmul(transpose(j), j));
        const D change = matmul(inverse, matmul(transpose(j), r));
        std::printf("iteration %d   misfit / noise %8.3f   length %.4f m   drag %.4f   angle %.4f\n", i,
                    std::sqrt(mean(square(r)).item()), p(0).item(), p(1).item(), p(2).item());
        std::fflush(stdout);
        p = p - change / maximum(D(1.0), 4.0 * amax(abs(change)));
    }
    return {p, sqrt(diagonal(inverse))};
}

/// What each method has to do for this motion.
bool is_stiff(const D& p, const D& times)
{
    const auto report = std::make_shared<wg::SolverReport>();
    path(p, times, {.method = wg::OdeMethod::rosenbrock, .rtol = 1e-4, .atol = 1e-6, .report = report});
    const auto few = report->iterations;
    std::printf("rosenbrock: %lld steps, %lld Jacobians;", static_cast<long long>(few),
                static_cast<long long>(report->jacobians));
    path(p, times, {.rtol = 1e-4, .atol = 1e-6, .report = report});
    std::printf(" runge_kutta: %lld steps\n", static_cast<long long>(report->iterations));
    return report->iterations > 5 * few;
}

void draw(const std::filesystem::path& folder, const D& times, const D& seen, const D& first, const D& found)
{
    Plot plot(folder, "pendulum", 1100, 480);
    const D fine = wg::linspace<double>(0.0, times(-1).item(), 600);
    plot.data("seen", wg::concatenate({expand_dims(times, 1), seen}, 1));
    plot.data("path", wg::concatenate({expand_dims(fine, 1), places(first, fine), places(found, fine)}, 1));
    plot.script
        << "set multiplot layout 1,2; set grid lc 'gray90'; set border 3; set tics nomirror\n"
           "set size 0.66,1; set title 'a stiff pendulum, found by forward derivatives of its motion'\n"
           "set xlabel 'time, s'; set ylabel 'x, m'; set yrange [-1.7:2.2]; set key top right horizontal\n"
           "plot $path using 1:2 with lines lw 1.5 dt 2 lc 'gray50' title 'first guess',"
           " '' using 1:4 with lines lw 2.5 lc '#1f77b4' title 'found',"
           " $seen using 1:2 with points pt 7 ps 0.7 lc '#d62728' title 'seen'\n"
           "set origin 0.66,0; set size 0.34,1; set size ratio -1; set title 'in space'; unset key\n"
           "set xlabel 'x, m'; set ylabel 'y, m'; set xrange [-1.6:1.6]; set yrange [-1.7:0.3]\n"
           "set arrow from 0,0 to "
        << seen(0, 0).item() << ',' << seen(0, 1).item()
        << " nohead lw 2 lc 'gray50'\n"
           "plot $path using 4:5 with lines lw 2.5 lc '#1f77b4', $seen using 2:3 with points pt 7 ps 0.7 lc "
           "'#d62728'\n";
    plot.show();
}

int main(int argc, char** argv)
{
    const auto start = std::chrono::steady_clock::now();
    const D times = wg::linspace<double>(0.0, 8.0, pictures), truth = {1.5, 0.08, 0.9},
            first = {1.2, 0.0, 0.6};
    const D seen = places(truth, times) + noise * wg::normal<double>(wg::Key(3), {pictures, 2});
    const bool stiff = is_stiff(truth, times);
    const auto [found, deviation] = fit(first, times, seen);

    const double wrong = amax(abs(found - truth) / deviation).item();
    const double misfit = std::sqrt(mean(square((places(found, times) - seen) / noise)).item());
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf(
        "length %.4f ± %.4f m, drag %.4f ± %.4f /m, angle %.4f ± %.4f; misfit %.3f of the noise; %.1f s\n",
        found(0).item(), deviation(0).item(), found(1).item(), deviation(1).item(), found(2).item(),
        deviation(2).item(), misfit, seconds);
    const bool good = stiff && wrong < 3 && misfit > 0.85 && misfit < 1.15;
    std::printf("%s (within three deviations of the truth, misfit within 15 %% of the noise, five times "
                "fewer steps than "
                "the explicit method's)\n",
                good ? "good" : "not good");
    std::fflush(stdout);
    draw(argc > 1 ? argv[1] : ".", times, seen, first, found);
    return good ? 0 : 1;
}
