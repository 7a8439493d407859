// What a kernel's function captures may change between calls: the paths are recorded again, whatever it is that changes.
#include "catch.hpp"

#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/scalar.hpp>
#include <wengert/transforms/derivatives.hpp>

#include <array>
#include <cmath>
#include <functional>
#include <vector>

namespace wg = wengert;
using D = wg::Tensor<double>;

namespace {

/// All that a cell's function asks besides its argument.
struct Settings {
    double factor = 2.0, bound = 1.0, base = 3.0;
    bool squared = false, swapped = false, negated = false;
    int steps = 3;
    double until = 4.0, seed = 0.5, slope = 1.0, alone = 0.25, start = 0.125;
    bool crossed = false;
    int runs = 0;
    std::function<double(double)> table = [](double) { return 1.0; };
};

/// Every kind of what a recording keeps: operations, constants on both sides, comparisons, loops of both kinds, derivatives taken inside.
template <class N> std::array<N, 5> cell(Settings& s, const N& x)
{
    ++s.runs;
    using std::exp, std::sin, wg::exp, wg::sin;
    N y = s.squared ? x * x : x * s.factor;
    y = s.swapped ? N(s.base - y) : N(y - s.base);
    if (x < s.bound) y = s.negated ? N(-y) : N(sin(y));
    for (int i = 0; i < s.steps; ++i) y = y * 0.5 + x;
    const auto doubled =
        wg::while_loop([&](const N& v) { return v * v < s.until; },
                       [&](const N& v) { return N(v * s.factor + 0.25); }, N(x * 0.125 + s.seed));
    const N inner = wg::grad([&](const auto& q) { return q * q * q * s.slope; })(x);
    const auto counted = wg::for_each(
        3, [&](const N& v, const N& i) { return N(v * 0.5 + i); }, N(s.start));
    if (s.crossed) return {doubled, y, N(inner + s.table(1.0)), N(s.alone), counted};
    return {y, doubled, N(inner + s.table(1.0)), N(s.alone), counted};
}

struct Change {
    const char* what;
    std::function<void(Settings&)> make;
};
const std::vector<Change> changes = {
    {"a constant on the right", [](Settings& s) { s.factor = 2.5; }},
    {"a constant on the left", [](Settings& s) { s.base = -3.0; }},
    {"what is compared with", [](Settings& s) { s.bound = 3.0; }},
    {"an operation", [](Settings& s) { s.squared = true; }},
    {"the order of operands", [](Settings& s) { s.swapped = true; }},
    {"an operation behind a comparison", [](Settings& s) { s.negated = true; }},
    {"the number of operations", [](Settings& s) { s.steps = 4; }},
    {"a loop's test", [](Settings& s) { s.until = 40.0; }},
    {"a loop's state", [](Settings& s) { s.seed = -0.75; }},
    {"a derivative taken inside", [](Settings& s) { s.slope = -2.0; }},
    {"what a function that is held gives", [](Settings& s) { s.table = [](double) { return 7.0; }; }},
    {"a result that is a number", [](Settings& s) { s.alone = 0.75; }},
    {"which result is which", [](Settings& s) { s.crossed = true; }},
    {"a loop's state that is a number", [](Settings& s) { s.start = 8.0; }},
};

}  // namespace

TEST_CASE("Whatever changes of what a kernel's function refers to, the next call goes by it")
{
    const D x = {0.5, 2.0, 1.5, -0.25};
    for (const Change& change : changes) {
        INFO(change.what);
        Settings now;
        const auto f = wg::kernel([&now](auto q) { return cell(now, q); });
        const auto expect_now = [&] {
            Settings kept = now;
            const auto fresh = wg::kernel([&kept](auto q) { return cell(kept, q); });
            const auto loss = [](const auto& g) {
                return [&g](const D& q) {
                    const std::vector<D> y = g(q);
                    return sum(y[0] * y[0] + y[1] * y[2] + y[3] + y[4]);
                };
            };
            const std::vector<D> got = f(x), want = fresh(x);
            for (std::size_t k = 0; k < 5; ++k) CHECK(wg::allclose(got[k], want[k], 0.0));
            CHECK(wg::allclose(wg::grad(loss(f))(x), wg::grad(loss(fresh))(x), 0.0));
        };
        expect_now();
        expect_now();
        now.runs = 0;
        const std::vector<D> before = f(x);
        CHECK(now.runs == 2);  // a cell of each path, found to be as it was
        change.make(now);
        const std::vector<D> after = f(x);
        bool differ = false;
        for (std::size_t k = 0; k < 5; ++k) differ = differ || !wg::allclose(before[k], after[k], 0.0);
        CHECK(differ);
        expect_now();
        now = Settings{};
        expect_now();
    }
}

TEST_CASE("A function that captures nothing is not run again")
{
    static int runs;
    const D x = {0.5, 2.0};
    const auto expect_runs = [&](const auto& f, bool again) {
        runs = 0;
        const D first = f(x);
        const int met = runs;
        CHECK(met > 0);
        CHECK(wg::allclose(f(x), first, 0.0));
        CHECK((runs > met) == again);
    };
    const auto nothing = [](auto q) { return ++runs, q * q; };
    const float scale = 1.5F;
    double outside = 1.5;
    expect_runs(wg::kernel(nothing), false);
    expect_runs(wg::kernel([nothing](auto q) { return nothing(q) + 1.0; }), false);
    expect_runs(wg::kernel([scale](auto q) { return ++runs, q * static_cast<double>(scale); }),
                true);  // or an index
    expect_runs(wg::kernel([&outside](auto q) { return ++runs, q * outside; }), true);
    expect_runs(wg::kernel([outside](auto q) { return ++runs, q * outside; }), true);
}
