// AnomalyMode and rules: what a rule makes on its way to a finite result is no birth; what it delivers is looked at, in both modes.
#include "catch.hpp"

#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/elementwise/pairs.hpp>
#include <wengert/ops/elementwise/special.hpp>
#include <wengert/ops/elementwise/trigonometry.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/shape.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/transforms/custom.hpp>
#include <wengert/transforms/derivatives.hpp>
#include <wengert/transforms/saved_tensor_hooks.hpp>

#include <functional>
#include <thread>

using namespace wengert;
using D = Tensor<double>;
using Pair = std::pair<D, D>;

namespace {

struct Case {
    const char* name;
    std::function<D(const D&, const D&)> of;
    double x, y;
};
/// Functions whose rules divide by zero, or take its logarithm, and choose another value there.
const Case cases[] = {
    {"hypot(0, 0)", [](const D& x, const D& y) { return hypot(x, y); }, 0, 0},
    {"atan2(0, 0)", [](const D& x, const D& y) { return atan2(x, y); }, 0, 0},
    {"pow(0, 2.5)", [](const D& x, const D& y) { return pow(x, y); }, 0, 2.5},
    {"pow(0, 3)", [](const D& x, const D& y) { return pow(x, y); }, 0, 3},
    {"digamma", [](const D& x, const D& y) { return digamma(x) * y; }, 1.5, 2},
};

/// The gradient and second derivatives, in both orders of the modes.
std::vector<double> derivatives(const Case& c)
{
    const D x{c.x, c.x}, y{c.y, c.y}, one{1.0, 1.0};
    const auto f = [&](const Pair& p) { return sum(c.of(p.first, p.second)); };
    const auto slope = [&](const Pair& p) {
        const Pair g = grad(f)(p);
        return sum(g.first * 0.75 + g.second);
    };
    const Pair at(x, y), v(one, one), g = grad(f)(at), h = grad(slope)(at);
    std::vector<double> all{jvp(f, at, v).second.item(), jvp(slope, at, v).second.item()};
    for (const D& t : {g.first, g.second, h.first, h.second}) all.push_back(t(0).item());
    return all;
}

}  // namespace

TEST_CASE("rules that choose a value beside a NaN are no anomaly", "[anomaly]")
{
    for (const Case& c : cases) {
        CAPTURE(c.name);
        const std::vector<double> want = derivatives(c);
        for (const double d : want) CHECK(std::isfinite(d));
        const AnomalyMode on;
        std::vector<double> got;
        CHECK_NOTHROW(got = derivatives(c));
        CHECK(got == want);
    }
}

TEST_CASE("what a rule delivers is looked at in both modes", "[anomaly]")
{
    const AnomalyMode on;
    const D x{0.0, 4.0}, one{1.0, 1.0};
    const auto root = [](const D& y) { return sqrt(y); };
    CHECK_THROWS_AS(grad([&](const D& y) { return sum(root(y)); })(x), NumericError);
    CHECK_THROWS_AS(jvp(root, x, one), NumericError);
    // the rule of the second derivative is the one that gives an infinity
    const auto power = [](const D& y) { return pow(y, 1.5); };
    const auto slope = [&](const D& y) { return sum(grad([&](const D& z) { return sum(power(z)); })(y)); };
    CHECK_THROWS_AS(grad(slope)(x), NumericError);
    CHECK_THROWS_AS(jvp(slope, x, one), NumericError);
    const auto own = custom_vjp([](const D& y) { return y * 2.0; },
                                [](const D& g, const D&, const D& y) { return g / y; });
    CHECK_THROWS_AS(grad([&](const D& y) { return sum(own(y)); })(x), NumericError);
}

TEST_CASE("rules recorded under hooks, and first on another thread, are the same", "[anomaly]")
{
    for (const Case& c : cases) {
        CAPTURE(c.name);
        const std::vector<double> want = derivatives(c);
        std::vector<double> elsewhere, hooked;
        std::thread([&] { elsewhere = derivatives(c); }).join();
        const SavedTensorHooks hooks([](const D& t) { return copy(t); }, [](const D& t) { return t; });
        hooked = derivatives(c);
        CHECK(elsewhere == want);
        CHECK(hooked == want);
    }
}
