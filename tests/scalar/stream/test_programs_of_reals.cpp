// Random programs of Reals that go by way of tensors, loops, threads, inner derivatives of every kind, checkpoints, rules of their own,
// exceptions and rewinding: reverse mode beside forward mode, beside backward, in chunks of the stream of any length, in a checkpoint,
// under AnomalyMode and hooks; second derivatives by all pairs of modes, third ones by four.
#include "catch.hpp"

#include <wengert/graph/control/control.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/scalar.hpp>
#include <wengert/transforms/saved_tensor_hooks.hpp>

#include <random>

namespace wg = wengert;
using R = wg::Real<double>;
using D = wg::Tensor<double>;

namespace {

// Sanitizers make a program ten times as slow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr unsigned parts = 2;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr unsigned parts = 2;
#else
constexpr unsigned parts = 15;
#endif
#else
constexpr unsigned parts = 15;
#endif

using Reals = std::vector<R>;
// One type of function each, so that each transform is compiled once.
using OfReals = std::function<R(const Reals&)>;
using ToReals = std::function<Reals(const Reals&)>;

struct Program {
    unsigned seed;
    int steps, depth = 0;

    R operator()(const std::vector<R>& v) const
    {
        std::mt19937 r(seed);
        std::vector<R> pool(v);
        const auto pick = [&]() -> R& { return pool[r() % pool.size()]; };
        for (int s = 0; s < steps; ++s) {
            step(static_cast<unsigned>(r()), r, pool, pick);
            if (pool.size() > 12) pool.erase(pool.begin() + static_cast<std::ptrdiff_t>(r() % pool.size()));
        }
        R sum = 0.0;
        for (const R& x : pool) sum += 0.1 * x * x;
        return sum;
    }

private:
    template <class Pick>
    void step(unsigned op, std::mt19937& r, std::vector<R>& pool, const Pick& pick) const
    {
        const R a = pick(), b = pick(), c = pick();
        switch (op % 20) {
        case 0: return pool.push_back(0.5 * (a * b) + 0.1 * a);
        case 1: return pool.push_back(sin(a) + a * 0.3);
        case 2: return pool.push_back(a / (2.0 + b * b));
        case 3:
        case 4: return pool.push_back(wg::real(wg::tensor(a)));
        case 5:
            for (const R& e : wg::elements(tanh(wg::stack(std::vector<R>{a, b, c})))) pool.push_back(e);
            return;
        case 6:
            return pool.push_back(wg::real(sum(square(wg::stack(std::vector<R>{a, R(0.7), b, c})) * 0.1)));
        case 7: {
            if (depth == 2) return;
            const Program inner{static_cast<unsigned>(r()), 5, depth + 1};
            return pool.push_back(wg::grad([&](const R& x) {
                                      return inner(std::vector<R>{x, a, b * x});
                                  })(c) *
                                  0.05);
        }
        case 8: {
            if (depth == 2) return;
            const Program inner{static_cast<unsigned>(r()), 6, 2};
            const auto f = [=](const R& x, const R& y) { return inner(std::vector<R>{x, y, x * y}); };
            return pool.push_back(wg::checkpoint(f)(a, b) * 0.2);
        }
        case 9:
        case 10: pick() = tanh(a * 0.5 + b * 0.25); return;
        default: pool.push_back(within(op % 20, static_cast<unsigned>(r()), {a, b, c}) * 0.1);
        }
    }

