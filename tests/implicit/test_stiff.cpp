// odeint by Rodas5P: known stiff problems, its order, what is singular, its derivatives beside exact ones, its errors.
#include "implicit/implicit_cases.hpp"
#include "implicit/order_conditions.hpp"
#include "lacks.hpp"

using namespace implicit_cases;
namespace orders = order_conditions;

namespace {

using D = Tensor<double>;
using Row = std::vector<D>;

wg::OdeOptions stiff(double rtol, double atol, std::shared_ptr<wg::SolverReport> report = nullptr)
{
    return {.method = wg::OdeMethod::rosenbrock, .rtol = rtol, .atol = atol, .report = std::move(report)};
}

/// Is each |a − b| at most atol + rtol |b|?
bool close(const D& a, const D& b, double rtol, double atol = 0)
{
    return amax(abs(a - b) - rtol * abs(b)).item() <= atol;
}

/// The method in the form that conditions of order are known in: k stages, α and β = α + γ, and Γ = (I / γ − C)⁻¹ takes stages of one
/// form to those of the other. Hairer & Wanner 1996, IV.7, (7.25).
struct Tableau {
    using R = wg::detail::Rodas5P;
    static constexpr std::size_t n = R::stages;
    orders::Matrix gamma{n, orders::Column(n)}, alpha = gamma, beta = gamma;

    Tableau()
    {
        for (std::size_t j = 0; j < n; ++j)
            for (std::size_t i = j; i < n; ++i) {
                double sum = i == j ? 1 : 0;
                for (std::size_t k = j; k < i; ++k) sum += R::c[i][k] * gamma[k][j];
                gamma[i][j] = R::gamma * sum;
            }
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j) {
                for (std::size_t k = 0; k < i; ++k) alpha[i][j] += R::a[i][k] * gamma[k][j];
                beta[i][j] = alpha[i][j] + gamma[i][j];
            }
    }
    /// The weights of the stages in the solution that stage `last` ends.
    orders::Column weights(std::size_t last) const
    {
        orders::Column b = gamma[last];
        for (std::size_t j = 0; j < n; ++j)
            for (std::size_t k = 0; k < last; ++k) b[j] += R::a[last][k] * gamma[k][j];
        return b;
    }
};

/// Robertson's reaction, of which y₀ + y₁ + y₂ is constant.
D robertson(const D& y, const D&, const D& k)
{
    const D a = k(0) * y(0), b = k(1) * y(1) * y(2), c = k(2) * y(1) * y(1);
    return stack(Row{b - a, a - b - c, c}, 0);
}

/// f() throws an E with all these words and a line of this file.
template <class E, class F> void refuses(const std::vector<std::string>& words, const F& f)
{
    const std::string said = thrown<E>(f);
    INFO(said);
    for (const std::string& word : words) CHECK(said.find(word) != std::string::npos);
    CHECK(said.find("test_stiff.cpp:") != std::string::npos);
}

/// ẏ = y² cos t has 1 / (2 − sin t) from y(0) = 1/2.
D wave(const D& y, const D& t) { return y * y * cos(t); }

/// The errors at the end and within the steps after `steps` of the same length from 0 to 2.
std::pair<double, double> errors_of(int steps)
{
    const double h = 2.0 / steps;
    D y = {0.5};
    double within = 0;
    for (int i = 0; i < steps; ++i) {
        const D t(i * h);
        const auto step = wg::detail::rodas5p<D>(wave, t, y, wave(y, t), D(h), wg::Site{});
        const double middle = (i + 0.4) * h;
        within = std::max(within,
                          std::abs(step.polynomial.at(D(middle))(0).item() - 1.0 / (2.0 - std::sin(middle))));
        y = step.y;
    }
    return {std::abs(y(0).item() - 1.0 / (2.0 - std::sin(2.0))), within};
}

}  // namespace

