// Rows that stay where they are: map -> reduce -> broadcast -> map in one pass, with eager's bits.
#include "catch.hpp"

#include "graph/fuse/fused_runner.hpp"

#include <wengert/graph/ir/trace.hpp>
#include <wengert/graph/passes/passes.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/ops/shape.hpp>
#include <wengert/ops/softmax.hpp>
#include <wengert/transforms/grad.hpp>

namespace {

using namespace wengert;
using fused_test::Counts;

/// Elements without a pattern, of both signs.
template <class T> Tensor<T> numbers(const Shape& shape, unsigned seed = 1)
{
    auto b = make_block(dtype_of<T>(), shape);
    for (std::size_t i = 0; i < b->count; ++i)
        b->template as<T>()[i] = static_cast<T>(std::sin(static_cast<double>(seed * 1000 + i * i % 977)) * 2);
    return Tensor<T>(AnyTensor{b, {}});
}

/// The group's kernels give the bits of interpret, for f(x…) or its gradient.
template <class T, class F> Counts check(const F& f, const std::vector<Tensor<T>>& inputs)
{
    std::vector<Ref<Block>> blocks;
    for (const auto& x : inputs) blocks.push_back(x.any().value);
    const auto traced = [&](const std::vector<AnyTensor>& in) -> std::vector<AnyTensor> {
        std::vector<Tensor<T>> x;
        for (const AnyTensor& a : in) x.push_back(Tensor<T>(a));
        std::vector<AnyTensor> out;
        for (const Tensor<T>& y : f(x)) out.push_back(y.any());
        return out;
    };
    return fused_test::check_fused(optimize(trace_graph(traced, blocks)), blocks);
}

template <class T> using Tensors = std::vector<Tensor<T>>;
constexpr std::initializer_list<std::pair<std::size_t, std::size_t>> sizes = {
    {2, 2},  {3, 5},  {7, 1},   {1, 39},   {0, 34},    {4, 0},    {5, 32},   {9, 33},   {33, 37},
    {4, 47}, {6, 48}, {3, 100}, {130, 35}, {128, 128}, {19, 513}, {3, 2048}, {2, 4096}, {2, 5000}};
constexpr auto shortest = static_cast<std::size_t>(tiling::shortest_row);

template <class T> Tensor<T> layer_norm(const Tensor<T>& x, const Tensor<T>& gain, const Tensor<T>& bias)
{
    const auto centred = x - mean(x, {-1}, true);
    return centred / sqrt(mean(square(centred), {-1}, true) + 1e-5) * gain + bias;
}

}  // namespace

TEMPLATE_TEST_CASE("softmax between maps", "", float, double)
{
    using T = TestType;
    for (auto [rows, n] : sizes) {
        CAPTURE(rows, n);
        const Counts c =
            check<T>([](const Tensors<T>& x) { return Tensors<T>{softmax(x[0] * 0.25, -1) + x[1]}; },
                     {numbers<T>({rows, n}), numbers<T>({rows, n}, 2)});
        if (rows > 1 && n >= shortest && n <= 2048) CHECK((c.kernels == 1 && c.singles == 0));
        check<T>([](const Tensors<T>& x) { return Tensors<T>{exp(log_softmax(x[0] * x[0], -1))}; },
                 {numbers<T>({rows, n})});
    }
}

TEMPLATE_TEST_CASE("softmax of its own parts", "", float, double)
{
    using T = TestType;
    for (auto [rows, n] : sizes) {
        if (n == 0) continue;
        CAPTURE(rows, n);
        const Counts c = check<T>(
            [](const Tensors<T>& x) {
                const auto e = exp(x[0] - amax(x[0], {-1}, true));
                return Tensors<T>{e / sum(e, {-1}, true)};
            },
            {numbers<T>({rows, n})});
        if (rows > 1 && n >= shortest && n <= 2048) CHECK((c.kernels == 1 && c.singles == 0));
    }
}

