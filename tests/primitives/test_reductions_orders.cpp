// Derivatives of derivatives of the reductions, in every mixture of reverse and forward mode.
#include "../catch.hpp"

#include <wengert/ops/reductions.hpp>
#include <wengert/ops/softmax.hpp>
#include <wengert/transforms/check_grads.hpp>

using namespace wengert;

namespace {

using Doubles = Tensor<double>;
using Function = std::function<Doubles(const Doubles&)>;

const Doubles cube = {{{0.3, -1.2, 0.7}, {1.1, 0.4, -0.6}}, {{-0.9, 0.8, 1.3}, {0.2, -0.5, 1.7}}};

void check(const Function& f, const Doubles& x = cube, int order = 2)
{
    const CheckReport report = check_grads(f, x, {.order = order, .tolerance = 2e-6});
    CHECK(report.message == "");
    CHECK(report.ok);
}

}  // namespace

TEST_CASE("orders: mean, var, stddev")
{
    check([](const Doubles& x) { return mean(x * x, {0, 2}); });
    check([](const Doubles& x) { return var(x, {1}, true, 1); });
    check([](const Doubles& x) { return stddev(x, {0, 2}); });
}
TEST_CASE("orders: prod, with zeros too")
{
    const Doubles zeros = {{0.0, 2.0, -1.0}, {0.0, 0.0, 3.0}};
    check([](const Doubles& x) { return prod(x, {1}); });
    check([](const Doubles& x) { return prod(x, {0, 2}); });
    check([](const Doubles& x) { return prod(x, {1}); }, zeros);
    check([](const Doubles& x) { return prod(x); }, zeros);
    check([](const Doubles& x) { return prod(x, {1}, true); }, zeros, 3);
}
TEST_CASE("orders: amax, amin, norm, logsumexp")
{
    check([](const Doubles& x) { return amax(x * x, {0, 1}) + amin(x * x, {0, 1}); });
    check([](const Doubles& x) { return norm(x, {2}); });
    check([](const Doubles& x) { return norm(x, {0, 2}, true); });
    check([](const Doubles& x) { return logsumexp(x, {1}); });
    check([](const Doubles& x) { return logsumexp(x, {0, 2}); }, cube, 3);
}
TEST_CASE("orders: softmax, log_softmax")
{
    check([](const Doubles& x) { return softmax(x); });
    check([](const Doubles& x) { return softmax(x, 1); }, cube, 3);
    check([](const Doubles& x) { return log_softmax(x); }, cube, 3);
    check([](const Doubles& x) { return log_softmax(x, 0); });
}
