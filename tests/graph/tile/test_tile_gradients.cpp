// Gradients as graphs: pulls, accumulations into cotangents, parts and products, against interpret bit for bit.
#include "graph/tile/tile_common.hpp"
#include "wengert/ops/elementwise/math.hpp"
#include "wengert/ops/reductions.hpp"
#include "wengert/ops/shape.hpp"
#include "wengert/ops/softmax.hpp"
#include "wengert/transforms/grad.hpp"

using namespace tile_test;
using D = Tensor<double>;
using List = std::vector<D>;

namespace {

/// The value and the gradients of a loss.
template <class F> auto with_gradients(const F& loss)
{
    return [loss](const List& x) {
        const auto [value, gradients] = value_and_grad(loss)(x);
        List out{value};
        for (const D& g : gradients) out.push_back(g);
        return out;
    };
}

}  // namespace

TEST_CASE("small operations in a chain, forwards and backwards")
{
    for (std::int64_t n : {1, 8, 64, 600}) {
        const Blocks in{random_block<double>({n}), random_block<double>({n}, 2)};
        const auto loss = [](const List& w) {
            D h = w[0];
            for (int op = 0; op < 20; ++op) h = op % 3 == 0 ? h * w[0] : op % 3 == 1 ? h + w[1] : tanh(h);
            return sum(h);
        };
        check<double>(with_gradients(loss), in);
    }
}

TEST_CASE("a network's gradients add up in place")
{
    const Blocks in{random_block<double>({4, 6}), random_block<double>({6, 9}, 2),
                    random_block<double>({9}, 3), random_block<double>({9, 6}, 4)};
    const auto loss = [](const List& w) {
        D y = w[0];
        for (int s = 0; s < 3; ++s) y = y + 0.1 * matmul(tanh(matmul(y, w[1]) + w[2]), w[3]);
        return mean(y * y);
    };
    const auto program = check<double>(with_gradients(loss), in);
    REQUIRE(static_cast<double>(program->stats.arena_bytes) <=
            1.15 * static_cast<double>(program->stats.arena_lower_bound));
}

TEST_CASE("products of transposed operands")
{
    const Blocks in{random_block<double>({6, 4}), random_block<double>({9, 6}, 2),
                    random_block<double>({6}, 3)};
    const auto loss = [](const List& w) {
        const D a = matmul(transpose(w[0]), transpose(w[1])),
                b = matmul(transpose(w[0]), transpose(w[1]) * 2.0);
        return sum(a * b) + sum(matmul(w[1], w[2])) + sum(matmul(w[2], w[0])) + sum(a * a);
    };
    check<double>(with_gradients(loss), in);
}

TEST_CASE("parts that are written and read")
{
    const Blocks in{random_block<double>({8, 9}), random_block<double>({9}, 2)};
    const auto loss = [](const List& w) {
        D u = w[0] * 2.0;
        for (int s = 0; s < 3; ++s) {
            view(u, range(1, 7), range(1, 8)) +=
                0.1 * (view(u, range(0, 6), range(1, 8)) + view(u, range(2, 8), range(1, 8)));
            view(u, 0) = w[1] * u(3, 3);
            view(u, all(), 2) -= view(u, all(), 3);
        }
        return sum(u * u);
    };
    check<double>(with_gradients(loss), in);
}

TEST_CASE("a part of an array is added after a part of the same memory in another shape")
{
    const Blocks in{random_block<double>({3, 4}), random_block<double>({9}, 2),
                    random_block<double>({2, 3}, 3)};
    const auto sums = [](const List& w) {
        D flat = reshape(w[0] * 2.0, {-1});
        view(flat, range(2, 11)) += w[1];
        D matrix = reshape(flat, {3, 4});
        view(matrix, range(1, 3), range(1, 4)) += w[2];
        return List{matrix};
    };
    check<double>(sums, in);
}

TEST_CASE("softmax, extrema and concatenation")
{
    const Blocks in{random_block<double>({5, 12}), random_block<double>({5, 3}, 2)};
    const auto loss = [](const List& w) {
        const D both = concatenate(List{w[0], w[1]}, 1);
        const D attention = softmax(both, 1);
        return sum(attention * both) + sum(amax(both, {0})) +
               sum(log_softmax(both, 1) * stack(List{both, both}, 0)) + logsumexp(both) +
               sum(norm(w[1], {1}));
    };
    check<double>(with_gradients(loss), in);
}

TEST_CASE("derivatives of derivatives")
{
    const Blocks in{random_block<double>({7}), random_block<double>({7, 7}, 2)};
    const auto inner = [](const List& w) { return sum(tanh(matmul(w[1], w[0] * w[0])) * exp(w[0])); };
    const auto outer = [inner](const List& w) {
        const List g = grad(inner)(w);
        return sum(g[0] * g[0]) + sum(g[1] * w[1]);
    };
    check<double>(with_gradients(outer), in);
}