TEST_CASE("implicit: Robertson's reaction over eleven powers of ten, and other problems of the stiff set")
{
    const auto report = std::make_shared<wg::SolverReport>();
    const D k = {0.04, 1e4, 3e7}, times = {0.0, 0.4, 40.0, 4e5, 4e10};
    const D y = wg::odeint(robertson, D{1.0, 0.0, 0.0}, times, k, stiff(1e-6, 1e-13, report));
    const D known = {{0.98517213861, 3.3863953789e-5, 1.4794022126e-2},
                     {0.71582706878, 9.1855347e-6, 0.28416374569},
                     {4.9382745e-3, 1.98499e-8, 0.9950617},
                     {5.2083451e-8, 2.0833381e-13, 0.9999999479}};  // LSODA with a tolerance of 1e-12
    for (int i = 0; i < 4; ++i) CHECK(close(y(i + 1), known(i), 1e-4, 1e-14));
    CHECK(report->iterations < 400);
    CHECK(report->jacobians == report->iterations + report->rejected);
    CHECK(report->residual == 4e10);

    const double mu = 1000;
    const auto oscillator = [&](const D& z, const D&) {
        return stack(Row{z(1), mu * (1.0 - z(0) * z(0)) * z(1) - z(0)}, 0);
    };
    const D z = wg::odeint(oscillator, D{2.0, 0.0}, D{0.0, 2000.0}, stiff(1e-7, 1e-9));
    CHECK(close(z(1), D{1.706167732170483, -0.8928097010247975e-3}, 1e-4));  // Hairer & Wanner 1996

    const auto hires = [](const D& x, const D&) {
        const D both = 280.0 * x(5) * x(7);
        return stack(Row{-1.71 * x(0) + 0.43 * x(1) + 8.32 * x(2) + 0.0007, 1.71 * x(0) - 8.75 * x(1),
                         -10.03 * x(2) + 0.43 * x(3) + 0.035 * x(4), 8.32 * x(1) + 1.71 * x(2) - 1.12 * x(3),
                         -1.745 * x(4) + 0.43 * x(5) + 0.43 * x(6),
                         -both + 0.69 * x(3) + 1.71 * x(4) - 0.43 * x(5) + 0.69 * x(6), both - 1.81 * x(6),
                         1.81 * x(6) - both},
                     0);
    };
    const D start = {1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0057};
    const D end = {0.7371312573325668e-3, 0.1442485726316185e-3, 0.5888729740967575e-4,
                   0.1175651343283149e-2, 0.2386356198831331e-2, 0.6238968252742796e-2,
                   0.2849998395185769e-2, 0.2850001604814231e-2};  // Mazzia & Magherini 2008
    const D found = wg::odeint(hires, start, D{0.0, 321.8122}, stiff(1e-7, 1e-11, report));
    CHECK(close(found(1), end, 1e-5, 1e-9));
    CHECK(report->iterations < 600);
}

TEST_CASE("implicit: Rodas5P meets the conditions of order 5, its estimate those of order 4")
{
    const Tableau t;  // a wrong digit of it is seen here
    for (const std::size_t last : {std::size_t{7}, std::size_t{6}})
        for (const orders::Tree& tree : orders::trees(t.alpha, t.beta)) {
            if (last == 6 && tree.order == 5) continue;
            CAPTURE(last, tree.order);
            CHECK(orders::sum(t.weights(last), tree.weights) == Approx(tree.wanted).epsilon(0).margin(2e-13));
        }
    const orders::Column one(Tableau::n, 1.0), a = orders::times(t.alpha, one),
                                               g = orders::times(t.gamma, one);
    for (std::size_t i = 0; i < Tableau::n; ++i) {
        CAPTURE(i);
        CHECK(wg::detail::Rodas5P::time[i] == Approx(a[i]).epsilon(0).margin(2e-13));
        CHECK(wg::detail::Rodas5P::d[i] == Approx(g[i]).epsilon(0).margin(2e-13));
    }
}

TEST_CASE("implicit: Rodas5P has order 5, and its polynomial order 4")
{
    const auto [end, within] = errors_of(20);
    const auto [end_of_half, within_of_half] = errors_of(40);
    CHECK(std::log2(end / end_of_half) == Approx(5.0).margin(0.6));
    CHECK(std::log2(within / within_of_half) > 4.5);  // an error of h⁵ within a step
}

