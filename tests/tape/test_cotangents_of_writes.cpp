// Backwards through writes: cotangents that lose a part are changed in place, where nobody else needs them.
#include "../catch.hpp"
#include "ramp.hpp"

#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/trigonometry.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/shape.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/tape/backward.hpp>
#include <wengert/transforms/check_grads.hpp>
#include <wengert/transforms/derivatives.hpp>

using namespace wengert;
using placeholders::_;
using T = Tensor<double>;

TEST_CASE("the cotangent of what is written element by element is written in place", "[writes]")
{
    constexpr std::int64_t n = 400;
    const T x = ramp(n) / 100.0, w = ramp(n) - 7.0;
    const auto f = [&](const T& x) {
        T y = zeros<double>({n});
        for (std::int64_t i = 0; i < n; ++i) view(y, i) = x(i) * x(i);
        return sum(y * w);
    };
    const auto buffers = [] { return memory::stats().allocations + memory::stats().reuses; };
    const auto before = buffers();
    const T g = wengert::grad(f)(x);
    CHECK(buffers() - before < 4 * n + 20);  // parameters of four operations, and no array for each
    CHECK(allclose(g, 2.0 * x * w, 1e-14));
}

TEST_CASE("a cotangent that others need is not written", "[writes]")
{
    const T a = {1.0, 2.0, 3.0, 4.0}, given = {2.0, -1.0, 0.5, 3.0};
    const auto written = [](const T& x) {
        T y = x * x;
        view(y, 1) = x(0) * x(2);
        view(y, range(2, 4)) = view(x, range(0, 2)) * 3.0;
        return y;
    };
    // the cotangent of a sum is that of both operands
    const auto both = [&](const T& x) {
        const T p = written(x), q = written(2.0 * x);
        return sum((p + q) * (p + q) * x);
    };
    CHECK(check_grads(both, a, {.order = 2}).message == "");
    const auto whole = [](const T& x) {
        T y = x * x;
        view(y, all()) = sin(x);
        T z = y;
        view(z, range(_, _, 2)) = y(1);
        view(z, 0) = z(3);
        return sum(y * z * z);
    };
    CHECK(check_grads(whole, a, {.order = 2}).message == "");
    // a sum's cotangent is one number for all elements
    const auto summed = [](const T& x) {
        T y = x * 2.0;
        view(y, range(0, 2)) = 0.0;
        T z = y * x;
        view(z, 3) = x(0) * x(1);
        const T rows = sum(reshape(z, {2, 2}), 0);
        return sum(y) * sum(z) + sum(rows * rows);
    };
    CHECK(check_grads(summed, a, {.order = 2}).message == "");
    const auto cleared = [](const T& x) {
        T y = x * 2.0;
        view(y, range(0, 3)) = 0.0;
        return sum(y);
    };
    CHECK(values(wengert::grad(cleared)(a)) == std::vector<double>{0, 0, 0, 2});
    const auto [y, pull] = wengert::vjp(written, a);
    const T c = given, once = pull(c), again = pull(c);
    CHECK(values(c) == values(given));
    CHECK(values(once) == values(again));
    T v = a;
    v.requires_grad(true);
    const T loss = sum(written(v) * given);
    backward(loss, {.retain = true});
    backward(loss);
    CHECK(values(v.grad()) == values(2.0 * once));
}
