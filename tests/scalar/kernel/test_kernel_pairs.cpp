// Kernels beside what they meet: limits of memory, emit_cpp, compilers in the background, exceptions of the user's, checkpoints,
// levels within levels; loops in kernels; and reals under hooks and with rules of their own.
#include "catch.hpp"

#include <wengert/graph/control/control.hpp>
#include <wengert/graph/c/emit_cpp.hpp>
#include <wengert/graph/native/native.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/ops/arg_reductions.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/scalar.hpp>
#include <wengert/transforms/checkpoint.hpp>
#include <wengert/transforms/saved_tensor_hooks.hpp>

#include <array>
#include <atomic>
#include <cmath>
#include <stdexcept>
#include <string>
#include <thread>

namespace wg = wengert;
using R = wg::Real<double>;
using D = wg::Tensor<double>;

namespace {

std::uint32_t recorded() { return wg::ScalarStream::of(wg::Tape::current()).size() - 1; }

/// x³ where x > 1, else sin x.
const auto two_ways = [](auto x) {
    using std::sin;
    if (x > 1.0) return x * x * x;
    return sin(x);
};
double slope(double x) { return x > 1.0 ? 3 * x * x : std::cos(x); }

/// √a by Newton's iteration, each cell until it has converged.
const auto root = [](auto a) {
    using std::abs;
    using Number = decltype(a);
    struct Newton {
        Number x, step;
    };
    return wg::while_loop([](const Newton& s) { return abs(s.step) > 1e-13; },
                          [&](const Newton& s) {
                              const Number step = (s.x * s.x - a) / (2.0 * s.x);
                              return Newton{s.x - step, step};
                          },
                          Newton{a, Number(1.0)})
        .x;
};
/// Σ over outer steps of what an inner loop makes of x; both counts are the cell's.
const auto nested = [](auto x, auto outer, auto inner) {
    using Number = decltype(x);
    return wg::for_each(
        outer,
        [&](const Number& s, const Number& i) {
            return s + wg::for_each(
                           inner, [&](const Number& t, const Number&) { return 0.5 * t * x; }, x + 0.1 * i);
        },
        Number(0.0));
};
double nested_plain(double x, int outer, int inner)
{
    double s = 0;
    for (int i = 0; i < outer; ++i) {
        double t = x + 0.1 * i;
        for (int k = 0; k < inner; ++k) t = 0.5 * t * x;
        s += t;
    }
    return s;
}

}  // namespace

TEST_CASE("A kernel under a limit of memory for scalar code")
{
    const auto f = wg::kernel(two_ways);
    const auto each = wg::kernel(two_ways, {.most_ways = 1});  // cell by cell, on the caller's tape
    const D x = wg::linspace<double>(0.0, 2.0, 4000);
    const auto loss = [&](const D& q) { return sum(f(q)); };
    const D want = wg::grad(loss)(x);
    const wg::ScalarMemory limit(1024);
    CHECK(wg::allclose(wg::grad(loss)(x), want, 0.0));  // its operations are no scalar code of this tape
    CHECK_THROWS_AS(wg::grad([&](const D& q) { return sum(each(q)); })(x), wg::MemoryError);
    CHECK((recorded() == 0 && wg::Tape::current().size() == 0));
    CHECK(wg::allclose(wg::grad(loss)(x), want, 0.0));
}

TEST_CASE("A kernel as a header")
{
    const auto f = wg::kernel(two_ways);
    const auto solved = wg::kernel(root);
    const D x = {0.5, 2.0, 1.5};
    const auto both = wg::freeze(wg::value_and_grad([&](const D& q) { return sum(f(q) * solved(q)); }));
    const std::string text = wg::emit_cpp(both.graph(x), "cells");
    CHECK_THAT(text, contains("int cells(const double* in0, double* out0, double* out1)"));
}

