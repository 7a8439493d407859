// Derivatives of the bodies of loops are made on examples, zeros: what they give must be no error.
#include "catch.hpp"

#include <cmath>

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
