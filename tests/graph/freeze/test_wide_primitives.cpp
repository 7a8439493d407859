// Primitives with as many inputs as there can be: each of their derivatives has one operand more.
#include "graph/freeze/frozen_beside.hpp"

TEST_CASE("derivatives of a primitive with four inputs, frozen")
{
    const auto mix = wg::elementwise([](auto a, auto b, auto c, auto d) { return a * b * c + c * d * a; });
    const auto f = [mix](const Tensor<double>& x, const Tensor<double>& w) {
        Tensor<double> h = x;
        for (int i = 0; i < 3; ++i) h = mix(h, w, x, h * 0.5);
        return sum(h);
    };
    const auto g = [f](const Tensor<double>& x, const Tensor<double>& w) {
        const auto [dx, dw] = std::get<1>(wg::value_and_grad<0, 1>(f)(x, w));
        return wg::stack({dx, dw}, 0);
    };
    auto frozen = wg::freeze(g);
    const Tensor<double> x{0.3, -0.4, 0.5}, w{1.1, 0.9, -0.7};
    check_beside(frozen, g, std::vector{std::tuple{x, w}, std::tuple{w, x}});
    CHECK(frozen.stats().traces == 1);
    CHECK(frozen.stats().eager_calls == 0);
}

TEST_CASE("the same where one input is broadcast")
{
    const auto mix = wg::elementwise([](auto a, auto b, auto c, auto d) { return a * b + c * d; });
    const auto f = [mix](const Tensor<float>& x, const Tensor<float>& w) {
        return wg::grad([&](const Tensor<float>& s) { return sum(mix(x, s, s, x)); })(w);
    };
    auto frozen = wg::freeze(f);
    const Tensor<float> x{{1.0f, 2.0f, 3.0f}, {4.0f, 5.0f, 6.0f}}, row{0.5f, 0.25f, 2.0f};
    check_beside(frozen, f, std::vector{std::tuple{x, row}});
    CHECK(same_bits(f(x, row), Tensor<float>{10.0f, 14.0f, 18.0f}));
}