TEST_CASE("A kernel that is compiled in the background, and one that is compiled at once")
{
    for (const bool background : {false, true}) {
        const auto f = wg::kernel(two_ways, {.backend = wg::native, .background = background});
        const auto solved = wg::kernel(root, {.backend = wg::native, .background = background});
        const auto sums = wg::kernel(nested, {.backend = wg::native, .background = background});
        const D x = {0.5, 2.0, 1.5, 9.0}, outer = {1.0, 0.0, 3.0, 2.0}, inner = {2.0, 5.0, 1.0, 0.0};
        for (int k = 0; k < 3; ++k) {
            const D g = wg::grad([&](const D& q) { return sum(f(q)); })(x);
            const D h = wg::grad([&](const D& q) { return sum(solved(q)); })(x);
            const D y = sums(x, outer, inner);
            for (int i = 0; i < 4; ++i) {
                CHECK(g(i).item() == Approx(slope(x(i).item())).epsilon(1e-14));
                CHECK(h(i).item() == Approx(0.5 / std::sqrt(x(i).item())).epsilon(1e-9));
                CHECK(y(i).item() == Approx(nested_plain(x(i).item(), static_cast<int>(outer(i).item()),
                                                         static_cast<int>(inner(i).item())))
                                         .epsilon(1e-14));
            }
        }
        CHECK_THAT(f.explain(), contains("native"));
    }
}

TEST_CASE("Loops in kernels, nested ones too, have Hessian products")
{
    const auto solved = wg::kernel(root);
    const auto sums = wg::kernel(nested);
    const D a = {0.5, 2.0, 9.0}, v = {1.0, -0.5, 2.0};
    const D h = wg::hvp([&](const D& q) { return sum(solved(q)); })(a, v);
    for (int i = 0; i < 3; ++i)
        CHECK(h(i).item() == Approx(-0.25 * std::pow(a(i).item(), -1.5) * v(i).item()).epsilon(1e-7));
    const D outer = {2.0, 3.0, 0.0}, inner = {2.0, 0.0, 4.0};
    const auto loss = [&](const D& q) { return sum(square(sums(q, outer, inner))); };
    const D x = {0.3, 1.2, 0.8};
    const auto report = wg::check_grads(loss, x, {.order = 2});
    INFO(report.message);
    CHECK(report.ok);
    const auto frozen = wg::freeze(wg::grad(loss));
    for (int k = 0; k < 2; ++k) CHECK(wg::allclose(frozen(x), wg::grad(loss)(x), 1e-14));
}

TEST_CASE("A cell's function differentiates a loop: it is written out")
{
    const auto slope_of_root = [](auto a) {
        if constexpr (std::is_arithmetic_v<decltype(a)>)
            return a;
        else
            return wg::grad(root)(a) + wg::jvp(root, a, decltype(a)(2.0)).second;
    };
    const auto f = wg::kernel(slope_of_root);
    const auto frozen = wg::freeze(wg::grad([](const R& a) { return root(a); }));
    const D x = {0.5, 2.0, 9.0};
    const D y = f(x);
    for (int i = 0; i < 3; ++i) {
        CHECK(y(i).item() == Approx(1.5 / std::sqrt(x(i).item())).epsilon(1e-9));
        CHECK(frozen(R(x(i).item())).value() == Approx(0.5 / std::sqrt(x(i).item())).epsilon(1e-9));
    }
    const auto counts = wg::kernel([](auto a) {
        if constexpr (std::is_arithmetic_v<decltype(a)>)
            return a;
        else
            return wg::grad([](const R& b) {
                return wg::for_each(
                    3, [&](const R& s, const R& i) { return s * b + i; }, R(1.0));
            })(a);
    });
    CHECK(counts(x)(1).item() == Approx(3 * 4 + 0 + 1));  // b³ + b + 2
}

