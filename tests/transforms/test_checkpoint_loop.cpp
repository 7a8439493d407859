// checkpoint_loop: the plain loop's bits, in the least number of forward steps that the snapshots allow.
#include "catch.hpp"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <limits>
#include <cmath>
#include <map>

#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/random.hpp>
#include <wengert/transforms/check_grads.hpp>
#include <wengert/transforms/checkpoint_loop.hpp>

using namespace wengert;

namespace {

using D = Tensor<double>;

/// t(l, s) = min over m of m + t(l − m, s − 1) + t(m, s): the definition, by trying all m.
std::uint64_t least(std::uint64_t l, std::uint64_t s,
                    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t>& known)
{
    if (l <= 1) return 0;
    if (s == 1) return l * (l - 1) / 2;
    auto& t = known[{l, s}];
    if (t > 0) return t;
    std::uint64_t best = ~std::uint64_t{0};
    for (std::uint64_t m = 1; m < l; ++m)
        best = std::min(best, m + least(l - m, s - 1, known) + least(m, s, known));
    return known[{l, s}] = best;
}

const auto step = [](const D& u) { return u + 0.1 * sin(u); };

D plain_loop(D u, int n)
{
    for (int i = 0; i < n; ++i) u = step(u);
    return u;
}

struct Walker {
    D u;
    int n;
    Key key;
};

struct Particle {
    D position, velocity;
};

/// A lower limit of the process's while it lives.
class Limit {
public:
    Limit(decltype(RLIMIT_NOFILE) what, rlim_t n) : what_(what)
    {
        ::getrlimit(what_, &before_);
        const rlimit now{n, before_.rlim_max};
        ::setrlimit(what_, &now);
    }
    Limit(const Limit&) = delete;
    Limit& operator=(const Limit&) = delete;
    ~Limit() { ::setrlimit(what_, &before_); }

private:
    decltype(RLIMIT_NOFILE) what_;
    rlimit before_{};
};

std::size_t files_in(const std::string& folder)
{
    std::size_t n = 0;
    DIR* d = ::opendir(folder.c_str());
    while (const dirent* e = ::readdir(d)) n += e->d_name[0] != '.';
    ::closedir(d);
    return n;
}

}  // namespace

TEST_CASE("the binomial schedule needs the least number of forward steps")
{
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> known;
    for (std::uint64_t l = 1; l <= 60; ++l)
        for (std::uint64_t s = 1; s <= 8; ++s) CHECK(revolve::forward_steps(l, s) == least(l, s, known));
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    for (std::uint64_t l = 2; l <= 5; ++l) {  // as many snapshots as there are steps
        CHECK(revolve::forward_steps(l, most) == revolve::forward_steps(l, l));
        CHECK(revolve::split(l, most) == revolve::split(l, l));
    }
    CHECK(revolve::forward_steps(512, 10) == 1684);
    CHECK(revolve::forward_steps(10000, 20) == 37976);
}

TEST_CASE("a loop makes as many forward steps as planned and has the plain loop's bits")
{
    const D u{0.3, -1.2, 2.0};
    for (int n : {0, 1, 2, 7, 40})
        for (std::uint64_t s : {1, 2, 3, 50}) {
            LoopReport report;
            const auto kept = [&](const D& u) {
                return sum(square(checkpoint_loop(
                    step, u, {.steps = static_cast<std::uint64_t>(n), .snapshots = s, .report = &report})));
            };
            const auto plain = [&](const D& u) { return sum(square(plain_loop(u, n))); };
            CHECK(allclose(grad(kept)(u), grad(plain)(u), 0.0));
            CHECK(report.forward == report.planned);
            CHECK(report.recorded == static_cast<std::uint64_t>(n));
        }
}

