// Nodes and errors carry the line of the user's call, whatever was called: closures of transforms, pullbacks, elements.
#include "catch.hpp"

#include <wengert/ops/indexing.hpp>
#include <wengert/ops/math.hpp>
#include <wengert/transforms/custom.hpp>
#include <wengert/transforms/lambda.hpp>

namespace wg = wengert;
using wg::Tensor;

namespace {

template <class F> std::string message_of(F&& f)
{
    try {
        f();
    } catch (const wg::Error& e) {
        return e.what();
    }
    return "nothing was thrown";
}
std::string here(int line) { return "test_sites.cpp:" + std::to_string(line); }
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
    const auto by_vjp = wg::custom_vjp(twice, [](const auto& g, const auto&, const auto&) { return g * 2.0; });
    const auto by_jvp = wg::custom_jvp(twice, [](const auto& dot, const auto&, const auto&) { return dot * 2.0; });
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
    CHECK_THAT(message_of([&] { g(x); }), contains("scalar") && contains("(2)") && contains(here(__LINE__)));
    CHECK_THAT(message_of([&] { several(x, x); }), contains("scalar") && contains(here(__LINE__)));
    CHECK_THAT(message_of([&] { wg::hessian(twice)(x); }), contains("scalar") && contains(here(__LINE__)));
    CHECK_THAT(message_of([&] { wg::hvp(twice)(x, x); }), contains("scalar") && contains(here(__LINE__)));
    CHECK_THAT(message_of([&] { wg::hvp(cube)(x, three); }), contains("tangent") && contains(here(__LINE__)));
    CHECK_THAT(message_of([&] { wg::jvp(g, x, x); }), contains("scalar") && contains(here(__LINE__)));
    CHECK_THAT(message_of([&] { wg::vjp(g, x); }), contains("scalar") && contains(here(__LINE__)));
    CHECK_THAT(message_of([&] { wg::vjp(twice, x).second(three); }), contains("cotangent") && contains(here(__LINE__)));
    const auto total = [](const std::vector<Tensor<double>>& v) { return v; };
    const std::vector<Tensor<double>> one(1, x), two(2, x);
    CHECK_THAT(message_of([&] { wg::jvp(total, two, one); }), contains("jvp") && contains("sizes") && contains(here(__LINE__)));
    CHECK_THAT(message_of([&] { wg::vjp(total, two).second(one); }), contains("vjp") && contains("sizes") && contains(here(__LINE__)));
    const auto product = wg::elementwise([](auto a, auto b) { return a * b; });
    CHECK_THAT(message_of([&] { product(x, three); }), contains("elementwise") && contains("(3)") && contains(here(__LINE__)));
}

TEST_CASE("a tensor that escaped is refused with the line of the transform that meets it")
{
    Tensor<double> leak;
    wg::grad([&](const Tensor<double>& x) { return sum(leak = x * x); })(Tensor<double>{1.0});
    CHECK_THAT(message_of([&] { wg::grad(cube)(leak); }), contains("escaped") && contains(here(__LINE__)));
    CHECK_THAT(message_of([&] { wg::vjp(cube, leak); }), contains("escaped") && contains(here(__LINE__)));
}

TEST_CASE("more than four arguments work too")
{
    const auto f = [](const auto&... x) { return (... + sum(x * x)); };
    const Tensor<double> x = {1.0, 2.0};
    const auto g = wg::grad<4>(f)(x, x, x, x, x);
    CHECK(g(1).item() == 4.0);
    CHECK(std::get<4>(wg::vjp(f, x, x, x, x, x).second(Tensor<double>(1.0)))(0).item() == 2.0);
    int line = __LINE__ + 1;
    const auto bad = wg::grad([](const auto& a, const auto&...) { return a; });
    CHECK_THAT(message_of([&] { bad(x, x, x, x, x); }), contains("scalar") && contains(here(line)));
}

TEST_CASE("elements, item, data and ragged braces")
{
    const Tensor<double> x = variable(), m = {{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}};
    CHECK(made_at(x(1)) == here(__LINE__));
    CHECK_THAT(message_of([&] { x(2); }), contains("index 2") && contains(here(__LINE__)));
    CHECK_THAT(message_of([&] { m(0, 3); }), contains("index 3") && contains(here(__LINE__)));
    CHECK_THAT(message_of([&] { m(0, 0, 0); }), contains("too many") && contains(here(__LINE__)));
    CHECK_THAT(message_of([&] { m.item(); }), contains("(2, 3)") && contains(here(__LINE__)));
    CHECK_THAT(message_of([&] { transpose(m).data(); }), contains("(3, 2)") && contains(here(__LINE__)));
    CHECK_THAT(message_of([&] { Tensor<double> bad = {{1.0}, {1.0, 2.0}}; }), contains("ragged") && contains(here(__LINE__)));
    CHECK(m.size(0) == 2);
    CHECK(m.size(-1) == 3);
    CHECK_THAT(message_of([&] { static_cast<void>(m.size(std::size_t{2})); }), contains("axis 2") && contains(here(__LINE__)));
    static_assert(std::is_same_v<decltype(m.size(1)), std::int64_t>);
}
