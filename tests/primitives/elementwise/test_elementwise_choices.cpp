// Where a derivative is a matter of choice, and the rule that a zero cotangent stays zero.
#include "fixture_cases.hpp"

#include <wengert/transforms/grad.hpp>

#include <array>

using namespace wengert;
using doubles = std::vector<double>;

static constexpr double inf = std::numeric_limits<double>::infinity();

static doubles elements(const Tensor<double>& x) { return {x.data(), x.data() + x.size()}; }

/// The gradients of Σ f(x…) for each x.
template <class F, class... X> static auto gradients(const F& f, X... x)
{
    (x.requires_grad(true), ...);
    const auto y = f(x...);
    backward(y, Tensor<double>(y.shape(), doubles(y.size(), 1.0)));
    return std::array<doubles, sizeof...(X)>{elements(x.grad())...};
}

TEST_CASE("gradients at kinks")
{
    const Tensor<double> x = {-2.0, 0.0, -0.0, 3.0};
    CHECK(gradients([](const auto& t) { return abs(t); }, x)[0] == doubles{-1, 0, 0, 1});
    CHECK(gradients([](const auto& t) { return relu(t); }, x)[0] == doubles{0, 0, 0, 1});
    CHECK(gradients([](const auto& t) { return sign(t) + floor(t) + ceil(t) + round(t); }, x)[0] ==
          doubles{0, 0, 0, 0});
}

TEST_CASE("equal operands share the cotangent")
{
    const Tensor<double> a = {1.0, 2.0, 3.0}, b = {2.0, 2.0, 2.0};
    const auto more = gradients([](const auto& s, const auto& t) { return maximum(s, t); }, a, b);
    CHECK(more[0] == doubles{0, 0.5, 1});
    CHECK(more[1] == doubles{1, 0.5, 0});
    const auto less = gradients([](const auto& s, const auto& t) { return minimum(s, t); }, a, b);
    CHECK(less[0] == doubles{1, 0.5, 0});
    CHECK(less[1] == doubles{0, 0.5, 1});
    CHECK(gradients([](const auto& t) { return maximum(t, 2.0); }, a)[0] == doubles{0, 0.5, 1});
    CHECK(gradients([](const auto& t) { return minimum(2.0, t); }, a)[0] == doubles{1, 0.5, 0});
}

TEST_CASE("clip: 1 inside and at the bounds; the bounds have gradients")
{
    const Tensor<double> x = {-2.0, -1.0, 0.0, 1.0, 5.0};
    CHECK(gradients([](const auto& t) { return clip(t, -1.0, 1.0); }, x)[0] == doubles{0, 1, 1, 1, 0});
    const auto g = gradients([](const auto& t, const auto& l, const auto& h) { return clip(t, l, h); }, x,
                             Tensor<double>(-1.0), Tensor<double>(1.0));
    CHECK(g[1] == doubles{1});
    CHECK(g[2] == doubles{1});
    const auto crossed = gradients([](const auto& t, const auto& l, const auto& h) { return clip(t, l, h); },
                                   x, Tensor<double>(1.0), Tensor<double>(-1.0));
    CHECK(crossed[0] == doubles(5, 0.0));
    CHECK(crossed[1] == doubles{0});
    CHECK(crossed[2] == doubles{5});
}

TEST_CASE("the origin")
{
    const Tensor<double> zero = {0.0};
    const auto length = gradients([](const auto& a, const auto& b) { return hypot(a, b); }, zero, zero);
    CHECK((length[0] == doubles{0} && length[1] == doubles{0}));
    const auto angle = gradients([](const auto& a, const auto& b) { return atan2(a, b); }, zero, zero);
    CHECK((angle[0] == doubles{0} && angle[1] == doubles{0}));
    CHECK(gradients([](const auto& a) { return sqrt(a); }, zero)[0] == doubles{inf});
}

TEST_CASE("powers of zero and of negative numbers")
{
    const Tensor<double> a = {0.0, 0.0, 0.0, 0.0, -2.0}, b = {0.0, 1.0, 2.0, 0.5, 3.0};
    const auto g = gradients([](const auto& s, const auto& t) { return pow(s, t); }, a, b);
    CHECK(g[0] == doubles{0, 1, 0, inf, 12});
    CHECK((doubles(g[1].begin(), g[1].end() - 1) == doubles{0, 0, 0, 0} && std::isnan(g[1][4])));
}