TEST_CASE("no more states are alive than snapshots were asked for")
{
    const D u = normal<double>(Key(1), {4096});
    const auto before = memory::stats().current_bytes;
    memory::reset_peak();
    static_cast<void>(
        grad([&](const D& u) { return sum(checkpoint_loop(step, u, {.steps = 100, .snapshots = 5})); })(u));
    const auto state = static_cast<std::int64_t>(u.size() * sizeof(double));
    // five snapshots (one of them u itself), what one step records and computes, cotangents
    CHECK(memory::stats().peak_bytes - before <= (5 + 8) * state);
}

TEST_CASE("a struct as state, outputs at each step, something for each step, and captured variables")
{
    const Particle start{D{1.0, 0.5}, D{0.0, 0.3}};
    const D stiffness{2.0, 3.0}, force = normal<double>(Key(2), {9, 2});
    const auto move = [](const D& k) {
        return [k](const Particle& p, const D& f, std::uint64_t i) {
            const D v = p.velocity + 0.1 * (f - k * p.position);
            const Particle next{p.position + 0.1 * v, v};
            return std::pair(next, sum(next.position) * static_cast<double>(i + 1));
        };
    };
    const auto kept = [&](const Particle& p, const D& k, const D& f) {
        const auto [end, y] = checkpoint_loop(move(k), p, f, {.steps = 9, .snapshots = 3});
        return sum(end.position * end.velocity) + sum(y * y);
    };
    const auto plain = [&](Particle p, const D& k, const D& f) {
        std::vector<D> y;
        for (std::uint64_t i = 0; i < 9; ++i) {
            auto [next, out] = move(k)(p, f(static_cast<std::int64_t>(i)), i);
            p = next;
            y.push_back(out);
        }
        const D all = stack(y);
        return sum(p.position * p.velocity) + sum(all * all);
    };
    const auto a = grad<0, 1, 2>(kept)(start, stiffness, force),
               b = grad<0, 1, 2>(plain)(start, stiffness, force);
    CHECK(allclose(std::get<0>(a).position, std::get<0>(b).position, 1e-15));
    CHECK(allclose(std::get<0>(a).velocity, std::get<0>(b).velocity, 1e-15));
    CHECK(allclose(std::get<1>(a), std::get<1>(b), 1e-15));
    CHECK(allclose(std::get<2>(a), std::get<2>(b), 1e-15));
    CHECK(check_grads(kept, std::tuple(start, stiffness, force), {.order = 2}).ok);
}

TEST_CASE("a loop of unknown length")
{
    const D u{0.1, 0.2};
    const auto more = [](const D& u) { return sum(u).item() < 4.0; };
    int n = 0;
    for (D v = u; more(v); v = step(v)) ++n;
    REQUIRE(n > 10);
    for (std::uint64_t s : {1, 2, 4, 100}) {
        LoopReport report;
        const auto kept = [&](const D& u) {
            return sum(square(checkpoint_loop(step, u, {.snapshots = s, .while_ = more, .report = &report})));
        };
        CHECK(
            allclose(grad(kept)(u), grad([&](const D& u) { return sum(square(plain_loop(u, n))); })(u), 0.0));
        CHECK(report.steps == static_cast<std::uint64_t>(n));
    }
}

TEST_CASE("a loop of unknown length with outputs, of which some belong to states that are let go")
{
    const D u{0.1, 0.2};
    const auto with_output = [](const D& u) { return std::pair(step(u), sum(u * u)); };
    const auto more = [](const D& u) { return sum(u).item() < 4.0; };
    const auto plain = [&](D u) {
        std::vector<D> y;
        for (; more(u); u = step(u)) y.push_back(sum(u * u));
        return sum(stack(y) * linspace<double>(1.0, 2.0, static_cast<std::int64_t>(y.size()))) + sum(u);
    };
    for (std::uint64_t s : {1, 2, 4, 100}) {
        const auto kept = [&](const D& u) {
            const auto [end, y] = checkpoint_loop(with_output, u, {.snapshots = s, .while_ = more});
            return sum(y * linspace<double>(1.0, 2.0, y.shape()[0])) + sum(end);
        };
        CHECK(kept(u).item() == plain(u).item());
        CHECK(allclose(grad(kept)(u), grad(plain)(u), 1e-14));
    }
}

