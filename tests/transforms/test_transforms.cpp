// grad, vjp, jvp, jacobian, hessian, hvp over tensors and structs of tensors.
#include "catch.hpp"

#include <array>
#include <map>
#include <variant>

#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/update.hpp>
#include <wengert/transforms/derivatives.hpp>

namespace wg = wengert;
using wg::Tensor;
using D = Tensor<double>;

namespace {

struct Layer {
    Tensor<double> weight, bias;
    int width = 3;
};
struct Model {
    std::vector<Layer> layers;
    std::map<std::string, Tensor<double>> extra;
    std::string name;
};

double at(const Tensor<double>& x, std::size_t i) { return x.data()[i]; }

}  // namespace

TEST_CASE("value_and_grad of several arguments")
{
    const auto f = [](const Tensor<double>& a, const Tensor<double>& b) { return sum(a * b * b); };
    const Tensor<double> a = {1.0, 2.0}, b = {3.0, 4.0};
    const auto [value, g] = wg::value_and_grad<0, 1>(f)(a, b);
    CHECK(value.item() == 41.0);
    CHECK(at(std::get<0>(g), 1) == 16.0);
    CHECK(at(std::get<1>(g), 1) == 16.0);
    const auto [same, gb] = wg::value_and_grad<1>(f)(a, b);
    CHECK(at(gb, 0) == 6.0);
}

TEST_CASE("the gradient of a struct has its type; what is no tensor is copied")
{
    const auto loss = [](const Model& m) {
        Tensor<double> total = sum(m.extra.at("scale"));
        for (const Layer& l : m.layers) total = total + sum(l.weight * l.weight) + sum(l.bias);
        return total;
    };
    const Model m{{{{1.0, 2.0}, {0.5}, 7}, {{3.0}, {0.5}, 8}},
                  {{"scale", Tensor<double>(2.0)}, {"unused", {1.0, 1.0}}},
                  "net"};
    const Model g = wg::grad(loss)(m);
    REQUIRE(g.layers.size() == 2);
    CHECK(at(g.layers[0].weight, 1) == 4.0);
    CHECK(at(g.layers[1].weight, 0) == 6.0);
    CHECK(at(g.layers[1].bias, 0) == 1.0);
    CHECK(g.layers[1].width == 8);
    CHECK(g.name == "net");
    CHECK(at(g.extra.at("scale"), 0) == 1.0);
    CHECK(at(g.extra.at("unused"), 1) == 0.0);
}

TEST_CASE("integer arguments stay what they are")
{
    const auto f = [](const std::pair<Tensor<double>, Tensor<std::int64_t>>& p) {
        return sum(p.first * 2.0);
    };
    const auto g = wg::grad(f)(std::pair(Tensor<double>{1.0, 2.0}, Tensor<std::int64_t>{5, 6}));
    CHECK(at(g.first, 0) == 2.0);
    CHECK(g.second.size() == 2);
}

TEST_CASE("vjp: the pullback may be called repeatedly, for structured results")
{
    const auto f = [](const Tensor<double>& a, const Tensor<double>& b) { return std::pair(a * b, sin(a)); };
    const auto [y, pullback] = wg::vjp(f, Tensor<double>{1.0, 2.0}, Tensor<double>{3.0, 4.0});
    CHECK(at(y.first, 1) == 8.0);
    const auto [ga, gb] = pullback({Tensor<double>{1.0, 0.0}, Tensor<double>{0.0, 1.0}});
    CHECK(at(ga, 0) == 3.0);
    CHECK(at(ga, 1) == Approx(std::cos(2.0)));
    CHECK(at(gb, 0) == 1.0);
    const auto again = pullback({Tensor<double>{0.0, 1.0}, Tensor<double>{0.0, 0.0}});
    CHECK(at(std::get<0>(again), 0) == 0.0);
    CHECK(at(std::get<1>(again), 1) == 2.0);
    CHECK_THROWS_AS(pullback({Tensor<double>{0.0}, Tensor<double>{0.0, 0.0}}), wg::ShapeError);
}

TEST_CASE("jvp of several primals, as a tuple")
{
    const auto f = [](const Tensor<double>& a, const Tensor<double>& b) { return a * sin(b); };
    const auto [y, dot] = wg::jvp(f, std::tuple(Tensor<double>{2.0}, Tensor<double>{0.5}),
                                  std::tuple(Tensor<double>{1.0}, Tensor<double>{3.0}));
    CHECK(at(y, 0) == Approx(2 * std::sin(0.5)));
    CHECK(at(dot, 0) == Approx(std::sin(0.5) + 2 * std::cos(0.5) * 3));
    CHECK_THROWS_AS(
        wg::jvp([](const Tensor<double>& x) { return x; }, Tensor<double>{1.0}, Tensor<double>{1.0, 2.0}),
        wg::ShapeError);
}

