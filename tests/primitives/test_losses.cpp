// cross_entropy and mse: fixtures, labels, what does not fit.
#include "../fixtures/fixtures.hpp"

#include <wengert/ops/losses.hpp>

using namespace wengert;
using fixtures::Case;
using fixtures::Inputs;

TEMPLATE_TEST_CASE("losses: fixtures", "", float, double)
{
    using T = TestType;
    const fixtures::Tolerance tolerance =
        std::is_same_v<T, float> ? fixtures::Tolerance{2e-6, 1e-5} : fixtures::Tolerance{1e-14, 1e-12};
    const auto entropy = [](const Inputs<T>& x, const Case& c) {
        return cross_entropy(x[0], c.ins[1].template tensor<std::int64_t>());
    };
    fixtures::check_cases<T>("losses", "cross_entropy", entropy, tolerance);
    fixtures::check_cases<T>(
        "losses", "mse", [](const Inputs<T>& x) { return mse(x[0], x[1]); }, tolerance);
}

TEST_CASE("cross_entropy: logits of any rank")
{
    const std::vector<double> values = {0.5, -1, 2, 0, 0.25, 1, -3, 1, 1, 2, 0, -1};
    const Tensor<std::int64_t> labels = {2, 0, 1, 1};
    const auto flat = cross_entropy(Tensor<double>(Shape{4, 3}, values), labels);
    const auto nested = cross_entropy(Tensor<double>(Shape{2, 2, 3}, values), reshape(labels, {2, 2}));
    CHECK(flat.item() == nested.item());
    CHECK(cross_entropy(Tensor<double>{1.0, 2.0, 3.0}, Tensor<std::int64_t>(2)).item() ==
          Approx(0.40760596444438));
}

TEST_CASE("cross_entropy: labels that name no class, shapes that do not fit")
{
    const Tensor<double> x(Shape{2, 3}, std::vector<double>(6, 0.0));
    CHECK_THROWS_WITH(cross_entropy(x, {0, 3}),
                      contains("label 3 at position 1") && contains("(2, 3)") && contains("test_losses.cpp"));
    CHECK_THROWS_AS(cross_entropy(x, {-1, 0}), IndexError);
    CHECK_THROWS_WITH(cross_entropy(x, {0, 1, 2}), contains("(2, 3)") && contains("(3)"));
    CHECK_THROWS_AS(cross_entropy(Tensor<double>(1.0), Tensor<std::int64_t>(0)), ShapeError);
}

TEST_CASE("cross_entropy: a row of -inf but for its label costs nothing")
{
    const double inf = std::numeric_limits<double>::infinity();
    Tensor<double> x = {{0.0, -inf, -inf}};
    x.requires_grad(true);
    const auto loss = cross_entropy(x, {0});
    CHECK(loss.item() == 0);
    backward(loss);
    for (std::size_t i = 0; i < 3; ++i) CHECK(x.grad().data()[i] == 0);
}
