// Handwritten digits: a small network learns to read 8×8 images. The training loop is written out below.
//   digits [FOLDER_FOR_THE_PLOT]

#include <wengert/wengert.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>

#include "../plot.hpp"
#include "digits.hpp"

/// Momentum SGD: v ← 0.9 v + ∂loss/∂w, w ← w − rate · v. Nothing is recorded here: these tensors are constants, only
/// inside of value_and_grad does the network become a variable.
void step(Network& net, Network& velocity, const Network& gradient, double rate)
{
    wg::tree::zip_for_each([](Real& v, const Real& g) { v = 0.9 * v + g; }, velocity, gradient);
    wg::tree::zip_for_each([&](Real& w, const Real& v) { w -= rate * v; }, net, velocity);
}

double accuracy(const Network& net, const Images& images)
{
    const auto right = argmax(predict(net, images.pixels), -1) == images.labels;
    return mean(right).item();
}

/// The images moved by up to one pixel, all of them the same way: a shifted digit is still the same digit.
Real shifted(const Real& pixels, wg::Key key)
{
    const wg::Tensor<std::int64_t> by = wg::randint<std::int64_t>(key, {2}, 0, 3);
    const std::int64_t n = std::int64_t(pixels.shape()[0]), top = by(0).item(), left = by(1).item();
    const Real padded = pad(reshape(pixels, {n, 8, 8}), {{0, 0}, {1, 1}, {1, 1}}, 0);
    return reshape(view(padded, wg::all(), wg::range(top, top + 8), wg::range(left, left + 8)), {n, 64});
}

/// What one epoch left behind: mean loss, and the accuracies on both sets.
struct Epoch {
    double loss, trained, held_out;
};

/// One pass over the images in a random order, every other batch shifted; gives the mean loss.
double train(Network& net, Network& velocity, const Images& images, wg::Key key, double rate)
{
    constexpr std::int64_t batch = 32;
    const Labels order = wg::permutation(key, images.count());
    double total = 0;
    for (std::int64_t i = 0; i < images.count(); i += batch) {
        Images some = images.at(view(order, wg::range(i, i + batch)));  // the last batch is smaller
        if (i / batch % 2) some.pixels = shifted(some.pixels, wg::fold_in(key, std::uint64_t(i)));
        const auto [value, gradient] = wg::value_and_grad(loss)(net, some.pixels, some.labels);
        step(net, velocity, gradient, rate);
        total += value.item() * double(some.count());
    }
    return total / double(images.count());
}

/// Test images side by side, those that are read wrongly first, each with its reading above it.
void draw_images(Plot& plot, const Network& net, const Images& test)
{
    constexpr std::int64_t rows = 4, columns = 7, wide = 10, high = 13;
    const Labels read = argmax(predict(net, test.pixels), -1);
    std::vector<std::int64_t> shown;
    for (const bool wrong : {true, false})
        for (std::int64_t i = 0; i < test.count(); ++i)
            if (bool(read(i) != test.labels(i)) == wrong) shown.push_back(i);

    Real mosaic = wg::zeros<float>({rows * high, columns * wide});
    for (std::int64_t k = 0; k < rows * columns; ++k) {
        const std::int64_t i = shown.at(std::size_t(k)), top = k / columns * high + 4,
                           left = k % columns * wide + 1;
        view(mosaic, wg::range(top, top + 8), wg::range(left, left + 8)) = reshape(test.pixels(i), {8, 8});
        const std::int64_t as = read(i).item(), is = test.labels(i).item();
        plot.script << "set label '" << as << (as == is ? "'" : ", is " + std::to_string(is) + "'") << " at "
                    << double(left) + 3.5 << ',' << double(top) - 2 << " center front textcolor rgb '"
                    << (as == is ? "#207020" : "#c02020") << "'\n";
    }
    plot.data("images", mosaic);
    plot.script
        << "set title 'held-out images and how they are read'\nset palette defined (0 'white', 1 'black')\n"
           "unset colorbox; unset xtics; unset ytics; unset border; unset grid; unset logscale; unset "
           "xlabel\n"
           "set origin 0.4,0; set size 0.6,1\nset xrange [-0.5:"
        << columns * wide << "]; set yrange [" << rows * high
        << ":0]\nplot $images matrix with image notitle\n";
}

void draw(const std::filesystem::path& folder, const std::vector<Epoch>& epochs, const Network& net,
          const Images& test)
{
    Plot plot(folder, "digits", 1100, 560);
    std::vector<double> numbers;
    for (const Epoch& e : epochs)
        numbers.insert(numbers.end(), {e.loss, 100 * (1 - e.trained), 100 * (1 - e.held_out)});
    plot.data("epochs", wg::Tensor<double>({epochs.size(), 3}, numbers));
    plot.script
        << "set multiplot; set grid; set xlabel 'epoch'; set size 0.4,0.5; set origin 0,0.5; set logscale y\n"
           "set title 'training loss'; plot $epochs using ($0+1):1 with lines lw 2 notitle\n"
           "unset logscale; set yrange [0:8]; set origin 0,0; set title 'errors / %'\n"
           "plot $epochs using ($0+1):2 with lines lw 2 title 'training',"
           " '' using ($0+1):3 with lines lw 2 title 'held out'\n";
    draw_images(plot, net, test);
    plot.show();
}

int main(int argc, char** argv)
{
    constexpr int epochs = 40;
    constexpr double wanted = 0.97, first_rate = 0.05;
    const auto start = std::chrono::steady_clock::now();
    const auto keys = wg::split(wg::Key(1), 3);

    const Images all = load(std::filesystem::path(__FILE__).parent_path() / "data/digits.txt");
    const Labels order = wg::permutation(keys[0], all.count());
    const std::int64_t fifth = all.count() / 5;
    const Images test = all.at(view(order, wg::range(0, fifth)));
    const Images training = all.at(view(order, wg::range(fifth, all.count())));
    std::printf("%d images to learn from, %d held out\n", int(training.count()), int(test.count()));

    Network net = initial(keys[1], {64, 256, 128, 10});
    Network velocity = wg::tree::map([](const Real& w) { return wg::zeros_like(w); }, net);
    std::vector<Epoch> history;
    for (int e = 0; e < epochs; ++e) {
        const double rate = first_rate * 0.5 * (1 + std::cos(3.14159265 * e / epochs));
        const double mean_loss = train(net, velocity, training, wg::fold_in(keys[2], std::uint64_t(e)), rate);
        history.push_back({mean_loss, accuracy(net, training), accuracy(net, test)});
        std::printf("epoch %2d of %d   loss %.4f   read correctly: training %6.2f %%, held out %6.2f %%\n",
                    e + 1, epochs, mean_loss, 100 * history.back().trained, 100 * history.back().held_out);
        std::fflush(stdout);
    }

    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const bool good = history.back().held_out >= wanted;
    std::printf("%.2f %% of the held-out digits in %.1f s: %s (at least %.0f %% are expected)\n",
                100 * history.back().held_out, seconds, good ? "good" : "too few", 100 * wanted);
    std::fflush(stdout);
    draw(argc > 1 ? argv[1] : ".", history, net, test);
    return good ? 0 : 1;
}
