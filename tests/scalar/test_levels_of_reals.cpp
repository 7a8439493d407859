// Gradients and tangents of functions of reals alone, which go from the stream to the stream: the bits of the road by tensors, and what else
// such a function may do.
#include "catch.hpp"

#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/scalar.hpp>
#include <wengert/transforms/saved_tensor_hooks.hpp>

#include <array>
#include <map>
#include <optional>
#include <thread>

namespace wg = wengert;
using R = wg::Real<double>;
using F = wg::Real<float>;
using D = wg::Tensor<double>;
using Reals = std::vector<R>;

namespace {

struct Pair {
    R x, y;
};
/// With a tensor beside it a number goes by tensors.
struct Beside {
    Pair p;
    D t;
};

R smooth(const Pair& p)
{
    R x = p.x;
    for (int i = 0; i < 4; ++i) x = sin(x) * p.y + sqrt(x * x + 1.0) / (2.0 + p.y * p.y);
    return x - exp(-p.x) * p.y;
}
const auto by_tensors = [](const Beside& b) { return smooth(b.p); };
const Pair at{0.7, -0.4}, along{1.25, 0.5};
const Beside beside_at{at, D(1.0)}, beside_along{along, D(0.0)};

bool same(const Pair& a, const Pair& b) { return a.x.value() == b.x.value() && a.y.value() == b.y.value(); }
bool near(double a, double b) { return std::abs(a - b) <= 1e-12 * (1 + std::abs(b)); }
std::size_t held() { return wg::Tape::current().size(); }

}  // namespace

TEST_CASE("Numbers alone have the bits that they have beside a tensor")
{
    const auto [value, g] = wg::value_and_grad(smooth)(at);
    const auto [tensor_value, tensor_g] = wg::value_and_grad(by_tensors)(beside_at);
    CHECK((value.value() == tensor_value.value() && !value.is_active() && !g.x.is_active()));
    CHECK(same(g, tensor_g.p));
    const auto [y, dot] = wg::jvp(smooth, at, along);
    const auto [tensor_y, tensor_dot] = wg::jvp(by_tensors, beside_at, beside_along);
    CHECK((y.value() == value.value() && !dot.is_active()));
    CHECK(dot.value() == tensor_dot.value());
    // in one pass here, by a recorded sweep there
    const Pair h = wg::hvp(smooth)(at, along), tensor_h = wg::hvp(by_tensors)(beside_at, beside_along).p;
    CHECK((near(h.x.value(), tensor_h.x.value()) && near(h.y.value(), tensor_h.y.value())));
    CHECK(wg::check_grads(smooth, at, {.order = 3}).ok);
    CHECK(held() == 0);
}

TEST_CASE("Arguments of every form, in both precisions")
{
    const auto f = [](const std::map<int, std::optional<R>>& m, const std::tuple<F, std::array<R, 2>, int>& t,
                      double plain) {
        const auto& [single, pair, n] = t;
        return R(single) * *m.at(3) * pair[1] * double(n) + pair[0] * plain;
    };
    const std::map<int, std::optional<R>> m{{3, R(2.0)}, {4, std::nullopt}};
    const std::tuple<F, std::array<R, 2>, int> t{F(0.5F), {R(3.0), R(4.0)}, 7};
    const auto [gm, gt] = wg::grad<0, 1>(f)(m, t, 11.0);
    CHECK((gm.at(3)->value() == 14.0 && !gm.at(4)));
    CHECK((std::get<0>(gt).value() == 56.0F && std::get<1>(gt)[0].value() == 11.0 && std::get<2>(gt) == 7));
    const auto [y, dot] = wg::jvp([](const F& x) { return std::pair(x * x, R(x)); }, F(3), F(0.25F));
    CHECK((y.first.value() == 9.0F && dot.first.value() == 1.5F && dot.second.value() == 0.25));
    CHECK(wg::grad([](const Reals&) { return R(2.0); })(Reals()).empty());
    CHECK(wg::grad([](const Reals& x) { return 2.0 * x[1]; })(Reals(3, R(1.0)))[2].value() == 0.0);
}

