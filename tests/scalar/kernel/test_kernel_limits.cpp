// Where a kernel's function cannot mean what it says: it is refused, or does what the same code does outside of a kernel.
#include "catch.hpp"

#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/scalar.hpp>
#include <wengert/wengert.hpp>
#include <wengert/transforms/derivatives.hpp>

#include <array>
#include <optional>
#include <vector>

namespace wg = wengert;
using D = wg::Tensor<double>;
using R = wg::Real<double>;
using Catch::Matchers::Contains;

namespace {

const D x = {1.0, 2.0, 3.0};

template <class E, class F> std::string message_of(const F& f)
{
    try {
        static_cast<void>(f());
    } catch (const E& e) {
        return e.what();
    }
    return "nothing thrown";
}

}  // namespace

TEST_CASE("A captured number that a cell makes a variable of, or an element, is looked at again")
{
    double c = 1.0;
    const auto differentiated = wg::kernel([&c](auto a) {
        const auto f = [](const std::array<R, 2>& q) { return sin(q[0] + q[1]); };
        return wg::grad(f)(std::array<R, 2>{R(a), R(c)})[0];
    });
    const auto along =
        wg::kernel([&c](auto a) { return wg::jvp([&](R y) { return y * a; }, R(c), R(1.0)).first; });
    const auto element = wg::kernel([&c](auto a) {
        const auto e = wg::elements(wg::stack(std::vector<R>{a, R(c)}));
        return e[0] * e[1];
    });
    for (const double now : {1.0, 0.0, -2.5, 1.0}) {
        c = now;
        CHECK(wg::allclose(differentiated(x), cos(x + now), 1e-15));
        CHECK(wg::allclose(along(x), x * now, 1e-15));
        CHECK(wg::allclose(element(x), x * now, 1e-15));
    }
}

TEST_CASE("A Real of the program's that is recorded is refused in kernels, also where nothing is captured")
{
    static R global = 2.0;
    const auto f = wg::kernel([](auto a) { return a * global; });
    CHECK(wg::allclose(f(x), 2.0 * x, 0.0));
    global.requires_grad();
    CHECK_THAT(message_of<wg::TapeError>([&] { return f(x); }), Contains("captures"));
    global.requires_grad(false);
    CHECK(wg::allclose(f(x), 2.0 * x, 0.0));
}

TEST_CASE("A loop of a kernel goes by reals in its state alone")
{
    struct Counted {
        R a;
        int k;
    };
    const auto counted = [](auto a) {
        return wg::for_each(
                   3,
                   [&](const Counted& s, const R&) {
                       return Counted{s.a * double(s.k) + a, s.k + 1};
                   },
                   Counted{R(1.0), 2})
            .a;
    };
    CHECK_THAT(message_of<wg::TapeError>([&] { return wg::kernel(counted)(x); }),
               Contains("no Reals") && Contains("test_kernel_limits.cpp"));
    CHECK(counted(R(1.0)).value() == ((1.0 * 2 + 1) * 3 + 1) * 4 + 1);  // a plain loop
    const auto hidden = wg::kernel([](auto a) {
        int n = 0;
        return wg::while_loop([&n](const R&) { return n++ < 3; }, [&](const R& s) { return s + a; }, R(0.0));
    });
    CHECK_THAT(message_of<wg::TapeError>([&] { return hidden(x); }), Contains("not in its state"));
    const auto changing = wg::kernel([](auto a) {
        int n = 0;
        return wg::while_loop([](const R& s) { return s < 20.0; },
                              [&](const R& s) { return s + a * double(++n); }, R(0.0));
    });
    CHECK_THAT(message_of<wg::TapeError>([&] { return changing(x); }), Contains("not in its state"));
}

