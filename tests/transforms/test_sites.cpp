// Nodes and errors carry the line of the user's call, whatever was called: closures of transforms, pullbacks, elements.
#include "catch.hpp"
#include "lacks.hpp"

#include <wengert/ops/indexing.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/transforms/custom.hpp>
#include <wengert/transforms/lambda.hpp>

namespace wg = wengert;
using wg::Tensor;

namespace {

std::string here(int line) { return "test_sites.cpp:" + std::to_string(line); }
/// The message of what f throws if it lacks one of the parts or the line, else nothing.
template <class F, class... Part> std::string lacks(F&& f, int line, const Part&... part)
{
    return ::lacks<wg::Error>(f, here(line), part...);
}
std::string made_at(const Tensor<double>& x) { return to_string(x.any().node->at); }

const auto cube = [](const Tensor<double>& x) { return sum(x * x * x); };
const auto twice = [](const Tensor<double>& x) { return x * 2.0; };

Tensor<double> variable()
{
    Tensor<double> x = {1.0, 2.0};
    x.requires_grad(true);
    return x;
}

}  // namespace

TEST_CASE("what a closure records has the line of its call, not of its making")
{
    const Tensor<double> x = variable();
    const auto square = wg::elementwise([](auto a) { return a * a; });
    const auto product = wg::elementwise([](auto a, auto b) { return a * b; });
    const auto by_vjp =
        wg::custom_vjp(twice, [](const auto& g, const auto&, const auto&) { return g * 2.0; });
    const auto by_jvp =
        wg::custom_jvp(twice, [](const auto& dot, const auto&, const auto&) { return dot * 2.0; });
    const auto gradient = wg::grad(cube);
    const auto both = wg::value_and_grad(cube);
    const auto times = wg::hvp(cube);
    const auto J = wg::jacobian([](const Tensor<double>& t) { return t * t; });
    CHECK(made_at(square(x)) == here(__LINE__));
    CHECK(made_at(product(x, 3.0)) == here(__LINE__));
    CHECK(made_at(by_vjp(x)) == here(__LINE__));
    CHECK(made_at(by_jvp(x)) == here(__LINE__));
    CHECK(made_at(J(x)) == here(__LINE__));
    CHECK(made_at(both(x).first) == here(__LINE__));
    CHECK(made_at(wg::vjp(twice, x).first) == here(__LINE__));
    CHECK(made_at(wg::jvp(twice, x, x).first) == here(__LINE__));
    // gradients come from the rules of cube's operations, whose lines they keep
    for (const auto& g : {gradient(x), both(x).second, times(x, Tensor<double>{1.0, 1.0})})
        CHECK_THAT(made_at(g), contains("test_sites.cpp:"));
}

TEST_CASE("errors of transforms name the line of the call")
{
    const Tensor<double> x = {1.0, 2.0}, three = {1.0, 2.0, 3.0};
    const auto g = wg::grad(twice);
    const auto several = wg::value_and_grad<0, 1>([](const auto& a, const auto& b) { return a * b; });
    CHECK(lacks([&] { g(x); }, __LINE__, "scalar", "(2)") == "");
    CHECK(lacks([&] { several(x, x); }, __LINE__, "scalar") == "");
    CHECK(lacks([&] { wg::hessian(twice)(x); }, __LINE__, "scalar") == "");
    CHECK(lacks([&] { wg::hvp(twice)(x, x); }, __LINE__, "scalar") == "");
    CHECK(lacks([&] { wg::hvp(cube)(x, three); }, __LINE__, "[hvp] the tangent") == "");
    CHECK(lacks([&] { wg::jvp(g, x, x); }, __LINE__, "scalar") == "");
    CHECK(lacks([&] { wg::vjp(g, x); }, __LINE__, "scalar") == "");
    CHECK(lacks([&] { wg::vjp(twice, x).second(three); }, __LINE__, "cotangent") == "");
    const auto total = [](const std::vector<Tensor<double>>& v) { return v; };
    const std::vector<Tensor<double>> one(1, x), two(2, x);
    CHECK(lacks([&] { wg::jvp(total, two, one); }, __LINE__, "jvp", "sizes") == "");
    CHECK(lacks([&] { wg::vjp(total, two).second(one); }, __LINE__, "vjp", "sizes") == "");
    const auto product = wg::elementwise([](auto a, auto b) { return a * b; });
    CHECK(lacks([&] { product(x, three); }, __LINE__, "elementwise", "(3)") == "");
}

TEST_CASE("a tensor that escaped is refused with the line of the transform that meets it")
{
    Tensor<double> leak;
    wg::grad([&](const Tensor<double>& x) { return sum(leak = x * x); })(Tensor<double>{1.0});
    CHECK(lacks([&] { wg::grad(cube)(leak); }, __LINE__, "escaped") == "");
    CHECK(lacks([&] { wg::vjp(cube, leak); }, __LINE__, "escaped") == "");
}

TEST_CASE("more than four arguments work too")
{
    const auto f = [](const auto&... x) { return (... + sum(x * x)); };
    const Tensor<double> x = {1.0, 2.0};
    const auto g = wg::grad<4>(f)(x, x, x, x, x);
    CHECK(g(1).item() == 4.0);
    CHECK(std::get<4>(wg::vjp(f, x, x, x, x, x).second(Tensor<double>(1.0)))(0).item() == 2.0);
    const int line = __LINE__ + 1;
    const auto bad = wg::grad([](const auto& a, const auto&...) { return a; });
    CHECK(lacks([&] { bad(x, x, x, x, x); }, line, "scalar") == "");
}

TEST_CASE("elements, item, data and ragged braces")
{
    const Tensor<double> x = variable(), m = {{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}};
    CHECK(made_at(x(1)) == here(__LINE__));
    CHECK(lacks([&] { x(2); }, __LINE__, "index 2") == "");
    CHECK(lacks([&] { m(0, 3); }, __LINE__, "index 3") == "");
    CHECK(lacks([&] { m(0, 0, 0); }, __LINE__, "too many") == "");
    CHECK(lacks([&] { m.item(); }, __LINE__, "(2, 3)") == "");
    CHECK(lacks([&] { transpose(m).data(); }, __LINE__, "(3, 2)") == "");
    CHECK(lacks([&] { Tensor<double> bad = {{1.0}, {1.0, 2.0}}; }, __LINE__, "ragged") == "");
    CHECK(m.size(0) == 2);
    CHECK(m.size(-1) == 3);
    CHECK(lacks([&] { static_cast<void>(m.size(std::size_t{2})); }, __LINE__, "axis 2") == "");
    static_assert(std::is_same_v<decltype(m.size(1)), std::int64_t>);
}