TEST_CASE("a variable that only some of the steps capture")
{
    const D three(3.0);
    for (std::uint64_t s : {1, 2, 50})
        for (const std::uint64_t first : {1, 2, 3}) {  // 1 · w^(4 - first), from a state that is a constant
            LoopReport report;
            const auto kept = [&](const D& w) {
                const auto at = [w, first](const D& s, std::uint64_t i) {
                    return i < first ? s * 1.0 : s * w;
                };
                return checkpoint_loop(at, D(1.0), {.steps = 4, .snapshots = s, .report = &report});
            };
            const double power = 4.0 - static_cast<double>(first);
            CHECK(kept(three).item() == std::pow(3.0, power));
            CHECK(grad(kept)(three).item() == power * std::pow(3.0, power - 1.0));
            CHECK(grad(grad(kept))(three).item() == power * (power - 1.0) * std::pow(3.0, power - 2.0));
            CHECK(grad([&](const D& w) { return w * kept(D(w)); })(three).item() ==
                  (power + 1.0) * std::pow(3.0, power));
            static_cast<void>(grad(kept)(three));
            CHECK(report.forward <= report.planned);  // steps that depend on nothing are not swept
        }
}

TEST_CASE("a captured variable that steps return untouched, as state or as output")
{
    const D x = {0.3, 0.4}, start = {1.0, 2.0};
    for (std::uint64_t snapshots : {1, 2, 3, 7}) {
        const auto state = [&](const D& x) {
            return sum(square(
                checkpoint_loop([x](const D&) { return x; }, start, {.steps = 6, .snapshots = snapshots})));
        };
        CHECK(allclose(grad(state)(x), 2.0 * x, 0.0));
        const auto output = [&](const D& x) {
            const auto step = [x](const D& s) { return std::pair(0.5 * s, x); };
            return sum(checkpoint_loop(step, start, {.steps = 6, .snapshots = snapshots}).second);
        };
        CHECK(allclose(grad(output)(x), full<double>({2}, 6.0), 0.0));
        const auto some = [&](const D& x) {  // as state here, computed with there
            const auto step = [x](const D& s, std::uint64_t i) { return i % 3 == 1 ? x : s * x; };
            return sum(checkpoint_loop(step, start, {.steps = 6, .snapshots = snapshots}));
        };
        CHECK(allclose(grad(some)(x), 2.0 * x, 1e-15));
        const auto unknown = [&](const D& x) {
            int left = 4;
            return sum(checkpoint_loop(
                [x](const D& s) { return s + x * 0.0 + x; }, start,
                {.snapshots = snapshots, .while_ = [left](const D&) mutable { return left-- > 0; }}));
        };
        CHECK(allclose(grad(unknown)(x), full<double>({2}, 4.0), 0.0));
    }
}

TEST_CASE("states on disk, and nothing left there")
{
    char folder[] = "/tmp/wengert-test-XXXXXX";
    REQUIRE(::mkdtemp(folder));
    const D u{0.3, -1.2};
    const auto kept = [&](const D& u) {
        return sum(
            square(checkpoint_loop(step, u, {.steps = 30, .snapshots = 2, .folder = folder, .chunk = 7})));
    };
    CHECK(allclose(grad(kept)(u), grad([](const D& u) { return sum(square(plain_loop(u, 30))); })(u), 0.0));
    const auto throwing = [&](const D& u) {
        const auto fails = [](const D& u, std::uint64_t i) {
            if (i == 20) throw std::runtime_error("enough");
            return step(u);
        };
        return sum(checkpoint_loop(fails, u, {.steps = 30, .snapshots = 2, .folder = folder, .chunk = 7}));
    };
    CHECK_THROWS_WITH(grad(throwing)(u), "enough");
    CHECK(files_in(folder) == 0);
    ::rmdir(folder);
    CHECK_THROWS_AS(grad(kept)(u), MemoryError);  // the folder has gone
}

