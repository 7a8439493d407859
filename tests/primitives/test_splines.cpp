/// Cubic splines and tridiagonal systems: SciPy's numbers (CubicSpline of SciPy 1.15), derivatives in x, knots and values, graphs, errors.
#include "catch.hpp"
#include "same_bits.hpp"

#include <cmath>
#include <limits>

#include <wengert/arrays.hpp>
#include <wengert/linalg.hpp>
#include <wengert/native.hpp>
#include <wengert/wengert.hpp>

using namespace wengert;

namespace {

using D = Tensor<double>;
constexpr SplineEnds knotless = SplineEnds::not_a_knot, natural = SplineEnds::natural;

const D& knots()
{
    static const D x = {0.0, 0.5, 1.25, 3.0, 3.5};
    return x;
}
const D& values()
{
    static const D y = {1.0, -2.0, 0.5, 4.0, 3.0};
    return y;
}
const D& places()
{
    static const D t = {-0.5, 0.0, 0.3, 0.5, 1.0, 2.9, 3.5, 4.25};
    return t;
}
template <class F> void check_derivatives(const F& f, const D& x)
{
    const CheckReport report = check_grads(f, x, {.order = 2});
    INFO(report.message);
    CHECK(report.ok);
    for (const auto& backend : {Backend(tile), Backend(interpret), Backend(native)}) {
        FreezeOptions options;
        options.backend = backend;
        auto frozen = freeze(grad(f), options);
        for (const double by : {1.0, 1.5, 0.75}) CHECK(same_bits(frozen(x * by), grad(f)(x * by)));
    }
}

}  // namespace

TEST_CASE("splines: SciPy's values and derivatives of all orders")
{
    const auto curve = cubic_spline(knots(), values());
    const D y[] = {{11.62389486260454, 1.0, -1.5014422939068102, -2.0, -0.7108721624850655, 4.084627956989248,
                    3.0, -0.41397849462365527},
                   {-31.094862604540026, -12.512305854241339, -4.564148148148148, -0.5992831541218634,
                    4.6442054958184, -0.6592688172042998, -2.9878136200716847, -6.16559139784946},
                   {43.83464755077659, 30.495579450418163, 22.49213859020311, 17.156511350059738,
                    3.8174432497013164, -3.7226284348864978, -4.039187574671446, -4.434886499402622},
                   {-26.67813620071685, -26.67813620071685, -26.67813620071685, -26.678136200716843,
                    -26.678136200716843, -0.5275985663082426, -0.5275985663082352, -0.5275985663082352}};
    for (std::int64_t k = 0; k < 4; ++k) CHECK(allclose(curve(places(), k), y[k], 2e-14));
    CHECK(allclose(curve(places(), 4), zeros_like(places()), 0.0));
    CHECK(std::abs(curve(1.0).item() + 0.7108721624850655) < 1e-15);
    const auto flat = cubic_spline(knots(), values(), natural);
    CHECK(allclose(flat(places()),
                   D{4.0, 1.0, -1.1765318860244232, -2.0, -0.8558721543796172, 4.11628144989339, 3.0,
                     1.8018995929443684},
                   2e-14));
    CHECK(allclose(flat(places(), 2),
                   D{-23.533242876526458, 0.0, 14.119945725915876, 23.533242876526458, 5.326096788783357,
                     -3.859352587710796, 0.0, 5.796472184531883},
                   2e-14));
    const Tensor<float> less =
        cubic_spline(cast<float>(knots()), cast<float>(values()))(cast<float>(places()));
    CHECK(allclose(cast<double>(less), y[0], 1e-6));
}

TEST_CASE("splines: few knots, further axes")
{
    const auto of = [](std::int64_t n, SplineEnds ends) {
        return cubic_spline(D(view(knots(), range(n))), D(view(values(), range(n))), ends)(places());
    };
    const D line = {4.0, 1.0, -0.8, -2.0, -5.0, -16.4, -20.0, -24.5};
    CHECK((allclose(of(2, knotless), line, 1e-14) && allclose(of(2, natural), line, 1e-14)));
    CHECK(allclose(of(3, knotless),
                   D{7.733333333333334, 1.0, -1.248, -2.0, -1.2666666666666668, 35.568, 58.4, 94.5}, 1e-14));
    CHECK(allclose(of(3, natural),
                   D{4.0, 1.0, -1.1584, -2.0, -0.9555555555555558, -11.740800000000007, -42.4, -115.5},
                   1e-14));
    CHECK(allclose(of(4, knotless),
                   D{10.066666666666663, 1.0, -1.4, -2.0, -0.9333333333333336, 4.944, -4.6, -33.0}, 1e-13));
    const D wide = stack({values(), values() * 2.0, values() * values()}, 1);
    const auto curve = cubic_spline(knots(), reshape(wide, {5, 1, 3}));
    const D at = reshape(places(), {2, 4}), y = curve(at);
    CHECK(y.shape() == Shape{2, 4, 1, 3});
    for (std::int64_t k = 0; k < 3; ++k)
        CHECK(allclose(D(view(y, all(), all(), 0, k)), cubic_spline(knots(), D(view(wide, all(), k)))(at),
                       1e-15));
    CHECK(curve(zeros<double>({0})).shape() == Shape{0, 1, 3});
    CHECK(std::isnan(cubic_spline(knots(), values())(std::numeric_limits<double>::quiet_NaN()).item()));
}

