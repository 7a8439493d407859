// kernel(f): ways through a scalar function met, joined by selection, differentiated, frozen; and its refusals.
#include "catch.hpp"

#include <wengert/graph/control/control.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/scalar.hpp>
#include <wengert/ops/elementwise/cast.hpp>
#include <wengert/transforms/check_grads.hpp>
#include <wengert/transforms/checkpoint.hpp>

#include <array>
#include <thread>

namespace wg = wengert;
using R = wg::Real<double>;
using D = wg::Tensor<double>;

namespace {

template <class Number> Number pressure(const Number& rho, const Number& e)
{
    using std::sqrt;
    const Number p = 0.4 * rho * e;
    if (p < 1e-3) return Number(1e-3);
    return p + 0.01 * sqrt(rho);
}
const auto root = [](auto a, auto scale) {
    using std::abs;
    auto x = a;
    for (int i = 0; i < 40; ++i) {
        const auto step = (x * x - a) / (2.0 * x);
        x -= step;
        if (abs(step) < 1e-12) break;
    }
    return x * scale;
};
const auto everything = [](auto x, auto y) {
    using namespace std;
    auto s = sqrt(x) + cbrt(x) + exp(x) + exp2(x) + expm1(x) + log(x) + log2(x) + log10(x) + log1p(x) +
             sin(x) + cos(x) + tan(x) + asin(y) + acos(y) + atan(y) + sinh(y) + cosh(y) + tanh(y) + asinh(y) +
             acosh(x + 1.0) + atanh(y) + erf(y) + erfc(y) - y;
    s += pow(x, y) + pow(x, 2.5) + pow(1.5, y) + atan2(y, x) + hypot(x, y) + fmod(x, y) + 1.0 / x +
         (2.0 - y) * 3.0;
    s += tgamma(x) + lgamma(x + y) + remainder(x, y);
    s += floor(x) + ceil(x) + trunc(y) + rint(x) + round(x) + abs(y) + fmax(x, y) + fmin(x, 0.3) +
         copysign(x, y);
    return s;
};

}  // namespace

TEST_CASE("A kernel gives what the loop gives, and its gradient")
{
    const auto cell = wg::kernel([](auto rho, auto e) { return pressure(rho, e) * rho; });
    CHECK(cell.explain() == "not called yet\n");
    const D rho = {{1.0, 2.0, 0.5}, {0.1, 1e-4, 3.0}}, e = {{1.0, 0.5, 2.0}, {0.2, 1e-3, 1e-4}};
    const D y = cell(rho, e);
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 3; ++j) {
            const double r = rho(i, j).item();
            CHECK(y(i, j).item() == Approx(pressure(r, e(i, j).item()) * r).epsilon(1e-15));
        }
    CHECK(cell.explain().find("2 ways") == 0);
    const auto loss = [&](const D& r, const D& q) { return sum(square(cell(r, q))); };
    CHECK(wg::check_grads(loss, std::tuple(rho, e), {.order = 2}).ok);
    const D row = {1.0, 2.0, 0.5};  // operands broadcast
    CHECK(wg::allclose(cell(row, e), cell(wg::broadcast_to(row, {2, 3}), e), 0.0));
    CHECK((cell(rho, 2.0).shape() == rho.shape() && cell(D(1.0), 2.0).dimension() == 0));
    CHECK(cell(wg::zeros<double>({0, 3}), e(0)).size() == 0);
}