TEST_CASE("What a cell's function throws reaches the caller, and leaves all as it was")
{
    static std::atomic<bool> failing = false;
    const auto f = wg::kernel([](auto x) {
        if (x > 2.0) {
            if (failing) throw std::domain_error("beyond the table");
            return x;
        }
        return x * x;
    });
    const D inside = {0.5, 1.0}, beyond = {0.5, 3.0};
    const auto loss = [&](const D& q) { return sum(f(q)); };
    const D slope_inside = {1.0, 2.0}, slope_beyond = {1.0, 1.0};
    failing = true;
    CHECK_THROWS_AS(f(beyond), std::domain_error);  // met in the first way or while a lane is followed
    CHECK(wg::allclose(wg::grad(loss)(inside), slope_inside, 0.0));
    for (int k = 0; k < 2; ++k) {
        CHECK_THROWS_AS(wg::grad(loss)(beyond), std::domain_error);
        CHECK_THROWS_AS(wg::freeze(loss)(beyond), std::domain_error);
        CHECK_THROWS_AS(wg::checkpoint(loss)(beyond), std::domain_error);
        CHECK((recorded() == 0 && wg::Tape::current().size() == 0));
    }
    failing = false;
    CHECK(wg::allclose(wg::grad(loss)(beyond), slope_beyond, 0.0));
    failing = true;  // the way is known: the function does not run
    CHECK(wg::allclose(wg::grad(loss)(beyond), slope_beyond, 0.0));
    CHECK(wg::allclose(wg::grad(loss)(inside), slope_inside, 0.0));
}

TEST_CASE("Kernels in levels within levels, checkpoints and rules")
{
    const auto f = wg::kernel(two_ways);
    const D x = {0.5, 1.5, 0.2};
    const auto third = wg::grad([&](const D& a) {
        return sum(
            wg::grad([&](const D& b) { return sum(wg::grad([&](const D& c) { return sum(f(c)); })(b)); })(a));
    })(x);
    for (int i = 0; i < 3; ++i)
        CHECK(third(i).item() == Approx(x(i).item() > 1 ? 6.0 : -std::cos(x(i).item())));
    const auto along = [&](const D& a) {
        return wg::jvp([&](const D& b) { return sum(f(b)); }, a, a).second;
    };
    const D mixed = wg::grad(along)(x);  // (x f′)′
    for (int i = 0; i < 3; ++i) {
        const double q = x(i).item();
        CHECK(mixed(i).item() == Approx(q > 1 ? 9 * q * q : std::cos(q) - q * std::sin(q)));
    }
    const auto section = wg::checkpoint([&](const D& a) { return sum(square(f(a))); });
    const auto report = wg::check_grads(section, x, {.order = 2});
    INFO(report.message);
    CHECK(report.ok);
    const auto kept = wg::preaccumulate([&](const D& a) { return sum(square(f(a))); });
    CHECK(wg::allclose(wg::grad(kept)(x), wg::grad(section)(x), 1e-14));
    // A gradient inside of a cell's function.
    const auto slopes = wg::kernel([](auto a) {
        using Number = decltype(a);
        if constexpr (std::is_arithmetic_v<Number>)
            return Number(slope(a));
        else
            return wg::grad(two_ways)(a) * a;
    });
    const D s = slopes(x);
    for (int i = 0; i < 3; ++i) CHECK(s(i).item() == Approx(slope(x(i).item()) * x(i).item()));
    CHECK(wg::allclose(wg::grad([&](const D& q) { return sum(slopes(q)); })(x), mixed, 1e-13));
    const auto second = wg::kernel([](auto a) {
        using Number = decltype(a);
        if constexpr (std::is_arithmetic_v<Number>)
            return a;
        else  // of x, and of a constant
            return wg::grad(wg::grad(wg::checkpoint(two_ways)))(a) + wg::grad(two_ways)(Number(2.0)) * a +
                   wg::jvp(two_ways, a, Number(2.0)).second;
    });
    for (int i = 0; i < 3; ++i) {
        const double q = x(i).item();
        CHECK(second(x)(i).item() == Approx((q > 1 ? 6 * q : -std::sin(q)) + 12 * q + 2 * slope(q)));
    }
}

