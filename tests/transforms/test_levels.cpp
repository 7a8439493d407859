// Transforms inside transforms: levels stay apart, closures over outer variables differentiate, escapes are refused.
#include "catch.hpp"

#include <wengert/ops/elementwise/math.hpp>
#include <wengert/transforms/derivatives.hpp>

namespace wg = wengert;
using wg::Tensor;

namespace {
const auto forward = [](auto&& f, const Tensor<double>& x) {
    return wg::jvp(f, x, Tensor<double>(1.0)).second;
};
const auto reverse = [](auto&& f, const Tensor<double>& x) { return wg::grad(f)(x); };
const auto pulled = [](auto&& f, const Tensor<double>& x) {
    return wg::vjp(f, x).second(Tensor<double>(1.0));
};

template <class D1, class D2> double siskind_pearlmutter(const D1& outer, const D2& inner)
{
    const Tensor<double> one(1.0);
    return outer(
               [&](const Tensor<double>& x) {
                   return x * inner([&](const Tensor<double>& y) { return x + y; }, one);
               },
               one)
        .item();
}

/// d/dx [x · d/dy (x y² )(x)] = d/dx [2 x³] = 6 x²: the inner derivative depends on the outer variable twice.
template <class D1, class D2> double entangled(const D1& outer, const D2& inner, double at)
{
    return outer(
               [&](const Tensor<double>& x) {
                   return x * inner([&](const Tensor<double>& y) { return x * y * y; }, x);
               },
               Tensor<double>(at))
        .item();
}

/// d³/dx³ sin(x) = −cos(x)
template <class D1, class D2, class D3> double third(const D1& a, const D2& b, const D3& c, double at)
{
    return a(
               [&](const Tensor<double>& x) {
                   return b(
                       [&](const Tensor<double>& y) {
                           return c([](const Tensor<double>& z) { return sin(z); }, y);
                       },
                       x);
               },
               Tensor<double>(at))
        .item();
}
}  // namespace

TEST_CASE("perturbations are not confused, in any mixture of modes")
{
    CHECK(siskind_pearlmutter(forward, forward) == 1.0);
    CHECK(siskind_pearlmutter(forward, reverse) == 1.0);
    CHECK(siskind_pearlmutter(reverse, forward) == 1.0);
    CHECK(siskind_pearlmutter(reverse, reverse) == 1.0);
    CHECK(siskind_pearlmutter(pulled, forward) == 1.0);
    CHECK(siskind_pearlmutter(forward, pulled) == 1.0);
}

TEST_CASE("inner derivatives depend on outer variables")
{
    CHECK(entangled(forward, forward, 1.5) == Approx(6 * 1.5 * 1.5));
    CHECK(entangled(forward, reverse, 1.5) == Approx(6 * 1.5 * 1.5));
    CHECK(entangled(reverse, forward, 1.5) == Approx(6 * 1.5 * 1.5));
    CHECK(entangled(reverse, reverse, 1.5) == Approx(6 * 1.5 * 1.5));
    CHECK(entangled(pulled, reverse, 1.5) == Approx(6 * 1.5 * 1.5));
    CHECK(entangled(reverse, pulled, 1.5) == Approx(6 * 1.5 * 1.5));
}

TEST_CASE("third derivatives in all eight mixtures")
{
    const double want = -std::cos(0.7);
    CHECK(third(forward, forward, forward, 0.7) == Approx(want));
    CHECK(third(forward, forward, reverse, 0.7) == Approx(want));
    CHECK(third(forward, reverse, forward, 0.7) == Approx(want));
    CHECK(third(forward, reverse, reverse, 0.7) == Approx(want));
    CHECK(third(reverse, forward, forward, 0.7) == Approx(want));
    CHECK(third(reverse, forward, reverse, 0.7) == Approx(want));
    CHECK(third(reverse, reverse, forward, 0.7) == Approx(want));
    CHECK(third(reverse, reverse, reverse, 0.7) == Approx(want));
}

TEST_CASE("a pullback may be called inside another transform")
{
    // z ↦ pullback_{x²}(z²) at x = 3 is 6 z²; its derivative is 12 z
    const auto [y, pullback] = wg::vjp([](const Tensor<double>& x) { return x * x; }, Tensor<double>(3.0));
    const auto f = [&pullback = pullback](const Tensor<double>& z) { return pullback(z * z); };
    CHECK(wg::grad(f)(Tensor<double>(2.0)).item() == 24.0);
    CHECK(wg::jvp(f, Tensor<double>(2.0), Tensor<double>(1.0)).second.item() == 24.0);
    CHECK(y.item() == 9.0);
}

TEST_CASE("gradients reach requires_grad variables through a transform")
{
    Tensor<double> w(2.0);
    w.requires_grad();
    const auto g =
        wg::grad([&](const Tensor<double>& x) { return w * x * x; })(Tensor<double>(3.0));  // 2 w x
    wg::backward(g);
    CHECK(w.grad().item() == 6.0);
}

TEST_CASE("a tensor that escapes its transform is refused, its value is not")
{
    Tensor<double> leak;
    wg::grad([&](const Tensor<double>& x) {
        leak = x * x;
        return x * 1.0;
    })(Tensor<double>(3.0));
    try {
        leak + 1.0;
        FAIL("not refused");
    } catch (const wg::TapeError& e) {
        CHECK_THAT(e.what(), contains("escaped") && contains("test_levels.cpp"));
    }
    CHECK((leak.detach() + 1.0).item() == 10.0);
    // also inside of the next transform, which has the same level number
    CHECK_THROWS_AS(wg::grad([&](const Tensor<double>& x) { return x * leak; })(Tensor<double>(1.0)),
                    wg::TapeError);
}

TEST_CASE("a transform leaves nothing on the tape")
{
    const auto before = wg::Tape::current().size();
    CHECK(wg::hvp([](const Tensor<double>& x) { return x * x * x; })(Tensor<double>(2.0), Tensor<double>(1.0))
              .item() == 12.0);
    CHECK_THROWS_AS(wg::grad([](const Tensor<double>& x) {
                        return x * Tensor<double>{1.0, 2.0};
                    })(Tensor<double>(1.0)),
                    wg::TapeError);
    CHECK(wg::Tape::current().size() == before);
    CHECK(wg::Tape::current().depth() == 1);
}