TEST_CASE("Every operation of a kernel, its values and derivatives")
{
    const D x = {0.4, 1.3, 2.6}, y = {0.3, -0.7, 0.9};
    const auto f = wg::kernel(everything);
    for (int i = 0; i < 3; ++i)
        CHECK(f(x, y)(i).item() == Approx(everything(x(i).item(), y(i).item())).epsilon(1e-13));
    const auto loss = [&](const D& a, const D& b) { return sum(f(a, b)); };
    const auto report = wg::check_grads(loss, std::tuple(x, y));
    INFO(report.message);
    CHECK(report.ok);
    const auto gradient = wg::grad<0, 1>(loss)(x, y);
    for (int i = 0; i < 3; ++i) {
        const auto [gx, gy] =
            wg::grad<0, 1>([](R a, R b) { return everything(a, b); })(R(x(i).item()), R(y(i).item()));
        CHECK(std::get<0>(gradient)(i).item() == Approx(gx.value()).epsilon(1e-12));
        CHECK(std::get<1>(gradient)(i).item() == Approx(gy.value()).epsilon(1e-12));
    }
}

TEST_CASE("A loop that ends when it has converged has a way for each count")
{
    const auto newton = wg::kernel(root);
    const D a = {0.5, 2.0, 9.0, 1e4, 1.0};
    const D r = newton(a, 2.0);
    for (int i = 0; i < 5; ++i) CHECK(r(i).item() == Approx(2 * std::sqrt(a(i).item())).epsilon(1e-12));
    CHECK(wg::check_grads([&](const D& q) { return newton(q, 2.0); }, a).ok);
}

TEST_CASE("With more ways than wanted each cell runs by itself")
{
    const auto folded = wg::kernel(
        [](auto s) {
            for (int i = 0; i < 20; ++i) {
                s *= 1.7;
                if (s > 10.0) s -= 9.0;
            }
            return s;
        },
        {.most_ways = 3});
    const D x = wg::linspace<double>(0.0, 5.0, 50), y = folded(x);
    for (int i = 0; i < 50; ++i) {
        double s = x(i).item();
        for (int k = 0; k < 20; ++k) {
            s *= 1.7;
            if (s > 10.0) s -= 9.0;
        }
        CHECK(y(i).item() == Approx(s));
    }
    CHECK(folded.explain().find("each cell runs by itself") != std::string::npos);
    const D g = wg::grad([&](const D& q) { return sum(folded(q)); })(x);
    CHECK(g(3).item() == Approx(std::pow(1.7, 20)));
    try {
        wg::freeze([&](const D& q) { return sum(folded(q)); })(x);
        FAIL_CHECK("not refused");
    } catch (const wg::TapeError& e) {
        CHECK(std::string(e.what()).find(".most_ways = 3") != std::string::npos);
        CHECK(std::string(e.what()).find("test_kernel.cpp") != std::string::npos);
    }
}

TEST_CASE("A branch that was not taken sends no NaN back")
{
    const auto f = wg::kernel([](auto x) {
        using std::sqrt;
        return x > 0.0 ? sqrt(x) : x * x;
    });
    const D x = {-1.0, 4.0, 0.0};
    CHECK(wg::allclose(f(x), D{1.0, 2.0, 0.0}));
    CHECK(wg::allclose(wg::grad([&](const D& q) { return sum(f(q)); })(x), D{-2.0, 0.25, 0.0}));
}

TEST_CASE("Several results, and single precision")
{
    const auto both = wg::kernel([](auto x, auto y) { return std::array{x * y, x + y, x}; });
    const std::vector<D> r = both(D{1.0, 2.0}, D{3.0, 4.0});
    REQUIRE(r.size() == 3);
    CHECK((r[0](1).item() == 8 && r[1](1).item() == 6 && r[2](0).item() == 1));
    const auto f = wg::kernel([](auto x) { return x < 1.0f ? x * x : x; });
    const wg::Tensor<float> y = f(wg::Tensor<float>{0.1f, 2.0f});
    CHECK((y(0).item() == 0.1f * 0.1f && y(1).item() == 2.0f));
    CHECK(f(D{0.1})(0).item() == 0.1 * 0.1);
}