TEST_CASE("derivatives of every order of a power at 0")
{
    const auto f = [](const Tensor<double>& t) { return sum(pow(t, 3.0)); };
    const auto first = [&](const Tensor<double>& t) { return sum(grad(f)(t)); };
    const auto second = [&](const Tensor<double>& t) { return sum(grad(first)(t)); };
    const auto third = [&](const Tensor<double>& t) { return sum(grad(second)(t)); };
    const Tensor<double> x = {0.0, 2.0};
    CHECK(elements(grad(f)(x)) == doubles{0, 12});
    CHECK(elements(grad(first)(x)) == doubles{0, 12});
    CHECK(elements(grad(second)(x)) == doubles{6, 6});
    CHECK(elements(grad(third)(x)) == doubles{0, 0});
}

TEST_CASE("what is not selected gives no NaN, at any order")
{
    const auto safe = [](const Tensor<double>& t) {
        return sum(where(t > 0.0, sqrt(t) + log(t) + pow(t, -0.5), 0.0));
    };
    const Tensor<double> x = {-1.0, 0.0, 4.0};
    CHECK(elements(grad(safe)(x)) == doubles{0, 0, 0.25 + 0.25 - 0.0625});
    const auto again = [&](const Tensor<double>& t) { return sum(grad(safe)(t)); };
    const doubles second = elements(grad(again)(x));
    CHECK((second[0] == 0 && second[1] == 0 && std::isfinite(second[2])));
}

TEST_CASE("a zero cotangent stays zero where the derivative is infinite")
{
    const Tensor<double> zeros = {0.0, 0.0, 0.0};
    const auto masked = [&](const auto& f) {
        return gradients([&](const auto& t) { return f(t) * Tensor<double>{0.0, 0.0, 0.0}; }, zeros)[0];
    };
    CHECK(masked([](const auto& t) { return sqrt(t); }) == doubles{0, 0, 0});
    CHECK(masked([](const auto& t) { return pow(t, 0.5); }) == doubles{0, 0, 0});
    CHECK(masked([](const auto& t) { return acos(t + 1.0); }) == doubles{0, 0, 0});
}

TEST_CASE("literals stand on either side")
{
    const Tensor<float> x = {1.0F, 4.0F};
    const auto same = [](const Tensor<float>& got, float a, float b) {
        return got.data()[0] == a && got.data()[1] == b;
    };
    CHECK(same(pow(x, 2), 1, 16));
    CHECK(same(pow(2.0, x), 2, 16));
    CHECK(same(pow(x, 5.0), 1, 1024));
    CHECK(same(maximum(x, 2), 2, 4));
    CHECK(same(maximum(2, x), 2, 4));
    CHECK(same(minimum(2.0, x), 1, 2));
    CHECK(same(subtract(1.0, x), 0, -3));
    CHECK(same(divide(8, x), 8, 2));
    CHECK(same(hypot(3.0 * x, 4.0 * x), 5, 20));
    CHECK(same(hypot(0.0, x), 1, 4));
    CHECK(same(atan2(0.0, x), 0, 0));
    CHECK(same(clip(x, 2, 3), 2, 3));
    CHECK(less(x, 2).data()[0]);
}

TEST_CASE("derivatives save the result alone where it is enough")
{
    const auto saved = [](auto f) {
        Tensor<double> x = {0.5};
        x.requires_grad(true);
        const auto y = f(x);
        return (y.any().node->saved()[0] ? 1 : 0) + (y.any().node->saved()[1] ? 2 : 0);
    };
    CHECK(saved([](const auto& t) { return exp(t); }) == 2);
    CHECK(saved([](const auto& t) { return sqrt(t); }) == 2);
    CHECK(saved([](const auto& t) { return tanh(t); }) == 2);
    CHECK(saved([](const auto& t) { return sigmoid(t); }) == 2);
    CHECK(saved([](const auto& t) { return softplus(t); }) == 2);
    CHECK(saved([](const auto& t) { return relu(t); }) == 2);
    CHECK(saved([](const auto& t) { return silu(t); }) == 1);
    CHECK(saved([](const auto& t) { return abs(t); }) == 1);
    CHECK(saved([](const auto& t) { return floor(t); }) == 0);
    CHECK(saved([](const auto& t) { return -t; }) == 0);
}
