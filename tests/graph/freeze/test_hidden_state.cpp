// Structs with parts that reflection cannot see as arguments and results of frozen functions and as states of loops.
#include "catch.hpp"

#include <chrono>
#include <complex>
#include <memory>
#include <variant>

#include <wengert/wengert.hpp>

namespace wg = wengert;
using D = wg::Tensor<double>;

namespace {

class Body {
public:
    Body(D x, D v, int order) : x_(std::move(x)), v_(std::move(v)), order_(order) {}
    auto fields() { return std::tie(x_, v_, order_, key_); }
    const D& x() const { return x_; }
    const D& v() const { return v_; }
    int order() const { return order_; }
    Body kicked(const D& dt) const
    {
        Body b = *this;
        b.v_ = v_ - dt * x_ * static_cast<double>(order_);
        b.x_ = x_ + dt * b.v_;
        return b;
    }
    Body jittered() const
    {
        Body b = *this;
        auto [now, next] = wg::split(key_);
        b.x_ = x_ + wg::normal<double>(now, x_.shape());
        b.key_ = next;
        return b;
    }

private:
    D x_, v_;
    int order_;
    wg::Key key_{3};
};
struct World {
    Body body;
    D dt;
    std::variant<int, D> drag = D(0.5);
    std::chrono::seconds clock{0};
    std::complex<double> phase{1.0, 0.0};
};
World world() { return {Body(D{1.0, 2.0}, D{0.5, -0.5}, 2), D(0.1)}; }
World step(const World& w)
{
    World next = w;
    next.body = w.body.kicked(w.dt);
    next.drag = std::get<D>(w.drag) * 0.9;
    return next;
}
D energy(const World& w) { return sum(square(w.body.x()) + square(w.body.v())) * std::get<D>(w.drag); }
const auto rolled = [](const World& w) { return energy(step(step(step(w)))); };
const auto scanned = [](const World& w) {
    return energy(wg::scan([](const World& s) { return std::pair(step(s), s.body.x()); }, w, 3).first);
};

void check_same(const World& a, const World& b)
{
    CHECK(allclose(a.body.x(), b.body.x(), 1e-14));
    CHECK(allclose(a.body.v(), b.body.v(), 1e-14));
    CHECK(allclose(a.dt, b.dt, 1e-14));
    CHECK(allclose(std::get<D>(a.drag), std::get<D>(b.drag), 1e-14));
}

/// Copies share the tensor.
struct Aliased {
    std::shared_ptr<D> w = std::make_shared<D>(D{1.0, 2.0});
    auto fields() const { return std::tie(*w); }
};

}  // namespace

TEST_CASE("borrowed memory as argument, live tensor and constant of a frozen function is never written to")
{
    const std::vector<double> memory(600, 2.0);
    const auto lend = [&] { return wg::borrow(memory.data(), {600}); };
    const auto f = wg::freeze([&](D x) {
        x *= 3.0;
        view(x, wg::range(0, 2)) = 1.0;
        return x * lend() + 1.0;
    });
    for (int i = 0; i < 6; ++i) CHECK(f(lend())(5).item() == 13.0);
    D w = lend();
    auto step = wg::freeze([&](const D& by) {
        w -= by;
        return sum(w);
    });
    step.live(w);
    for (int i = 1; i < 6; ++i) CHECK(step(D(0.5)).item() == 600 * (2.0 - 0.5 * i));
    const auto g = wg::freeze(wg::grad([&](const D& x) { return sum(x * x * lend()); }));
    for (int i = 0; i < 4; ++i) CHECK(g(lend())(7).item() == 8.0);
    CHECK(std::all_of(memory.begin(), memory.end(), [](double m) { return m == 2.0; }));
}

TEST_CASE("hidden parts: arguments and results of a frozen function, guarded by what is no tensor")
{
    const auto f = wg::freeze(step);
    World w = world();
    for (int i = 0; i < 3; ++i) check_same(f(w), step(w));
    CHECK(f.stats().traces == 1);
    w.body = Body(D{3.0, 1.0}, D{0.5, -0.5}, 2);
    check_same(f(w), step(w));
    CHECK(f.stats().traces == 1);
    w.body = Body(D{3.0, 1.0}, D{0.5, -0.5}, 3);  // another number inside
    check_same(f(w), step(w));
    CHECK(f(w).body.order() == 3);
    CHECK(f.stats().traces == 2);
    w.clock = std::chrono::seconds(1);
    check_same(f(w), step(w));
    w.phase = {0.0, 1.0};
    check_same(f(w), step(w));
    CHECK(f.stats().traces == 4);
    const auto g = wg::freeze(wg::grad(rolled));
    for (int i = 0; i < 3; ++i) check_same(g(w), wg::grad(rolled)(w));
    const auto h = wg::freeze([](const Body& b) { return b.jittered(); });
    const Body once = h(w.body), again = h(h(w.body));
    CHECK(allclose(once.x(), w.body.jittered().x(), 0));
    CHECK(allclose(again.x(), w.body.jittered().jittered().x(), 0));
    CHECK_THROWS_WITH(wg::freeze([](const Aliased& a) { return *a.w * 2.0; })(Aliased{}),
                      contains("copy constructor"));
}

TEST_CASE("hidden parts: states of scan, while_loop and cond, eager, frozen and with snapshots")
{
    const World w = world();
    const World want = wg::grad(rolled)(w);
    check_same(wg::grad(scanned)(w), want);
    check_same(wg::freeze(wg::grad(scanned))(w), want);
    const auto kept = [](const World& start) {
        return energy(wg::scan([](const World& s, const D&) { return std::pair(step(s), s.body.x()); }, start,
                               wg::zeros<double>({3}), {.snapshots = 2})
                          .first);
    };
    check_same(wg::grad(kept)(w), want);
    check_same(wg::freeze(wg::grad(kept))(w), want);
    const auto looped = [](const World& start) {
        const auto state = std::pair(start, D(0.0));
        const auto more = [](const auto& s) { return s.second < 3.0; };
        const auto body = [](const auto& s) { return std::pair(step(s.first), s.second + 1.0); };
        return wg::while_loop(more, body, state).first;
    };
    check_same(wg::freeze(looped)(w), step(step(step(w))));
    const auto branch = [](const World& s) {
        const auto other = [](const World& t) { return t; };
        return energy(wg::cond(sum(s.body.x()) > 0.0, step, other, s));
    };
    const auto taken = [](const World& s) { return energy(step(s)); };
    check_same(wg::freeze(wg::grad(branch))(w), wg::grad(taken)(w));
    double seen = 0;
    wg::host_callback([&](const Body& b) { seen = b.x()(1).item() * b.order(); }, w.body);
    CHECK(seen == 4.0);
}

TEST_CASE("wide integers among the arguments are compared whole")
{
    __extension__ using Wide = unsigned __int128;
    auto frozen =
        wg::freeze([](const D& x, Wide n) { return x * static_cast<double>(n >> 100); }, {.check = false});
    for (int i = 0; i < 3; ++i) {
        CHECK(frozen(D(1.0), Wide(1) << 100).item() == 1.0);
        CHECK(frozen(D(1.0), Wide(5) << 100).item() == 5.0);
    }
}
