// Rows: short ones, long ones of one micro-program, and parts in one piece. The ways round the general loops give the same bits.
#include <vector>

#include "graph/tile/tile_common.hpp"

using namespace tile_test;
using wengert::all;

namespace {

/// The order of kernels/cpu/fold.hpp, written out: 256 bytes of virtual lanes, folded in halves.
template <class T> T lanes_sum(const T* x, std::size_t n)
{
    constexpr std::size_t lanes = 256 / sizeof(T);
    T acc[lanes] = {};
    for (std::size_t i = 0; i < n; ++i) acc[i % lanes] += x[i];
    for (std::size_t half = lanes / 2; half > 0; half /= 2)
        for (std::size_t i = 0; i < half; ++i) acc[i] += acc[i + half];
    return acc[0];
}

template <class T> void check_sums()
{
    const Ref<Block> x = random_block<T>({50 * 70});
    const Tensor<T> flat(AnyTensor{x, {}});
    for (std::int64_t n = 1; n <= 70; ++n) {
        const Tensor<T> rows = wengert::reshape(view(flat, range(0, 50 * n)), {50, n});
        const Tensor<T> y = sum(rows, {1});
        for (std::int64_t r = 0; r < 50; ++r) {
            INFO("row " << r << " of " << n);
            REQUIRE(y.data()[r] == lanes_sum(x->as<T>() + r * n, static_cast<std::size_t>(n)));
        }
    }
}

template <class T> void check_columns()
{
    for (std::int64_t n = 1; n < 50; ++n) {
        const Tensor<T> x(AnyTensor{random_block<T>({90, n + 1}), {}}),
            c(AnyTensor{random_block<T>({90, 1}, 2), {}});
        const Tensor<T> whole = copy(view(x, all(), range(0, n)));
        const Tensor<T> parts = view(x, all(), range(0, n)) - c, products = whole * c;
        for (std::int64_t i = 0; i < 90; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
                INFO("element " << i << ", " << j << " of " << n);
                const T a = x.data()[i * (n + 1) + j];
                REQUIRE(parts.data()[i * n + j] == a - c.data()[i]);
                REQUIRE(products.data()[i * n + j] == a * c.data()[i]);
            }
    }
}

}  // namespace

TEST_CASE("sums of short rows: elements in virtual lanes, whatever the width of a register")
{
    check_sums<float>();
    check_sums<double>();
}

TEST_CASE("short rows of two operands, one of them a column")
{
    check_columns<float>();
    check_columns<double>();
}

TEST_CASE("groups of short rows: columns beside arrays, sums of their rows")
{
    for (const std::int64_t n : {2, 7, 9, 10, 16, 17, 30, 33, 47}) {
        INFO("rows of " << n);
        const auto f = [](const std::vector<Tensor<double>>& x) {
            const Tensor<double> d = (x[0] - x[1]) * x[2];
            return std::vector<Tensor<double>>{sum(square(d), {1}), mean(d + x[1], {1}), d};
        };
        check<double>(f, {random_block<double>({300, n}), random_block<double>({300, 1}, 2),
                          random_block<double>({n}, 3)});
    }
}

TEST_CASE("rows of an array that are read, added to and stacked one by one")
{
    const auto f = [](const std::vector<Tensor<float>>& x) {
        const auto loss = [](const std::vector<Tensor<float>>& w) {
            Tensor<float> h = w[1];
            std::vector<Tensor<float>> made;
            for (std::int64_t t = 0; t < 9; ++t) {
                h = tanh(h * view(w[0], t) + view(w[2], t, range(3, 8)));
                made.push_back(h);
            }
            Tensor<float> all_made = stack(made, 0);
            view(all_made, 4) += w[1];
            view(all_made, range(2, 4)) -= square(w[1]);
            return sum(square(all_made) * w[0]);
        };
        const auto [y, g] = value_and_grad(loss)(x);
        return std::vector<Tensor<float>>{y, g[0], g[1], g[2]};
    };
    check<float>(f,
                 {random_block<float>({9, 5}), random_block<float>({5}, 2), random_block<float>({9, 8}, 3)});
}

TEST_CASE("stencils: rows of one micro-program, whose last block goes over some elements twice")
{
    for (const std::int64_t n : {130, 131, 200, 258, 400}) {
        INFO("rows of " << n - 2);
        const auto f = [n]<class T>(const std::vector<Tensor<T>>& x) {
            const auto loss = [n](const std::vector<Tensor<T>>& w) {
                const auto inner = range(1, n - 1), before = range(0, n - 2), after = range(2, n);
                const auto rows = range(1, 6), above = range(0, 5), below = range(2, 7);
                Tensor<T> u = w[0];
                for (int s = 0; s < 3; ++s) {
                    const Tensor<T> around = view(u, above, inner) + view(u, below, inner) +
                                             view(u, rows, before) + view(u, rows, after);
                    view(u, rows, inner) += view(w[1], 0) * (around - T(4) * view(u, rows, inner));
                }
                return sum(u * u);
            };
            const auto [y, g] = value_and_grad(loss)(x);
            return std::vector<Tensor<T>>{y, g[0], g[1]};
        };
        check<float>([&](const std::vector<Tensor<float>>& x) { return f(x); },
                     {random_block<float>({7, n}), random_block<float>({1}, 2)});
        check<double>([&](const std::vector<Tensor<double>>& x) { return f(x); },
                      {random_block<double>({7, n}), random_block<double>({1}, 2)});
    }
}
