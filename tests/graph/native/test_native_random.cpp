// Random programs of arithmetic, broadcasts, views, sums and stencils: native code has the bits of interpret().
#include "catch.hpp"
#include "same_bits.hpp"

#include <wengert/graph/native/native.hpp>
#include <wengert/graph/ir/interpret.hpp>
#include <wengert/graph/ir/trace.hpp>
#include <wengert/ops/elementwise/activations.hpp>
#include <wengert/ops/elementwise/pairs.hpp>
#include <wengert/ops/moves.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/ops/shape.hpp>
#include <wengert/ops/view.hpp>

using namespace wengert;

namespace {

class Dice {
public:
    explicit Dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U + 1) {}
    std::size_t below(std::size_t n)
    {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return static_cast<std::size_t>(state_ >> 11) % n;
    }

private:
    std::uint64_t state_;
};

template <class T> Ref<Block> random_block(Dice& dice, const Shape& shape)
{
    static constexpr T special[] = {T(0), T(-0.0), T(1), std::numeric_limits<T>::infinity(),
                                    std::numeric_limits<T>::quiet_NaN()};
    auto b = make_block(dtype_of<T>(), shape);
    for (std::size_t i = 0; i < b->count; ++i)
        b->template as<T>()[i] =
            dice.below(50) == 0 ? special[dice.below(5)] : static_cast<T>(dice.below(4001)) / T(1000) - T(2);
    return b;
}

/// Elements of a matrix from other places, as stencils read them.
template <class T> Tensor<T> moved(Dice& dice, const Tensor<T>& a, const Tensor<T>& b)
{
    const auto axis = static_cast<std::int64_t>(dice.below(2));
    const std::int64_t n = a.shape()[static_cast<std::size_t>(axis)],
                       by = static_cast<std::int64_t>(dice.below(7)) - 3;
    const auto part = [&](const Tensor<T>& x, std::int64_t first, std::int64_t end) {
        return axis == 0 ? view(x, range(first, end)) : view(x, all(), range(first, end));
    };
    const std::int64_t width = std::min<std::int64_t>(n, 1 + static_cast<std::int64_t>(dice.below(3)));
    switch (dice.below(6)) {
    case 0: return roll(a, by, axis) * b;
    case 1: return roll(a * T(0.5), by * n + 1, axis) + roll(a, by, 1 - axis);
    case 2: {
        const Tensor<T> h = concatenate({part(a, n - width, n), b, part(a, 0, width)}, axis);
        return part(h, 0, n) + part(h, 2 * width, n + 2 * width) * T(2);
    }
    case 3: {
        static constexpr PadMode modes[] = {PadMode::constant, PadMode::edge, PadMode::wrap,
                                            PadMode::reflect};
        std::vector<std::pair<std::int64_t, std::int64_t>> widths(2);
        widths[static_cast<std::size_t>(axis)] = {1, 2};
        const Tensor<T> p = pad(a, widths, modes[dice.below(n > 3 ? 4 : 3)]);
        return part(p, 0, n) - part(p, 3, n + 3) * b;
    }
    case 4: return where(roll(a > b, by, axis), a, roll(b, 1, axis));
    default: {
        Tensor<T> y = a;
        const Tensor<T> x = part(roll(b, by, axis), width, n) * T(0.25);
        if (axis == 0)
            view(y, range(0, n - width)) += x;
        else
            view(y, all(), range(0, n - width)) += x;
        return y;
    }
    }
}

/// One more value, from those that are there.
template <class T>
Tensor<T> step(Dice& dice, const std::vector<Tensor<T>>& pool, std::int64_t rows, std::int64_t columns)
{
    const auto any = [&] { return pool[dice.below(pool.size())]; };
    const Tensor<T> a = any(), b = any();
    const bool matrix = a.shape() == Shape{rows, columns};
    switch (dice.below(24)) {
    case 16:
    case 17:
    case 18:
    case 19:
    case 20:
    case 21:
    case 22: return matrix ? moved(dice, a, minimum(b, pool[0])) : a - b;
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 3: return a / b;
    case 4: return maximum(a, b);
    case 5: return where(a > b, a, T(0.5) * b);
    case 6: return -abs(a) + T(2);
    case 7: return relu(a) * T(0.3);
    case 8: return square(a) - floor(b);
    case 9: return matrix ? sum(a, {1}, true) : a + T(1);
    case 10: return matrix ? sum(a, {0}) : a * T(3);
    case 11: return sum(a) * T(0.01);
    case 12:
        return matrix ? transpose(reshape(transpose(a, {1, 0}), {rows, columns}), {0, 1}) : minimum(a, b);
    case 13:
        return matrix ? broadcast_to(view(a, range(0, 1), range(0, columns)), {rows, columns}, Site{})
                      : a - T(0.25);
    case 14: {
        if (!matrix || rows < 3) return sqrt(abs(a));
        Tensor<T> y = a;
        view(y, range(1, rows), range(0, columns)) += view(b + a, range(0, rows - 1), range(0, columns));
        return y;
    }
    default: return where(is_finite(a), a, T(1)) * b;
    }
}

template <class T> void run(std::uint64_t seed)
{
    INFO("seed " << seed);
    Dice dice(seed);
    static constexpr std::int64_t sizes[][2] = {{1, 1},    {3, 5},    {4, 16}, {7, 33},
                                                {40, 130}, {2, 5000}, {300, 2}};
    const auto [rows, columns] = sizes[dice.below(7)];
    std::vector<Ref<Block>> inputs;
    for (const Shape& s :
         {Shape{rows, columns}, Shape{rows, columns}, Shape{columns}, Shape{rows, 1}, Shape()})
        inputs.push_back(random_block<T>(dice, s));
    const Graph g = trace_graph(
        [&](const std::vector<AnyTensor>& in) {
            std::vector<Tensor<T>> pool;
            for (const AnyTensor& a : in) pool.push_back(Tensor<T>(a));
            std::vector<AnyTensor> out;
            for (int k = 0; k < 40; ++k) {
                pool.push_back(step(dice, pool, rows, columns));
                if (k % 8 == 7) out.push_back(pool.back().any());
            }
            return out;
        },
        inputs);
    const auto native = compile_native(g, {});
    REQUIRE(native->note == "");
    const auto expected = interpret(g, inputs);
    std::vector<Ref<Block>> out;
    for (int twice = 0; twice < 2; ++twice) {
        native->run(inputs, out);
        for (std::size_t k = 0; k < out.size(); ++k) {
            INFO("output " << k << " of shape " << to_string(g.node(g.outputs()[k]).shape));
            CHECK(different_elements(*expected[g.outputs()[k]], *out[k]) == 0);
        }
    }
}

}  // namespace

TEST_CASE("native: random programs have the bits of interpret()", "[native]")
{
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        run<float>(seed);
        run<double>(seed + 100);
    }
}
