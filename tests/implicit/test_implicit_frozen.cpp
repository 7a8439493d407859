// Solvers in graphs: the bits of eager code on every executor, in loops and branches, row by row; derivatives of frozen functions.
#include "implicit/implicit_cases.hpp"

#include <wengert/native.hpp>

using namespace implicit_cases;

namespace {

using D = Tensor<double>;

Function<double> loss(const Function<double>& f)
{
    return [f](const D& t) { return sum(sin(f(t))); };
}

}  // namespace

TEST_CASE("implicit: frozen functions and gradients have the numbers of eager code on every executor")
{
    for (const auto& backend : {wg::Backend(wg::tile), wg::Backend(wg::interpret), wg::Backend(wg::native)})
        for (const auto& c : all<double>()) {
            INFO(c.name);
            wg::FreezeOptions options;
            options.backend = backend;
            const auto f = loss(c.f);
            auto value = wg::freeze(f, options);
            auto slope = wg::freeze(wg::grad(f), options);
            for (const double shift : {0.0, 0.1, 0.3}) {
                const D x = point<double>() + shift;
                CHECK(allclose(value(x), f(x), 1e-13));
                CHECK(allclose(slope(x), wg::grad(f)(x), 1e-11));
            }
            CHECK(value.stats().traces == 1);
        }
}

TEST_CASE("implicit: two orders of derivatives of frozen functions")
{
    for (const auto& c : all<double>()) {
        INFO(c.name);
        const auto f = loss(c.f);
        auto frozen = wg::freeze(f);
        const D x = point<double>();
        static_cast<void>(frozen(x));
        CHECK(allclose(wg::grad(frozen)(x), wg::grad(f)(x), 1e-11));
        CHECK(allclose(wg::hessian(frozen)(x), wg::hessian(f)(x), 1e-9));
        const D v = {1.0, -1.0, 0.5};
        CHECK(allclose(wg::jvp(frozen, x, v).second, wg::jvp(f, x, v).second, 1e-11));
    }
}

TEST_CASE("implicit: a derivative beyond the orders of a frozen function throws")
{
    const auto f = [](const D& p) {
        return wg::root([](const D& y, const D& q) { return y * q - 1.0; }, D(1.0), p, {.orders = 1});
    };
    auto frozen = wg::freeze(f);
    const D x(0.5);
    CHECK(frozen(x).item() == Approx(2.0));
    CHECK(wg::grad(frozen)(x).item() == Approx(-4.0));
    const auto twice = [&](const D& p) { return wg::grad(frozen)(p); };
    CHECK_THROWS_AS(wg::grad(twice)(x), wg::TapeError);
    CHECK_THROWS_AS(wg::jvp(twice, x, D(1.0)), wg::TapeError);
}

TEST_CASE("implicit: in vmap, scan and cond, eager and frozen")
{
    for (const auto& c : all<double>()) {
        INFO(c.name);
        const auto one = loss(c.f);
        const D rows = stack(std::vector<D>{point<double>(), point<double>() + 0.2}, 0);
        const auto mapped = [&](const D& x) { return sum(wg::vmap(one)(x)); };
        const D slope = wg::grad(mapped)(rows);
        CHECK(allclose(slope(1), wg::grad(one)(rows(1)), 1e-12));
        auto frozen = wg::freeze(wg::grad(mapped));
        for (int i = 0; i < 2; ++i) CHECK(allclose(frozen(rows), slope, 1e-10));
        const auto looped = [&](const D& x) {
            const auto step = [&](const D& s) { return std::pair(s + 0.01 * sum(one(s)), std::tuple()); };
            return sum(wg::scan(step, x, 3).first);
        };
        auto loop = wg::freeze(wg::grad(looped));
        for (int i = 0; i < 2; ++i)
            CHECK(allclose(loop(point<double>()), wg::grad(looped)(point<double>()), 1e-10));
        const auto branched = [&](const D& x) {
            return wg::cond(
                sum(x) > 0.0, [&](const D& t) { return one(t); }, [](const D& t) { return sum(t); }, x);
        };
        auto branch = wg::freeze(wg::grad(branched));
        for (int i = 0; i < 2; ++i)
            CHECK(allclose(branch(point<double>()), wg::grad(branched)(point<double>()), 1e-10));
        auto checkpoints = wg::freeze(wg::grad(wg::checkpoint(one)));
        for (int i = 0; i < 2; ++i)
            CHECK(allclose(checkpoints(point<double>()), wg::grad(one)(point<double>()), 1e-10));
    }
}

TEST_CASE("implicit: a replay that does not converge throws, and one that does reports")
{
    const auto report = std::make_shared<wg::SolverReport>();
    auto frozen = wg::freeze([&](const D& p) {
        return wg::root([](const D& y, const D& q) { return y * y - q; }, D(1.0), p, {.report = report});
    });
    CHECK(frozen(D(4.0)).item() == Approx(2.0));
    *report = {};
    CHECK(frozen(D(9.0)).item() == Approx(3.0));
    CHECK(report->iterations == 2);  // 5 is farther away than 1, and half the step is the answer
    CHECK(report->rejected == 1);
    CHECK_THROWS_AS(frozen(D(-1.0)), wg::NumericError);
}

TEST_CASE("implicit: a frozen solver without derivatives throws where one is asked for")
{
    const D at = {3.0, 1.0, 2.0};
    const auto with = [](std::int64_t orders) {
        return [orders](const D& p) {
            return wg::root([](const D& y, const D& q) { return y * y * y - q; }, D{1.0, 1.0, 1.0}, p,
                            {.orders = static_cast<int>(orders)});
        };
    };
    const auto f = with(0);
    const auto total = [&](const D& p) { return sum(f(p)); };
    CHECK(allclose(wg::freeze(f)(at), f(at), 0.0));
    CHECK_THROWS_AS(wg::freeze(wg::grad(total))(at), wg::TapeError);
    const auto frozen = wg::freeze(f);
    CHECK_THROWS_AS(wg::grad([&](const D& p) { return sum(frozen(p)); })(at), wg::TapeError);
    CHECK_THROWS_AS(wg::jvp(frozen, at, at), wg::TapeError);
    CHECK(allclose(wg::grad(total)(at), wg::grad([&](const D& p) { return sum(with(3)(p)); })(at), 0.0));
}