TEST_CASE("jacobian by rows and by columns, hessian, hvp")
{
    const auto wide = [](const Tensor<double>& x) { return sum(x * x * x); };
    const auto tall = [](const Tensor<double>& x) { return x * Tensor<double>{{1.0}, {2.0}, {3.0}}; };
    const Tensor<double> x = {1.0, 2.0};
    const auto row = wg::jacobian(wide)(x);
    CHECK(row.shape() == wg::Shape{2});
    CHECK(at(row, 1) == 12.0);
    const auto J = wg::jacobian(tall)(x);  // (3, 2, 2)
    CHECK(J.shape() == wg::Shape{3, 2, 2});
    CHECK(wg::readable(J.any().value)->as<double>()[4 * 2 + 3] == 3.0);
    CHECK(wg::readable(J.any().value)->as<double>()[4 * 2 + 1] == 0.0);
    const auto H = wg::hessian(wide)(x);
    CHECK(wg::readable(H.any().value)->as<double>()[3] == 12.0);
    CHECK(at(wg::hvp(wide)(x, Tensor<double>{1.0, 10.0}), 1) == 120.0);
}

TEST_CASE("grad of what is no scalar, and of what is constant")
{
    CHECK_THROWS_AS(wg::grad([](const Tensor<double>& x) { return x; })(Tensor<double>{1.0, 2.0}),
                    wg::TapeError);
    const auto g =
        wg::grad([](const Tensor<double>&) { return Tensor<double>(1.0); })(Tensor<double>{1.0, 2.0});
    CHECK(at(g, 1) == 0.0);
}

TEST_CASE("a zero cotangent makes no NaN, to second order, unless AllowNaN")
{
    const auto f = [](const Tensor<double>& x) { return sum(where(x > 0.0, log(x), 0.0 * x)); };
    const Tensor<double> x = {0.0, 2.0};
    CHECK(at(wg::grad(f)(x), 0) == 0.0);
    CHECK(at(wg::grad([&](const Tensor<double>& t) { return sum(wg::grad(f)(t)); })(x), 0) == 0.0);
    CHECK(at(wg::grad([&](const Tensor<double>& t) { return sum(wg::grad(f)(t)); })(x), 1) == -0.25);
    CHECK(at(wg::jvp(wg::grad(f), x, Tensor<double>{1.0, 1.0}).second, 0) == 0.0);
    const wg::AllowNaN off;
    CHECK(std::isnan(at(wg::grad(f)(x), 0)));
}

TEST_CASE("the derivative with respect to a zero cotangent survives")
{
    // the Hessian of Σ tanh² x at 0 is 2·I: the cotangent of tanh is 0 there, its derivative is not
    const auto H =
        wg::hessian([](const Tensor<double>& x) { return sum(square(tanh(x))); })(Tensor<double>{0.0, 0.0});
    const auto values = wg::readable(H.any().value);
    CHECK(values->as<double>()[0] == 2.0);
    CHECK(values->as<double>()[1] == 0.0);
    CHECK(values->as<double>()[3] == 2.0);
}

TEST_CASE("a function may write to arguments that it takes by reference")
{
    const D x{2.0, 3.0};
    const D twice = 2.0 * x;
    CHECK(wg::allclose(wg::grad([](D& t) {
                           t *= t;
                           return sum(t);
                       })(x),
                       twice));
    CHECK(wg::allclose(wg::grad([](auto& t) {
                           const D u = std::move(t);
                           return sum(u * u);
                       })(x),
                       twice));
    const auto swapped = wg::grad<0, 1>([](D& a, D& b) {
        std::swap(a, b);
        return sum(a * 3.0 + b);
    })(x, x);
    CHECK(wg::allclose(std::get<0>(swapped), wg::ones_like(x)));
    CHECK(wg::allclose(std::get<1>(swapped), 3.0 * wg::ones_like(x)));
    const auto pulled = wg::vjp(
        [](D& t) {
            t *= t;
            return sum(t);
        },
        x);
    CHECK(wg::allclose(pulled.second(D(1.0)), twice));
    CHECK(wg::allclose(x, D{2.0, 3.0}));
}

TEST_CASE("backward within NoGrad: what has been recorded before can be swept")
{
    D w{1.0, 2.0};
    w.requires_grad();
    const D y = sum(w * w);
    {
        const wg::NoGrad off;
        backward(y);
    }
    CHECK(wg::allclose(w.grad(), D{2.0, 4.0}));
}

TEST_CASE("tensors in variants are variables like others")
{
    struct Parameters {
        D w;
        std::variant<int, D, std::pair<D, D>> shift;
    };
    const auto loss = [](const Parameters& p) {
        if (const D* s = std::get_if<D>(&p.shift)) return sum(p.w * *s * *s);
        return sum(p.w * p.w);
    };
    const D w{1.0, 2.0}, s{3.0, 4.0};
    const Parameters g = wg::grad(loss)(Parameters{w, s});
    CHECK(wg::allclose(g.w, s * s));
    CHECK(wg::allclose(std::get<D>(g.shift), 2.0 * w * s));
    CHECK(std::get<int>(wg::grad(loss)(Parameters{w, 7}).shift) == 7);
    CHECK_THROWS_AS(wg::tree::zip_for_each([](D&, const D&) {}, Parameters{w, s}, Parameters{w, 7}),
                    wg::ShapeError);
}
