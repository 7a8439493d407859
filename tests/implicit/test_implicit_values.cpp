// What solvers find, beside closed forms; what they tell of it; what has no answer.
#include "implicit/implicit_cases.hpp"
#include "implicit/order_conditions.hpp"
#include "lacks.hpp"

#include <wengert/linalg.hpp>

using namespace implicit_cases;

namespace {

using D = Tensor<double>;

/// f() throws an E with all these words and a line of this file.
template <class E, class F> void refuses(const std::vector<std::string>& words, const F& f)
{
    const std::string said = thrown<E>(f);
    INFO(said);
    for (const std::string& word : words) CHECK(said.find(word) != std::string::npos);
    CHECK(said.find("test_implicit_values.cpp:") != std::string::npos);
}

}  // namespace

TEST_CASE("implicit: roots, fixed points and minima have closed forms")
{
    const auto report = std::make_shared<wg::SolverReport>();
    const D y = wg::root([](const D& x, const D& q) { return x * x * x + x - q; }, D{0.5, 0.5}, D{2.0, 10.0},
                         {.report = report});
    CHECK(allclose(y, D{1.0, 2.0}, 1e-14));
    CHECK(report->iterations > 3);
    CHECK(report->iterations < 15);
    CHECK(report->residual < 1e-12);
    const D far =
        wg::root([](const D& x) { return atan(x); }, D(10.0), {.report = report});  // plain Newton diverges
    CHECK(std::abs(far.item()) < 1e-12);
    CHECK(report->rejected > 0);
    const D z = wg::fixed_point([](const D& x) { return cos(x); }, D(0.5));
    CHECK(z.item() == Approx(0.73908513321516064).epsilon(1e-13));
    const auto valley = [](const D& x) { return square(1.0 - x(0)) + 100.0 * square(x(1) - x(0) * x(0)); };
    CHECK(allclose(wg::minimize(valley, D{-1.2, 1.0}, {.report = report}), D{1.0, 1.0}, 1e-9));
    CHECK(report->evaluations > report->rejected);
}

TEST_CASE("implicit: linear solvers agree with linalg, in any shape")
{
    const std::int64_t n = 40;
    const D m = wg::uniform<double>(wg::Key(1), {n, n}, -0.1, 0.1) + 2.0 * wg::eye<double>(n),
            b = wg::normal<double>(wg::Key(2), {n});
    const auto times = [](const D& z, const D& a) { return matmul(a, z); };
    const D exact = wg::linalg::solve(m, b), spd = matmul(m, transpose(m));
    CHECK(allclose(wg::gmres(times, b, m), exact, 1e-11));
    CHECK(allclose(wg::gmres(times, b, m, {.restart = 5}), exact, 1e-11));
    CHECK(allclose(wg::bicgstab(times, b, m), exact, 1e-11));
    CHECK(allclose(wg::cg(times, b, spd), wg::linalg::solve(spd, b), 1e-11));
    const auto square_form = [](const D& z) { return 3.0 * z - 0.5 * transpose(z); };
    const D right = {{1.0, 2.0}, {3.0, 4.0}}, z = wg::cg(square_form, right);
    CHECK(allclose(3.0 * z - 0.5 * transpose(z), right, 1e-13));
    CHECK(allclose(wg::cg(times, b * 0.0, spd), b * 0.0, 0.0));
}

TEST_CASE("implicit: odeint beside closed forms, forward and backward in time")
{
    const auto spin = [](const D& z, const D&, const D& w) {
        return stack(std::vector<D>{z(1), -w * w * z(0)}, 0);
    };
    const D times = wg::linspace<double>(0.0, 3.0, 31);
    const auto report = std::make_shared<wg::SolverReport>();
    const D y =
        wg::odeint(spin, D{1.0, 0.0}, times, D(2.0), {.rtol = 1e-10, .atol = 1e-12, .report = report});
    CHECK(y.shape() == wg::Shape{31, 2});
    CHECK(allclose(transpose(y)(0), cos(2.0 * times), 1e-8));
    CHECK(report->iterations > 10);
    CHECK(report->residual == 3.0);
    const D back = wg::odeint(spin, y(30), D{3.0, 0.0}, D(2.0), {.rtol = 1e-10, .atol = 1e-12});
    CHECK(allclose(back(1), D{1.0, 0.0}, 1e-8));
    const D twice = wg::odeint(spin, D{1.0, 0.0}, D{0.0, 0.0, 1.0, 1.0}, D(2.0));
    CHECK(allclose(twice(1), D{1.0, 0.0}, 0.0));
    CHECK(allclose(twice(2), twice(3), 0.0));
    CHECK(wg::odeint(spin, D{1.0, 0.0}, D{0.5}, D(2.0)).shape() == wg::Shape{1, 2});
}

