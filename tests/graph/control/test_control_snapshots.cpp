// scan with memory for few states: the bits of the plain scan, the steps of the formula, eager and frozen.
#include "catch.hpp"
#include "same_bits.hpp"

#include <wengert/wengert.hpp>

using namespace wengert;
using D = Tensor<double>;

namespace {

struct Force {
    D at;
    Key noise;  ///< the same in every step
};
struct Walker {
    D x;
    Tensor<float> slow;
    Tensor<std::int64_t> count;
    Key key;
};

template <class X> bool same_all(const X& a, const X& b)
{
    bool all = true;
    tree::zip_for_each([&](const auto& x, const auto& y) { all = all && identical(x, y); }, a, b);
    return all;
}

/// n over k, from Pascal's triangle.
std::uint64_t choose(std::uint64_t n, std::uint64_t k)
{
    std::vector<std::uint64_t> row{1};
    for (std::uint64_t i = 0; i < n; ++i) {
        row.push_back(1);
        for (std::size_t j = row.size() - 2; j > 0; --j) row[j] += row[j - 1];
    }
    return row[k];
}
/// r·l − C(s + r, r − 1), r the least with C(s + r, s) ≥ l.
std::uint64_t forward_steps(std::uint64_t l, std::uint64_t s)
{
    std::uint64_t r = 0;
    while (choose(s + r, s) < l) ++r;
    return r == 0 ? 0 : r * l - choose(s + r, r - 1);
}

/// A walk with a captured weight, forces and noise; `snapshots` 0 is the scan without options.
D walk(const D& w, const D& start, const D& forces, const Key& key, std::uint64_t snapshots,
       LoopReport* report = nullptr)
{
    const auto body = [w](const Walker& s, const Force& f) {
        const auto [mine, next] = split(s.key);
        const D x = tanh(w * s.x + f.at) + 0.01 * normal<double>(mine, {2}) +
                    0.1 * normal<double>(f.noise, {2}) * cast<double>(s.slow) / cast<double>(s.count);
        return std::pair(Walker{x, 0.5F * s.slow + cast<float>(sum(x)), s.count + 1, next},
                         std::tuple(x * f.at, sum(s.x), s.count));
    };
    const Walker first{start, Tensor<float>(0.25F), Tensor<std::int64_t>(std::int64_t{1}), key};
    const Force xs{forces, key.child(7, 0)};
    const auto [last, ys] =
        snapshots ? scan(body, first, xs, {.snapshots = snapshots, .report = report}) : scan(body, first, xs);
    const auto& [products, sums, counts] = ys;
    return sum(square(last.x)) + cast<double>(last.slow) + sum(square(products)) + sum(sums * sums) +
           cast<double>(sum(counts));
}
auto walk_gradient(std::uint64_t snapshots, LoopReport* report = nullptr)
{
    return [=](const D& w, const D& s, const D& forces, const Key& key) {
        return value_and_grad<0, 1, 2>([&](const D& w, const D& s, const D& forces) {
            return walk(w, s, forces, key, snapshots, report);
        })(w, s, forces);
    };
}

const GraphNode* node_named(const Graph& g, std::string_view name)
{
    for (const GraphNode& n : g.nodes())
        if (n.primitive && n.primitive->name == name) return &n;
    return nullptr;
}

}  // namespace

TEST_CASE("values and gradients have the bits of the plain scan, the steps are the formula's")
{
    const D w = {0.7, -1.1}, start = {0.0, 0.5}, forces = uniform<double>(Key(3), {37, 2});
    const auto eager = walk_gradient(0);
    const auto frozen = freeze(eager);
    for (const std::uint64_t s : {1U, 2U, 3U, 10U, 36U, 37U, 100U}) {
        LoopReport report;
        const auto bounded = walk_gradient(s, &report);
        CHECK(same_all(bounded(w, start, forces, Key(1)), eager(w, start, forces, Key(1))));
        CHECK(report.planned == forward_steps(37, s));
        CHECK(report.forward == report.planned);
        CHECK(report.recorded == 37);
        const auto f = freeze(walk_gradient(s));
        for (std::uint64_t seed = 0; seed < 3; ++seed)
            CHECK(same_all(f(w, start, forces, Key(seed)), frozen(w, start, forces, Key(seed))));
        CHECK(f.stats().traces == 1);
        const Graph g = f.graph(w, start, forces, Key(0));
        const GraphNode* pull = node_named(g, "scan_pull");
        REQUIRE((pull != nullptr) == (s < 37));
        if (!pull) continue;
        CHECK(loop_report(*pull).planned == forward_steps(37, s));
        CHECK(loop_report(*pull).forward == loop_report(*pull).planned);
        CHECK(loop_report(*pull).recorded == 37);
        CHECK(loop_report(*node_named(g, "scan")).forward == 37);
    }
}

