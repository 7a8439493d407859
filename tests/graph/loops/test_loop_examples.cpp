// Derivatives of the bodies of loops are made on examples, zeros: what they give must be no error.
#include "catch.hpp"

#include <cmath>
#include <functional>

#include <wengert/arrays.hpp>
#include <wengert/implicit.hpp>
#include <wengert/linalg.hpp>
#include <wengert/wengert.hpp>

using namespace wengert;

namespace {

using X = Tensor<double>;
using Count = Tensor<std::int64_t>;

constexpr double table[] = {1.0, 2.0, 3.0, 4.0};

/// One step: x times the entry of a table at 1/x, which is infinite at 0.
X step(const X& x)
{
    const X entries{table[0], table[1], table[2], table[3]};
    return x * take(entries, cast<std::int64_t>(1.0 / x), 0) * 0.9;
}
double step(double x) { return x * table[static_cast<int>(1.0 / x)] * 0.9; }
/// Its derivative, as the entry does not move with x.
double slope(double x) { return table[static_cast<int>(1.0 / x)] * 0.9; }

/// Of three steps.
double slope_of_three(double x)
{
    double d = 1;
    for (int k = 0; k < 3; ++k, x = step(x)) d *= slope(x);
    return d;
}

template <class Loop> void check(const Loop& loop)
{
    const auto loss = [&](const X& x) { return sum(loop(x)); };
    const X x{0.4, 0.5, 0.9}, dx{1.0, 0.0, 0.0};
    const X g = freeze(grad(loss))(x);
    for (int k = 0; k < 3; ++k)
        CHECK(std::abs(g(k).item() - slope_of_three(x(k).item())) < 1e-12 * slope_of_three(x(k).item()));
    const auto tangent = [&](const X& y) { return jvp(loss, y, dx).second; };
    CHECK(std::abs(freeze(tangent)(x).item() - slope_of_three(0.4)) < 1e-12 * slope_of_three(0.4));
    const auto second = [&](const X& y) { return jvp(grad(loss), y, dx).second; };
    CHECK(allclose(freeze(second)(x), zeros<double>({3}), 1e-12));
}

}  // namespace

TEST_CASE("a loop whose body looks its state up in a table has derivatives in a graph")
{
    check([](const X& x) {
        return scan([](const X& s) { return std::pair(step(s), sum(s)); }, x, std::int64_t(3)).first;
    });
    check([](const X& x) {
        using S = std::pair<X, Count>;
        return while_loop([](const S& s) { return s.second < std::int64_t(3); },
                          [](const S& s) { return S(step(s.first), s.second + std::int64_t(1)); },
                          S(x, Count(0)))
            .first;
    });
    check([](const X& x) {
        return cond(
            sum(x) > 0.0, [](const X& y) { return step(step(step(y))); }, [](const X& y) { return y; }, x);
    });
}

TEST_CASE("an index that a body computes from whole numbers is looked at when the loop runs")
{
    const auto loss = [](const X& x) {
        using S = std::pair<X, Count>;
        return sum(while_loop([](const S& s) { return s.second > std::int64_t(2); },
                              [](const S& s) {
                                  const X entries{table[0], table[1]};
                                  return S(s.first * take(entries, s.second - std::int64_t(3), 0),
                                           s.second - std::int64_t(1));
                              },
                              S(x, Count(4)))
                       .first);
    };
    const X g = freeze(grad(loss))(X{1.0, 3.0});  // entries 1 and 0
    CHECK(g(0).item() == table[0] * table[1]);
    CHECK(g(1).item() == table[0] * table[1]);
    const auto wrong = [](const X& x) {
        return sum(
            scan(
                [](const X& s) {
                    return std::pair(s * take(X{1.0, 2.0}, cast<std::int64_t>(s * 0.0 + 5.0), 0), sum(s));
                },
                x, std::int64_t(2))
                .first);
    };
    CHECK_THROWS_AS(freeze(grad(wrong))(X{1.0, 3.0}), IndexError);
}

