// Loops and branches inside of freeze.
#include "catch.hpp"

#include <wengert/wengert.hpp>
#include <wengert/graph/loops/loop_graphs.hpp>

using namespace wengert;
using D = Tensor<double>;

namespace {

struct Oscillator {
    D q, p;
};

D energy(const D& k, const D& start, std::int64_t steps)
{
    const auto [end, path] = scan(
        [&](const Oscillator& o) {
            const D p = o.p - 0.1 * k * sin(o.q), q = o.q + 0.1 * p;
            return std::pair(Oscillator{q, p}, q);
        },
        Oscillator{start, zeros_like(start)}, steps);
    return sum(square(end.p)) + sum(square(path));
}

bool close(const D& a, const D& b) { return allclose(a, b, 1e-12); }

}  // namespace

TEST_CASE("frozen gradients of a scan are those of the plain loop")
{
    const auto f = [](const D& k, const D& s) { return energy(k, s, 50); };
    auto frozen = freeze(value_and_grad<0, 1>(f));
    for (int i = 0; i < 5; ++i) {
        const D k(1.0 + i), s = {0.3, -0.1 * i};
        const auto [v, g] = frozen(k, s);
        const auto [w, h] = value_and_grad<0, 1>(f)(k, s);
        CHECK(v.item() == w.item());
        CHECK(close(std::get<0>(g), std::get<0>(h)));
        CHECK(close(std::get<1>(g), std::get<1>(h)));
    }
    CHECK(frozen.stats().traces == 1);
    CHECK(frozen.stats().replays == 4);
}

TEST_CASE("transforms of frozen functions with loops in them")
{
    const auto f = [](const D& s) { return energy(D(2.0), s, 10); };
    const auto frozen = freeze(f);
    const D s = {0.3, -0.1}, v = {1.0, 0.5};
    static_cast<void>(frozen(s));
    CHECK(close(grad(frozen)(s), grad(f)(s)));
    CHECK(close(jvp(frozen, s, v).second, jvp(f, s, v).second));
    CHECK(close(hvp(frozen)(s, v), hvp(f)(s, v)));
    CHECK(close(freeze(hessian(f))(s), hessian(f)(s)));
    CHECK(close(grad([&](const D& x) { return sum(freeze(grad(f))(x) * x); })(s),
                grad([&](const D& x) { return sum(grad(f)(x) * x); })(s)));
}

TEST_CASE("a frozen loop runs as often as its data say, a frozen branch is the one they choose")
{
    const auto f = [](const D& x) {
        const auto [y, n] =
            while_loop([](const auto& s) { return sum(std::get<0>(s)) < 10.0; },
                       [](const auto& s) { return std::tuple(1.5 * std::get<0>(s), std::get<1>(s) + 1); },
                       std::tuple(x, Tensor<std::int64_t>(std::int64_t{0})));
        return cond(
            n > 3, [](const D& a, const D& b) { return sum(a * b); },
            [](const D& a, const D& b) { return sum(a - b); }, y, x);
    };
    auto frozen = freeze(value_and_grad(f));
    for (const double x : {0.1, 20.0, 1.0, 3.0, 0.01}) {
        const auto [v, g] = frozen(D{x, 0.5});
        const auto [w, h] = value_and_grad(f)(D{x, 0.5});
        CHECK(v.item() == w.item());
        CHECK(close(g, h));
    }
    CHECK(frozen.stats().traces == 1);
}

TEST_CASE("loops by values in plain C++ are traced again where they go another way")
{
    const auto f = [](const D& x) {
        return scan([](const D& s) { return std::pair(s < 4.0 ? 2.0 * s : s - 4.0, s); }, x, 3).first;
    };
    auto frozen = freeze(f);
    for (const double x : {0.1, 0.2, 1.5, 1.6, 0.3, 9.0}) CHECK(frozen(D(x)).item() == f(D(x)).item());
    CHECK(frozen.stats().guard_failures > 0);
}

TEST_CASE("random keys in a frozen loop")
{
    const auto f = [](const Key& key, const D& x) {
        return scan(
            [&](const std::tuple<Key, D>& s) {
                const auto [mine, next] = split(std::get<0>(s));
                const D y = 0.9 * std::get<1>(s) + normal<double>(mine, x.shape());
                return std::pair(std::tuple(next, y), sum(y));
            },
            std::tuple(key, x), 8);
    };
    auto frozen = freeze(f);
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        const auto [s, ys] = frozen(Key(seed), D{1.0, 2.0});
        const auto [t, zs] = f(Key(seed), D{1.0, 2.0});
        CHECK(std::get<0>(s) == std::get<0>(t));
        CHECK(close(ys, zs));
    }
    CHECK(frozen.stats().traces == 1);
}

TEST_CASE("the host is called by replays, once each time")
{
    std::vector<double> seen;
    const auto say = [&](const D& v) { seen.push_back(v.item()); };
    auto frozen = freeze([&](const D& x) {
        host_callback([&] { seen.push_back(0.0); });
        host_callback(say, x);
        const D y = scan(
                        [&](const D& s) {
                            host_callback(say, s * s);
                            return std::pair(2.0 * s, std::tuple());
                        },
                        x, 2)
                        .first;
        host_callback(say, -y);
        return y;
    });
    for (const double x : {1.0, 3.0, 5.0, 7.0, 2.0}) {
        seen.clear();
        CHECK(frozen(D(x)).item() == 4.0 * x);
        CHECK(seen == std::vector<double>{0.0, x, x * x, 4.0 * x * x, -4.0 * x});
    }
}

TEST_CASE("what nobody reads of a loop is neither computed nor kept")
{
    const auto f = [](const D& k, const D& s) {  // the rule reads the positions only
        const auto [end, path] = scan(
            [&](const Oscillator& o) {
                const D p = o.p - 0.1 * k * o.q, q = o.q + 0.1 * p;
                return std::pair(Oscillator{q, p}, std::tuple(sin(q), exp(p)));
            },
            Oscillator{s, zeros_like(s)}, 100);
        return sum(end.q);
    };
    const auto frozen = freeze(value_and_grad<0, 1>(f));
    const D k(2.0), s = {0.3, -0.2};
    for (int i = 0; i < 2; ++i) {
        const auto [v, g] = frozen(k, s);
        const auto [w, h] = value_and_grad<0, 1>(f)(k, s);
        CHECK(v.item() == w.item());
        CHECK(close(std::get<0>(g), std::get<0>(h)));
        CHECK(close(std::get<1>(g), std::get<1>(h)));
    }
    std::int64_t elements = 0;
    for (const GraphNode& n : frozen.graph(k, s).nodes())
        if (const auto* l = loop_parameters(n)) elements = std::max(elements, l->size);
    CHECK(elements == 2 + 100 * 2);
}
