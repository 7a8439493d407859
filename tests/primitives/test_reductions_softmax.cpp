// softmax and log_softmax: fixtures, other axes, large and infinite elements.
#include "../fixtures/fixtures.hpp"

#include <wengert/ops/softmax.hpp>

using namespace wengert;
using fixtures::Case;
using fixtures::Inputs;

TEMPLATE_TEST_CASE("softmax: fixtures", "", float, double)
{
    using T = TestType;
    const fixtures::Tolerance tolerance =
        std::is_same_v<T, float> ? fixtures::Tolerance{4e-6, 2e-5} : fixtures::Tolerance{1e-14, 1e-12};
    fixtures::check_cases<T>(
        "reductions", "softmax",
        [](const Inputs<T>& x, const Case& c) { return softmax(x[0], c.params.integer("axis", -1)); },
        tolerance);
    fixtures::check_cases<T>(
        "reductions", "log_softmax",
        [](const Inputs<T>& x, const Case& c) { return log_softmax(x[0], c.params.integer("axis", -1)); },
        tolerance);
}

TEST_CASE("softmax: axes out of range")
{
    const Tensor<double> x = {{1.0, 2.0}};
    CHECK_THROWS_WITH(softmax(x, 2),
                      contains("axis 2") && contains("(1, 2)") && contains("test_reductions_softmax.cpp"));
    CHECK_THROWS_AS(log_softmax(Tensor<double>(1.0)), ShapeError);
}

TEST_CASE("log_softmax: exact where softmax underflows")
{
    const Tensor<double> x = {0.0, -1000.0};
    CHECK(log_softmax(x).data()[1] == -1000.0);
    CHECK(softmax(x).data()[1] == 0.0);
}
