// external(): solvers from elsewhere in scalar code, with what they can meet.
#include "catch.hpp"

#include <wengert/scalar.hpp>

#include <thread>
#if __has_include(<lapacke.h>) && !defined(WENGERT_NO_BLAS)
#include <lapacke.h>
#define WITH_LAPACK 1
#endif

namespace wg = wengert;
using R = wg::Real<double>;
using D = wg::Tensor<double>;
using Reals = std::vector<R>;
using In = std::span<const double>;
using Out = std::span<double>;

namespace {

/// y = x0² x1, 3 x1 by a stranger, who counts how often he is asked.
struct Stranger {
    int forward = 0, reverse = 0;
};
Reals strange(const Reals& x, const std::shared_ptr<Stranger>& s)
{
    Reals y(2);
    wg::external(
        x, y,
        [s](In v, Out w) {
            ++s->forward;
            w[0] = v[0] * v[0] * v[1], w[1] = 3 * v[1];
        },
        [s]<class N>(std::span<const N> v, std::span<const N>, std::span<const N> g, std::span<N> to) {
            ++s->reverse;
            to[0] += 2.0 * v[0] * v[1] * g[0];
            to[1] += v[0] * v[0] * g[0] + 3.0 * g[1];
        },
        []<class N>(std::span<const N> v, std::span<const N>, std::span<const N> dot, std::span<N> to) {
            to[0] += 2.0 * v[0] * v[1] * dot[0] + v[0] * v[0] * dot[1];
            to[1] += 3.0 * dot[1];
        });
    return y;
}
/// Only for numbers, and without a tangent.
R half(const R& x)
{
    R y;
    wg::external(
        std::span(&x, 1), std::span(&y, 1), [](In v, Out w) { w[0] = v[0] * v[0] / 2; },
        [](In v, In, In g, Out to) { to[0] += v[0] * g[0]; });
    return y;
}

#ifdef WITH_LAPACK
struct Factors {
    std::vector<double> lu;
    std::vector<lapack_int> pivots;
    std::vector<double> solve(char how, In b) const
    {
        std::vector<double> x(b.begin(), b.end());
        const auto n = static_cast<lapack_int>(x.size());
        LAPACKE_dgetrs(LAPACK_ROW_MAJOR, how, n, 1, lu.data(), n, pivots.data(), x.data(), 1);
        return x;
    }
};

/// x = A⁻¹ b by dgesv; its factors serve b̄ = A⁻ᵀ x̄, Ā = −b̄ xᵀ and ẋ = A⁻¹ (ḃ − Ȧ x).
Reals lapack_solve(const Reals& A, const Reals& b)
{
    const std::size_t n = b.size();
    Reals in = A, x(n);
    in.insert(in.end(), b.begin(), b.end());
    wg::external(
        in, x,
        [n](In v, Out y) {
            Factors f{{v.begin(), v.begin() + static_cast<std::ptrdiff_t>(n * n)},
                      std::vector<lapack_int>(n)};
            std::copy(v.begin() + static_cast<std::ptrdiff_t>(n * n), v.end(), y.begin());
            const auto m = static_cast<lapack_int>(n);
            if (LAPACKE_dgesv(LAPACK_ROW_MAJOR, m, 1, f.lu.data(), m, f.pivots.data(), y.data(), 1) != 0)
                throw std::runtime_error("singular");
            return f;
        },
        [n](const Factors& f, In, In y, In g, Out to) {
            const auto back = f.solve('T', g);
            for (std::size_t i = 0; i < n; ++i) {
                for (std::size_t j = 0; j < n; ++j) to[i * n + j] -= back[i] * y[j];
                to[n * n + i] += back[i];
            }
        },
        [n](const Factors& f, In, In y, In dot, Out to) {
            std::vector<double> right(dot.begin() + static_cast<std::ptrdiff_t>(n * n), dot.end());
            for (std::size_t i = 0; i < n; ++i)
                for (std::size_t j = 0; j < n; ++j) right[i] -= dot[i * n + j] * y[j];
            const auto x = f.solve('N', right);
            for (std::size_t i = 0; i < n; ++i) to[i] += x[i];
        });
    return x;
}
#endif

}  // namespace

