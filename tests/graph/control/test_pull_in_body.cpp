// A pullback within the body of a loop or a branch, of a function that has loops itself: what its rules read is of a transform that has
// ended when the body is traced.
#include "catch.hpp"

#include <wengert/control.hpp>
#include <wengert/linalg.hpp>
#include <wengert/wengert.hpp>

namespace wg = wengert;
using D = wg::Tensor<double>;

namespace {

enum class Orders { reverse_only, both };

template <class F> void check(const F& f, Orders orders)
{
    const D x{0.5, -0.3};
    const auto total = [&](const D& z) { return wg::sum(f(z)); };
    const auto weighted = [&](const D& z) { return wg::sum(wg::grad(total)(z) * D{0.7, 1.3}); };
    const D wanted = f(x), slope = wg::grad(total)(x), curve = wg::grad(weighted)(x);
    const auto frozen = wg::freeze(f);
    const auto frozen_slope = wg::freeze(wg::grad(total));
    const auto frozen_curve = wg::freeze(wg::grad(weighted));
    const auto total_of_frozen = [&](const D& z) { return wg::sum(frozen(z)); };
    for (int i = 0; i < 3; ++i) {
        CHECK(wg::allclose(frozen(x), wanted, 1e-14));
        CHECK(wg::allclose(frozen_slope(x), slope, 1e-14));
        CHECK(wg::allclose(wg::grad(total_of_frozen)(x), slope, 1e-14));
        CHECK(wg::allclose(frozen_curve(x), curve, 1e-13));
    }
    CHECK(frozen.stats().eager_calls == 0);
    CHECK(frozen_slope.stats().eager_calls == 0);
    if (orders == Orders::reverse_only) return;
    const auto directed = [&](const D& z) { return wg::jvp(wg::grad(total), z, z).second; };
    CHECK(wg::allclose(wg::freeze(directed)(x), directed(x), 1e-13));
}

D looped(const D& y)
{
    const D rate(0.25);
    return wg::scan([&](const D& s) { return std::pair(s - rate * sin(s), std::tuple<>()); }, y, 3).first;
}
D branched(const D& y)
{
    return wg::cond(
        y(0) > 0.0, [](const D& s) { return looped(s); }, [](const D& s) { return s * s; }, y);
}
D kept(const D& y) { return wg::checkpoint(looped)(y); }
D plain(const D& y) { return y * tanh(y); }
D kept_plain(const D& y) { return wg::checkpoint(plain)(y); }
D kept_steps(const D& y)
{
    wg::LoopOptions<D> options;
    options.steps = 4, options.snapshots = 2;
    return wg::checkpoint_loop([](const D& s) { return s * tanh(s) + 0.5; }, y, options);
}
D kept_loops(const D& y)
{
    const auto twice = [](const D& s) { return std::pair(looped(s), std::tuple<>()); };
    return wg::checkpoint([=](const D& z) { return wg::scan(twice, z, 2).first; })(y);
}

template <class F> void check_everywhere(const F& steps, Orders orders = Orders::both)
{
    check(
        [&](const D& x) {
            const auto [y, pull] = wg::vjp(steps, x);
            const auto row = [&, &pull = pull](const D& g) { return pull(g); };
            return wg::sum(wg::vmap(row)(wg::stack({y, 2.0 * y, x})), {0});
        },
        orders);
    check(
        [&](const D& x) {
            const auto pull = wg::vjp(steps, x).second;
            return wg::scan([&](const D& g) { return std::pair(pull(g), std::tuple<>()); }, x, 2).first;
        },
        orders);
    check(
        [&](const D& x) {
            const auto pull = wg::vjp(steps, x).second;
            return wg::while_loop([](const D& g) { return wg::sum(g * g) > 0.05; },
                                  [&](const D& g) { return 0.5 * pull(g); }, x);
        },
        orders);
    check(
        [&](const D& x) {
            const auto pull = wg::vjp(steps, x).second;
            return wg::cond(
                x(1) > 0.0, [&](const D& g) { return pull(g); },
                [&](const D& g) { return 0.5 * pull(2.0 * g); }, x);
        },
        orders);
}

const auto ruled = wg::custom_vjp([](const D& y) { return y * tanh(y); },
                                  [](const D& g, const D&, const D& y) {
                                      const D t = tanh(y);
                                      return g * (t + y * (1.0 - t * t));
                                  });
const auto compiled = wg::freeze([](const D& y) { return y * looped(y); });
const auto gathered = wg::preaccumulate([](const D& y) { return y * tanh(y); });
D solved(const D& y)
{
    const D a = wg::matmul(reshape(y, {2, 1}), reshape(y, {1, 2})) + D{{2.0, 0.5}, {0.5, 3.0}};
    return wg::linalg::solve(a, y);
}
D sloped(const D& y)
{
    return wg::grad([](const D& z) { return wg::sum(z * looped(z)); })(y);
}

}  // namespace