TEST_CASE("implicit: stiff equations have the solution at all times, forward and backward, in float too")
{
    const auto follows = [](const auto& y, const auto& t) {
        using T = typename std::decay_t<decltype(y)>::value_type;
        return T(-1000) * (y - cos(t)) - sin(t);
    };
    const D times = wg::linspace<double>(0.0, 10.0, 41);
    const auto report = std::make_shared<wg::SolverReport>();
    const D y = wg::odeint(follows, D{1.0}, times, stiff(1e-7, 1e-9, report));
    CHECK(close(reshape(y, {41}), cos(times), 1e-5, 1e-5));
    CHECK(report->iterations < 150);  // stability alone asks an explicit method for 3000
    const auto single = wg::odeint(follows, Tensor<float>{1.f}, Tensor<float>{0.f, 2.f, 5.f},
                                   {.method = wg::OdeMethod::rosenbrock, .rtol = 1e-4, .atol = 1e-5});
    CHECK(single(2, 0).item() == Approx(std::cos(5.0)).margin(1e-3));
    const auto grows = [](const D& x, const D&) { return 100.0 * x; };
    const D back = wg::odeint(grows, D{1.0, -2.0}, D{0.1, 0.0}, stiff(1e-9, 1e-12));
    CHECK(close(back(1), std::exp(-10.0) * D{1.0, -2.0}, 1e-6, 1e-10));
    CHECK(wg::odeint(grows, wg::zeros<double>({0}), D{0.0, 1.0}, stiff(1e-6, 1e-9)).shape() ==
          wg::Shape{2, 0});
    CHECK(close(wg::odeint(grows, D{1.0}, D{0.5}, stiff(1e-6, 1e-9)), wg::ones<double>({1, 1}), 0.0));
}

TEST_CASE("implicit: a step whose matrix is singular is made shorter")
{
    const auto report = std::make_shared<wg::SolverReport>();
    wg::OdeOptions options = stiff(1e-8, 1e-10, report);
    options.first_step = 1;  // 1 / (γ h) = 4
    const auto grows = [](const D& y, const D&) { return 4.0 * y; };
    const auto end = [&](const D& y0) { return wg::odeint(grows, y0, D{0.0, 2.0}, options)(1); };
    CHECK(allclose(end(D{1.0}), D{std::exp(8.0)}, 1e-5));
    CHECK(report->rejected > 0);
    CHECK(allclose(wg::jacobian(end)(D{1.0}), D{{std::exp(8.0)}}, 1e-5));
    auto frozen = wg::freeze(wg::grad([&](const D& y0) { return sum(end(y0)); }));
    for (int i = 0; i < 3; ++i) CHECK(allclose(frozen(D{1.0}), D{std::exp(8.0)}, 1e-5));
}

TEST_CASE("implicit: derivatives of a stiff linear system are those of its exponential")
{
    // 2 e⁻ᵃᵗ − e⁻ᵇᵗ, with a = 1 and b = 1000, as a system of two equations
    const auto decay = [](const D& y, const D&, const D& p) {
        return stack(Row{y(1), -p(0) * p(1) * y(0) - (p(0) + p(1)) * y(1)}, 0);
    };
    const auto value = [&](const auto& solver) {
        return [&](const D& p) {
            const D y0 = stack(Row{wg::ones<double>({}), p(1) - 2.0 * p(0)}, 0);
            return solver(decay, y0, D{0.0, 0.7}, p, stiff(1e-9, 1e-12))(1, 0);
        };
    };
    const auto f = value(wg::odeint);
    const D p = {1.0, 1000.0};
    const double e = std::exp(-0.7);
    const D slope = wg::grad(f)(p);
    const auto exact = [](const D& q) { return 2.0 * exp(-0.7 * q(0)) - exp(-0.7 * q(1)); };
    CHECK(f(p).item() == Approx(exact(p).item()).epsilon(1e-7));
    CHECK(close(slope, wg::grad(exact)(p), 1e-5, 1e-9));
    CHECK(wg::jvp(f, p, D{1.0, 0.0}).second.item() == Approx(-1.4 * e).epsilon(1e-5));
    CHECK(wg::hessian(f)(p)(0, 0).item() == Approx(0.98 * e).epsilon(1e-4));
    auto frozen = wg::freeze(wg::value_and_grad(f));
    for (const double a : {1.0, 1.5, 0.5}) {
        const D q = {a, 1000.0};
        const auto [v, g] = frozen(q);
        CHECK(allclose(v, f(q), 1e-12));
        CHECK(allclose(g, wg::grad(f)(q), 1e-10));
    }
    CHECK(frozen.stats().traces == 1);
}