TEST_CASE("A solver from elsewhere, several calls in one program, to second order")
{
    const auto s = std::make_shared<Stranger>();
    const auto f = [s](const Reals& x) {
        Reals y = strange(x, s);
        y = strange({y[1] * x[0], sin(y[0])}, s);
        return y[0] + y[1] * x[1];
    };
    const Reals x{0.7, 1.3};
    const auto g = wg::grad(f)(x);
    CHECK((s->forward == 2 && s->reverse == 2));
    const auto by_hand = [](const Reals& v) {
        const R a = 3.0 * v[1] * v[0], b = sin(v[0] * v[0] * v[1]);
        return a * a * b + 3.0 * b * v[1];
    };
    const auto want = wg::grad(by_hand)(x);
    for (std::size_t i = 0; i < 2; ++i) CHECK(g[i].value() == Approx(want[i].value()));
    const auto report = wg::check_grads(f, x, {.order = 2});
    INFO(report.message);
    CHECK(report.ok);
    const Reals h = wg::hvp(f)(x, Reals{1.0, -2.0}), h0 = wg::hvp(by_hand)(x, Reals{1.0, -2.0});
    for (std::size_t i = 0; i < 2; ++i) CHECK(h[i].value() == Approx(h0[i].value()));
}

TEST_CASE("A rule may take its spans by reference, and of any type, to second order")
{
    const auto f = [](const Reals& x) {
        Reals y(1);
        wg::external(
            x, y, [](const auto& v, auto& w) { w[0] = v[0] * v[1]; },
            [](const auto& v, const auto&, const auto& g, auto& to) {
                to[0] += v[1] * g[0];
                to[1] += v[0] * g[0];
            },
            [](const auto& v, const auto&, const auto& dot, auto& to) {
                to[0] += v[1] * dot[0] + v[0] * dot[1];
            });
        return y[0] * y[0];
    };
    const auto report = wg::check_grads(f, Reals{0.7, -1.3}, {.order = 2});
    INFO(report.message);
    CHECK(report.ok);
}

TEST_CASE("External calls inside checkpoints, nested gradients, threads, and without a derivative")
{
    const auto s = std::make_shared<Stranger>();
    const auto f = [s](const Reals& x) {
        const Reals y = strange(x, s);
        return y[0] * y[1];
    };
    const Reals x{0.7, 1.3};
    const auto g = wg::grad(f)(x), again = wg::grad(wg::checkpoint(f))(x);
    CHECK((g[0].value() == again[0].value() && g[1].value() == again[1].value()));
    const auto nested = [&](const Reals& v) { return wg::grad(f)(v)[0] * v[1]; };
    CHECK(wg::check_grads(nested, x).ok);
    CHECK(f(x).value() == Approx(0.49 * 1.3 * 3.9));
    CHECK(!f(x).is_active());
    {
        R a = 2.0;
        a.requires_grad();
        const wg::NoGrad off;
        CHECK(!strange({a, a}, s)[0].is_active());
        a.requires_grad(false);
    }
    double from_thread = 0;
    std::thread([&] { from_thread = wg::grad(f)(x)[0].value(); }).join();
    CHECK(from_thread == g[0].value());
    {
        const auto pullback = wg::vjp(f, x).second;
        for (int i = 0; i < 2; ++i) CHECK(pullback(R(1.0))[0].value() == g[0].value());
    }
    CHECK(wg::Tape::current().size() == 0);
    const auto inside = [&](const D& t) {  // among tensors
        const Reals e = strange(wg::elements(t * 2.0), s);
        return sum(wg::stack(e) * t);
    };
    CHECK(wg::check_grads(inside, D{0.4, 0.9}, {.order = 2}).ok);
}