TEST_CASE("A cell's function calls frozen functions, and takes Jacobians")
{
    const auto inner = wg::freeze([](const R& a, const R& b) { return two_ways(a * b); });
    const auto rows = [inner](const std::vector<R>& v) {
        return std::vector<R>{inner(v[0], v[1]), v[0] * v[1] * v[1], v[1]};
    };
    const auto cell = [&](auto a) {
        if constexpr (std::is_arithmetic_v<decltype(a)>) {
            return a;
        } else {
            const std::vector<R> J = wg::elements(wg::jacobian(rows)(std::vector<R>{a, 2.0 * a}));
            const D H =
                wg::hessian([&](const std::vector<R>& v) { return rows(v)[1]; })(std::vector<R>{a, 2.0 * a});
            return J[0] + 10.0 * J[3] + 100.0 * wg::elements(H)[3];
        }
    };
    const auto want = [](double a) {  // b s′(ab) + 10 · 2ab + 100 · 2a, b = 2a
        return 2 * a * slope(2 * a * a) + 40 * a * a + 200 * a;
    };
    const auto f = wg::kernel(cell);
    const auto frozen = wg::freeze([&](const R& a) { return cell(a); });
    const D x = {0.5, 1.5, 0.25};
    const D y = f(x);
    for (int i = 0; i < 3; ++i) {
        CHECK(y(i).item() == Approx(want(x(i).item())));
        CHECK(frozen(R(x(i).item())).value() == Approx(want(x(i).item())));
    }
    CHECK(inner.stats().inlined > 0);
    CHECK(wg::check_grads([&](const D& q) { return sum(f(q)); }, x));
    const auto slopes = wg::freeze(wg::jacobian(rows));
    for (const double a : {0.5, 1.5, 0.7, 2.0}) {
        const std::vector<R> v{a, 0.5 * a};
        CHECK(wg::allclose(slopes(v), wg::jacobian(rows)(v), 1e-14));
    }
    CHECK(slopes.stats().traces == 2);
}

TEST_CASE("A cell's numbers do not become constants in silence")
{
    const D x = {0.5, 1.5, 3.0};
    const auto cut = wg::kernel([](auto a) {
        if constexpr (std::is_arithmetic_v<decltype(a)>)
            return a;
        else
            return a.detach() * a;
    });
    const auto loss = [&](const D& q) { return sum(cut(q)); };
    CHECK(wg::allclose(cut(x), x * x, 0.0));
    for (int k = 0; k < 2; ++k) CHECK(wg::allclose(wg::grad(loss)(x), x, 0.0));
    CHECK(wg::allclose(wg::freeze(wg::grad(loss))(x), x, 0.0));
    const auto refused = [&](const auto& f) -> std::string {
        try {
            static_cast<void>(wg::kernel(f)(x));
        } catch (const wg::TapeError& e) {
            return e.what();
        }
        return "nothing thrown";
    };
    CHECK_THAT(refused([](auto a) {
                   const wg::NoGrad off;
                   return a * 2.0;
               }),
               contains("[kernel]") && contains("NoGrad"));
    CHECK_THAT(refused([](auto a) {
                   if constexpr (std::is_arithmetic_v<decltype(a)>)
                       return a;
                   else
                       return wg::real(sum(square(wg::stack(std::vector{a, a}))));
               }),
               contains("[kernel]") && contains("tensors"));
    CHECK_THAT(refused([](auto a) {
                   if constexpr (std::is_arithmetic_v<decltype(a)>)
                       return a;
                   else
                       return wg::real(wg::tensor(a).detach()) * a;
               }),
               contains("[kernel]") && contains("tensors"));
    const auto of_tensor = [&](const auto& f) {
        return refused([f](auto a) {
            if constexpr (std::is_arithmetic_v<decltype(a)>)
                return a;
            else
                return f(a, wg::tensor(a));
        });
    };
    for (const std::string& said : {
             of_tensor([](R a, const D& t) { return a * t.item(); }),
             of_tensor([](R a, const D& t) { return a * wg::real(2.0 * t.detach()); }),
             of_tensor([](R a, const D& t) { return (t > 1.0).item() ? a : a * a; }),
             of_tensor([](R a, const D& t) { return a * wg::real(wg::cast<double>(wg::cast<int>(t))); }),
             of_tensor([](R a, const D& t) { return a * t.data()[0]; }),
             of_tensor([](R a, const D&) {
                 return a * static_cast<double>(wg::argmax(wg::stack(std::vector{a, R(1.0)})).item());
             }),
         })
        CHECK_THAT(said, contains("[kernel] tensors compute here, or are read"));
    CHECK_THAT(refused([](auto a) { return decltype(a)(wg::Real<float>(a)); }),
               contains("[kernel]") && contains("one precision"));
    CHECK_THAT(refused([](auto a) {
                   using Number = decltype(a);
                   return wg::for_each(
                       2, [](const Number& s, const Number&) { return wg::grad(two_ways)(s); }, a);
               }),
               contains("[kernel]") && contains("derivative"));
    CHECK(wg::grad([](R a) { return a * a; })(R(1.0)).value() == 2);
}