TEST_CASE(
    "implicit: the continuous adjoint by rosenbrock, and that it says where y explodes backwards in time")
{
    const auto decay = [](const D& y, const D& t, const D& p) { return -p * y + cos(t); };
    const auto end = [&](const auto& solver, wg::OdeOptions options) {
        return [&solver, decay, options](const D& p) {
            return sum(solver(decay, D{1.0, 2.0}, D{0.0, 0.4, 1.0}, p, options));
        };
    };
    const wg::OdeOptions tight = stiff(1e-9, 1e-11);
    const D p = {3.0, 5.0};
    const auto f = end(wg::odeint_adjoint, tight);
    CHECK(close(wg::grad(f)(p), wg::grad(end(wg::odeint, tight))(p), 1e-6, 1e-8));
    auto frozen = wg::freeze(wg::grad(f));
    for (int i = 0; i < 3; ++i) CHECK(close(frozen(p), wg::grad(f)(p), 1e-9));
    wg::OdeOptions few = stiff(1e-6, 1e-9);
    few.steps = 1000;
    refuses<wg::NumericError>({"[odeint]", "not converged"},
                              [&] { wg::grad(end(wg::odeint_adjoint, few))(1e4 * p); });
}

TEST_CASE("implicit: derivatives of Robertson's reaction beside differences")
{
    const D k = {0.04, 1e4, 3e7};
    const auto middle = [&](const D& q) {
        return 1e5 *
               wg::odeint(robertson, D{1.0, 0.0, 0.0}, D{0.0, 40.0}, k * exp(q), stiff(1e-8, 1e-12))(1, 1);
    };
    const D slope = wg::grad(middle)(wg::zeros<double>({3}));
    for (int i = 0; i < 3; ++i) {
        const D step = 1e-4 * wg::eye<double>(3)(i);
        CHECK(slope(i).item() == Approx((middle(step) - middle(-step)).item() / 2e-4).epsilon(1e-6));
    }
}

TEST_CASE("implicit: stiff equations without an answer throw with the line")
{
    const D one = {1.0};
    const auto explodes = [](const D& y, const D&) { return y * y; };
    refuses<wg::NumericError>({"[odeint]", "the time reached is 1"}, [&] {
        wg::odeint(explodes, one, D{0.0, 2.0}, stiff(1e-6, 1e-9));
    });
    wg::OdeOptions few = stiff(1e-10, 1e-12);
    few.steps = 7;
    refuses<wg::NumericError>({"[odeint]", "not converged after", "steps rejected"}, [&] {
        wg::odeint([](const D& y, const D& t) { return -y * t; }, one, D{0.0, 2.0}, few);
    });
    refuses<wg::NumericError>({"[odeint]", "the time reached is 0"}, [&] {
        wg::odeint([](const D& y, const D&) { return log(-y); }, one, D{0.0, 2.0}, stiff(1e-6, 1e-9));
    });
    refuses<wg::NumericError>({"[odeint]", "not in order"}, [&] {
        wg::odeint(explodes, one, D{0.0, 0.2, 0.1, 0.3}, stiff(1e-6, 1e-9));
    });
    auto frozen = wg::freeze([&](const D& y0) {
        return wg::odeint(explodes, y0, D{0.0, 2.0}, stiff(1e-6, 1e-9))(1);
    });
    CHECK(frozen(D{0.1})(0).item() == Approx(0.125).epsilon(1e-5));
    CHECK(frozen(D{0.2})(0).item() == Approx(1.0 / 3.0).epsilon(1e-5));
    refuses<wg::NumericError>({"[odeint]", "not converged"}, [&] { frozen(one); });
}
