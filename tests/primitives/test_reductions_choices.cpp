// Reductions where the textbook has no answer: ties, the origin, zero variance, no elements, infinities; errors; accuracy.
#include "../fixtures/fixtures.hpp"

#include <wengert/ops/reductions.hpp>

#include <random>

using namespace wengert;

namespace {

template <class T> std::vector<double> elements(const Tensor<T>& x)
{
    const auto b = readable(x.any().value);
    return {b->template as<T>(), b->template as<T>() + b->count};
}

template <class F> std::vector<double> gradient(const F& f, Tensor<double> x)
{
    x.requires_grad(true);
    backward(f(x));
    return elements(x.grad());
}

using List = std::vector<double>;
const double nan_value = std::numeric_limits<double>::quiet_NaN(),
             inf = std::numeric_limits<double>::infinity();
Tensor<double> empty(const Shape& shape) { return Tensor<double>(shape, List()); }

}  // namespace

TEST_CASE("amax, amin: ties share the gradient equally")
{
    const auto largest = [](const Tensor<double>& x) { return amax(x); };
    const auto rows = [](const Tensor<double>& x) { return sum(amin(x, {1})); };
    CHECK(gradient(largest, {1.0, 5.0, 5.0, 2.0, 5.0, 5.0}) == List{0, 0.25, 0.25, 0, 0.25, 0.25});
    CHECK(gradient(rows, {{1.0, 1.0}, {3.0, 2.0}}) == List{0.5, 0.5, 0, 1});
    CHECK(gradient(rows, {{-inf, 1.0}, {inf, inf}}) == List{1, 0, 0.5, 0.5});
    CHECK(gradient(largest, {1.0, nan_value, 3.0}) == List{0, 1, 0});
}

TEST_CASE("norm: 0 at the origin, no overflow on the way")
{
    const auto f = [](const Tensor<double>& x) { return norm(x); };
    CHECK(gradient(f, {0.0, 0.0}) == List{0, 0});
    CHECK(gradient(f, {3.0, -4.0})[1] == Approx(-0.8));
    CHECK(norm(Tensor<double>{3e200, 4e200}).item() == Approx(5e200));
    CHECK(norm(Tensor<double>{3e-200, 4e-200}).item() == Approx(5e-200));
    CHECK(gradient(f, {3e200, 4e200})[0] == Approx(0.6));
    CHECK(gradient(f, {3e-320, 0.0})[0] == 1);
    CHECK(gradient([](const Tensor<double>& x) { return sum(norm(x, {1})); }, {{0.0, 0.0}, {0.0, -2.0}}) ==
          List{0, 0, 0, -1});
}

TEST_CASE("stddev: a zero derivative at zero variance")
{
    const auto f = [](const Tensor<double>& x) { return stddev(x); };
    CHECK(gradient(f, {2.0, 2.0, 2.0}) == List{0, 0, 0});
    CHECK(gradient(f, {1.0, 3.0}) == List{-0.5, 0.5});
    CHECK(std::isnan(stddev(Tensor<double>{1.0}, {0}, false, 1).item()));
}

TEST_CASE("prod: derivatives of any order take memory of the size of x")
{
    // d³/dt³ (1 + t)ⁿ at 0. A table of pairs for each order would have n³ elements, 64 GB.
    const std::int64_t n = 2000;
    const auto one = wengert::ones<double>({n});
    const auto line = [&](const Tensor<double>& t) { return prod(one + t * one); };
    const auto third = wengert::grad(wengert::grad(wengert::grad(line)))(Tensor<double>(0.0));
    CHECK(third.item() == double(n * (n - 1) * (n - 2)));
    const auto gradient = [](const Tensor<double>& x) {
        return sum(wengert::grad([](const auto& y) { return prod(y); })(x));
    };
    const auto second = wengert::hvp(gradient)(
        one, one);  // Σⱼ Σₖ ∂³ prod / ∂xᵢ ∂xⱼ ∂xₖ over k other than i, j other than both
    CHECK(second(0).item() == double((n - 1) * (n - 2)));
}

TEST_CASE("prod: zeros")
{
    const auto f = [](const Tensor<double>& x) { return prod(x); };
    CHECK(gradient(f, {2.0, 3.0, 4.0}) == List{12, 8, 6});
    CHECK(gradient(f, {2.0, 0.0, 4.0}) == List{0, 8, 0});
    CHECK(gradient(f, {0.0, 0.0, 4.0}) == List{0, 0, 0});
    const auto apart = [](const Tensor<double>& x) { return sum(prod(x, {0, 2})); };
    CHECK(gradient(apart, {{{1.0, 2.0}, {3.0, 4.0}}, {{5.0, 6.0}, {7.0, 0.0}}}) ==
          List{60, 30, 0, 0, 12, 10, 0, 84});
}