TEST_CASE("numbers and keys of the state go from step to step with its tensors")
{
    const auto move = [](const Walker& w) {
        const auto keys = split(w.key);
        return Walker{w.u * static_cast<double>(w.n) + 0.1 * uniform<double>(keys.second, {2}), w.n + 1,
                      keys.first};
    };
    const auto plain = [&](Walker w) {
        for (int i = 0; i < 9; ++i) w = move(w);
        return w;
    };
    const D u{1.0, 2.0};
    const Walker end = plain({u, 1, Key(5)});
    const auto check = [&](LoopOptions<Walker> o) {
        const auto run = [&](const D& u) { return checkpoint_loop(move, Walker{u, 1, Key(5)}, o); };
        const Walker w = run(u);  // nothing is recorded
        CHECK((w.n == end.n && w.key == end.key && allclose(w.u, end.u, 0.0)));
        const auto loss = [&](const D& u) {
            const Walker w = run(u);
            CHECK((w.n == end.n && w.key == end.key));
            return sum(w.u * w.u);
        };
        const auto [value, g] = value_and_grad(loss)(u);
        CHECK(value.item() == sum(end.u * end.u).item());
        CHECK(allclose(g, 2.0 * 362880.0 * end.u, 1e-15));  // d(end.u)/du = 9!
    };
    for (std::uint64_t s : {1, 2, 3, 50}) {
        check({.steps = 9, .snapshots = s});
        check({.snapshots = s, .while_ = [](const Walker& w) { return w.n < 10; }});
        check({.steps = 9, .snapshots = s, .folder = "/tmp", .chunk = 2});
    }
}

TEST_CASE("a full disk is an error, and what was written is given back")
{
    const D u = normal<double>(Key(1), {1000});
    const D small = normal<double>(Key(2), {100});
    auto store = std::make_shared<detail::SnapshotStore>("/tmp", "checkpoint_loop", Site{});
    const Limit limit(RLIMIT_FSIZE, 10000);  // bytes of a file
    const auto before = ::signal(SIGXFSZ, SIG_IGN);
    const detail::Snapshot first(store, {u.any().value});
    CHECK_THROWS_WITH(detail::Snapshot(store, {small.any().value, u.any().value}),
                      contains("checkpoint_loop") && contains("cannot write a snapshot of 8000 bytes"));
    for (int i = 0; i < 10; ++i) {
        const detail::Snapshot again(store, {small.any().value});
        CHECK(allclose(D(AnyTensor{again.read(0), {}}), small, 0.0));
    }
    ::signal(SIGXFSZ, before);
    CHECK(allclose(D(AnyTensor{first.read(0), {}}), u, 0.0));
    detail::SnapshotStore nowhere("/tmp/wengert-no-such-folder", "checkpoint_loop", Site{});
    CHECK_THROWS_WITH(nowhere.put(*u.any().value), contains("cannot make a file"));
}

TEST_CASE("as many states on disk as one likes take one file")
{
    const D u{0.3, -1.2};
    const Limit limit(RLIMIT_NOFILE, 32);
    const auto kept = [&](const D& u) {
        return sum(
            square(checkpoint_loop(step, u, {.steps = 100, .snapshots = 2, .folder = "/tmp", .chunk = 1})));
    };
    CHECK(allclose(grad(kept)(u), grad([](const D& u) { return sum(square(plain_loop(u, 100))); })(u), 0.0));
}