TEST_CASE(
    "implicit: Dormand and Prince's tableau meets the conditions of order 5, its polynomial those of order 4")
{
    namespace orders = order_conditions;
    using P = wg::detail::DormandPrince;
    orders::Matrix a(7, orders::Column(7));
    for (std::size_t i = 0; i < 7; ++i) {
        std::copy_n(P::a[i], i, a[i].begin());
        CAPTURE(i);
        CHECK(P::c[i] == Approx(orders::sum(a[i], orders::Column(7, 1.0))).epsilon(0).margin(1e-15));
    }
    const double theta = 0.3, rest = 1 - theta;
    for (const orders::Tree& tree : orders::trees(a, a)) {
        CAPTURE(tree.order, tree.wanted);
        CHECK(orders::sum(a[6], tree.weights) == Approx(tree.wanted).epsilon(0).margin(1e-14));
        if (tree.order == 5) continue;
        double error = 0, between = 0;
        for (std::size_t i = 0; i < 7; ++i) {  // of StepPolynomial, by stages
            const double b = a[6][i], first = (i == 0) - b, last = b - (i == 6) - first;
            error += P::error[i] * tree.weights[i];
            between += theta * (b + rest * (first + theta * (last + rest * P::between[i]))) * tree.weights[i];
        }
        CHECK(error == Approx(0.0).epsilon(0).margin(1e-15));
        CHECK(between == Approx(tree.wanted * std::pow(theta, tree.order)).epsilon(0).margin(1e-14));
    }
}

TEST_CASE("implicit: an order of the method's error")
{
    const auto f = [](const D& y, const D& t) { return y * cos(t); };
    double before = 0;
    for (const double rtol : {1e-5, 1e-7, 1e-9}) {
        const D y = wg::odeint(f, D(1.0), D{0.0, 4.0}, {.rtol = rtol, .atol = rtol});
        const double error = std::abs(y(1).item() - std::exp(std::sin(4.0)));
        CHECK(error < 20 * rtol);
        if (before > 0) CHECK(error < before);
        before = error;
    }
}

TEST_CASE("implicit: no unknowns")
{
    const D none = wg::zeros<double>({0});
    CHECK(wg::root([](const D& y) { return y; }, none).size() == 0);
    CHECK(wg::fixed_point([](const D& y) { return y; }, none).size() == 0);
    CHECK(wg::cg([](const D& y) { return y; }, none).size() == 0);
    CHECK(wg::odeint([](const D& y, const D&) { return y; }, none, D{0.0, 1.0}).shape() == wg::Shape{2, 0});
}

