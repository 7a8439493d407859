// elementwise(f): lambdas over scalars as primitives. (That captures do not compile: must_not_compile/.)
#include "catch.hpp"

#include <wengert/ops/indexing.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/transforms/check_grads.hpp>
#include <wengert/transforms/lambda.hpp>

namespace wg = wengert;
using wg::Tensor;
using D = Tensor<double>;

TEST_CASE("a lambda with literals and functions, to third order")
{
    const auto f = wg::elementwise([](auto x) {
        using std::exp, std::sin;
        return 2.0 * sin(x) * exp(-x / 3.0) + 1.0;
    });
    const D x = {0.3, -1.2, 2.0};
    for (std::size_t i = 0; i < 3; ++i) {
        const double t = x(i).item();
        CHECK(f(x)(i).item() == Approx(2 * std::sin(t) * std::exp(-t / 3) + 1));
    }
    const auto report = wg::check_grads(f, x, {.order = 3});
    CHECK(report.message == "");
}

TEST_CASE(
    "functions of <cmath> and gamma functions in a lambda: their values, and derivatives to second order")
{
    using std::exp2, std::cbrt, std::asinh, std::acosh, std::atanh, std::erfc, std::tgamma, std::lgamma;
    using std::fmod, std::remainder;
    using wg::digamma;
    const D x = {0.3, 0.45, 0.8, 0.62}, y = {0.7, 0.21, 0.33, 1.9};
    const auto same = [&](const char* name, auto f, const auto&... in) {
        INFO(name);
        const auto g = wg::elementwise(f);
        const D a = f(in...), b = g(in...);
        for (std::size_t k = 0; k < a.size(); ++k) CHECK(a.data()[k] == b.data()[k]);
        CHECK(wg::check_grads(g, std::tuple(in...), {.order = 2}).message == "");
    };
    same(
        "exp2", [](auto a) { return exp2(a); }, x);
    same(
        "cbrt", [](auto a) { return cbrt(a); }, x);
    same(
        "asinh", [](auto a) { return asinh(a); }, x);
    same(
        "acosh", [](auto a) { return acosh(a + 1.0); }, x);
    same(
        "atanh", [](auto a) { return atanh(a); }, x);
    same(
        "erfc", [](auto a) { return erfc(a); }, x);
    same(
        "tgamma", [](auto a) { return tgamma(a); }, x);
    same(
        "lgamma", [](auto a) { return lgamma(a); }, x);
    same(
        "digamma", [](auto a) { return digamma(a); }, x);
    same(
        "fmod", [](auto a, auto b) { return fmod(a, b); }, x, y);
    same(
        "remainder", [](auto a, auto b) { return remainder(a, b); }, x, y);
}

TEST_CASE("two and three arguments broadcast; numbers may stand for tensors")
{
    const auto f = wg::elementwise([](auto a, auto b) {
        using std::tanh;
        return tanh(a * b) - a / b;
    });
    const D a = {{0.5}, {1.5}}, b = {1.0, 2.0, -3.0};
    CHECK(f(a, b).shape() == wg::Shape{2, 3});
    CHECK(wg::check_grads(f, std::tuple(a, b), {.order = 2}).message == "");
    CHECK(f(a, 2.0)(1, 0).item() == Approx(std::tanh(3.0) - 0.75));
    CHECK(f(1, b)(2).item() == Approx(std::tanh(-3.0) + 1.0 / 3));
    const auto g = wg::elementwise([](auto x, auto y, auto z) { return x * y + z * z; });
    CHECK(wg::check_grads(g, std::tuple(a, b, D(0.7)), {.order = 2}).message == "");
}

TEST_CASE("where selects, with the derivative of the branch")
{
    const auto f = wg::elementwise([](auto x) {
        using std::exp;
        return where(x > 0.0, x * x, exp(x) - 1.0);
    });
    const D x = {1.5, -0.5, 3.0};
    CHECK(f(x)(0).item() == 2.25);
    CHECK(f(x)(1).item() == Approx(std::exp(-0.5) - 1));
    CHECK(wg::check_grads(f, x, {.order = 2}).message == "");
    const auto relu_squared = wg::elementwise([](auto t) { return where(t > 0.0, t * t, 0.0); });
    CHECK(wg::check_grads(relu_squared, x, {.order = 2}).message == "");
    CHECK(wg::grad([&](const D& t) { return sum(relu_squared(t)); })(x)(1).item() == 0.0);
}

TEST_CASE("an unselected branch makes no NaN, to second order")
{
    const auto f = wg::elementwise([](auto x) {
        using std::log;
        return where(x > 0.0, log(x), 0.0 * x);
    });
    const auto first = [&](const D& x) { return sum(wg::grad([&](const D& t) { return sum(f(t)); })(x)); };
    const D x = {0.0, 2.0};
    CHECK(first(x).item() == 0.5);
    CHECK(wg::grad(first)(x)(0).item() == 0.0);
    CHECK(wg::grad(first)(x)(1).item() == -0.25);
}

TEST_CASE("float, long vectors and views")
{
    const auto f = wg::elementwise([](auto a, auto b) {
        using std::exp;
        return a * exp(-b * b) + 0.5;
    });
    const Tensor<float> x = {0.3f, -1.2f, 0.8f, 0.1f, -0.4f, 1.1f, 0.9f, 0.2f, -0.7f};
    CHECK(wg::check_grads(f, std::tuple(x, x * 0.5f), {.order = 2}).message == "");
    CHECK(f(x, x).dtype() == wg::DType::float32);
    const D m = {{0.1, 0.2, 0.3}, {0.4, 0.5, 0.6}};
    CHECK(
        wg::check_grads([&](const D& t) { return f(transpose(t), transpose(t)); }, m, {.order = 2}).message ==
        "");
}

TEST_CASE("one call is one node")
{
    const auto f = wg::elementwise([](auto a, auto b) {
        using std::tanh;
        return tanh(a * a + b) * 2.0;
    });
    D a = {0.5, 1.0};
    a.requires_grad(true);
    const auto before = wg::Tape::current().size();
    const D y = f(a, 1.0);
    CHECK(wg::Tape::current().size() == before + 1);
    CHECK(y.any().node->primitive->name == "elementwise");
    const double t = std::tanh(1.25);
    wg::backward(sum(y));
    CHECK(a.grad()(0).item() == Approx(2 * (1 - t * t) * 2 * 0.5));
}

TEST_CASE("a lambda that does not use an argument, or is linear")
{
    const auto f = wg::elementwise([](auto a, auto) { return a * 3.0; });
    const D a = {1.0, 2.0}, b = {5.0, 6.0};
    const auto [ga, gb] = wg::grad<0, 1>([&](const D& x, const D& y) { return sum(f(x, y)); })(a, b);
    CHECK(ga(0).item() == 3.0);
    CHECK(gb(1).item() == 0.0);
    CHECK(wg::elementwise([](auto x) { return x; })(a)(1).item() == 2.0);
}
