// stop_gradient and detach inside transforms: the derivative is cut at every level.
#include "catch.hpp"

#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/transforms/derivatives.hpp>

namespace wg = wengert;
using wg::Tensor;
using D = Tensor<double>;

namespace {
const auto held = [](const D& x) { return x * wg::stop_gradient(x * x); };  // as if x · c: derivative c
}

TEST_CASE("stop_gradient cuts reverse and forward mode")
{
    const D x(3.0);
    CHECK(wg::grad(held)(x).item() == 9.0);
    CHECK(wg::jvp(held, x, D(1.0)).second.item() == 9.0);
    CHECK(wg::vjp(held, x).second(D(1.0)).item() == 9.0);
    CHECK(wg::grad([](const D& t) { return t * t.detach(); })(x).item() == 3.0);
    CHECK(wg::grad([](const D& t) { return wg::stop_gradient(t); })(x).item() == 0.0);
}

TEST_CASE("at all levels, in every mixture of modes")
{
    const D x(3.0), one(1.0);
    const auto forward = [&](const D& t) { return wg::jvp(held, t, one).second; };
    // d/dx of stop(x²) is 0: what is stopped is a constant for the outer level too
    CHECK(wg::grad(wg::grad(held))(x).item() == 0.0);
    CHECK(wg::grad(forward)(x).item() == 0.0);
    CHECK(wg::jvp(wg::grad(held), x, one).second.item() == 0.0);
    CHECK(wg::jvp(forward, x, one).second.item() == 0.0);
    // the inner function stops the outer level's variable
    const auto outer = [&](const D& a) {
        return wg::grad([&](const D& b) { return b * b * wg::stop_gradient(a) * a; })(a);
    };
    CHECK(outer(x).item() == 54.0);            // 2 a · a · a
    CHECK(wg::grad(outer)(x).item() == 36.0);  // c · d/da (2 a²) = 3 · 12
    CHECK(wg::jvp(outer, x, one).second.item() == 36.0);
}

TEST_CASE("and for variables of the tape")
{
    D w(2.0);
    w.requires_grad(true);
    wg::backward(wg::grad([&](const D& x) { return x * x * w * w.detach(); })(D(3.0)));  // 2 x w c
    CHECK(w.grad().item() == 12.0);
}