TEST_CASE("logsumexp: rows of -inf, large elements")
{
    const auto f = [](const Tensor<double>& x) { return logsumexp(x); };
    CHECK(logsumexp(Tensor<double>{-inf, -inf}).item() == -inf);
    CHECK(gradient(f, {-inf, 0.0}) == List{0, 1});
    CHECK(gradient(f, {-inf, -inf}) == List{0, 0});
    CHECK(gradient(f, {1000.0, 1000.0})[0] == Approx(0.5).epsilon(1e-12));
}

TEST_CASE("reductions of nothing")
{
    CHECK(std::isnan(mean(empty({0})).item()));
    CHECK(std::isnan(var(empty({0})).item()));
    CHECK(prod(empty({0})).item() == 1);
    CHECK(norm(empty({0})).item() == 0);
    CHECK(logsumexp(empty({0})).item() == -inf);
    CHECK_THROWS_WITH(amax(empty({2, 0}), {1}),
                      contains("[amax]") && contains("(2, 0)") && contains("test_reductions_choices.cpp"));
    CHECK_THROWS_AS(amin(empty({0})), ShapeError);
    CHECK(amax(empty({0, 3}), {1}).shape() == Shape{0});
    CHECK(gradient([](const Tensor<double>& x) { return sum(prod(x, {1})); }, empty({3, 0, 2})).empty());
    CHECK(gradient([](const Tensor<double>& x) { return sum(logsumexp(x, {1})); }, empty({3, 0, 2})).empty());
}

TEST_CASE("reductions: axes that are none")
{
    const Tensor<double> x = {{1.0, 2.0, 3.0}};
    CHECK_THROWS_WITH(mean(x, {2}), contains("[mean] axis 2") && contains("(1, 3)"));
    CHECK_THROWS_WITH(amax(x, {-3}), contains("axis -3"));
    CHECK_THROWS_WITH(stddev(x, {0, -2}), contains("[stddev]") && contains("twice"));
    CHECK(elements(sum(x, {0})) == List{1, 2, 3});  // {0} and {0, 1} are axes, not a Site
    CHECK(sum(x, {0, 1}).item() == 6);
    CHECK(elements(mean(x, Axes())) == List{1, 2, 3});
}

TEST_CASE("reductions: an axis as a number is one in braces")
{
    const Tensor<double> x = {{1, 2, 3}, {4, 6, 8}};
    const std::size_t last = 1;
    CHECK(elements(sum(x, -1)) == elements(sum(x, {1})));
    CHECK(elements(sum(x, last)) == List{6, 18});
    CHECK(amax(x, 0, true).shape() == Shape{1, 3});
    CHECK(elements(var(x, 0, false, 1)) == elements(var(x, {0}, false, 1)));
    CHECK(squeeze(amin(x, 0, true), 0).shape() == Shape{3});
    STATIC_REQUIRE_FALSE(std::is_convertible_v<bool, AxesArgument>);  // sum(x, true) is no axis 1
    STATIC_REQUIRE_FALSE(std::is_convertible_v<double, AxesArgument>);
}

TEST_CASE("sum, mean, var: ten million floats against long double")
{
    std::mt19937 generator(1);
    std::uniform_real_distribution<float> u(0, 1);
    std::vector<float> v(10'000'000);
    long double total = 0, squares = 0;
    for (auto& e : v) total += e = u(generator);
    const Tensor<float> x(std::span<const float>(v.data(), v.size()));
    const long double n = static_cast<long double>(v.size()), average = total / n;
    for (float e : v) squares += (e - average) * (e - average);
    const auto relative = [](float got, long double want) {
        return static_cast<double>(std::abs(got - want) / want);
    };
    CHECK(relative(sum(x).item(), total) < 1.2e-7);
    CHECK(relative(mean(x).item(), average) < 1.8e-7);
    CHECK(relative(var(x).item(), squares / n) < 1e-6);
    CHECK(relative(sum(reshape(x, {1000, 10000}), {0}).data()[7], [&] {
              long double column = 0;
              for (std::size_t i = 0; i < 1000; ++i) column += v[i * 10000 + 7];
              return column;
          }()) < 1e-6);
}
