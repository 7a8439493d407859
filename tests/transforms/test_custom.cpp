// Rules of the user's own: custom_vjp and custom_jvp.
#include "catch.hpp"

#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/shape.hpp>
#include <wengert/transforms/check_grads.hpp>
#include <wengert/transforms/custom.hpp>
#include <wengert/transforms/derivatives.hpp>

namespace wg = wengert;
using wg::Tensor;
using D = Tensor<double>;

namespace {

template <class E, class F> std::string message_of(F&& f)
{
    try {
        f();
    } catch (const E& e) {
        return e.what();
    }
    return "nothing of this type was thrown";
}

/// a sin b; its rules are right, so that every check of derivatives applies.
const auto a_sin_b = [](const auto& a, const auto& b) { return a * sin(b); };
const auto reverse_rule = [](const auto& g, const auto&, const auto& a, const auto& b) {
    return std::tuple(g * sin(b), g * a * cos(b));
};
const auto forward_rule = [](const auto& da, const auto& db, const auto&, const auto& a, const auto& b) {
    return da * sin(b) + db * a * cos(b);
};

}  // namespace

TEST_CASE("custom_vjp: the rule replaces the derivative, of several arguments")
{
    const D a = {1.0, -2.0}, b = {0.3, 0.7};
    const auto f = wg::custom_vjp(a_sin_b, reverse_rule);
    CHECK(f(a, b)(1).item() == Approx(-2 * std::sin(0.7)));
    CHECK(wg::check_grads(f, std::tuple(a, b), {.order = 3, .modes = wg::Modes::reverse}).ok);
    const auto half = wg::custom_vjp([](const D& x) { return exp(x); },
                                     [](const D& g, const D& y, const D&) { return 0.5 * g * y; });
    CHECK(wg::grad([&](const D& x) { return sum(half(x)); })(D{1.0})(0).item() ==
          Approx(0.5 * std::exp(1.0)));
    // only one of the arguments is a variable
    CHECK(wg::grad<1>([&](const D& x, const D& y) { return sum(f(x, y)); })(a, b)(0).item() ==
          Approx(std::cos(0.3)));
}

TEST_CASE("custom_vjp works with backward() and for float")
{
    const auto f = wg::custom_vjp(a_sin_b, reverse_rule);
    Tensor<float> a = {2.0f}, b = {0.5f};
    a.requires_grad(true);
    b.requires_grad(true);
    wg::backward(sum(f(a, b)));
    CHECK(a.grad()(0).item() == Approx(std::sin(0.5)).epsilon(1e-6));
    CHECK(b.grad()(0).item() == Approx(2 * std::cos(0.5)).epsilon(1e-6));
}

TEST_CASE("custom_vjp is one node, and its inside is not recorded")
{
    D a = {1.0}, b = {2.0};
    a.requires_grad(true);
    const auto f = wg::custom_vjp(a_sin_b, reverse_rule);
    const auto before = wg::Tape::current().size();
    const D y = f(a, b);
    CHECK(wg::Tape::current().size() == before + 1);
    CHECK(y.any().node->primitive->name == "custom_vjp");
}

TEST_CASE("custom_vjp under jvp throws, naming itself and the line of its call")
{
    const auto f = wg::custom_vjp(a_sin_b, reverse_rule);
    const D a = {1.0}, b = {2.0};
    const int line = __LINE__ + 1;
    const auto call = [&](const D& x) { return f(x, b); };
    const std::string text = message_of<wg::TapeError>([&] { wg::jvp(call, a, a); });
    CHECK_THAT(text, contains("custom_vjp") && contains("forward mode") &&
                         contains("test_custom.cpp:" + std::to_string(line)));
    CHECK(wg::Tape::current().depth() == 1);
    CHECK_THROWS_AS(wg::hvp([&](const D& x) { return sum(f(x, b)); })(a, a), wg::TapeError);
    CHECK(wg::jvp([&](const D& x) { return f(a, b) * x; }, a, a).second(0).item() ==
          Approx(std::sin(2.0)));  // constants
}

TEST_CASE("a captured variable is refused, with a sentence and the line")
{
    D w = {3.0};
    w.requires_grad(true);
    const auto rule = [](const D& g, const D&, const D&) { return g; };
    const auto f = wg::custom_vjp([&](const D& x) { return x * w; }, rule);
    const auto h = wg::custom_jvp([&](const D& x) { return x * w; }, rule);
    for (const std::string& text :
         {message_of<wg::TapeError>([&] { f(D{1.0}); }), message_of<wg::TapeError>([&] { h(D{1.0}); })})
        CHECK_THAT(text,
                   contains("captures a variable") && contains("multiply") && contains("test_custom.cpp:"));
    w.requires_grad(false);
    CHECK(f(D{2.0})(0).item() == 6.0);
}

TEST_CASE("custom_jvp: both modes and their mixtures, to third order")
{
    const D a = {1.0, -2.0}, b = {0.3, 0.7};
    const auto f = wg::custom_jvp(a_sin_b, forward_rule);
    CHECK(wg::check_grads(f, std::tuple(a, b), {.order = 3}).ok);
    const auto one = wg::custom_jvp([](const D& x) { return exp(x); },
                                    [](const D& dot, const D& y, const D&) { return dot * y; });
    CHECK(wg::check_grads(one, a, {.order = 3}).ok);
    CHECK(wg::hessian([&](const D& x) { return sum(one(x)); })(a)(1, 1).item() == Approx(std::exp(-2.0)));
}

TEST_CASE("custom_jvp: the rule replaces the derivative in both modes")
{
    const auto half = wg::custom_jvp([](const D& x) { return exp(x); },
                                     [](const D& dot, const D& y, const D&) { return 0.5 * dot * y; });
    const D x = {1.0};
    const double want = 0.5 * std::exp(1.0);
    CHECK(wg::grad([&](const D& t) { return sum(half(t)); })(x)(0).item() == Approx(want));
    CHECK(wg::jvp(half, x, D{1.0}).second(0).item() == Approx(want));
}

TEST_CASE("a rule whose result has another shape is refused by name")
{
    const auto total =
        wg::custom_vjp([](const D& x) { return sum(x); }, [](const D& g, const D&, const D&) { return g; });
    D w{1.0, 2.0, 3.0};
    w.requires_grad();
    const auto text = message_of<wg::ShapeError>([&] { backward(total(w)); });
    CHECK_THAT(text,
               contains("custom_vjp") && contains("()") && contains("(3)") && contains("test_custom.cpp"));
    const auto wide = wg::custom_jvp([](const D& x) { return x * 2.0; },
                                     [](const D& dot, const D&, const D&) {
                                         return wg::concatenate({dot, dot});
                                     });
    CHECK_THAT(message_of<wg::ShapeError>([&] {
                   wg::jvp(wide, D{1.0, 2.0}, D{1.0, 1.0});
               }),
               contains("custom_jvp") && contains("(4)") && contains("(2)"));
}

TEST_CASE("A Jacobian with more results than inputs goes by rows where a rule is for reverse mode alone")
{
    const auto sine = wg::custom_vjp([](const D& x) { return sin(x); },
                                     [](const D& g, const D&, const D& x) { return g * cos(x); });
    const auto f = [&](const D& x) { return wg::concatenate(std::vector<D>{sine(x), x}); };
    const auto plain = [&](const D& x) { return wg::concatenate(std::vector<D>{sin(x), x}); };
    const D x{1.0, 2.0};
    CHECK(allclose(wg::jacobian(f)(x), wg::jacobian(plain)(x), 0.0));
    CHECK(wg::Tape::current().size() == 0);
}
