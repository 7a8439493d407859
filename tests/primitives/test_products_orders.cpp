// Derivatives of derivatives of the products and of the losses.
#include "../catch.hpp"

#include <wengert/ops/losses.hpp>
#include <wengert/ops/matmul.hpp>
#include <wengert/ops/shape.hpp>
#include <wengert/transforms/check_grads.hpp>

using namespace wengert;

namespace {

using Doubles = Tensor<double>;
using Pair = std::vector<Doubles>;

Doubles wave(const Shape& shape, double phase)
{
    std::vector<double> v(element_count(shape));
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = std::sin(phase + 1.7 * static_cast<double>(i));
    return Doubles(shape, v);
}

template <class F> void check(const F& f, const Pair& x, int order = 2)
{
    const CheckReport report =
        check_grads([&](const Pair& p) { return f(p[0], p[1]); }, x, {.order = order, .tolerance = 1e-6});
    CHECK(report.message == "");
    CHECK(report.ok);
}

const auto product = [](const Doubles& a, const Doubles& b) { return matmul(a, b); };

}  // namespace

TEST_CASE("orders: matmul in every combination of ranks")
{
    const Shape shapes[][2] = {{{3}, {3}},          {{2, 3}, {3}},       {{3}, {3, 2}},
                               {{2, 3}, {3, 4}},    {{2, 2, 3}, {3, 2}}, {{2, 2, 3}, {3}},
                               {{2, 3}, {2, 3, 2}}, {{3}, {2, 3, 2}},    {{2, 1, 2, 3}, {2, 3, 1}}};
    for (const auto& [a, b] : shapes) {
        INFO(to_string(a) << " x " << to_string(b));
        check(product, {wave(a, 0.3), wave(b, 1.1)});
    }
}
TEST_CASE("orders: matmul of transposed views, three times")
{
    check([](const Doubles& a, const Doubles& b) { return matmul(transpose(a), transpose(b)); },
          {wave({3, 2}, 0.1), wave({4, 3}, 0.2)}, 3);
    check([](const Doubles& a, const Doubles& b) { return matmul(swapaxes(a, 0, 1), b); },
          {wave({2, 2, 3}, 0.1), wave({2, 3, 2}, 0.2)});
    check([](const Doubles& a, const Doubles& b) { return outer(a, b) * dot(a, b); },
          {wave({3}, 0.1), wave({3}, 0.2)});
}
TEST_CASE("orders: losses")
{
    const Tensor<std::int64_t> labels = {2, 0, 3};
    check([&](const Doubles& a, const Doubles& b) { return cross_entropy(a * b, labels) * sum(a); },
          {wave({3, 4}, 0.1), wave({3, 4}, 0.2)}, 3);
    check([](const Doubles& a, const Doubles& b) { return mse(a, b) + mse(a, 0.5); },
          {wave({3, 4}, 0.1), wave({4}, 0.2)});
}