TEST_CASE("Nested levels of numbers, with what they capture")
{
    const auto cubic = [](const R& x) { return x * x * x; };
    CHECK(wg::grad(wg::grad(cubic))(R(2.0)).value() == 12.0);
    CHECK(wg::grad(wg::grad(wg::grad(cubic)))(R(2.0)).value() == 6.0);
    CHECK(wg::grad([&](const R& x) { return wg::jvp(cubic, x, R(1.0)).second; })(R(2.0)).value() == 12.0);
    CHECK(wg::jvp(wg::grad(cubic), R(2.0), R(0.5)).second.value() == 6.0);
    // perturbations that would be confused with one tag: d/dx (x · d/dy (x + y)) = 1
    const auto outer = [](const R& x) { return x * wg::grad([&](const R& y) { return x + y; })(R(1.0)); };
    CHECK(wg::grad(outer)(R(1.0)).value() == 1.0);
    CHECK(wg::jvp(outer, R(1.0), R(1.0)).second.value() == 1.0);
    // a gradient by a number that depends on the level below in some places only
    const auto mixed = [](const R& x) {
        const Pair g = wg::grad([](const Pair& p) { return p.x * p.x * p.y; })(Pair{x, R(3.0)});
        return g.x + g.y;  // 2 · 3 x + x²
    };
    CHECK(wg::grad(mixed)(R(5.0)).value() == 16.0);
    CHECK(wg::jvp(mixed, R(5.0), R(1.0)).second.value() == 16.0);
    // the tangent depends on the level below, the number does not
    const auto product = [&](const R& v) { return wg::hvp(cubic)(R(2.0), v * v); };
    CHECK(wg::grad(product)(R(3.0)).value() == 12.0 * 6.0);
    // a value that comes out of its level, and one that was never in it
    const auto values = [&](const R& x) {
        return wg::value_and_grad([&](const R& y) { return y * x; })(x).first + x;
    };
    CHECK(wg::grad(values)(R(4.0)).value() == 9.0);
    const auto captured = [&](const R& x) {
        return wg::value_and_grad([&](const R&) { return x; })(R(1.0)).first;
    };
    CHECK(wg::grad(captured)(R(4.0)).value() == 1.0);
    CHECK(held() == 0);
}

TEST_CASE("Functions of reals that do more than operations on them")
{
    const auto through = [](const Pair& p) {
        const D t = wg::stack(Reals{p.x, p.y});
        return wg::elements(tanh(t) * t)[0] + p.y * p.y;
    };
    const auto by_hand = [](const Pair& p) { return tanh(p.x) * p.x + p.y * p.y; };
    const Pair g = wg::grad(through)(at), hand = wg::grad(by_hand)(at);
    CHECK((near(g.x.value(), hand.x.value()) && g.y.value() == hand.y.value()));
    const Pair h = wg::hvp(through)(at, along), hand_h = wg::hvp(by_hand)(at, along);
    CHECK((near(h.x.value(), hand_h.x.value()) && near(h.y.value(), hand_h.y.value())));
    const auto second = [&](const R& x) { return wg::grad(through)(Pair{x, R(0.1)}).x; };
    CHECK(near(wg::grad(second)(R(0.7)).value(), wg::hvp(by_hand)(Pair{0.7, 0.1}, Pair{1.0, 0.0}).x.value()));
    // checkpoints, rules of the user's, Jacobians kept
    const auto saved = [](const Pair& p) { return wg::checkpoint(smooth)(p) * p.x; };
    const auto plain = [](const Pair& p) { return smooth(p) * p.x; };
    CHECK(same(wg::grad(saved)(at), wg::grad(plain)(at)));
    CHECK(near(wg::hvp(saved)(at, along).x.value(), wg::hvp(plain)(at, along).x.value()));
    const auto inside = [](const R& a) {
        return wg::checkpoint([](const R& x) { return wg::grad([](const R& y) { return y * y * y; })(x); })(
            a);
    };
    CHECK(wg::grad(inside)(R(2.0)).value() == 12.0);
    const auto catching = [](const R& a) {  // what the checkpoint's function captures goes into a level there
        return wg::checkpoint([a](const R& x) { return x * wg::grad([](const R& y) { return y * y; })(a); })(
            R(3.0));
    };
    CHECK(wg::grad(catching)(R(2.0)).value() == 6.0);
    const auto ruled = wg::custom_vjp([](const R& x) { return x * x; },
                                      [](const R& g1, const R&, const R& x) { return g1 * 10.0 * x; });
    CHECK(wg::grad([&](const R& x) { return ruled(x) + x; })(R(2.0)).value() == 21.0);
    CHECK(held() == 0);
}