TEST_CASE("loops that cannot be")
{
    const D u{1.0, 2.0};
    const auto with = [&](LoopOptions<D> o) {
        return grad([&](const D& u) { return sum(checkpoint_loop(step, u, o)); })(u);
    };
    CHECK_THROWS_WITH(with({.steps = 3}), contains("snapshots"));
    CHECK_THROWS_AS(with({.steps = 3, .memory = 8}), MemoryError);
    CHECK(allclose(with({.steps = 3, .memory = 64}), with({.steps = 3, .snapshots = 4}), 0.0));
    const auto grows = [](const D& u) { return u(0); };
    CHECK_THROWS_AS(
        grad([&](const D& u) { return sum(checkpoint_loop(grows, u, {.steps = 3, .snapshots = 2})); })(u),
        ShapeError);
}

TEST_CASE("A loop of unknown length gives its outputs in every mode")
{
    const auto loop = [](const D& x) {
        return checkpoint_loop([](const D& s) { return std::pair(s * s, D(3.0 * s)); }, x,
                               {.snapshots = 4, .while_ = [](const D& s) { return s.item() < 10.0; }});
    };
    const auto loss = [&](const D& x) { return sum(loop(x).second); };  // 3 x + 3 x² at 2
    const D x(2.0), one(1.0);
    CHECK(loss(x).item() == 18.0);
    CHECK(grad(loss)(x).item() == 15.0);
    CHECK(jvp(loss, x, one).second.item() == 15.0);
    CHECK(hvp(loss)(x, one).item() == 6.0);
    CHECK(check_grads(loss, x, {.order = 2}).message == "");
    const NoGrad unrecorded;
    CHECK(loop(x).second.shape() == Shape{2});
    const auto bounded =
        checkpoint_loop([](const D& s) { return std::pair(s * s, D(3.0 * s)); }, x,
                        {.steps = 9, .snapshots = 4, .while_ = [](const D& s) { return s.item() < 10.0; }});
    CHECK(bounded.second.shape() == Shape{2});
}

TEST_CASE("A loop over xs has as many steps as there are parts, and no more")
{
    const auto step = [](const D& s, const D& q) { return s * q; };
    const D xs{0.3, 0.5, 0.7}, s(2.0);
    const auto loss = [&](const D& q) { return checkpoint_loop(step, s, q, {.snapshots = 2}); };
    CHECK(loss(xs).item() == 2.0 * 0.3 * 0.5 * 0.7);
    CHECK(allclose(grad(loss)(xs), D{0.7, 0.42, 0.3}, 1e-15));
    CHECK(checkpoint_loop(step, s, xs, {.steps = 2, .snapshots = 2}).item() == 2.0 * 0.3 * 0.5);
    CHECK(checkpoint_loop(step, s, xs, {.snapshots = 2, .while_ = [](const D&) { return true; }}).item() ==
          loss(xs).item());
    using Pair = std::pair<D, D>;
    const auto of_pair = [](const D& t, const Pair& q) { return t * q.first + q.second; };
    const auto refuses = [](const auto& f, const char* what) {
        try {
            f();
            FAIL_CHECK("not refused: " << what);
        } catch (const ShapeError& e) {
            INFO(e.what());
            CHECK(std::string(e.what()).find(what) != std::string::npos);
            CHECK(std::string(e.what()).find("test_checkpoint_loop.cpp") != std::string::npos);
        }
    };
    const LoopOptions<D> ever{.snapshots = 2, .while_ = [](const D&) { return true; }};
    CHECK(checkpoint_loop(step, s, D(zeros<double>({0})), ever).item() == 2.0);
    using Absent = std::optional<D>;
    const auto forced = [](const D& t, const Absent& q) { return q ? t * *q : t * 2.0; };
    CHECK(checkpoint_loop(forced, s, Absent(), {.steps = 3, .snapshots = 2}).item() == 16.0);
    refuses([&] { checkpoint_loop(step, s, xs, {.steps = 5, .snapshots = 2}); },
            "5 steps where xs has 3 parts");
    refuses(
        [&] {
            checkpoint_loop(of_pair, s, Pair(xs, D{1.0, 2.0}), {.snapshots = 2});
        },
        "xs has a tensor of shape (2) where 3 parts are expected");
}