TEST_CASE("pullbacks in bodies: of a function without loops", "[control]") { check_everywhere(plain); }
TEST_CASE("pullbacks in bodies: of loops", "[control]") { check_everywhere(looped); }
TEST_CASE("pullbacks in bodies: of branches", "[control]") { check_everywhere(branched); }
TEST_CASE("pullbacks in bodies: of checkpoints without a loop", "[control]") { check_everywhere(kept_plain); }
TEST_CASE("pullbacks in bodies: of loops that keep some states", "[control]")
{
    check_everywhere(kept_steps);
}
TEST_CASE("pullbacks in bodies: of checkpoints with loops in a loop", "[control]")
{
    check_everywhere(kept_loops);
}
TEST_CASE("pullbacks in bodies: of a rule of the user's", "[control]")
{
    check_everywhere(ruled, Orders::reverse_only);
}
TEST_CASE("pullbacks in bodies: of a frozen function", "[control]") { check_everywhere(compiled); }
TEST_CASE("pullbacks in bodies: of a function by its Jacobian", "[control]") { check_everywhere(gathered); }
TEST_CASE("pullbacks in bodies: of linear algebra", "[control]") { check_everywhere(solved); }
TEST_CASE("pullbacks in bodies: of a gradient of loops", "[control]") { check_everywhere(sloped); }
TEST_CASE("pullbacks in bodies: of checkpoints with a loop", "[control]") { check_everywhere(kept); }

TEST_CASE("pullbacks in bodies: what has escaped from a transform is refused as before", "[control]")
{
    const auto escaping = [](auto&& use) {
        return wg::freeze([=](const D& x) {
            D leak;
            const auto f = [&](const D& y) {
                leak = sin(y);
                return wg::sum(leak);
            };
            static_cast<void>(wg::grad(f)(x));
            return use(leak, x);
        });
    };
    const D x{0.5, -0.3};
    const auto state = [](const D& leak, const D&) {
        return wg::scan([](const D& s) { return std::pair(2.0 * s, std::tuple<>()); }, leak, 2).first;
    };
    const auto result = [](const D& leak, const D& z) {
        return wg::scan([&](const D&) { return std::pair(leak, std::tuple<>()); }, z, 2).first;
    };
    const auto operand = [](const D& leak, const D& z) {
        return wg::scan([&](const D& s) { return std::pair(s * leak, std::tuple<>()); }, z, 2).first;
    };
    const auto branch = [](const D& leak, const D& z) {
        return wg::cond(
            z(0) > 0.0, [](const D& s) { return s; }, [](const D& s) { return -s; }, leak);
    };
    const auto inner = [](const D& leak, const D& z) {
        const auto row = [&](const D& s) {
            return wg::scan([&](const D& t) { return std::pair(t * leak, std::tuple<>()); }, s, 2).first;
        };
        return wg::scan([&](const D& s) { return std::pair(row(s), std::tuple<>()); }, z, 2).first;
    };
    const auto inner_state = [](const D& leak, const D& z) {
        const auto row = [&](const D& s) {
            return s * wg::scan([](const D& t) { return std::pair(2.0 * t, std::tuple<>()); }, leak, 2).first;
        };
        return wg::scan([&](const D& s) { return std::pair(row(s), std::tuple<>()); }, z, 2).first;
    };
    CHECK_THROWS_AS(escaping(inner)(x), wg::TapeError);
    CHECK_THROWS_AS(escaping(inner_state)(x), wg::TapeError);
    CHECK_THROWS_AS(escaping(state)(x), wg::TapeError);
    CHECK_THROWS_AS(escaping(result)(x), wg::TapeError);
    CHECK_THROWS_AS(escaping(operand)(x), wg::TapeError);
    CHECK_THROWS_AS(escaping(branch)(x), wg::TapeError);
}

TEST_CASE("pullbacks: two sweeps at once, of which one runs a checkpoint again that the other is part of",
          "[control]")
{
    const auto both = [](const D& x) {
        const auto pull = wg::vjp(kept_plain, x).second;
        const auto again = wg::checkpoint([=](const D& z) { return pull(z) * z + pull(2.0 * z); });
        return wg::sum(0.5 * pull(2.0 * x) + again(x));
    };
    const auto alone = [](const D& x) {  // the same without checkpoints
        const auto pull = wg::vjp(plain, x).second;
        return wg::sum(0.5 * pull(2.0 * x) + pull(x) * x + pull(2.0 * x));
    };
    const D x{0.5, -0.3}, wanted = wg::grad(alone)(x);
    CHECK(wg::allclose(wg::grad(both)(x), wanted, 1e-14));
    CHECK(wg::allclose(wg::freeze(wg::grad(both))(x), wanted, 1e-14));
    const auto frozen = wg::freeze(both);
    CHECK(wg::allclose(wg::grad(frozen)(x), wanted, 1e-14));
}