TEST_CASE("A variable of backward in a level of numbers")
{
    const wg::TapeScope own;  // what depends on a variable stays as long as its tape
    R w = 3.0;
    w.requires_grad();
    const auto f = [&](const R& x) { return w * x * x; };
    CHECK(wg::grad(f)(R(2.0)).value() == 12.0);
    wg::backward(wg::grad(f)(R(2.0)));
    CHECK(w.grad() == 4.0);
    w.zero_grad();
    wg::backward(wg::grad([](const R& x) { return x * x * x; })(w));
    CHECK(w.grad() == 18.0);
    w.zero_grad();
    wg::backward(wg::jvp([](const R& x) { return x * x; }, R(2.0), w).second +
                 wg::value_and_grad(f)(R(1.0)).first);
    CHECK(w.grad() == 5.0);
    const wg::NoGrad off;
    CHECK((wg::grad(f)(w).value() == 18.0 && !wg::grad(f)(w).is_active()));
}

TEST_CASE("An exception in a level of numbers leaves nothing, and numbers do not escape")
{
    const auto before = held();
    R kept;
    const auto failing = [&](const R& x) {
        kept = x * x;
        const R inner = wg::grad([](const R& y) { return y * y; })(x);
        if (inner > 0.0) throw std::runtime_error("in the middle");
        return inner;
    };
    CHECK_THROWS_AS(wg::grad(failing)(R(1.0)), std::runtime_error);
    CHECK_THROWS_AS(wg::jvp(failing, R(1.0), R(1.0)), std::runtime_error);
    CHECK_THROWS_AS(wg::grad([&](const R& x) { return wg::hvp(failing)(x, x); })(R(1.0)), std::runtime_error);
    CHECK(held() == before);
    CHECK_THROWS_AS(kept + 1.0, wg::TapeError);
    CHECK(wg::grad([](const R& x) { return x * x; })(R(3.0)).value() == 6.0);
    const auto escape = [&](const R& x) {
        static_cast<void>(wg::grad([&](const R& y) { return kept = y * x; })(R(1.0)));
        return kept * x;
    };
    CHECK_THROWS_WITH(wg::grad(escape)(R(1.0)), contains("has ended"));
}

TEST_CASE("Modes of the tape in levels of numbers")
{
    const auto root = [](const R& x) { return sqrt(x) * 0.0; };
    CHECK(wg::grad(root)(R(0.0)).value() == 0.0);
    CHECK(wg::hvp(root)(R(0.0), R(1.0)).value() == 0.0);
    {
        const wg::AllowNaN allowed;
        CHECK(std::isnan(wg::grad(root)(R(0.0)).value()));
    }
    const wg::AnomalyMode on;
    CHECK_THROWS_AS(wg::grad([](const R& x) { return sqrt(x); })(R(0.0)), wg::NumericError);
    CHECK_THROWS_WITH(wg::grad([](const R& x) { return R(x.value() + 1.0); })(R(1.0)),
                      contains("numbers were read"));
    CHECK_THROWS_WITH(wg::jvp([](const R& x) { return R(x.value() + 1.0); }, R(1.0), R(1.0)),
                      contains("numbers were read"));
}

TEST_CASE("Levels of numbers where the stream has many chunks")
{
    const auto f = [](const Pair& p) {
        R y = p.x;
        for (int i = 0; i < 700; ++i)
            y = sin(y) * p.y + wg::grad([](const R& q) { return q * q; })(p.x * 0.001);
        return y;
    };
    const Pair g = wg::grad(f)(at), h = wg::hvp(f)(at, along);
    wg::ScalarStream& stream = wg::ScalarStream::of(wg::Tape::current());
    const wg::ScalarBudget before = stream.set_budget({.chunk = 256});
    CHECK(same(wg::grad(f)(at), g));
    const Pair parted = wg::hvp(f)(at, along);
    stream.set_budget(before);
    CHECK((near(parted.x.value(), h.x.value()) && near(parted.y.value(), h.y.value())));
    CHECK(held() == 0);
}