TEST_CASE("implicit: what has no answer throws with the function, what it did and the line")
{
    const D two(2.0);
    refuses<wg::NumericError>({"[root]", "not converged", "iterations", "residual"},
                              [&] { wg::root([](const D& y) { return y * y + 1.0; }, two); });
    refuses<wg::NumericError>({"solve", "singular"},
                              [&] { wg::root([](const D& y) { return 0.0 * y + 1.0; }, two); });
    refuses<wg::NumericError>({"[fixed_point]", "after 50 iterations"}, [&] {
        wg::fixed_point([](const D& y) { return -y; }, two, {.iterations = 50});
    });
    refuses<wg::NumericError>({"[minimize]", "not converged"},
                              [&] { wg::minimize([](const D& y) { return y; }, two, {.iterations = 20}); });
    const D start = {1.0, 2.0};  // of functions without a minimum, whose value outgrows their slope
    refuses<wg::NumericError>({"[minimize]", "not converged"},
                              [&] { wg::minimize([](const D& y) { return -sum(y * y); }, start); });
    refuses<wg::NumericError>({"[minimize]", "not converged"},
                              [&] { wg::minimize([](const D& y) { return sum(y * y * y); }, start); });
    refuses<wg::NumericError>({"[minimize]", "not converged"},
                              [&] { wg::minimize([](const D& y) { return -sum(exp(y)); }, start); });
    refuses<wg::NumericError>({"[minimize]", "not converged"}, [&] {
        wg::minimize([](const D& y) { return -sum(sqrt(1.0 + y * y)); }, start);
    });
    refuses<wg::NumericError>({"[minimize]", "not converged"},
                              [&] { wg::minimize([](const D& y) { return sum(log(y)); }, start); });
    // A deep minimum that is found from where the function is flat.
    const D flat{1e-10},
        deep = wg::minimize([](const D& y) { return -1e3 * sum(exp(-square(y - 3.0))); }, flat);
    CHECK(allclose(deep, D{3.0}, 1e-6));
    refuses<wg::NumericError>({"[cg]", "not converged"}, [&] {
        wg::cg([](const D& y) { return 0.0 * y; }, D{1.0, 2.0});
    });
    refuses<wg::NumericError>({"[gmres]", "not converged"}, [&] {
        wg::gmres([](const D& y) { return 0.0 * y; }, D{1.0, 2.0});
    });
    refuses<wg::NumericError>({"[bicgstab]", "not converged"}, [&] {
        wg::bicgstab([](const D& y) { return 0.0 * y; }, D{1.0, 2.0});
    });
    const auto explodes = [](const D& y, const D&) { return y * y; };
    refuses<wg::NumericError>({"[odeint]", "the time reached is 0.5"}, [&] {
        wg::odeint(explodes, two, D{0.0, 1.0});
    });
    refuses<wg::NumericError>({"[odeint]", "not in order"}, [&] {
        wg::odeint(explodes, two, D{0.0, 0.2, 0.1, 0.3});
    });
    refuses<wg::ShapeError>({"[odeint]", "times"}, [&] { wg::odeint(explodes, two, D(1.0)); });
    const auto both = [](const D& y, const D& q) { return y * q; };
    const std::string line = ":" + std::to_string(__LINE__ + 2) + ")";
    refuses<wg::ShapeError>({"[minimize]", "shape (2) where one number is needed", line},
                            [&] { wg::minimize(both, start, two); });
    refuses<wg::ShapeError>({"[minimize]", "shape (2)"}, [&] {
        wg::grad([&](const D& q) { return sum(wg::minimize(both, start, q)); })(two);
    });
    refuses<wg::ShapeError>({"[minimize]", "shape (2)"}, [&] {
        wg::freeze([&](const D& q) { return wg::minimize(both, start, q); })(two);
    });
    refuses<wg::TapeError>({"[minimize]", "empty"}, [&] { wg::minimize([](const D&) { return D(); }, two); });
    refuses<wg::TapeError>({"[root]", "empty"}, [&] { wg::root([](const D&) { return D(); }, two); });
    refuses<wg::ShapeError>({"[root]", "shape (2)"}, [&] {
        wg::root([](const D& y) { return D{1.0, 2.0} * y; }, two);
    });
}

TEST_CASE("minimize: a least value that is but rounding is found by its slope")
{
    const D at_rest = {0.0, 0.0};
    for (double k = 0; k < 12; ++k) {
        const D start = {3.0 - 0.4 * k, -2.5 + 0.3 * k};
        const auto found = [&](const auto& f) {
            CHECK(allclose(wg::minimize(f, start), at_rest, 1e-9));
            CHECK(allclose(wg::freeze([&](const D& x) { return wg::minimize(f, x); })(start), at_rest, 1e-9));
        };
        found([](const D& y) { return sum(log(cosh(y))); });
        found([](const D& y) { return sum(log(cosh(3.0 * y))); });
        found([](const D& y) { return sum(1.0 - cos(0.5 * y)); });
    }
}

TEST_CASE("implicit: linear solvers where squares overflow or vanish, and what they refuse")
{
    const D b = {3.0, 1.0, 2.0};
    const auto doubled = [](const auto& y) { return y * 2.0; };
    for (const double size : {1e-300, 1e-200, 1e-162, 1e-80, 1.0, 1e80, 1e160, 1e200, 1e307}) {
        CAPTURE(size);
        CHECK(allclose(wg::cg(doubled, b * size) / size, 0.5 * b, 1e-12));
        CHECK(allclose(wg::gmres(doubled, b * size) / size, 0.5 * b, 1e-12));
        CHECK(allclose(wg::bicgstab(doubled, b * size) / size, 0.5 * b, 1e-12));
    }
    const Tensor<float> small = {3e-30F, 1e-30F}, great = {3e30F, 1e30F};
    const auto singly = [](const auto& y) { return y * 2.0F; };
    CHECK(allclose(wg::cg(singly, small) * 1e30F, Tensor<float>{1.5F, 0.5F}, 1e-6));
    CHECK(allclose(wg::gmres(singly, great) * 1e-30F, Tensor<float>{1.5F, 0.5F}, 1e-6));
    CHECK(allclose(wg::cg(doubled, wg::zeros<double>({2})), wg::zeros<double>({2}), 0.0));
    constexpr double inf = std::numeric_limits<double>::infinity(),
                     nan = std::numeric_limits<double>::quiet_NaN();
    for (const double bad : {inf, -inf, nan}) {
        CHECK_THROWS_AS(wg::cg(doubled, D{bad, 1.0}), wg::NumericError);
        CHECK_THROWS_AS(wg::gmres(doubled, D{bad, 1.0}), wg::NumericError);
        CHECK_THROWS_AS(wg::bicgstab(doubled, D{bad, 1.0}), wg::NumericError);
    }
    for (const std::int64_t restart : {0, -5})
        CHECK_THROWS_AS(wg::gmres(doubled, b, {.restart = restart}), wg::OptionError);
}