TEST_CASE("Kernels in frozen graphs: cells that go elsewhere are traced again")
{
    const auto f = wg::kernel([](auto x) {
        using std::sqrt;
        if (x < 1.0) return x * x;
        if (x < 2.0) return sqrt(x);
        return x;
    });
    const auto plain = [](double q) { return q < 1 ? q * q : q < 2 ? std::sqrt(q) : q; };
    const auto slope = [](double q) { return q < 1 ? 2 * q : q < 2 ? 0.5 / std::sqrt(q) : 1; };
    auto frozen = wg::freeze(wg::value_and_grad([&](const D& q) { return sum(f(q)); }));
    for (double q : {0.5, 0.6, 0.5, 1.5, 0.7, 1.6, 3.0, 0.7, 2.5, 0.4, 0.3}) {
        const auto [y, g] = frozen(D{q, q + 0.01});
        CHECK(y.item() == Approx(plain(q) + plain(q + 0.01)));
        CHECK(g(0).item() == Approx(slope(q)));
    }
    CHECK(frozen.stats().replays > 2);
}

TEST_CASE("What a kernel refuses")
{
    const D x = {1.0, 2.0};
    const auto reads = wg::kernel([](auto a) {
        if constexpr (requires { a.value(); })
            return a * a.value();
        else
            return a;
    });
    CHECK_THROWS_AS(reads(x), wg::TapeError);
    const auto special = [](auto a) {
        using std::comp_ellint_1;
        return comp_ellint_1(a);
    };
    CHECK_THROWS_AS(wg::kernel(special)(D{0.1}), wg::TapeError);  // has no form on arrays
    const auto elsewhere = [](auto a) {
        if constexpr (requires { a.handle(); })
            wg::external(
                std::span(&a, 1), std::span(&a, 1), [](auto, auto) {}, [](auto, auto, auto, auto) {});
        return a;
    };
    CHECK_THROWS_AS(wg::kernel(elsewhere)(x), wg::TapeError);
    const auto bits = [](auto a) {
        using std::ilogb;
        return a * ilogb(a);
    };
    CHECK_THROWS_AS(wg::kernel(bits)(x), wg::TapeError);
    CHECK_THROWS_AS(wg::kernel([](auto a, auto b) { return a + b; })(x, D{1.0, 2.0, 3.0}), wg::ShapeError);
    static R outside;
    const auto captures = [&](R v) {
        outside = v;
        return wg::real(sum(wg::kernel([](auto a) { return a * outside; })(x)));
    };
    CHECK_THROWS_AS(wg::grad(captures)(R(1.0)), wg::TapeError);
    CHECK(wg::grad([](R a) { return a * a; })(R(1.0)).value() == 2);
}

TEST_CASE("Eager calls of a kernel are answered by graphs, derivatives of any order as well")
{
    const auto f = wg::kernel([](auto x, auto y) {
        using std::exp, std::sqrt;
        return x > y ? sqrt(x) * y : exp(-x) * y * y;
    });
    const D x = {0.3, 1.7, 2.5, 0.1}, y = {0.5, 0.4, 3.0, 0.2}, v = {1.0, -0.5, 0.25, 2.0};
    const auto loss = [&](const D& a, const D& b) { return sum(square(f(a, b))); };
    const auto of_x = [&](const D& a) { return loss(a, y); };
    static_cast<void>(f(x, y));
    for (int k = 0; k < 2; ++k) {
        CHECK(wg::check_grads(loss, std::tuple(x, y), {.order = 2}).ok);
        const auto nodes = [&](const auto& call) {
            const auto before = wg::memory::stats().tape_nodes;
            static_cast<void>(call());
            return wg::memory::stats().tape_nodes - before;
        };
        CHECK(nodes([&] { return wg::jvp(of_x, x, v); }) < 16);
        CHECK(nodes([&] { return wg::hvp(of_x)(x, v); }) < 40);
    }
    const std::string text = f.explain();
    INFO(text);
    CHECK(text.find("tile: 1 graphs made") != std::string::npos);
    CHECK(text.find(" 0 operation by operation") != std::string::npos);
    CHECK(text.find(" 0 so as graphs were in use") != std::string::npos);
}

