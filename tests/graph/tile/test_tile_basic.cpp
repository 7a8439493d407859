// The tile executor against interpret, bit for bit: elementwise chains, broadcasting, views, products, reductions.
#include "graph/tile/tile_common.hpp"
#include "wengert/ops/elementwise/math.hpp"
#include "wengert/ops/reductions.hpp"
#include "wengert/ops/shape.hpp"

using namespace tile_test;
using D = Tensor<double>;
using List = std::vector<D>;

TEST_CASE("elementwise chains of all sizes")
{
    for (std::int64_t n : {0, 1, 2, 7, 8, 64, 511, 512, 513, 5000}) {
        const Blocks in{random_block<double>({n}, 1), random_block<double>({n}, 2),
                        random_block<double>(Shape(), 3)};
        check<double>(
            [](const List& x) {
                return List{tanh(x[0] * x[1] + 2.0) - x[2] * x[1], exp(x[0]) * x[2]};
            },
            in);
    }
}

TEST_CASE("operands that broadcast")
{
    const Blocks in{random_block<double>({5, 1, 7}), random_block<double>({3, 7}, 2),
                    random_block<double>({7}, 3)};
    check<double>(
        [](const List& x) {
            return List{x[0] * x[1] + x[2], x[1] - x[2], x[2] * x[2] / x[0]};
        },
        in);
    const Blocks large{random_block<double>({700, 1}), random_block<double>({1, 900}, 2),
                       random_block<double>(Shape(), 4)};
    check<double>([](const List& x) { return List{x[0] * x[1] + x[2], x[0] + x[2]}; }, large);
}

TEST_CASE("views are read where they lie")
{
    const Blocks in{random_block<double>({6, 10}), random_block<double>({10, 6}, 2)};
    check<double>(
        [](const List& x) {
            const D a = view(x[0], range(1, 5), range(0, 10, 3)), t = transpose(x[1]);
            const auto parts = split(t, 2, 1);
            return List{a * 2.0,
                        t + x[0],
                        reshape(t, {3, 20}),
                        reshape(x[0], {60}),
                        parts[1] - 1.0,
                        t,
                        a,
                        broadcast_to(view(x[0], 2), {4, 10}),
                        diagonal(t)};
        },
        in);
}

TEST_CASE("products of matrices, vectors and batches")
{
    const Blocks in{random_block<double>({5, 7}), random_block<double>({7, 4}, 2),
                    random_block<double>({7}, 3), random_block<double>({3, 4, 5}, 4),
                    random_block<double>({5}, 5), random_block<double>({40, 64}, 6)};
    check<double>(
        [](const List& x) {
            return List{
                matmul(x[0], x[1]),
                matmul(transpose(x[1]), transpose(x[0])),
                matmul(x[0], x[2]),
                matmul(x[4], x[0]),
                matmul(x[2], x[2]),
                matmul(x[3], x[0]),
                matmul(x[5], transpose(x[5])),
                matmul(transpose(x[5]), x[5]),
                matmul(view(x[5], range(0, 40, 2), range(0, 64, 3)), view(x[5], range(0, 22), range(0, 9)))};
        },
        in);
}

TEST_CASE("reductions")
{
    const Blocks in{random_block<double>({4, 5, 600})};
    check<double>(
        [](const List& x) {
            return List{sum(x[0]),
                        sum(x[0], {1}),
                        sum(x[0], {0, 2}),
                        sum(x[0], {2}, true),
                        mean(x[0]),
                        mean(x[0], {0}),
                        amax(x[0], {2}),
                        var(x[0]),
                        logsumexp(x[0], {1}),
                        prod(x[0], {1}),
                        sum(transpose(x[0])),
                        sum(x[0] * x[0], {0, 1})};
        },
        in);
}

TEST_CASE("single precision")
{
    const Blocks in{random_block<float>({33, 65}), random_block<float>({65}, 2)};
    using F = Tensor<float>;
    check<float>(
        [](const std::vector<F>& x) {
            const F h = tanh(x[0] + x[1]);
            return std::vector<F>{sum(matmul(h, x[1])), h * 3.0F, mean(h, {1})};
        },
        in);
}