TEST_CASE("Levels of numbers under hooks of saved tensors: tensors are packed, numbers are not")
{
    const auto through = [](const Pair& p) {
        const D t = wg::stack(Reals{p.x, p.y});
        return smooth(p) + wg::elements(tanh(t) * t)[0];
    };
    const Pair g = wg::grad(smooth)(at), h = wg::hvp(smooth)(at, along);
    const Pair mixed = wg::grad(through)(at), mixed_h = wg::hvp(through)(at, along);
    const auto dot = wg::jvp(through, at, along).second;
    int packed = 0;
    const auto keep = [&](const D& t) { return ++packed, wg::copy(t); };
    const wg::SavedTensorHooks hooks(keep, [](const D& t) { return t; });
    CHECK((same(wg::grad(smooth)(at), g) && same(wg::hvp(smooth)(at, along), h)));
    CHECK(packed == 0);
    CHECK((same(wg::grad(through)(at), mixed) && same(wg::hvp(through)(at, along), mixed_h)));
    CHECK(wg::jvp(through, at, along).second.value() == dot.value());
    CHECK(packed > 0);
    CHECK(held() == 0);
}

TEST_CASE("Levels of numbers in frozen functions, and of them")
{
    const auto f = [](const R& x, const R& y) { return smooth(Pair{x, y}); };
    const auto slope = [&](const R& x, const R& y) {
        const Pair g = wg::grad(smooth)(Pair{x, y});
        return g.x * g.y + wg::jvp(smooth, Pair{x, y}, along).second;
    };
    const auto curvature = [](const R& x, const R& y) { return wg::hvp(smooth)(Pair{x, y}, along).x; };
    const auto frozen = wg::freeze(f);
    const auto frozen_slope = wg::freeze(slope);
    const auto frozen_curvature = wg::freeze(curvature);
    for (const double x : {0.7, 0.2, -0.3, 1.1}) {
        const R a = x, b = -0.4;
        CHECK(near(frozen_slope(a, b).value(), slope(a, b).value()));
        CHECK(near(frozen_curvature(a, b).value(), curvature(a, b).value()));
        CHECK(near(wg::grad<0>(frozen)(a, b).value(), wg::grad<0>(f)(a, b).value()));
        CHECK(near(wg::grad<1>(frozen_slope)(a, b).value(), wg::grad<1>(slope)(a, b).value()));
        const auto along_x = [&](const auto& of) {
            return wg::jvp([&](const R& u) { return of(u, b); }, a, R(0.5)).second.value();
        };
        CHECK(near(along_x(frozen), along_x(f)));
        CHECK(near(along_x(frozen_slope), along_x(slope)));
    }
    CHECK((frozen_slope.stats().traces == 1 && frozen_curvature.stats().traces == 1));
    CHECK(held() == 0);
}

TEST_CASE("Levels of numbers in kernels, in frozen functions and on threads")
{
    const auto slope = [](const R& x) {
        return wg::grad([](const R& y) { return y * y * y; })(x) +
               wg::grad([](const R& y) { return y * 2.0; })(R(1.0));
    };
    const D cells{1.0, 2.0, -3.0};
    const D y = wg::kernel(slope)(cells);
    CHECK((y(0).item() == 5.0 && y(1).item() == 14.0 && y(2).item() == 29.0));
    const D g = wg::grad([&](const D& x) { return sum(wg::kernel(slope)(x)); })(cells);
    CHECK((g(0).item() == 6.0 && g(2).item() == -18.0));
    std::array<double, 4> found{};
    std::vector<std::thread> threads;
    for (std::size_t k = 0; k < found.size(); ++k)
        threads.emplace_back([&, k] {
            double sum = 0;
            for (int i = 0; i < 500; ++i) sum += wg::hvp(smooth)(Pair{0.1 * double(k), 0.2}, along).x.value();
            found[k] = sum;
        });
    for (std::thread& t : threads) t.join();
    for (std::size_t k = 0; k < found.size(); ++k)
        CHECK(near(found[k], 500 * wg::hvp(smooth)(Pair{0.1 * double(k), 0.2}, along).x.value()));
}