TEST_CASE("What an external call cannot do it refuses")
{
    CHECK(wg::grad(half)(R(3.0)).value() == 3);
    CHECK_THROWS_AS(wg::jvp(half, R(3.0), R(1.0)), wg::NoForwardMode);
    try {
        static_cast<void>(wg::grad(wg::grad(half))(R(3.0)));
        FAIL("not refused");
    } catch (const wg::TapeError& e) {
        INFO(e.what());
        CHECK(std::string(e.what()).find("[external]") == 0);
        CHECK(std::string(e.what()).find("reverse rule") != std::string::npos);
        CHECK(std::string(e.what()).find("test_external.cpp") != std::string::npos);
    }
    const auto fails = [](const R& x) {
        R y;
        wg::external(
            std::span(&x, 1), std::span(&y, 1), [](In, Out) { throw std::runtime_error("no"); },
            [](In, In, In, Out) {});
        return y;
    };
    CHECK_THROWS_AS(wg::grad(fails)(R(1.0)), std::runtime_error);
    const auto fails_back = [](const R& x) {
        R y;
        wg::external(
            std::span(&x, 1), std::span(&y, 1), [](In v, Out w) { w[0] = v[0]; },
            [](In, In, In, Out) { throw std::runtime_error("no"); });
        return y * x;
    };
    CHECK_THROWS_AS(wg::grad(fails_back)(R(1.0)), std::runtime_error);
    CHECK(wg::Tape::current().size() == 0);
    const wg::AnomalyMode on;
    const auto bad = [](const R& x) {
        R y;
        wg::external(
            std::span(&x, 1), std::span(&y, 1), [](In, Out w) { w[0] = NAN; }, [](In, In, In, Out) {});
        return y;
    };
    CHECK_THROWS_AS(wg::grad(bad)(R(1.0)), wg::NumericError);
}

#ifdef WITH_LAPACK
TEST_CASE("A solve by LAPACK keeps its factors for the derivatives")
{
    const auto f = [](const Reals& p) {
        const std::size_t n = 4;
        Reals A(n * n), b(n);
        for (std::size_t i = 0; i < n; ++i) {
            b[i] = p[i] * p[i];
            for (std::size_t j = 0; j < n; ++j) A[i * n + j] = i == j ? 4.0 + p[j] : sin(p[i] + 2.0 * p[j]);
        }
        Reals x = lapack_solve(A, b);
        for (R& v : x) v = v * v + 1.0;
        x = lapack_solve(A, x);
        R total = 0.0;
        for (const R& v : x) total += v;
        return total;
    };
    const Reals p{0.3, -0.8, 1.1, 0.5};
    const auto report = wg::check_grads(f, p);
    INFO(report.message);
    CHECK(report.ok);
    CHECK(wg::check_grads(wg::checkpoint(f), p).ok);
}
#endif

TEST_CASE("external: what forward returns is no constant of a second derivative, which is refused")
{
    const auto sine = [](const R& x) {
        R y;
        wg::external(
            std::span(&x, 1), std::span(&y, 1),
            [](In v, Out w) {
                w[0] = std::sin(v[0]);
                return std::cos(v[0]);
            },
            [](double slope, auto, auto, auto g, auto to) { to[0] += slope * g[0]; },
            [](double slope, auto, auto, auto dot, auto to) { to[0] += slope * dot[0]; });
        return y * x;
    };
    CHECK(wg::grad(sine)(R(0.5)).value() == Approx(std::sin(0.5) + 0.5 * std::cos(0.5)));
    CHECK(wg::jvp(sine, R(0.5), R(1.0)).second.value() == Approx(std::sin(0.5) + 0.5 * std::cos(0.5)));
    CHECK_THROWS_AS(wg::grad(wg::grad(sine))(R(0.5)), wg::TapeError);
    CHECK_THROWS_AS(wg::hvp(sine)(R(0.5), R(1.0)), wg::TapeError);
}