TEST_CASE("Reals under hooks on what is saved, and with rules beside kernels")
{
    const auto f = wg::kernel(two_ways);
    const auto rule = wg::custom_jvp([](const R& u) { return u * u; },
                                     [](const R& dot, const R&, const R& u) { return 2.0 * dot * u; });
    const auto loss = [&](const D& q) {
        R s = 0.0;
        for (const R& r : wg::elements(f(q * q))) s += rule(r) * r;
        return wg::tensor(s);
    };
    const D x = wg::linspace<double>(0.2, 1.4, 300);
    const D want = wg::grad(loss)(x), second = wg::hvp(loss)(x, x);
    int packed = 0;
    const auto keep = [&](const D& t) { return ++packed, t; };
    const auto same = [](const D& t) { return t; };
    const wg::SavedTensorHooks hooks(keep, same);
    CHECK(wg::allclose(wg::grad(loss)(x), want, 1e-15));
    CHECK(wg::allclose(wg::hvp(loss)(x, x), second, 1e-15));
    CHECK(packed > 0);
}

TEST_CASE("explain() while other threads call")
{
    const auto f = wg::kernel(two_ways);
    std::atomic<bool> done = false;
    std::size_t size = 0;
    std::thread asks([&] {
        bool last = false;
        do {  // the last time after all calls: the first may come before any, and has nothing to say
            last = done;
            size += f.explain().size();
        } while (!last);
    });
    std::vector<std::thread> calls;
    for (std::size_t t = 0; t < 2; ++t)
        calls.emplace_back([&] {
            for (std::size_t n = 1; n < 40; ++n)
                static_cast<void>(f(wg::full<double>({n % 5 + 1}, 0.05 * double(n))));
        });
    for (auto& t : calls) t.join();
    done = true;
    asks.join();
    CHECK(size > 0);
    CHECK_THAT(f.explain(), contains("2 ways"));
}