namespace {

/// A step that refuses zeros: its operands must ascend, or its matrix be regular.
using Step = std::function<X(const X&)>;

X found_in_table(const X& x)
{
    const X t{0.0, 0.5, 1.0, 2.0};
    return x * take(t, searchsorted(cumsum(square(x) + 0.1), 0.8 * x, true), 0);
}
X along_spline(const X& x) { return 0.5 * cubic_spline(cumsum(square(x) + 0.1), sin(x))(x); }
X in_bands(const X& x) { return solve_tridiagonal(0.1 * x, x + 2.0 * sign(x), 0.2 * x, cos(x)); }
X of_matrix(const X& x) { return linalg::solve(expand_dims(x, 1) * x + x * eye<double>(4), sin(x)); }
X of_factor(const X& x) { return matmul(linalg::cholesky(square(x) * eye<double>(4)), cos(x)); }
X sorted(const X& x) { return x * take(x, argsort(1.0 / x), 0); }
X in_bins(const X& x)
{
    return x * sum(square(histogram(X{1.5, 2.5, 3.0}, cumsum(x / x), X{0.3, 0.4, 0.5}).first)) + square(x);
}
X of_integral(const X& x)
{
    return x * minimize([](const X& y, const X& p) { return sum(square(y - p) + exp(y)); }, zeros_like(x), x);
}

/// That step in each kind of loop and branch.
const std::pair<const char*, std::function<X(const Step&, const X&)>> loops_of_steps[] = {
    {"scan",
     [](const Step& f, const X& x) {
         return scan([&](const X& s) { return std::pair(f(s) + 0.5 * x, sum(s)); }, x, std::int64_t(3)).first;
     }},
    {"while_loop",
     [](const Step& f, const X& x) {
         using S = std::pair<X, Count>;
         return while_loop([](const S& s) { return s.second < std::int64_t(2); },
                           [&](const S& s) { return S(f(s.first) + 0.5 * x, s.second + std::int64_t(1)); },
                           S(x, Count(0)))
             .first;
     }},
    {"cond",
     [](const Step& f, const X& x) {
         return cond(
             sum(x) > 0.0, [&](const X& y) { return f(y) + y; }, [](const X& y) { return y; }, x);
     }},
    {"vmap",
     [](const Step& f, const X& x) {
         return sum(vmap(f)(stack(std::vector<X>{x, 1.1 * x})), 0);
     }},
};

void check_zeros(const char* what, const Step& f)
{
    const X x{0.4, 0.7, 0.9, 1.3}, dx{1.0, 0.5, -0.3, 0.2};
    for (const auto& [loop, run] : loops_of_steps) {
        CAPTURE(what, loop);
        const auto loss = [&, &r = run](const X& y) { return sum(square(r(f, y))); };
        const auto tangent = [&](const X& y) { return jvp(loss, y, dx).second; };
        const auto second = [&](const X& y) { return jvp(grad(loss), y, dx).second; };
        CHECK(allclose(freeze(grad(loss))(x), grad(loss)(x), 1e-12));
        CHECK(allclose(freeze(tangent)(x), tangent(x), 1e-12));
        CHECK(allclose(freeze(second)(x), second(x), 1e-11));
    }
}

}  // namespace

TEST_CASE("What a body computes may refuse the zeros on which its derivatives are made")
{
    check_zeros("searchsorted", found_in_table);
    check_zeros("cubic_spline", along_spline);
    check_zeros("solve_tridiagonal", in_bands);
    check_zeros("solve", of_matrix);
    check_zeros("cholesky", of_factor);
    check_zeros("argsort", sorted);
    check_zeros("histogram", in_bins);
    check_zeros("minimize", of_integral);
}

TEST_CASE("A frozen loop refuses what its body refuses when it runs")
{
    const auto run = [](const auto& f, const X& x) {
        return sum(scan([&](const X& s) { return std::pair(f(s), sum(s)); }, x, std::int64_t(2)).first);
    };
    const X bad{0.4, 0.0, 0.9, 1.3};
    const auto spline = freeze(
        grad([&](const X& x) { return run([](const X& s) { return cubic_spline(cumsum(s), s)(s); }, x); }));
    CHECK_THROWS_AS(spline(bad), NumericError);
    const auto bands = freeze(grad([&](const X& x) {
        return run([](const X& s) { return solve_tridiagonal(0.0 * s, s, 0.0 * s, s); }, x);
    }));
    CHECK_THROWS_AS(bands(bad), NumericError);
    CHECK_NOTHROW(bands(X{0.4, 0.1, 0.9, 1.3}));
}
