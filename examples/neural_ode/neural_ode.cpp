// Which law moves these points? A network learns the field of a spiral from places along noisy paths, through the steps of odeint
// (Chen, Rubanova, Bettencourt & Duvenaud 2018), and then goes on where no path has been seen.
//   neural_ode [FOLDER_FOR_THE_PLOT]

#include <wengert/implicit.hpp>
#include <wengert/wengert.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>

#include "../adam.hpp"
#include "../plot.hpp"

namespace wg = wengert;
using D = wg::Tensor<double>;

constexpr std::int64_t paths = 40, times = 12, hidden = 32;
constexpr int iterations = 800;
constexpr double noise = 0.02;

/// A point z of the plane has the velocity of a small network.
struct Field {
    D first, bias, last;
};

D velocity(const D& z, const D&, const Field& net)
{
    return matmul(tanh(matmul(z, net.first) + net.bias), net.last);
}

/// The law to be found: a turn that is quicker farther out, and a slow fall to the centre.
D law(const D& z, const D&)
{
    const D turn = {{-0.1, 2.0}, {-2.0, -0.1}};
    return (0.3 + 0.15 * sum(square(z), {1}, true)) * matmul(z, turn);
}

/// The mean square of what the field's paths miss; (times, paths, 2).
D loss(const Field& net, const D& seen, const D& t)
{
    const D path = wg::odeint(velocity, seen(0), t, net, {.rtol = 1e-4, .atol = 1e-5});
    return mean(square(path - seen));
}

Field learn(const D& seen, const D& t)
{
    Field net{wg::normal<double>(wg::Key(1), {2, hidden}), 0.5 * wg::normal<double>(wg::Key(2), {hidden}),
              0.3 * wg::normal<double>(wg::Key(3), {hidden, 2})};
    Adam adam(net);
    const auto value_and_gradient = wg::freeze(
        [](const Field& f, const D& s, const D& at) { return wg::value_and_grad(loss)(f, s, at); });
    for (int i = 0; i < iterations; ++i) {
        const auto [value, g] = value_and_gradient(net, seen, t);
        adam.step(net, g, 0.04 * std::pow(0.02, double(i) / iterations));
        if (i % 100 == 0 || i + 1 == iterations) {
            std::printf("iteration %4d of %d   error of a place %.4f\n", i, iterations,
                        std::sqrt(value.item()));
            std::fflush(stdout);
        }
    }
    return net;
}

void draw(const std::filesystem::path& folder, const D& seen, const D& truth, const D& found,
          const Field& net)
{
    Plot plot(folder, "neural_ode", 1000, 500);
    plot.data("seen", reshape(seen, {times * paths, 2}));
    plot.data("path", wg::concatenate({truth, found}, 1));
    const D side = wg::linspace<double>(-2.2, 2.2, 15), none = wg::zeros<double>({15, 15});
    const D grid = reshape(wg::stack({side + none, expand_dims(side, 1) + none}, 2), {225, 2});
    const auto arrows = [&](const char* name, const D& v) {
        const D length = sqrt(sum(square(v), {1}, true));
        plot.data(name, wg::concatenate({grid, 0.24 * v / (length + 0.3)}, 1));
    };
    arrows("law", law(grid, D(0.0)));
    arrows("net", velocity(grid, D(0.0), net));
    const auto panel = [&](const char* title, const char* field, int x, const char* name,
                           const char* colour) {
        plot.script << "set title '" << title << "'\nplot $" << field
                    << " using ($1-$3/2):($2-$4/2):3:4 with vectors head size 0.06,20 lc 'gray70' notitle,"
                       " $seen with points pt 7 ps 0.3 lc '#d62728' title 'seen', $path using "
                    << x << ':' << x + 1 << " with lines lw 2.5 lc '" << colour << "' title '" << name
                    << "'\n";
    };
    plot.script
        << "set multiplot layout 1,2; set size ratio -1; set xrange [-2.4:2.4]; set yrange [-2.4:2.4]\n"
           "set border 3; set tics nomirror 1; set key bottom left opaque\n";
    panel("the law, and a path of it", "law", 1, "truth", "gray30");
    panel("the network, and its path from there", "net", 3, "learned", "#1f77b4");
    plot.show();
}

int main(int argc, char** argv)
{
    const auto start = std::chrono::steady_clock::now();
    const D t = wg::linspace<double>(0.0, 1.5, times),
            starts = wg::uniform<double>(wg::Key(7), {paths, 2}, -2.0, 2.0);
    const D seen = wg::odeint(law, starts, t) + noise * wg::normal<double>(wg::Key(8), {times, paths, 2});
    const Field net = learn(seen, t);

    // A path ten times as long as those that were seen, from a place of its own.
    const D after = wg::linspace<double>(0.0, 15.0, 400), from = {{2.0, 0.0}};
    const D truth = reshape(wg::odeint(law, from, after), {400, 2});
    const D found = reshape(wg::odeint(velocity, from, after, net), {400, 2});
    const double far = std::sqrt(mean(sum(square(found - truth), 1)).item());
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("along a path ten times as long as those seen the error is %.3f, where the spiral is 4 wide; "
                "%.1f s\n",
                far, seconds);
    const bool good = far < 0.2;
    std::printf("%s (an error below 0.2)\n", good ? "good" : "not good");
    std::fflush(stdout);
    draw(argc > 1 ? argv[1] : ".", seen, truth, found, net);
    return good ? 0 : 1;
}
