// The testers tested: check_grads and audit pass right rules and name wrong ones.
#include "catch.hpp"

#include <wengert/transforms/audit.hpp>
#include <wengert/transforms/custom.hpp>
#include <wengert/transforms/lambda.hpp>

namespace wg = wengert;
using wg::Tensor;

namespace {

/// y = x³ with x̄ = ȳ·2x² instead of ȳ·3x².
struct WrongCube {
    static constexpr std::string_view name = "wrong_cube";
    template <class V> static V value(const V& x) { return x * x * x; }
    template <class V> static constexpr V pull(wg::wrt<0>, const V& g, const V& x, const V&)
    {
        return g * (wg::lit(2) * x * x);
    }
};

/// Right to first order, wrong to second: the derivative's own derivative is cut.
const auto cut = [](const Tensor<double>& x) {
    return wg::custom_vjp([](const Tensor<double>& t) { return t * t; },
                          [](const Tensor<double>& g, const Tensor<double>&, const Tensor<double>& t) {
                              return g * 2.0 * t.detach();
                          })(x);
};

}  // namespace

TEST_CASE("check_grads accepts right derivatives to third order")
{
    const Tensor<double> x = {0.3, -1.2, 2.0};
    const auto f = [](const Tensor<double>& t) { return sum(sin(t) * exp(t * 0.5)) + tanh(t); };
    CHECK(wg::check_grads(f, x, {.order = 3}).ok);
    CHECK(wg::check_grads([](const Tensor<float>& t) { return sin(t) * t; }, Tensor<float>{0.3f, 1.0f},
                          {.order = 2})
              .ok);
}

TEST_CASE("check_grads names the argument, the element and both numbers of a wrong rule")
{
    const auto f = [](const Tensor<double>& a, const Tensor<double>& b) {
        return a + wg::apply_elementwise<WrongCube, double>({}, b);
    };
    const auto report =
        wg::check_grads(f, std::tuple(Tensor<double>{1.0, 2.0}, Tensor<double>{0.0, 3.0}), {});
    CHECK(!report.ok);
    CHECK(report.argument == 1);
    CHECK(report.element == 1);
    CHECK(report.analytic / report.numeric == Approx(2.0 / 3.0));
    CHECK_THAT(report.message, contains("argument 1") && contains("element 1"));
}

TEST_CASE("check_grads finds what is wrong only to second order")
{
    const Tensor<double> x = {0.5, 1.5};
    CHECK(wg::check_grads(cut, x, {.order = 1, .modes = wg::Modes::reverse}).ok);
    CHECK(!wg::check_grads(cut, x, {.order = 2, .modes = wg::Modes::reverse}).ok);
}

TEST_CASE("audit names the operation and the line of a wrong rule")
{
    const auto f = [](const Tensor<double>& x) {
        const auto good = sin(x) * x;
        const auto wrong =
            wg::apply_elementwise<WrongCube, double>({__builtin_FILE(), __builtin_LINE()}, good);
        return sum(wrong + exp(x));
    };
    const int line = __LINE__ - 3;
    const auto report = wg::audit(f, Tensor<double>{0.4, 1.1});
    CHECK(report.nodes >= 5);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].primitive == "wrong_cube");
    CHECK(report.findings[0].at.line == line);
    CHECK_THAT(report.message, contains("test_check_grads.cpp:" + std::to_string(line)));
    CHECK(wg::audit([](const Tensor<double>& x) { return sum(tanh(x) * x, {0}, true); },
                    Tensor<double>{{1.0, 2.0}, {3.0, 4.0}})
              .ok);
}

TEST_CASE("a custom_vjp is checked in the mode that it has")
{
    using D = Tensor<double>;
    const D x{0.4, 1.1};
    const auto make = [](double factor) {
        return wg::custom_vjp([](const D& t) { return t * t; },
                              [factor](const D& g, const D&, const D& t) { return factor * g * t; });
    };
    const auto good = [f = make(2.0)](const D& t) { return sum(f(sin(t))); };
    const auto bad = [f = make(1.9)](const D& t) { return sum(f(sin(t))); };
    const auto report = wg::check_grads(good, x, {.order = 2});
    CHECK(report.message == "");
    CHECK(report.modes == wg::Modes::reverse);
    CHECK_THAT(wg::check_grads(bad, x).message, contains("reverse"));
    CHECK_THROWS_AS(wg::check_grads(good, x, {.modes = wg::Modes::forward}), wg::NoForwardMode);
    CHECK(wg::check_grads([](const D& t) { return sum(sin(t)); }, x).modes == wg::Modes::both);
}
