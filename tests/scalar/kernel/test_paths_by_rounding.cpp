// Comparisons that the last bit decides: tensors and numbers of scalar code compute a function differently there, so a cell goes
// another way as an array's element than by itself. What it goes in the array counts, in every executor.
#include "catch.hpp"

#include <wengert/graph/control/control.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/graph/ir/interpret.hpp>
#include <wengert/graph/native/native.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/special.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/scalar.hpp>
#include <wengert/transforms/checkpoint.hpp>
#include <wengert/transforms/derivatives.hpp>

#include <cmath>

namespace wg = wengert;
using D = wg::Tensor<double>;
using R = wg::Real<double>;

namespace {

/// A number x, and the bound between what a tensor and <cmath> make of Γ(x): the tensor's is below, the number's is not.
struct Split {
    double x = 0, bound = 0;
};
Split split_by_rounding()
{
    for (int k = 0; k < 10'000; ++k) {
        const double x = 1.5 + 0.001 * k, of_number = std::tgamma(x), of_tensor = wg::tgamma(D(x)).item();
        if (of_tensor < of_number) return {x, of_number};
    }
    return {};
}

const auto below = [](auto x, auto bound) {
    using std::tgamma;
    if (tgamma(x) < bound) return x * x;
    return 3.0 * x;
};
/// The comparison is in the test of a loop, the third time.
const auto loop_below = [](auto x, auto bound) {
    using std::tgamma;
    using Number = decltype(x);
    const auto s = wg::while_loop(
        [&](const std::pair<Number, Number>& at) {
            return at.first < 2.0 || (at.first < 3.0 && tgamma(x) < bound);
        },
        [&](const std::pair<Number, Number>& at) {
            return std::pair<Number, Number>(at.first + 1.0, at.second * x);
        },
        std::pair<Number, Number>(Number(0.0), Number(1.0)));
    return s.second;
};

}  // namespace

TEST_CASE("a cell that rounding sends another way as an array's element goes it")
{
    const Split s = split_by_rounding();
    REQUIRE(s.x > 0);
    const double x = s.x;
    const D here{x, x}, bound{s.bound, -1.0};
    const auto check = [&](const auto& f, double first, double second) {
        const auto known = [&] {
            auto g = wg::kernel(f);
            static_cast<void>(g(here, D(-1.0)));  // the way that the first cell goes by itself
            return g;
        };
        const D eager = known()(here, bound);
        CHECK(eager(0).item() == Approx(first).epsilon(1e-14));
        CHECK(eager(1).item() == Approx(second).epsilon(1e-14));
        for (const wg::Backend& backend : std::vector<wg::Backend>{wg::tile, wg::interpret, wg::native}) {
            INFO(backend.name);
            const auto called = [g = known()](const D& a, const D& b) { return g(a, b); };
            const auto frozen = wg::freeze(called, {.backend = backend, .check = false});
            for (int again = 0; again < 2; ++again) {
                const D y = frozen(here, bound);
                CHECK((y(0).item() == eager(0).item() && y(1).item() == eager(1).item()));
            }
        }
        const auto slope = [&](const auto& g) {
            return wg::grad([&](const D& a) { return wg::sum(g(a)); })(here)(0).item();
        };
        const auto at_bound = [g = known(), bound](const D& a) { return g(a, bound); };
        CHECK(slope(at_bound) == Approx(2 * first / x).epsilon(1e-13));
        CHECK(slope(wg::checkpoint(at_bound)) == slope(at_bound));
        CHECK(slope(wg::freeze(at_bound)) == slope(at_bound));
        CHECK(slope(wg::freeze(at_bound, {.backend = wg::native})) == slope(at_bound));
    };
    check(below, x * x, 3 * x);
    SECTION("with a captured number, which is looked at again in each call")
    {
        auto g = wg::kernel([factor = 1.0](auto a, auto b) { return factor * below(a, b); });
        for (const double b : {-1.0, s.bound, -1.0, s.bound}) {
            const double want = b > 0 ? x * x : 3 * x;
            CHECK(g(D{x}, D{b})(0).item() == Approx(want).epsilon(1e-14));
        }
        CHECK(g.explain().find("each cell runs by itself") == std::string::npos);
    }
}

TEST_CASE("the same in a loop's test")
{
    const Split s = split_by_rounding();
    REQUIRE(s.x > 0);
    const double x = s.x;
    auto g = wg::kernel(loop_below);
    CHECK(g(D{x}, D(-1.0))(0).item() == Approx(x * x));
    CHECK(g(D{x}, D(s.bound))(0).item() == Approx(x * x * x));
    auto again = wg::kernel(loop_below);
    static_cast<void>(again(D{x}, D(-1.0)));
    for (const wg::Backend& backend : std::vector<wg::Backend>{wg::tile, wg::native}) {
        const auto called = [again](const D& a, const D& b) { return again(a, b); };
        const auto frozen = wg::freeze(called, {.backend = backend});
        CHECK(frozen(D{x}, D(s.bound))(0).item() == Approx(x * x * x));
    }
}

TEST_CASE("frozen scalar code goes the way of its tensors")
{
    const Split s = split_by_rounding();
    REQUIRE(s.x > 0);
    const double x = s.x;
    const auto f = wg::freeze([](const R& a, const R& b) { return below(a, b); });
    CHECK(f(R(x), R(-1.0)).value() == Approx(3 * x));
    CHECK(f(R(x), R(s.bound)).value() == Approx(x * x));
    CHECK(f(R(x), R(s.bound)).value() == Approx(x * x));
    CHECK(f(R(x + 1.0), R(s.bound)).value() == Approx(3 * (x + 1)));
    const auto loop = wg::freeze([](const R& a, const R& b) { return loop_below(a, b); });
    CHECK(loop(R(x), R(s.bound)).value() == Approx(x * x * x));
}