TEST_CASE("splines: derivatives in x, in the values, in the knots, to order 2, and graphs")
{
    const D inside = {0.3, 1.0, 2.9, -0.25, 4.0}, weights = {1.0, 2.0, -1.0, 0.5, 0.25};
    for (const SplineEnds ends : {knotless, natural}) {
        const auto f = [=](const D& t, const D& x, const D& y) {
            return sum(square(cubic_spline(x, y, ends)(t)) * weights);
        };
        check_derivatives([&](const D& t) { return f(t, knots(), values()); }, inside);
        check_derivatives([&](const D& x) { return f(inside, x, values()); }, knots());
        check_derivatives([&](const D& y) { return f(inside, knots(), y); }, values());
    }
    const auto curve = cubic_spline(knots(), values());
    const D slopes = grad([&](const D& t) { return sum(curve(t)); })(inside);
    CHECK(allclose(slopes, curve(inside, 1), 1e-13));
    // the curve itself is an argument: a struct of tensors
    const auto g = grad([&](const CubicSpline<double>& c) { return sum(c(inside)); })(curve);
    CHECK(g.coefficients.shape() == Shape{4, 4});
}

TEST_CASE("splines: errors")
{
    CHECK_THROWS_AS(cubic_spline(knots(), D{1.0}), ShapeError);
    CHECK_THROWS_AS(cubic_spline(D{1.0}, D{1.0}), ShapeError);
    CHECK_THROWS_AS(cubic_spline(D{1.0, 1.0, 2.0}, D{1.0, 2.0, 3.0}), NumericError);
    CHECK_THROWS_AS(cubic_spline(D{1.0, std::nan(""), 2.0}, D{1.0, 2.0, 3.0}), NumericError);
    CHECK_THROWS_AS(cubic_spline(knots(), values())(1.0, -1), IndexError);
    auto frozen = freeze([](const D& x) { return cubic_spline(x, values())(0.25); });
    for (int k = 0; k < 2; ++k) static_cast<void>(frozen(knots()));
    CHECK_THROWS_AS(frozen(flip(knots(), 0)), NumericError);
}

TEST_CASE("tridiagonal systems: beside a dense solve, rows exchanged, derivatives, errors")
{
    const D lower = {9.0, 1.0, -2.0, 4.0, 0.5}, upper = {2.0, 1.5, -1.0, 3.0, 9.0};
    const D b = {{1.0, 2.0}, {0.5, -1.0}, {2.0, 0.0}, {-3.0, 1.0}, {1.0, 4.0}};
    const D middles[] = {{4.0, -5.0, 6.0, 8.0, 3.0},
                         {0.0, 0.25, 0.0, 0.5, 0.125}};  // the second needs exchanges
    for (const D& d : middles) {
        D dense = zeros<double>({5, 5});
        {
            auto w = write(dense);
            for (std::int64_t i = 0; i < 5; ++i) {
                w(i, i) = d(i).item();
                if (i > 0) w(i, i - 1) = lower(i).item();
                if (i < 4) w(i, i + 1) = upper(i).item();
            }
        }
        CHECK(allclose(solve_tridiagonal(lower, d, upper, b), linalg::solve(dense, b), 1e-13));
        CHECK(allclose(solve_tridiagonal(lower, d, upper, D(view(b, all(), 0))),
                       linalg::solve(dense, D(view(b, all(), 0))), 1e-13));
    }
    const D& d = middles[0];
    check_derivatives([&](const D& t) { return sum(square(solve_tridiagonal(t, d, upper, b))); }, lower);
    check_derivatives([&](const D& t) { return sum(square(solve_tridiagonal(lower, t, upper, b))); }, d);
    check_derivatives([&](const D& t) { return sum(square(solve_tridiagonal(lower, d, t, b))); }, upper);
    check_derivatives([&](const D& t) { return sum(square(solve_tridiagonal(lower, d, upper, t)) * b); }, b);
    const D one = {2.0};
    CHECK(solve_tridiagonal(one, one, one, D{3.0})(0).item() == 1.5);
    CHECK(solve_tridiagonal(zeros<double>({0}), zeros<double>({0}), zeros<double>({0}), zeros<double>({0, 2}))
              .shape() == Shape{0, 2});
    CHECK_THROWS_AS(solve_tridiagonal(one, D{0.0}, one, one), NumericError);
    CHECK_THROWS_AS(solve_tridiagonal(D{0.0, 1.0}, D{1.0, 1.0}, D{1.0, 0.0}, D{1.0, 1.0}), NumericError);
    CHECK_THROWS_AS(solve_tridiagonal(one, d, upper, b), ShapeError);
    CHECK_THROWS_AS(solve_tridiagonal(lower, d, upper, D(1.0)), ShapeError);
}
