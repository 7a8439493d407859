// Derivatives of derivatives of every smooth primitive, in both modes, against differences.
#include "list.hpp"

#include <wengert/transforms/check_grads.hpp>

using namespace wengert;

static const auto one = [](const char* name, auto f) {
    const Tensor<double> x = {0.3, 0.55, 0.8};
    const auto report = check_grads([&](const Tensor<double>& t) { return f(t); }, x, {.order = 2});
    INFO(name << ": " << report.message);
    CHECK(report.ok);
};

TEST_CASE("second derivatives: powers") { primitives::powers(one); }
TEST_CASE("second derivatives: trigonometry") { primitives::trigonometry(one); }
TEST_CASE("second derivatives: activations")
{
    primitives::activations(one);
    primitives::piecewise(one);
}

TEST_CASE("second derivatives: pairs")
{
    primitives::pairs([](const char* name, auto f) {
        using Pair = std::vector<Tensor<double>>;
        const Pair x = {{0.3, 0.55, 0.8}, {0.7, 1.5, 0.2}};
        const auto report = check_grads([&](const Pair& t) { return f(t[0], t[1]); }, x, {.order = 2});
        INFO(name << ": " << report.message);
        CHECK(report.ok);
    });
}

TEST_CASE("second derivatives: selection and casts")
{
    one("clip", [](const auto& t) { return clip(t * t, 0.1, 0.5); });
    one("where", [](const auto& t) { return where(t > 0.5, t * t, sin(t)); });
}
