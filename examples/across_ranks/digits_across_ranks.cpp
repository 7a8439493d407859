// Handwritten digits, learned by several ranks (../digits is the program of one): each rank has a share of the images, and the
// gradients are averaged while the sweep goes on. All ranks have the same network at any time.
//   mpirun -np 4 digits_across_ranks [FOLDER_FOR_THE_PLOT]
#include <mpi.h>
#include <wengert/mpi.hpp>
#include <wengert/wengert.hpp>

#include <cmath>
#include <cstdio>

#include "../digits/digits.hpp"
#include "../plot.hpp"

namespace mpi = wengert::mpi;

/// The largest difference of two networks' parameters.
double difference(const Network& a, const Network& b)
{
    double worst = 0;
    wg::tree::zip_for_each(
        [&](const Real& x, const Real& y) { worst = std::max<double>(worst, amax(abs(x - y)).item()); }, a,
        b);
    return worst;
}

int learn(const mpi::Comm& world, const char* folder)
{
    constexpr int epochs = 12;
    constexpr std::int64_t batch = 48;  // of all ranks together
    const Images all = load(std::filesystem::path(__FILE__).parent_path() / "../digits/data/digits.txt");
    const auto count = static_cast<std::int64_t>(all.labels.size());
    const Labels order = wg::permutation(wg::Key(7), count);
    const std::int64_t fifth = count / 5, share = batch / world.size();
    const Images test = all.at(view(order, wg::range(0, fifth))),
                 training = all.at(view(order, wg::range(fifth, count)));

    Network net = initial(wg::Key(3), {64, 128, 64, 10}),
            velocity = wg::tree::map([](const Real& w) { return zeros_like(w); }, net);
    const auto averaged = wg::freeze([&](const Network& w, const Real& pixels, const Labels& labels) {
        const auto on_images = [&](const Network& v) { return loss(v, pixels, labels); };
        return mpi::average(wg::grad(on_images)(w), world);
    });

    std::vector<double> errors;
    double off = 0;
    for (int e = 0; e < epochs; ++e) {
        const Labels shuffled =
            wg::permutation(wg::fold_in(wg::Key(9), static_cast<std::uint64_t>(e)), count - fifth);
        for (std::int64_t i = 0; i + batch <= count - fifth; i += batch) {
            const std::int64_t mine = i + share * world.rank();
            const Images some = training.at(view(shuffled, wg::range(mine, mine + share)));
            const Network gradient = averaged(net, some.pixels, some.labels);
            if (e == 0 && i == 0) {  // the mean of the shares' gradients is the gradient of the whole batch
                const Images whole = training.at(view(shuffled, wg::range(0, batch)));
                const auto on_all = [&](const Network& v) { return loss(v, whole.pixels, whole.labels); };
                off = difference(gradient, wg::grad(on_all)(net));
            }
            wg::tree::zip_for_each([](Real& v, const Real& g) { v = 0.9 * v + g; }, velocity, gradient);
            wg::tree::zip_for_each([](Real& w, const Real& v) { w -= 0.05 * v; }, net, velocity);
        }
        const auto right = argmax(predict(net, test.pixels), -1) == test.labels;
        errors.push_back(100 * (1 - mean(right).item()));
    }
    const double apart = difference(net, mpi::bcast(net, 0, world)),
                 worst = mpi::allreduce(wg::Tensor<double>(apart), mpi::max, world).item();
    if (world.rank() == 0) {
        std::printf("%d ranks: %.2f %% of the held-out digits are read wrongly; gradient off by %.1e, "
                    "networks by %g\n",
                    world.size(), errors.back(), off, worst);
        if (folder) {
            Plot plot(folder, "digits_across_ranks", 700, 420);
            plot.data("errors", wg::Tensor<double>({errors.size(), std::size_t{1}}, errors));
            plot.script
                << "set xlabel 'epoch'\nset title 'held-out digits read wrongly, in %, by " << world.size()
                << " ranks'\nset yrange [0:*]\nplot $errors using ($0+1):1 with linespoints notitle\n";
            plot.show();
        }
    }
    return errors.back() < 5 && off < 1e-5 && worst == 0 ? 0 : 1;
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    int status = 0;
    {
        const mpi::Comm world(MPI_COMM_WORLD);
        status = 48 % world.size() == 0 ? learn(world, argc > 1 ? argv[1] : nullptr) : 1;
    }
    MPI_Finalize();
    return status;
}
