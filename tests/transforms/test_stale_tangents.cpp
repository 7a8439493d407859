#include "catch.hpp"
#include <wengert/ops/elementwise/activations.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/transforms/jvp.hpp>
#include <wengert/transforms/grad.hpp>
using namespace wengert;

TEST_CASE("a closed forward level leaves no tangent behind for the next one of its number")
{
    const Tensor<double> x = {3.0}, one = {1.0};
    const auto f = [&](const Tensor<double>& a) {
        const Tensor<double> p = wengert::jvp([](const Tensor<double>& u) { return u * u; }, a, one).first;
        return wengert::jvp([&](const Tensor<double>& b) { return p * b; }, a, one).second;  // p = a²
    };
    const auto [y, dot] = wengert::jvp(f, x, one);
    CHECK(y.item() == 9.0);
    CHECK(dot.item() == 6.0);
}

TEST_CASE("values and their tangents do not keep each other alive")
{
    const std::size_t before = Tape::current().size();
    {
        Tensor<double> x = {0.5};
        x.requires_grad(true);
        const auto [y, dot] =
            wengert::jvp([](const Tensor<double>& u) { return exp(u); }, x, Tensor<double>{1.0});
    }
    CHECK(Tape::current().size() == before);
}