TEMPLATE_TEST_CASE("layer norm", "", float, double)
{
    using T = TestType;
    for (auto [rows, n] : sizes) {
        CAPTURE(rows, n);
        const Tensors<T> x{numbers<T>({rows, n}), numbers<T>({n}, 2), numbers<T>({n}, 3)};
        const Counts c =
            check<T>([](const Tensors<T>& x) { return Tensors<T>{layer_norm(x[0], x[1], x[2])}; }, x);
        if (rows > 1 && n >= shortest && n <= 2048) CHECK((c.kernels == 1 && c.singles == 0));
        check<T>(grad([](const Tensors<T>& x) { return sum(square(layer_norm(x[0], x[1], x[2]))); }), x);
    }
}

TEMPLATE_TEST_CASE("gradients of softmax, log_softmax and standardised rows", "", float, double)
{
    using T = TestType;
    for (auto [rows, n] : sizes) {
        CAPTURE(rows, n);
        const Tensors<T> x{numbers<T>({rows, n}), numbers<T>({rows, n}, 2)};
        check<T>(grad([](const Tensors<T>& x) { return sum(softmax(x[0] * 0.25, -1) * x[1]); }), x);
        check<T>(grad([](const Tensors<T>& x) { return sum(log_softmax(x[0] + x[1], -1) * x[1]); }), x);
        check<T>(grad([](const Tensors<T>& x) { return sum(logsumexp(x[0] * x[1], {-1})); }), x);
        check<T>(grad([](const Tensors<T>& x) {
                     const auto standard = (x[0] - mean(x[0], {1}, true)) / sqrt(var(x[0], {1}, true, 1) + 1);
                     return sum(standard * x[1]);
                 }),
                 x);
    }
}

TEST_CASE("rows of more axes, without extents of 1, of views, and to several results")
{
    const Tensors<double> x{numbers<double>({3, 4, 40}), numbers<double>({3, 1, 40}, 2),
                            numbers<double>({40, 4, 3}, 3), numbers<double>({4, 3}, 4)};
    const auto one = [&](const auto& f) {
        check<double>(f, x);
        check<double>(grad([f](const Tensors<double>& x) {
                          Tensor<double> s(0.0);
                          for (const auto& y : f(x)) s = s + sum(square(y));
                          return s;
                      }),
                      x);
    };
    one([](const Tensors<double>& x) {  // an operand that is a transposed view, one broadcast in the middle
        const auto y = softmax(swapaxes(x[2], 0, 2) * 0.5 + x[0], -1);
        return Tensors<double>{y * x[1], y + 1.0};
    });
    one([](const Tensors<double>& x) {  // a value a row from outside, once as a view
        const auto s = exp(x[0]);
        const auto scale = reshape(swapaxes(x[3], 0, 1), {3, 4, 1});
        const auto total = sum(s, {2});
        return Tensors<double>{s / reshape(total * square(swapaxes(x[3], 0, 1)), {3, 4, 1}) + scale, total};
    });
    one([](const Tensors<double>& x) {  // two reductions in a chain, and the extremes
        const auto low = amin(x[0], {2}, true), high = amax(x[0], {2}, true);
        const auto unit = (x[0] - low) / (high - low + 1.0);
        return Tensors<double>{unit / sum(unit, {2}, true), high - low};
    });
    one([](const Tensors<double>& x) {  // what comes between is finished elsewhere first
        const auto y = x[0] - mean(x[0], {2}, true);
        const auto z = y * sum(y, {0}, true);
        return Tensors<double>{z / sqrt(sum(square(z), {2}, true) + 1.0)};
    });
    one([](const Tensors<double>& x) {  // one value for columns and rows of a square
        const auto m = reshape(x[3] + 1.0, {12, 1}) * reshape(x[3], {1, 12});
        const auto total = sum(m, {1});
        return Tensors<double>{m / total + softmax(m, 0), m / reshape(total, {12, 1})};
    });
}

TEST_CASE("long chains of normalised rows stay within the limits of a group")
{
    for (int depth : {3, 20, 60})
        check<float>(
            [depth](const Tensors<float>& x) {
                Tensor<float> y = x[0];
                for (int k = 0; k < depth; ++k) y = layer_norm(tanh(y) + x[0], x[1], x[1]);
                return Tensors<float>{y};
            },
            {numbers<float>({12, 50}), numbers<float>({50}, 2)});
}