TEST_CASE("A derivative of constants before a kernel's loop")
{
    const auto f = wg::kernel([](auto a) {
        const R g = wg::grad([](R z) { return z * z; })(R(1.0));
        return wg::for_each(
            3, [&](const R& s, const R&) { return R(s + g * a); }, R(0.0));
    });
    const auto plain = wg::kernel([](auto a) {
        static_cast<void>(wg::grad([](R z) { return z * z; })(R(1.0)));
        return wg::for_each(
            3, [&](const R& s, const R&) { return R(s + a); }, R(0.0));
    });
    const auto loss = [](const auto& g) { return [&g](const D& q) { return sum(square(g(q))); }; };
    CHECK(wg::allclose(f(x), 6.0 * x, 1e-15));
    CHECK(wg::allclose(wg::grad(loss(f))(x), 72.0 * x, 1e-15));
    CHECK(wg::allclose(plain(x), 3.0 * x, 1e-15));
    CHECK(wg::allclose(wg::freeze([&](const D& q) { return f(q); })(x), 6.0 * x, 1e-15));
}

TEST_CASE("All cells of a kernel return as many numbers")
{
    const auto some = [](auto a) {
        std::vector<R> v;
        if (a < 1.5) v.push_back(a);
        v.push_back(a * 2.0);
        return v;
    };
    CHECK_THAT(message_of<wg::ShapeError>([&] { return wg::kernel(some)(x); }),
               Contains("all cells need as many"));
    CHECK_THAT(message_of<wg::ShapeError>([&] { return wg::kernel(some, {.most_ways = 1})(x); }),
               Contains("numbers"));
    const auto last = wg::kernel(some);
    CHECK(last(D{2.0, 3.0}).size() == 1);
    CHECK_THROWS_AS(last(x), wg::ShapeError);
    CHECK(wg::allclose(last(D{2.0, 3.0})[0], D{4.0, 6.0}, 0.0));  // as it was
}

TEST_CASE("An array without cells, where each cell runs by itself")
{
    const auto f = wg::kernel(
        [](auto a) {
            return a > 1.5 ? std::array<R, 2>{a * a, a} : std::array<R, 2>{a, a};
        },
        {.most_ways = 1});
    CHECK(f(x).size() == 2);
    const auto none = f(wg::zeros<double>(wg::Shape{0, 3}));
    REQUIRE(none.size() == 2);
    CHECK(none[1].shape() == wg::Shape{0, 3});
}

TEST_CASE("What is recorded cannot become a variable, neither in a kernel nor outside")
{
    const auto again = [](R q) {
        R w = q * q;
        w.requires_grad();
        return w * q;
    };
    CHECK_THAT(message_of<wg::TapeError>([&] { return wg::grad(again)(R(2.0)); }),
               Contains("[requires_grad]") && Contains("test_kernel_limits.cpp"));
    const auto off = [](R q) {
        R w = q * q;
        w.requires_grad(false);  // it is none
        return w * q;
    };
    CHECK(wg::grad(off)(R(2.0)).value() == 12.0);
    const auto in_cell = wg::kernel([](auto a) {
        R q = 2.0;
        q.requires_grad();
        return q * a;
    });
    CHECK_THAT(message_of<wg::TapeError>([&] { return in_cell(x); }), Contains("[requires_grad]"));
}

TEST_CASE("A kernel that is made in a rule, in the derivative of a loop's body, names the user's line")
{
    const auto f = [](const D& t) {
        return wg::kernel([](const auto& a) {
            auto s = a * a;
            if (a > 0.1) s = a;
            return s;
        })(t);
    };
    const auto g =
        wg::custom_jvp(f, [=](const D& d, const D&, const D& t) { return wg::jvp(f, t, d).second; });
    const D rows = {{0.5, 0.2}, {0.6, 0.2}};
    const auto loss = [=](const D& t) { return sum(wg::vmap(g)(t)); };
    CHECK(wg::allclose(wg::grad(loss)(rows), wg::ones<double>({2, 2}), 0.0));
    CHECK_THAT(message_of<wg::TapeError>([&] { return wg::freeze(wg::grad(loss))(rows); }),
               Contains("test_kernel_limits.cpp"));
}