TEST_CASE("Branches on NaN, on whole numbers and truth values; numbers as conditions")
{
    const auto f = wg::kernel([](auto x, auto kind, auto on) {
        if (!on) return 0.0 * x + 7.0;
        if (kind == 2) return x * x;
        return x < 1.0 ? x : x + 10.0;  // a NaN is not less
    });
    const wg::Tensor<std::int64_t> kind = {1, 2, 1, 1, 2};
    const wg::Tensor<bool> on = {true, true, true, true, false};
    const D x = {0.5, 3.0, std::nan(""), 2.0, 4.0};
    const D y = f(x, kind, on);
    CHECK((y(0).item() == 0.5 && y(1).item() == 9.0 && y(3).item() == 12.0 && y(4).item() == 7.0));
    CHECK(std::isnan(y(2).item()));
    const D g = wg::grad([&](const D& q) { return sum(f(q, kind, on)); })(D{0.5, 3.0, 0.1, 2.0, 4.0});
    CHECK(wg::allclose(g, D{1.0, 6.0, 1.0, 1.0, 0.0}, 0.0));
}

TEST_CASE("A kernel under checkpoint, by several threads, in other shapes, and after an error")
{
    const auto f = wg::kernel([](auto x, auto y) { return x > 1.0 ? x * y : y * y + x; });
    const auto chain = [&](const D& x) {
        D s = x;
        for (int k = 0; k < 3; ++k) s = wg::checkpoint([&](const D& q) { return f(q, x); })(s);
        return sum(s);
    };
    const auto plain = [&](const D& x) {
        D s = x;
        for (int k = 0; k < 3; ++k) s = where(s > 1.0, s * x, x * x + s);
        return sum(s);
    };
    const D x = wg::linspace<double>(-1.0, 2.0, 31);
    const D expected = wg::grad(plain)(x);
    CHECK(wg::allclose(wg::grad(chain)(x), expected, 1e-15));
    CHECK_THROWS_AS(f(x, D{1.0, 2.0}), wg::ShapeError);
    std::vector<std::thread> threads;
    std::array<int, 4> right{};
    for (std::size_t t = 0; t < right.size(); ++t)
        threads.emplace_back([&, t] {
            for (int k = 0; k < 20; ++k) right[t] += wg::allclose(wg::grad(chain)(x), expected, 1e-15);
        });
    for (auto& t : threads) t.join();
    CHECK(right == std::array{20, 20, 20, 20});
    for (std::size_t n = 0; n < 20; ++n) {
        const D z = wg::full<double>({n}, 2.0);
        CHECK(sum(f(z, z)).item() == 4.0 * static_cast<double>(n));
    }
}

TEST_CASE("A plain loop in a kernel is written out up to a limit, which is named with its line")
{
    const D x = {0.5, 0.7};
    const auto message = [&](const auto& f) -> std::string {
        try {
            static_cast<void>(f(x));
        } catch (const wg::TapeError& e) {
            return e.what();
        }
        return "";
    };
    const auto many = wg::kernel(
        [](auto a) {
            for (int i = 0; i < 5000; ++i) a = a * 0.999 + 0.001;
            return a;
        },
        {.most_operations = 1000});
    CHECK_THAT(message(many), contains("[kernel]") && contains("1000 operations") && contains("while_loop"));
    const auto endless = wg::kernel([](auto a) {
        while (a < 2.0) continue;
        return a;
    });
    CHECK_THAT(message(endless), contains("[kernel]"));
    CHECK(wg::grad([](R a) { return a * a; })(R(1.0)).value() == 2);
}

