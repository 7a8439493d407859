// Control flow outside of graphs: what plain loops and branches do.
#include "catch.hpp"
#include "same_bits.hpp"

#include <string>

#include <wengert/graph/control/control.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/elementwise/cast.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/random.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/ops/elementwise/trigonometry.hpp>
#include <wengert/transforms/check_grads.hpp>
#include <wengert/transforms/custom.hpp>

using namespace wengert;

namespace {

struct Oscillator {
    Tensor<double> q, p;
};

template <class E, class F> std::string error_of(const F& f)
{
    try {
        f();
    } catch (const E& e) {
        return e.what();
    }
    return "nothing was thrown";
}
bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("scan is the loop that it stands for")
{
    const Tensor<double> xs = {{0.1, 0.2}, {0.3, -0.4}, {0.5, 0.6}}, w = {0.7, -1.1};
    const auto [last, all] = scan(
        [&](const Tensor<double>& s, const Tensor<double>& x) {
            const Tensor<double> next = tanh(w * s + x);
            return std::pair(next, sum(next));
        },
        Tensor<double>{0.0, 0.5}, xs);
    Tensor<double> s = {0.0, 0.5};
    std::vector<Tensor<double>> ys;
    for (int k = 0; k < 3; ++k) {
        s = tanh(w * s + xs(k));
        ys.push_back(sum(s));
    }
    CHECK(identical(last, s));
    CHECK(identical(all, stack(ys)));
}

TEST_CASE("states and slices are structs, tuples and vectors")
{
    const std::vector<Tensor<float>> forces{{1.0F, 2.0F, 3.0F}, {0.5F, 0.5F, 0.5F}};
    const auto [last, ys] = scan(
        [](const Oscillator& o, const std::vector<Tensor<float>>& f) {
            const Tensor<double> p = o.p - 0.1 * o.q + cast<double>(f[0] + f[1]);
            return std::pair(Oscillator{o.q + 0.1 * p, p}, std::tuple(f[0] * 2.0F, o.q > 0.0));
        },
        Oscillator{Tensor<double>(1.0), Tensor<double>(0.0)}, forces);
    CHECK(std::get<0>(ys).shape() == Shape{3});
    CHECK(std::get<0>(ys)(2).item() == 6.0F);
    CHECK(std::get<1>(ys).shape() == Shape{3});
    CHECK(last.q.item() != 1.0);
}

TEST_CASE("a number of steps instead of slices")
{
    const auto [n, ys] = scan([](const Tensor<std::int64_t>& i) { return std::pair(i + 1, i * i); },
                              Tensor<std::int64_t>(std::int64_t{0}), 5);
    CHECK(n.item() == 5);
    CHECK(identical(ys, Tensor<std::int64_t>{0, 1, 4, 9, 16}));
    const auto [same, none] =
        scan([](const Tensor<double>& x) { return std::pair(2.0 * x, std::tuple(x, x > 0.0)); },
             Tensor<double>{1.0, 2.0}, 0);
    CHECK(identical(same, Tensor<double>{1.0, 2.0}));
    CHECK(std::get<0>(none).shape() == (Shape{0, 2}));
    CHECK(std::get<1>(none).shape() == (Shape{0, 2}));
}

TEST_CASE("no slices: the shapes of the results are still known")
{
    const Tensor<double> xs = zeros<double>({0, 3});
    const auto [s, ys] =
        scan([](const Tensor<double>& s, const Tensor<double>& x) { return std::pair(s + sum(x), 2.0 * x); },
             Tensor<double>(1.0), xs);
    CHECK(s.item() == 1.0);
    CHECK(ys.shape() == (Shape{0, 3}));
}

TEST_CASE("keys are part of the state")
{
    const auto [key, draws] = scan(
        [](const Key& k) {
            const auto [mine, next] = split(k);
            return std::pair(next, normal<double>(mine, {2}));
        },
        Key(7), 3);
    Key k(7);
    for (int i = 0; i < 3; ++i) {
        const auto [mine, next] = split(k);
        CHECK(identical(draws(i), normal<double>(mine, {2})));
        k = next;
    }
    CHECK(key == k);
}

TEST_CASE("while_loop runs as often as its data say")
{
    const auto halvings = [](double from) {
        return while_loop([](const auto& s) { return std::get<0>(s) > 1.0; },
                          [](const auto& s) { return std::tuple(0.5 * std::get<0>(s), std::get<1>(s) + 1); },
                          std::tuple(Tensor<double>(from), Tensor<std::int64_t>(std::int64_t{0})));
    };
    CHECK(std::get<1>(halvings(0.5)).item() == 0);
    CHECK(std::get<1>(halvings(2.0)).item() == 1);
    CHECK(std::get<1>(halvings(1000.0)).item() == 10);
}

TEST_CASE("cond runs one of two functions")
{
    int calls = 0;
    const auto f = [&](const Tensor<double>& x) {
        ++calls;
        return cond(
            sum(x) > 0.0, [](const Tensor<double>& y) { return y * y; },
            [](const Tensor<double>& y) { return -y; }, x);
    };
    CHECK(identical(f({1.0, 2.0}), Tensor<double>{1.0, 4.0}));
    CHECK(identical(f({1.0, -2.0}), Tensor<double>{-1.0, 2.0}));
    CHECK(calls == 2);
    const Tensor<double> g =
        grad([&](const Tensor<double>& x) { return sum(f(x)); })(Tensor<double>{1.0, 2.0});
    CHECK(identical(g, Tensor<double>{2.0, 4.0}));
}

TEST_CASE("derivatives of loops, captured variables among them")
{
    const auto f = [](const Tensor<double>& w, const Tensor<double>& xs) {
        const auto [s, ys] = scan(
            [&](const Tensor<double>& s, const Tensor<double>& x) {
                const Tensor<double> next = tanh(w * s + x);
                return std::pair(next, next * w);
            },
            0.1 * w, xs);
        const auto root = while_loop([&](const Tensor<double>& r) { return sum(square(r - w)) > 0.5; },
                                     [&](const Tensor<double>& r) { return 0.5 * (r + w); }, 4.0 + s);
        return sum(s * root) + sum(ys * ys);
    };
    const Tensor<double> w = {0.7, -1.1}, xs = {{0.1, 0.2}, {0.3, -0.4}, {0.5, 0.6}};
    const CheckReport checked = check_grads(f, std::tuple(w, xs), {.order = 2});
    INFO(checked.message);
    CHECK(checked.ok);
}

TEST_CASE("host callbacks see values, in order, and are not differentiated")
{
    std::vector<double> seen;
    const Tensor<double> g = grad([&](const Tensor<double>& x) {
        const auto [s, none] = scan(
            [&](const Tensor<double>& s) {
                host_callback([&](const Tensor<double>& v) { seen.push_back(v.item()); }, s);
                const auto c = host_callback<double>(
                    {}, [](const Tensor<double>& v) { return 2.0 * v; }, s);
                return std::pair(s * c, std::tuple());
            },
            x, 2);
        return s;
    })(Tensor<double>(3.0));
    CHECK(seen == std::vector<double>{3.0, 18.0});
    CHECK(g.item() == 6.0 * 36.0);
}

TEST_CASE("errors name both shapes and the line")
{
    const Tensor<double> xs = zeros<double>({3, 2});
    const auto grows = [](const Tensor<double>& s, const Tensor<double>& x) {
        return std::pair(concatenate({s, x}), x);
    };
    const std::string text = error_of<ShapeError>([&] { scan(grows, Tensor<double>{1.0}, xs); });
    CHECK(says(text, "[scan]"));
    CHECK(says(text, "(1)"));
    CHECK(says(text, "(3)"));
    CHECK(says(text, "test_control_eager.cpp:"));
    const auto keep = [](const Tensor<double>& s, const auto& x) { return std::pair(s, x); };
    CHECK(says(
        error_of<ShapeError>([&] { scan(keep, Tensor<double>(0.0), std::tuple(xs, zeros<double>({4}))); }),
        "(4)"));
    CHECK(says(error_of<ShapeError>([&] { scan(keep, Tensor<double>(0.0), Tensor<double>(0.0)); }),
               "shape ()"));
    CHECK(says(error_of<ShapeError>([&] { scan([](const auto& s) { return std::pair(s, s); }, xs, -1); }),
               "-1"));
    CHECK(says(error_of<ShapeError>([&] {
                   while_loop([](const auto& s) { return s < 1.0; }, [](const auto& s) { return s; }, xs);
               }),
               "(3, 2)"));
    const auto identity = [](const Tensor<double>& x) { return x; };
    CHECK(says(error_of<ShapeError>([&] { cond(xs > 0.0, identity, identity, xs); }),
               "test_control_eager.cpp:"));
    const int line = __LINE__ + 1;
    const auto wrong = [] { host_callback<double>({2}, [] { return Tensor<double>(1.0); }); };
    CHECK(says(error_of<ShapeError>(wrong), "(2)"));
    CHECK(says(error_of<ShapeError>(wrong), "test_control_eager.cpp:" + std::to_string(line)));
}

TEST_CASE("a captured variable that a body returns untouched, with any number of snapshots")
{
    const Tensor<double> x = {0.3, 0.4}, start = {1.0, 2.0};
    for (std::uint64_t snapshots : {0, 1, 2, 6, 9}) {
        const ScanOptions options{.snapshots = snapshots};
        const auto result = [&](const Tensor<double>& x) {
            const auto body = [x](const Tensor<double>& s) {
                return std::pair(0.5 * s, std::pair(x, s * x));
            };
            const auto ys = scan(body, start, 6, options).second;
            return sum(ys.first) + sum(ys.second);
        };
        CHECK(allclose(grad(result)(x), 6.0 + start * (2.0 - 1.0 / 32.0), 1e-15));
        const auto state = [&](const Tensor<double>& x) {
            const auto body = [x](const Tensor<double>&) { return std::pair(x, std::tuple()); };
            return sum(square(scan(body, start, 6, options).first));
        };
        CHECK(allclose(grad(state)(x), 2.0 * x, 0.0));
    }
}

TEST_CASE("a function with a rule of its own as a branch, a body or a step has the line of the loop's call")
{
    using D = Tensor<double>;
    const auto square = custom_vjp([](const D& x) { return x * x; },
                                   [](const D& g, const D&, const D& x) { return 2.0 * g * x; });
    const D x = {0.5, 1.0};
    const auto holds = [](const D& s) { return sum(s) > 1.0; };
    const int line = __LINE__ + 1;
    const auto branch = [&](const D& t) { return cond(sum(t) > 0.0, square, square, t); };
    const auto loop = [&](const D& t) { return while_loop(holds, square, t); };
    const auto says = [&](const auto& f, int at) {
        const std::string where = "(test_control_eager.cpp:" + std::to_string(at) + ")";
        const auto pushed = [&](const D& t) { return jvp(f, t, t).second; };
        CHECK_THROWS_WITH(pushed(x), Catch::Contains(where));
        CHECK_THROWS_WITH(freeze(pushed)(x), Catch::Contains(where));
    };
    says(branch, line);
    says(loop, line + 1);
    CHECK(allclose(grad([&](const D& t) { return sum(branch(t)); })(x), 2.0 * x, 0.0));
}