TEST_CASE("10,000 steps: 37,976 forward steps with 20 snapshots, and memory for these")
{
    const std::int64_t n = 128;
    const D u0 = linspace<double>(-1.0, 1.0, n), k(0.3);
    const auto loss = [](std::uint64_t snapshots) {
        return [=](const D& u, const D& k) {
            const auto body = [k](const D& u) { return std::pair(u - 0.001 * k * u * u, std::tuple()); };
            return sum(square(
                (snapshots ? scan(body, u, 10000, {.snapshots = snapshots}) : scan(body, u, 10000)).first));
        };
    };
    const auto plain = freeze(value_and_grad<0, 1>(loss(0)));
    const auto bounded = freeze(value_and_grad<0, 1>(loss(20)));
    const auto measured = [&](const auto& f) {
        static_cast<void>(f(u0, k));
        memory::trim();
        memory::reset_peak();
        const auto before = memory::stats().current_bytes;
        auto result = f(u0, k);
        return std::pair(static_cast<std::size_t>(memory::stats().peak_bytes - before), result);
    };
    const auto [all, expected] = measured(plain);
    const auto [few, result] = measured(bounded);
    CHECK(same_all(result, expected));
    const std::size_t state = static_cast<std::size_t>(n) * sizeof(double);  // a size class
    CHECK(all > 10000 * state);
    CHECK(few < 64 * state);  // the pass forward keeps 20, as many are made on the way back, in size classes
    const Graph g = bounded.graph(u0, k);
    const LoopReport report = loop_report(*node_named(g, "scan_pull"));
    CHECK(report.forward == 37976);
    CHECK(report.planned == 37976);
}

TEST_CASE("derivatives of any order and mode")
{
    const D forces = uniform<double>(Key(3), {11, 2}), w = {0.7, -1.1}, s = {0.2, 0.5}, v = {1.0, -0.3};
    const auto f = [&](std::uint64_t snapshots) {
        return [&, snapshots](const D& x) {
            const auto body = [c = w * x](const D& s, const D& force) {
                const D next = tanh(c * s + force);
                return std::pair(next, std::tuple(next * force, sum(next)));
            };
            const auto [last, ys] =
                snapshots ? scan(body, x, forces * x, {.snapshots = snapshots}) : scan(body, x, forces * x);
            return sum(last * x) + sum(square(std::get<0>(ys))) + sum(std::get<1>(ys));
        };
    };
    const auto close = [](const D& a, const D& b) { return allclose(a, b, 1e-10); };
    const D expected = hvp(f(0))(s, v);
    CHECK(close(hvp(f(3))(s, v), expected));
    CHECK(close(freeze(hvp(f(3)))(s, v), expected));
    CHECK(close(hvp(freeze(f(3)))(s, v), expected));
    CHECK(close(jvp(grad(f(3)), s, v).second, expected));
    CHECK(close(freeze(grad([&](const D& x) { return sum(v * grad(f(3))(x)); }))(s), expected));
    CHECK(close(grad([&](const D& x) { return sum(v * freeze(grad(f(3)))(x)); })(s), expected));
    CHECK(close(freeze(hessian(f(3)))(s), hessian(f(0))(s)));
    CHECK(close(jvp(freeze(f(3)), s, v).second, jvp(f(0), s, v).second));
    const auto third = [&](std::uint64_t n) {
        return grad([&, n](const D& x) { return sum(hvp(f(n))(x, v)); });
    };
    CHECK(close(freeze(third(3))(s), third(0)(s)));
}

TEST_CASE("scans with snapshots in each other")
{
    const auto nested = [](std::uint64_t outer, std::uint64_t inner) {
        return [=](const D& w, const D& xs) {
            const auto step = [=](const D& s, const D& x) {
                const auto small = [=](const D& u) { return std::pair(sin(u * w + x), u * x); };
                const auto [c, ys] = inner ? scan(small, s, 7, {.snapshots = inner}) : scan(small, s, 7);
                return std::pair(c, sum(ys));
            };
            const auto [s, ys] =
                outer ? scan(step, 0.5 * w, xs, {.snapshots = outer}) : scan(step, 0.5 * w, xs);
            return sum(s * s) + sum(square(ys));
        };
    };
    const D w = {0.3, -0.7}, xs = uniform<double>(Key(2), {9});
    const auto expected = value_and_grad<0, 1>(nested(0, 0))(w, xs);
    const auto frozen = freeze(value_and_grad<0, 1>(nested(0, 0)))(w, xs);
    for (const auto& [outer, inner] : {std::pair(3U, 0U), std::pair(0U, 2U), std::pair(3U, 2U)}) {
        CHECK(same_all(value_and_grad<0, 1>(nested(outer, inner))(w, xs), expected));
        const auto f = freeze(value_and_grad<0, 1>(nested(outer, inner)));
        for (int i = 0; i < 2; ++i) CHECK(same_all(f(w, xs), frozen));
    }
}