    /// A program in this one, taken by a transform.
    R within(unsigned op, unsigned inner_seed, const Reals& x) const
    {
        if (depth == 2) return x[0] * x[1];
        const Program inner{inner_seed, 4, depth + 1};
        const OfReals one = inner;
        const ToReals two = [inner](const Reals& v) { return Reals{inner(v), sin(v[1]) * v[0]}; };
        switch (op) {
        case 11: return wg::jvp(one, x, Reals{x[1], x[2], x[0]}).second;
        case 12: {
            const D J = wg::jacobian(two)(x);
            return wg::real(sum(tanh(J) * J));
        }
        case 13: {
            const auto [y, pullback] = wg::vjps(two, x);
            const std::vector<Reals> rows = pullback({{1.0, 0.0}, {0.0, 1.0}});
            return tanh(rows[0][0]) * rows[1][1] + y[0];
        }
        case 14: return depth == 1 ? x[2] : tanh(wg::hvp(one)(x, x)[0]);
        case 15: return wg::preaccumulate(two)(x)[0];
        case 16: return thrown(one, x) * x[0];
        case 17: {
            const auto here = wg::Tape::current().mark();
            const R tried = one(x) + wg::real(wg::tensor(x[0] * x[1]));
            wg::Tape::current().rewind(here);
            return x[0] * tried.detach();
        }
        case 18: {
            const auto each = [one](std::size_t i, const Reals& v) { return one({v[i], v[1], v[0]}) * v[2]; };
            const Reals all = wg::parallel_for(2, each, x, {.chunks = 2, .threads = 1});
            return all[0] + all[1];
        }
        default: {
            const auto body = [two](const D& s) {
                const Reals now = wg::elements(s);
                return std::pair(wg::stack(two({now[0], now[1], R(0.3)})), std::tuple());
            };
            return wg::real(sum(tanh(wg::scan(body, wg::stack(Reals{x[0], x[1]}), 2).first)));
        }
        }
    }
    /// Exceptions out of a gradient and out of a checkpoint leave nothing behind.
    static R thrown(const OfReals& one, const Reals& x)
    {
        struct Thrown {};
        const OfReals throws = [one](const Reals& v) -> R {
            if (one(v) == 1e300) return v[0];
            throw Thrown();
        };
        try {
            static_cast<void>(wg::grad(throws)(x));
        } catch (const Thrown&) {}
        try {
            static_cast<void>(wg::checkpoint(throws)(x));
        } catch (const Thrown&) {}
        return x[1];
    }
};

bool near(double a, double b) { return std::abs(a - b) <= 1e-10 * (1 + std::abs(b)); }

void check(const Program& f)
{
    CAPTURE(f.seed, f.steps);
    const wg::TapeScope tape;  // for numbers that backward does not sweep
    const std::vector<R> v{0.3 + 0.01 * (f.seed % 7), -0.4, 0.8};
    const std::vector<R> g = wg::grad(f)(v);
    for (std::size_t k = 0; k < v.size(); ++k) {
        std::vector<R> e(v.size(), R(0.0));
        e[k] = 1.0;
        CHECK(near(g[k].value(), wg::jvp(f, v, e).second.value()));
    }
    std::vector<R> w(v);
    for (R& x : w) x.requires_grad();
    wg::backward(f(w));
    for (std::size_t k = 0; k < v.size(); ++k) CHECK(near(w[k].grad(), g[k].value()));
    for (R& x : w) x.requires_grad(false);
    wg::ScalarStream& stream = wg::ScalarStream::of(wg::Tape::current());
    for (const std::size_t chunk : {16U, 40U}) {
        const wg::ScalarBudget before = stream.set_budget({.chunk = chunk});
        const std::vector<R> parts = wg::grad(f)(v);
        stream.set_budget(before);
        for (std::size_t k = 0; k < v.size(); ++k) CHECK(parts[k].value() == g[k].value());
    }
}

R along(const std::vector<R>& g, const std::vector<R>& d)
{
    R sum = 0.0;
    for (std::size_t k = 0; k < g.size(); ++k) sum += g[k] * d[k];
    return sum;
}

/// Forward over reverse, whose adjoints carry tangents, beside reverse over reverse, which is recorded, and forward over forward.
void check_second(const Program& f)
{
    CAPTURE(f.seed, f.steps);
    const std::vector<R> v{0.3 + 0.01 * (f.seed % 7), -0.4, 0.8}, d{0.7, -1.1, 0.4};
    const std::vector<R> h = wg::hvp(f)(v, d);
    const std::vector<R> twice =
        wg::grad([&](const std::vector<R>& x) { return along(wg::grad(f)(x), d); })(v);
    for (std::size_t k = 0; k < v.size(); ++k) {
        std::vector<R> e(v.size(), R(0.0));
        e[k] = 1.0;
        const auto slope = [&](const std::vector<R>& x) { return wg::jvp(f, x, e).second; };
        CHECK(near(h[k].value(), twice[k].value()));
        CHECK(near(h[k].value(), wg::jvp(slope, v, d).second.value()));
    }
    wg::ScalarStream& stream = wg::ScalarStream::of(wg::Tape::current());
    for (const std::size_t chunk : {16U, 40U}) {
        const wg::ScalarBudget before = stream.set_budget({.chunk = chunk});
        const std::vector<R> parts = wg::hvp(f)(v, d);
        stream.set_budget(before);
        for (std::size_t k = 0; k < v.size(); ++k) CHECK(near(parts[k].value(), h[k].value()));
    }
}

/// A gradient, and a tangent, of forward over reverse: there tangents depend on levels themselves.
void check_third(const Program& f)
{
    CAPTURE(f.seed, f.steps);
    const std::vector<R> v{0.3 + 0.01 * (f.seed % 7), -0.4, 0.8}, d{0.7, -1.1, 0.4};
    const auto curvature = [&](const std::vector<R>& x) { return along(wg::hvp(f)(x, d), d); };
    const R by_reverse = along(wg::grad(curvature)(v), d), by_forward = wg::jvp(curvature, v, d).second;
    const auto second = [&](const std::vector<R>& x) {
        return along(wg::grad([&](const std::vector<R>& z) { return along(wg::grad(f)(z), d); })(x), d);
    };
    CHECK(near(by_reverse.value(), by_forward.value()));
    CHECK(near(by_reverse.value(), along(wg::grad(second)(v), d).value()));
    const auto of_tangent = [&](const std::vector<R>& w) { return along(wg::hvp(f)(v, w), d); };
    const std::vector<R> by_tangent = wg::grad(of_tangent)(d),
                         h = wg::hvp(f)(v, d);  // the Hessian is symmetric
    for (std::size_t k = 0; k < v.size(); ++k) CHECK(near(by_tangent[k].value(), h[k].value()));
    const auto bent = [&](const Reals& x) {
        return wg::jvp([&](const Reals& z) { return wg::jvp(f, z, d).second; }, x, d).second;
    };
    CHECK(near(along(wg::grad(bent)(v), d).value(), by_reverse.value()));
    wg::ScalarStream& stream = wg::ScalarStream::of(wg::Tape::current());
    for (const std::size_t chunk : {60U, 300U}) {
        const wg::ScalarBudget before = stream.set_budget({.chunk = chunk});
        const R in_chunks = along(wg::grad(bent)(v), d);
        stream.set_budget(before);
        CHECK(near(in_chunks.value(), by_reverse.value()));
    }
}

/// In a checkpoint, whose second run does what the first did, by itself, under AnomalyMode, and with arguments from disk.
void check_kept(const Program& f)
{
    CAPTURE(f.seed, f.steps);
    const Reals v{0.3 + 0.01 * (f.seed % 7), -0.4, 0.8}, g = wg::grad(f)(v);
    const auto same = [&] {
        const Reals kept = wg::grad(wg::checkpoint(f))(v);
        for (std::size_t k = 0; k < v.size(); ++k) CHECK(near(kept[k].value(), g[k].value()));
    };
    same();
    if (const wg::AnomalyMode births; true) same();
    const wg::SavedTensorHooks disk(wg::save_on_disk("/tmp"));
    same();
}

}  // namespace

TEST_CASE("Random programs of Reals have one second derivative by every pair of modes")
{
    for (unsigned seed = 0; seed < 10 * parts; ++seed) check_second({seed, 4 + static_cast<int>(seed % 12)});
    for (unsigned seed = 0; seed < 2 * parts; ++seed) check_third({seed, 4 + static_cast<int>(seed % 8)});
}

TEST_CASE("Random programs of Reals have one derivative in a checkpoint and without")
{
    for (unsigned seed = 0; seed < 7 * parts; ++seed) check_kept({seed, 4 + static_cast<int>(seed % 8)});
}

TEST_CASE("Random programs of Reals have one derivative by every road")
{
    for (unsigned seed = 0; seed < 30 * parts; ++seed) check({seed, 4 + static_cast<int>(seed % 12)});
}
