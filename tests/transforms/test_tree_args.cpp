// Arguments that are trees of tensors: every container, gradients of their type, optimizers over several of them.
#include "catch.hpp"

#include <array>
#include <map>
#include <optional>

#include <wengert/ops/indexing.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/transforms/check_grads.hpp>

namespace wg = wengert;
using wg::Tensor;
using D = Tensor<double>;

namespace {

struct Layer {
    D weight, bias;
    std::optional<D> scale;
};
struct Net {
    std::vector<Layer> layers;
    std::array<D, 2> ends;
    std::map<std::string, std::pair<D, Tensor<std::int64_t>>> extra;
    std::tuple<D, int> tail;
};

Net example()
{
    return {{{{1.0, 2.0}, {0.5, 0.1}, D{2.0, 3.0}}, {{3.0, -1.0}, {0.2, 0.3}, {}}},
            {D{0.5, 0.25}, D(1.5)},
            {{"a", {D{1.0, 4.0}, {7, 8}}}},
            {D{0.1, 0.9}, 5}};
}
const auto loss = [](const Net& n) {
    D h = n.ends[0];
    for (const Layer& l : n.layers) {
        h = tanh(h * l.weight + l.bias);
        if (l.scale) h = h * *l.scale;
    }
    return sum(h * n.extra.at("a").first * std::get<0>(n.tail)) * n.ends[1];
};

}  // namespace

TEST_CASE("a nested struct: the gradient has its type, in both modes and to second order")
{
    const Net net = example();
    const auto [value, g] = wg::value_and_grad(loss)(net);
    CHECK(value.item() == Approx(loss(net).item()));
    CHECK(g.layers.size() == 2);
    CHECK(g.layers[0].scale.has_value());
    CHECK(!g.layers[1].scale.has_value());
    CHECK(g.extra.at("a").second(1).item() == 0);  // an integer has the derivative 0
    CHECK(std::get<1>(g.tail) == 5);
    CHECK(wg::check_grads(loss, net, {.order = 2}).message == "");
}

TEST_CASE("jvp, vjp and hvp of a struct agree")
{
    const Net net = example();
    const Net v = wg::tree::map([]<class T>(const Tensor<T>& t) { return t * T(2); }, net);
    const Net g = wg::grad(loss)(net);
    double want = 0;
    wg::tree::zip_for_each(
        [&]<class T>(const Tensor<T>& a, const Tensor<T>& b) {
            want += static_cast<double>(sum(a * b).item());
        },
        g, v);
    CHECK(wg::jvp(loss, net, v).second.item() == Approx(want));
    const auto [y, pullback] = wg::vjp(loss, net);
    CHECK(pullback(D(1.0)).layers[1].weight(0).item() == Approx(g.layers[1].weight(0).item()));
    const Net Hv = wg::hvp(loss)(net, v);
    const Net by_jvp = wg::jvp(wg::grad(loss), net, v).second;
    CHECK(Hv.layers[0].bias(1).item() == by_jvp.layers[0].bias(1).item());
}

TEST_CASE("hvp and jvp of a gradient with several arguments, as tuples")
{
    const auto f = [](const D& a, const D& b) { return sum(a * a * b); };
    const D a = {1.0, 2.0}, b = {3.0, 4.0}, one = {1.0, 1.0};
    const auto Hv = wg::hvp(f)(std::tuple(a, b), std::tuple(one, one));
    CHECK(std::get<0>(Hv)(1).item() == 12.0);  // d/da: 2 b + 2 a
    CHECK(std::get<1>(Hv)(1).item() == 4.0);   // d/db: 2 a
    const auto scaled = [](int n, const D& x, const wg::Key&) { return n * sum(square(x)); };
    const std::tuple point(3, a, wg::Key(1)), way(3, one, wg::Key(1));
    const auto [n, part, key] = wg::hvp(scaled)(point, way);
    CHECK(n == 3);
    CHECK(part(0).item() == 6.0);
    const auto both = wg::jvp(wg::grad<0, 1>(f), std::tuple(a, b), std::tuple(one, one)).second;
    CHECK(std::get<1>(both)(1).item() == 4.0);  // d/db: 2 a
}

TEST_CASE("a slice as an argument is the tensor that it shows")
{
    D x = {1.0, 2.0, 3.0};
    const auto g = wg::grad([](const D& t) { return sum(t * t); })(view(x, wg::range(1, 3)));
    static_assert(std::is_same_v<std::remove_cvref_t<decltype(g)>, D>);
    CHECK(g(1).item() == 6.0);
}

TEST_CASE("zip_for_each over four structs: Adam")
{
    Net net = example();
    const auto zeros = []<class T>(const Tensor<T>& t) { return t * T(0); };
    Net m = wg::tree::map(zeros, net), v = m;
    const double first = loss(net).item();
    for (int step = 1; step <= 20; ++step) {
        const Net g = wg::grad(loss)(net);
        wg::tree::zip_for_each(
            [&]<class T>(Tensor<T>& p, const Tensor<T>& dp, Tensor<T>& mean, Tensor<T>& square) {
                if constexpr (wg::Differentiable<T>) {
                    mean = 0.9 * mean + 0.1 * dp;
                    square = 0.999 * square + 0.001 * dp * dp;
                    p -= 0.05 * (mean / (1 - std::pow(0.9, step))) /
                         (sqrt(square / (1 - std::pow(0.999, step))) + 1e-8);
                }
            },
            net, g, m, v);
    }
    CHECK(loss(net).item() < first - 0.5);
    CHECK(net.extra.at("a").second(0).item() == 7);
    Net shorter = net;
    shorter.layers.pop_back();
    CHECK_THROWS_AS(wg::tree::zip_for_each([](auto&&...) {}, net, m, shorter), wg::ShapeError);
}