TEST_CASE("implicit: a derivative in times that equal the first one")
{
    const auto f = [](const D& y, const D& t) { return -y * t; };
    const D y0 = {3.0, 1.0, 2.0};
    for (const auto method : {wg::OdeMethod::runge_kutta, wg::OdeMethod::rosenbrock}) {
        const auto second = [&](const D& times) {
            return sum(wg::odeint(f, y0, times, {.method = method})(1));
        };
        for (const D& times : {D{1.0, 1.0}, D{1.0, 1.0, 1.5}, D{1.0, 1.0, 1.0, 0.5}}) {
            const D slope = wg::grad(second)(times), frozen = wg::freeze(wg::grad(second))(times);
            CHECK(slope(0).item() == Approx(6.0));  // y(t₁; t₀) moves against t₀
            CHECK(slope(1).item() == Approx(-6.0));
            CHECK(allclose(slope, frozen, 1e-15));
        }
    }
}

TEST_CASE("implicit: options outside of their range are refused")
{
    const D b = {1.0, 2.0}, times = {0.0, 1.0};
    const auto doubled = [](const D& z) { return 2.0 * z; };
    const auto squared = [](const D& y) { return y * y - 2.0; };
    const auto decay = [](const D& y, const D&) { return -y; };
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    for (const double tolerance : {-1e-6, nan, 2.0}) {
        CHECK_THROWS_AS(wg::cg(doubled, b, {.tolerance = tolerance}), wg::OptionError);
        CHECK_THROWS_AS(wg::root(squared, b, {.tolerance = tolerance}), wg::OptionError);
        CHECK_THROWS_AS(wg::fixed_point(doubled, b, {.tolerance = tolerance}), wg::OptionError);
        CHECK_THROWS_AS(wg::minimize([](const D& x) { return sum(x * x); }, b, {.tolerance = tolerance}),
                        wg::OptionError);
    }
    CHECK_THROWS_AS(wg::root(squared, b, {.iterations = -1}), wg::OptionError);
    CHECK_THROWS_AS(wg::root(squared, b, {.dense = -1}), wg::OptionError);
    CHECK_THROWS_AS(wg::root(squared, b, {.orders = -1}), wg::OptionError);
    for (const wg::OdeOptions& bad :
         {wg::OdeOptions{.rtol = -1}, wg::OdeOptions{.rtol = nan}, wg::OdeOptions{.atol = -1e-9},
          wg::OdeOptions{.rtol = 0, .atol = 0}, wg::OdeOptions{.first_step = -0.1},
          wg::OdeOptions{.first_step = nan}, wg::OdeOptions{.steps = 0}}) {
        CHECK_THROWS_AS(wg::odeint(decay, b, times, bad), wg::OptionError);
        CHECK_THROWS_AS(wg::odeint_adjoint(decay, b, times, bad), wg::OptionError);
    }
    refuses<wg::OptionError>({"[odeint] .rtol = -1: 0 or more is expected"},
                             [&] { wg::odeint(decay, b, times, {.rtol = -1}); });
    CHECK(allclose(wg::odeint(decay, b, times, {.rtol = 0, .atol = 1e-10})(1), b * std::exp(-1.0), 1e-8));
}

TEST_CASE("implicit: cg and bicgstab refuse an operator that is not linear")
{
    const auto affine = [](const D& z) { return 2.0 * z + 1.0; };
    const auto squared = [](const D& z) { return z * z; };
    const D b = {3.0, 3.0, 3.0}, c = {4.0, 4.0};
    CHECK_THROWS_AS(wg::cg(affine, b), wg::NumericError);
    CHECK_THROWS_AS(wg::bicgstab(affine, b), wg::NumericError);
    CHECK_THROWS_AS(wg::cg(squared, c), wg::NumericError);
    CHECK_THROWS_AS(wg::bicgstab(squared, c), wg::NumericError);
    CHECK_THROWS_AS(wg::freeze([&](const D& right) { return wg::cg(affine, right); })(b), wg::NumericError);
}