TEST_CASE("bodies on large arrays are compiled, and run again")
{
    const auto heat = [](std::uint64_t snapshots) {
        return [=](const D& k, const D& start, const D& sources) {
            const auto step = [k](const D& u, const D& s) {
                D next = u + s * exp(-square(u));
                view(next, range(1, -1)) += k * (view(u, range(2, placeholders::_)) -
                                                 2.0 * view(u, range(1, -1)) + view(u, range(0, -2)));
                return std::pair(next, mean(next));
            };
            const auto [end, means] =
                snapshots ? scan(step, start, sources, {.snapshots = snapshots}) : scan(step, start, sources);
            return sum(square(end)) + sum(means);
        };
    };
    const D start = uniform<double>(Key(1), {5000}), sources = uniform<double>(Key(2), {9, 5000}), k(0.2);
    const auto plain = freeze(value_and_grad<0, 1, 2>(heat(0))),
               bounded = freeze(value_and_grad<0, 1, 2>(heat(2)));
    for (int i = 0; i < 2; ++i) CHECK(same_all(bounded(k, start, sources), plain(k, start, sources)));
}

TEST_CASE("decisions in plain C++, the host, and what cannot be kept")
{
    const auto f = [](std::uint64_t snapshots) {
        return [=](const D& x) {
            const auto body = [](const D& s) { return std::pair(s < 4.0 ? 2.0 * s : s - 4.0, s * s); };
            const auto [end, ys] = snapshots ? scan(body, x, 5, {.snapshots = snapshots}) : scan(body, x, 5);
            return end + sum(ys);
        };
    };
    const auto frozen = freeze(value_and_grad(f(2)));
    for (const double x : {0.1, 0.2, 1.5, 1.6, 0.3, 9.0}) {
        const auto [v, g] = frozen(D(x));
        const auto [u, h] = value_and_grad(f(0))(D(x));
        CHECK(v.item() == u.item());
        CHECK(g.item() == h.item());
    }
    std::vector<double> seen;
    const auto say = [&](const D& s) {
        return scan(
                   [&](const D& s) {
                       host_callback([&](const D& v) { seen.push_back(v.item()); }, s);
                       return std::pair(2.0 * s, std::tuple());
                   },
                   s, 4, {.snapshots = 2})
            .first;
    };
    const auto spoken = freeze(grad(say));
    CHECK(spoken(D(1.0)).item() == 16.0);
    seen.clear();
    CHECK(spoken(D(1.0)).item() == 16.0);
    CHECK(seen == std::vector<double>{1.0, 2.0, 4.0, 8.0});  // steps that run again do not call it

    const auto counts = [](const D& x) {
        return scan(
                   [](const std::tuple<D, int>& s) {
                       const auto& [y, i] = s;
                       return std::pair(std::tuple(y * static_cast<double>(i), i + 1), std::tuple());
                   },
                   std::tuple(x, 1), 5, {.snapshots = 2})
            .first;
    };
    {
        const NoGrad unrecorded;
        CHECK(std::get<0>(counts(D(1.0))).item() == 120.0);
    }
    CHECK_THROWS_AS(grad([&](const D& x) { return std::get<0>(counts(x)); })(D(1.0)), TapeError);
    CHECK_THROWS_AS(scan([](const D& s) { return std::pair(s, s); }, D(1.0), -1, {.snapshots = 2}),
                    ShapeError);
}

TEST_CASE("no steps, one step, no memory asked for")
{
    for (const std::int64_t steps : {0, 1, 2})
        for (const std::uint64_t s : {0U, 1U}) {
            const auto f = [&](bool options) {
                return [=](const D& x) {
                    const auto body = [x](const D& u) { return std::pair(sin(u) * x, u); };
                    const auto [end, ys] =
                        options ? scan(body, x, steps, {.snapshots = s}) : scan(body, x, steps);
                    return sum(end) + sum(ys);
                };
            };
            const D x = {0.3, 0.6};
            CHECK(identical(grad(f(true))(x), grad(f(false))(x)));
            CHECK(identical(freeze(grad(f(true)))(x), freeze(grad(f(false)))(x)));
        }
}
