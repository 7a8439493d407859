// argmax, argmin, all, any; sums and products of integers and bools.
#include "../fixtures/fixtures.hpp"

#include <wengert/ops/arg_reductions.hpp>
#include <wengert/ops/reductions.hpp>

using namespace wengert;
using fixtures::Case;
using fixtures::Inputs;

TEMPLATE_TEST_CASE("argmax, argmin: fixtures", "", float, double, std::int64_t, std::int32_t)
{
    using T = TestType;
    fixtures::check_cases<T>("reductions", "argmax", [](const Inputs<T>& x, const Case& c) {
        return argmax(x[0], c.params.integer("axis", 0));
    });
    fixtures::check_cases<T>("reductions", "argmin", [](const Inputs<T>& x, const Case& c) {
        return argmin(x[0], c.params.integer("axis", 0));
    });
}

TEST_CASE("argmax, argmin: over everything, ties, NaN, nothing")
{
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const Tensor<double> x = {{1.0, 3.0}, {3.0, -2.0}};
    CHECK(argmax(x).item() == 1);
    CHECK(argmin(x).item() == 3);
    CHECK(argmax(fixtures::strided_view(x)).item() == 1);
    CHECK(argmax(Tensor<double>{1.0, nan, 5.0, nan}).item() == 1);
    CHECK(argmin(x, 1, true).shape() == Shape{2, 1});
    CHECK_THROWS_AS(argmax(Tensor<double>(Shape{0}, std::vector<double>())), ShapeError);
    CHECK_THROWS_WITH(argmax(x, 2), contains("axis 2") && contains("(2, 2)"));
    CHECK_THROWS_AS(argmin(Tensor<double>(Shape{2, 0}, std::vector<double>()), 1), ShapeError);
    CHECK(argmin(Tensor<double>(Shape{0, 2}, std::vector<double>()), 1).shape() == Shape{0});
}

TEST_CASE("all, any: fixtures")
{
    const auto over = [](const Case& c, const auto& f, const Tensor<bool>& x) {
        Axes axes = c.params.shape("axes");
        if (!c.params.has("axes"))
            for (std::size_t i = 0; i < x.dimension(); ++i) axes.push_back(static_cast<std::int64_t>(i));
        return f(x, axes, c.params.integer("keepdims", 0) != 0);
    };
    fixtures::check_cases<bool>("reductions", "all", [&](const Inputs<bool>& x, const Case& c) {
        return over(
            c, [](const auto& t, const Axes& a, bool k) { return all(t, a, k); }, x[0]);
    });
    fixtures::check_cases<bool>("reductions", "any", [&](const Inputs<bool>& x, const Case& c) {
        return over(
            c, [](const auto& t, const Axes& a, bool k) { return any(t, a, k); }, x[0]);
    });
    CHECK(all(Tensor<double>{1.0, -2.0}).item());
    CHECK_FALSE(all(Tensor<std::int64_t>{1, 0}).item());
    CHECK(any(Tensor<float>{0.0f, 0.5f}).item());
}

TEMPLATE_TEST_CASE("integers: amax, amin against fixtures", "", std::int64_t, std::int32_t)
{
    using T = TestType;
    const auto axes_of = [](const Case& c) {
        return c.params.has("axes") ? c.params.shape("axes") : Axes{0, 1, 2};
    };
    const auto keep = [](const Case& c) { return c.params.integer("keepdims", 0) != 0; };
    fixtures::check_cases<T>("reductions", "amax", [&](const Inputs<T>& x, const Case& c) {
        return amax(x[0], axes_of(c), keep(c));
    });
    fixtures::check_cases<T>("reductions", "amin", [&](const Inputs<T>& x, const Case& c) {
        return amin(x[0], axes_of(c), keep(c));
    });
}

TEST_CASE("integers: sum, prod against fixtures, and the types that NumPy gives")
{
    using T = std::int64_t;
    const auto axes_of = [](const Case& c) {
        return c.params.has("axes") ? c.params.shape("axes") : Axes{0, 1, 2};
    };
    const auto keep = [](const Case& c) { return c.params.integer("keepdims", 0) != 0; };
    fixtures::check_cases<T>("reductions", "sum", [&](const Inputs<T>& x, const Case& c) {
        return sum(x[0], axes_of(c), keep(c));
    });
    fixtures::check_cases<T>("reductions", "prod", [&](const Inputs<T>& x, const Case& c) {
        return prod(x[0], axes_of(c), keep(c));
    });
    static_assert(std::is_same_v<decltype(sum(Tensor<bool>())), Tensor<std::int64_t>>);
    static_assert(std::is_same_v<decltype(prod(Tensor<std::int32_t>())), Tensor<std::int64_t>>);
    static_assert(std::is_same_v<decltype(mean(Tensor<std::int32_t>())), Tensor<double>>);
    CHECK(sum(Tensor<bool>{true, false, true}).item() == 2);
    CHECK(sum(Tensor<std::int32_t>{2'000'000'000, 2'000'000'000}).item() == 4'000'000'000);
    CHECK(prod(Tensor<bool>{true, true}).item() == 1);
    CHECK(mean(Tensor<bool>{true, false}).item() == 0.5);
    CHECK(mean(Tensor<std::int64_t>{1, 2}, {0}).item() == 1.5);
}