TEST_CASE("A while_loop in a kernel stays a loop, in its derivatives and in frozen graphs")
{
    const auto solved = wg::kernel([](auto a, auto scale) {
        using std::abs;
        using Number = decltype(a);
        struct Newton {
            Number x, step;
        };
        const auto end = wg::while_loop([](const Newton& s) { return abs(s.step) > 1e-13; },
                                        [&](const Newton& s) {
                                            const Number step = (s.x * s.x - a) / (2.0 * s.x);
                                            return Newton{s.x > 500.0 ? 0.5 * s.x : s.x - step, step};
                                        },
                                        Newton{a, Number(1.0)});
        return end.x * scale;
    });
    const D a = {0.5, 2.0, 9.0, 1e4, 1.0};
    const auto value = [&](const D& q) { return solved(q, 2.0); };
    const auto frozen = wg::freeze(wg::value_and_grad([&](const D& q) { return sum(value(q)); }));
    for (int k = 0; k < 3; ++k) {
        const D r = value(a);
        for (int i = 0; i < 5; ++i) CHECK(r(i).item() == Approx(2 * std::sqrt(a(i).item())).epsilon(1e-12));
        const D g = wg::grad([&](const D& q) { return sum(value(q)); })(a);
        for (int i = 0; i < 5; ++i) CHECK(g(i).item() == Approx(1 / std::sqrt(a(i).item())).epsilon(1e-9));
        CHECK(wg::allclose(frozen(a).second, g, 1e-12));
    }
    CHECK(wg::check_grads(value, D{0.5, 2.0, 600.0}).ok);
    INFO(solved.explain());
    CHECK(solved.explain().find(" 0 so as graphs were in use") != std::string::npos);
    const auto graph = wg::freeze(value, {.check = false});
    static_cast<void>(graph(a));
    CHECK(graph.graph(a).size() < 20);
}

TEST_CASE("A for_each in a kernel counts each cell's steps")
{
    // x after `steps` times x ← x − h x² i, as each cell is told
    const auto decayed = [](auto x, auto steps, auto h) {
        using Number = decltype(x);
        if constexpr (std::is_arithmetic_v<Number>) {
            for (int i = 0; i < steps; ++i) x = x - h * x * x * i;
            return x;
        } else {
            return wg::for_each(
                steps, [&](const Number& now, const Number& i) { return now - h * now * now * i; }, x);
        }
    };
    const auto kernel = wg::kernel(decayed);
    const D x = {0.5, 2.0, 1.0, 0.7}, steps = {3.0, 0.0, 1.0, 20.0};
    const auto value = [&](const D& q) { return kernel(q, steps, 0.01); };
    const D y = value(x);
    for (int i = 0; i < 4; ++i)
        CHECK(y(i).item() == Approx(decayed(x(i).item(), steps(i).item(), 0.01)).epsilon(1e-14));
    CHECK(wg::check_grads(value, x, {.order = 2}).ok);
    const auto frozen =
        wg::freeze([&](const D& q) { return wg::grad([&](const D& p) { return sum(value(p)); })(q); });
    for (int k = 0; k < 2; ++k)
        CHECK(wg::allclose(frozen(x), wg::grad([&](const D& p) { return sum(value(p)); })(x), 1e-13));
    CHECK(frozen.graph(x).size() < 40);  // not twenty steps
    // Scalar code: the same, recorded step by step; structs are states, too.
    CHECK(wg::check_grads([&](R a) { return decayed(a, R(7.0), R(0.01)); }, R(0.7)).ok);
    struct Pair {
        R a, b;
    };
    const auto fibonacci = [](R a) {
        const Pair end = wg::for_each(
            10,
            [](const Pair& p, const R&) {
                return Pair{p.b, p.a + p.b};
            },
            Pair{a, a});
        return end.b;
    };
    CHECK(wg::grad(fibonacci)(R(1.0)).value() == 144);
}

TEST_CASE("a kernel that has been moved from stays one")
{
    auto k = wengert::kernel([](auto z) { return z * 2.0; });
    const auto moved = std::move(k);
    const wengert::Tensor<double> x = {1.0, 2.0};
    CHECK(moved(x)(1).item() == 4.0);
    CHECK(k(x)(1).item() == 4.0);  // NOLINT: that is what is tested
}