TEST_CASE("What a cell's function captures is a constant; numbers that are recorded are refused")
{
    double scale = 2.0;
    const std::vector<double> table{1.0, 4.0, 9.0};
    const D offsets = {0.5, 0.25};
    const auto by_value = wg::kernel([scale, table, offsets](auto x) {
        return x > 1.0 ? scale * x + table[1] : x * x * table[2] + offsets(1).item();
    });
    const D x = {0.5, 2.0}, want = {2.5, 8.0}, slopes = {9.0, 2.0};
    const auto loss = [](const auto& f) { return [&](const D& q) { return sum(f(q)); }; };
    for (int k = 0; k < 2; ++k) {
        CHECK(wg::allclose(by_value(x), want, 1e-15));
        CHECK(wg::allclose(wg::grad(loss(by_value))(x), slopes, 1e-15));
    }
    CHECK(wg::allclose(wg::freeze(wg::grad(loss(by_value)))(x), slopes, 1e-15));
    double power = 1.0;
    int calls = 0;
    const auto by_reference = wg::kernel([&](auto q) {
        ++calls;
        if (q < 1.0) return q * power;
        return q + power;
    });
    for (const double p : {1.0, 3.0, 3.0, 1.0}) {  // the way of the second cell alone shows it, too
        power = p;
        const D y = {0.5 * p, 2.0 + p};
        CHECK(wg::allclose(by_reference(x), y, 0.0));
    }
    CHECK_THAT(by_reference.explain(), contains("2 ways"));
    int count = 0;
    const auto counts = wg::kernel([count](auto q) mutable { return q * static_cast<double>(++count); });
    for (int k = 0; k < 2; ++k) CHECK(wg::allclose(counts(x), x, 0.0));
    const auto message = [&](const auto& f) -> std::string {
        try {
            static_cast<void>(wg::grad(f)(R(2.0)));
        } catch (const wg::TapeError& e) {
            return e.what();
        }
        return "nothing thrown";
    };
    const auto used = [&](R a) { return wg::real(sum(wg::kernel([a](auto q) { return q * a; })(x))); };
    const auto asked = [&](R a) {
        return wg::real(sum(wg::kernel([a](auto q) { return a > 1.0 ? q : q * q; })(x)));
    };
    const auto given = [&](R a) {
        return wg::real(sum(wg::kernel([a](auto q) { return q < 1.0 ? decltype(q)(a) : q; })(x)));
    };
    const auto passed = [&](R a) {
        return wg::real(sum(wg::kernel([](auto q, auto b) { return q * b; })(x, wg::tensor(a))));
    };
    CHECK_THAT(message(used), contains("[kernel]") && contains("captures") && contains("argument"));
    CHECK_THAT(message(asked), contains("[kernel]") && contains("captures"));
    CHECK_THAT(message(given), contains("[kernel]") && contains("captures"));
    CHECK(wg::grad(passed)(R(2.0)).value() == 2.5);
}

TEST_CASE("Graphs for arrays of other lengths follow from those for two")
{
    const auto f = wg::kernel([](auto x, auto y) {
        using std::sqrt;
        return x > y ? sqrt(x) * y : x * y * y;
    });
    const auto plain = [](const D& x, const D& y) { return where(x > y, sqrt(x) * y, x * y * y); };
    const auto check = [&](const D& x, const D& y) {
        const D a = f(x, y), b = plain(x, y);
        REQUIRE(a.shape() == b.shape());
        CHECK(wg::allclose(a, b, 1e-14));
        const auto g = wg::grad<0, 1>([&](const D& p, const D& q) { return sum(f(p, q)); })(x, y);
        const auto h = wg::grad<0, 1>([&](const D& p, const D& q) { return sum(plain(p, q)); })(x, y);
        CHECK((wg::allclose(std::get<0>(g), std::get<0>(h), 1e-13) &&
               wg::allclose(std::get<1>(g), std::get<1>(h), 1e-13)));
    };
    const auto row = [](std::size_t n, double from) { return wg::linspace<double>(from, 2.0, n); };
    for (std::size_t n = 2; n < 30; ++n) check(row(n, 0.1), row(n, 0.9));
    INFO(f.explain());
    CHECK_THAT(f.explain(), contains("tile: 2 graphs made, ") && !contains(" 0 more for other lengths"));
    for (const std::size_t n : {7, 8, 9, 1, 0}) check(row(n, 0.1), row(1, 0.9));
    for (const std::size_t n : {7, 8, 9, 1, 2})
        check(wg::reshape(row(2 * n, 0.1), {static_cast<std::int64_t>(n), 2}), row(2, 0.9));
    for (const std::size_t n : {3, 4, 5, 1}) check(row(n, 0.1), wg::reshape(row(2, 0.9), {2, 1}));
}
