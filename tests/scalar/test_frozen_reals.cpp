// freeze of functions of reals, of structs of them and of tensors that hold them; Jacobians of mixtures.
#include "catch.hpp"

#include <wengert/graph/control/control.hpp>
#include <wengert/graph/c/emit_cpp.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/scalar.hpp>

#include <wengert/io/trees.hpp>

#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <variant>

namespace wg = wengert;
using R = wg::Real<double>;
using D = wg::Tensor<double>;
using Reals = std::vector<R>;

namespace {

const auto orbit = [](const R& a, const R& b) {
    R x = a, v = b;
    for (int i = 0; i < 20; ++i) v -= 0.05 * x, x += 0.05 * v;
    return x > 0.0 ? x * v : -x;
};
struct Body {
    R mass;
    std::array<R, 2> x;
    int id = 0;
    D table;
};
Body moved(const Body& b)
{
    const Reals e = wg::elements(b.table);
    return {b.mass * e[0] + static_cast<double>(b.id),
            {b.x[1], sin(b.x[0])},
            b.id + 1,
            wg::stack(Reals{e[2], e[1] * b.mass})};
}
template <class F> std::string message(const F& f)
{
    try {
        static_cast<void>(f());
    } catch (const wg::TapeError& e) {
        return e.what();
    }
    return "nothing thrown";
}

}  // namespace

TEST_CASE("A frozen function of reals: values, both branches, derivatives of it and frozen ones")
{
    const auto frozen = wg::freeze(orbit);
    for (const double a : {1.0, 0.5, -1.0, 0.7, -0.2, 0.9})
        CHECK(frozen(R(a), R(0.1)).value() == Approx(orbit(R(a), R(0.1)).value()).epsilon(1e-14));
    CHECK(frozen.stats().traces == 2);
    CHECK(frozen.stats().replays > 2);
    const auto report =
        wg::check_grads([&](const Reals& v) { return frozen(v[0], v[1]); }, Reals{0.8, 0.1}, {.order = 2});
    INFO(report.message);
    CHECK(report.ok);
    const auto gradient = wg::freeze(wg::value_and_grad<0, 1>(orbit));
    for (int k = 0; k < 4; ++k) {
        const R a = 0.8 + 0.01 * k, b = 0.1;
        const auto [y, g] = gradient(a, b);
        const auto [y0, g0] = wg::value_and_grad<0, 1>(orbit)(a, b);
        CHECK(y.value() == Approx(y0.value()).epsilon(1e-14));
        CHECK(std::get<0>(g).value() == Approx(std::get<0>(g0).value()).epsilon(1e-14));
        CHECK(std::get<1>(g).value() == Approx(std::get<1>(g0).value()).epsilon(1e-14));
    }
    CHECK((gradient.stats().traces == 1 && gradient.stats().replays == 3));
    CHECK(wg::emit_cpp(gradient.graph(R(0.8), R(0.1)), "orbit")
              .find("int orbit(const double* in0, double* out0)") != std::string::npos);
    CHECK((wg::Tape::current().size() == 0 && wg::ScalarStream::of(wg::Tape::current()).size() == 1));
}

TEST_CASE("A frozen function of structs: plain numbers and sizes are compared, tensors hold reals")
{
    const auto frozen = wg::freeze(moved);
    Body b{0.5, {1.0, 2.0}, 3, {1.0, 2.0, 3.0}};
    for (int k = 0; k < 4; ++k) {
        const Body got = frozen(b), want = moved(b);
        CHECK((got.mass.value() == want.mass.value() && got.x[1].value() == want.x[1].value() &&
               got.id == want.id));
        CHECK(wg::allclose(got.table, want.table, 0.0));
        b.mass += 1.0;
        b.table = b.table * 2.0;
        b.id += k == 1;
    }
    CHECK(frozen.stats().traces == 2);
    const auto loss = [](const auto& f) {
        return [&](const Body& q) {
            const Body r = f(q);
            return r.mass * r.x[1] + wg::real(sum(square(r.table)));
        };
    };
    const Body g = wg::grad(loss(frozen))(b), g0 = wg::grad(loss(moved))(b);
    CHECK((g.mass.value() == Approx(g0.mass.value()) && g.x[0].value() == Approx(g0.x[0].value())));
    CHECK(wg::allclose(g.table, g0.table, 1e-14));
    const auto sums = wg::freeze([](const Reals& v) {
        R s = 0.0;
        for (const R& x : v) s += x * x;
        return s;
    });
    for (const std::size_t n : {0, 3, 5, 3})
        CHECK(sums(Reals(n, 2.0)).value() == 4.0 * static_cast<double>(n));
    const auto root = wg::freeze([](const R& a) {
        return wg::while_loop([&](const R& x) { return abs(x * x - a) > 1e-12; },
                              [&](const R& x) { return 0.5 * (x + a / x); }, a);
    });
    for (const double a : {2.0, 9.0, 1e4}) CHECK(root(R(a)).value() == Approx(std::sqrt(a)));
    CHECK(root.stats().traces <= 2);  // abs() is a branch
}

TEST_CASE("What a frozen function of reals cannot do it says")
{
    const auto mixed = wg::freeze([](const D& t, const R& a) { return sum(t * a); });
    CHECK_THAT(message([&] {
                   return mixed(D{1.0, 2.0}, R(2.0));
               }),
               contains("[freeze]") && contains("elements()"));
    const auto summed = wg::freeze([](const D& t) { return wg::real(sum(t)); });
    CHECK_THAT(message([&] { return summed(D{1.0, 2.0}); }), contains("[freeze]") && contains("elements()"));
    const auto read = wg::freeze([](const R& a) { return a * a.value(); });
    CHECK_THAT(message([&] { return read(R(2.0)); }), contains("[freeze]") && contains("value()"));
    const auto many = wg::freeze([](R a) {
        for (int i = 0; i < 200'000; ++i) a = a * 0.5;
        return a;
    });
    CHECK_THAT(message([&] { return many(R(2.0)); }), contains("[freeze]") && contains("while_loop"));
    const auto captured = [](const R& a) { return wg::freeze([a](const R& b) { return a * b; })(R(2.0)); };
    CHECK_THAT(message([&] { return wg::grad(captured)(R(1.0)); }),
               contains("[freeze]") && contains("argument"));
    D state = {1.0};
    auto lives = wg::freeze([&](const R& a) { return a; });
    lives.live(state);
    CHECK_THAT(message([&] { return lives(R(2.0)); }), contains("[freeze]") && contains("live"));
    CHECK(wg::grad([](R a) { return a * a; })(R(1.0)).value() == 2);
}

TEST_CASE("The branch of a frozen function of reals has the line of the call that recorded it")
{
    auto f = wg::freeze([](const Reals& x) { return x[0] > 0.5 ? x[0] * x[1] : x[1]; });
    const int line = __LINE__ + 1;
    f(Reals{1.0, 2.0});
    f(Reals{0.0, 2.0});
    CHECK(f.explain() == "the branch at test_frozen_reals.cpp:" + std::to_string(line) + " was another one");
}

TEST_CASE("Jacobians of structs of reals and tensors, and of what gives tensors")
{
    struct Mixed {
        R a;
        D t;
    };
    const auto f = [](const Mixed& m) { return Reals{m.a * wg::real(sum(m.t)), sin(m.a), wg::real(m.t(1))}; };
    const D J = wg::jacobian(f)(Mixed{2.0, {0.5, 1.0, 3.0}});
    CHECK((J.shape() == wg::Shape{3, 4}));
    CHECK(wg::allclose(J, D{{4.5, 2.0, 2.0, 2.0}, {std::cos(2.0), 0.0, 0.0, 0.0}, {0.0, 0.0, 1.0, 0.0}},
                       1e-15));
    const auto g = [](const Mixed& m) { return m.t * m.a; };
    const D G = wg::jacobian(g)(Mixed{2.0, {0.5, 1.0}});
    CHECK(wg::allclose(G, D{{0.5, 2.0, 0.0}, {1.0, 0.0, 2.0}}, 0.0));
    const auto back = [](const Mixed& m) { return Mixed{m.a * m.a, m.t}; };
    CHECK((wg::jacobian(back)(Mixed{2.0, {0.5, 1.0}}).shape() == wg::Shape{3, 3}));
    const auto taken = [](const D& t) { return Reals{wg::real(t(0, 0)), wg::real(sum(t))}; };
    const D T = wg::jacobian(taken)(D{{1.0, 2.0}});
    CHECK((T.shape() == wg::Shape{2, 1, 2} && T(0, 0, 1).item() == 0 && T(1, 0, 1).item() == 1));
    const D H = wg::jacobian(wg::grad([](const Mixed& m) { return m.a * m.a * wg::real(sum(m.t)); }))(
        Mixed{2.0, {0.5, 1.0}});
    CHECK(wg::allclose(H, D{{3.0, 4.0, 4.0}, {4.0, 0.0, 0.0}, {4.0, 0.0, 0.0}}, 1e-15));
}

TEST_CASE("Structs of reals in files: a number is an array of rank 0, a row of them one array")
{
    struct State {
        R time;
        Reals field;
        std::vector<std::array<R, 2>> pairs;
        D t;
        std::array<wg::Real<float>, 2> single;
    };
    const std::string path = std::filesystem::temp_directory_path() / "wengert_reals.npz";
    const State s{1.5, {1.0, 2.0, 3.0}, {{4.0, 5.0}, {6.0, 7.0}}, {8.0}, {9.0f, 10.0f}};
    wg::save_npz(path, s);
    const State back = wg::load_npz(path, State{0.0, Reals(3), {{0.0, 0.0}, {0.0, 0.0}}, {0.0}, {}});
    CHECK((back.time.value() == 1.5 && back.field[2].value() == 3.0 && back.pairs[1][0].value() == 6.0));
    CHECK((back.t(0).item() == 8.0 && back.single[1].value() == 10.0f));
    CHECK_THROWS_AS(wg::load_npz(path, State{0.0, Reals(2), {{0.0, 0.0}, {0.0, 0.0}}, {0.0}, {}}),
                    wg::ShapeError);
    CHECK_THROWS_AS(wg::load_npz(path, std::map<std::string, R>{{"none", 0.0}}), wg::Error);
    std::filesystem::remove(path);
}

TEST_CASE("A frozen function of a struct that holds a variant of reals")
{
    struct Part {
        R size;
        std::variant<int, R, Reals> kind;
    };
    const auto f = [](const Part& p) {
        if (p.kind.index() == 0) return p.size * p.size;
        return p.kind.index() == 1 ? p.size * std::get<R>(p.kind) : p.size * std::get<Reals>(p.kind)[1];
    };
    const auto frozen = wg::freeze(wg::grad(f));
    for (int k = 0; k < 2; ++k) {
        CHECK(frozen(Part{R(3.0), 4}).size.value() == 6.0);
        const Part by_real = frozen(Part{R(3.0), R(5.0)});
        CHECK((by_real.size.value() == 5.0 && std::get<R>(by_real.kind).value() == 3.0));
        CHECK(frozen(Part{R(3.0), Reals{1.0, 7.0}}).size.value() == 7.0);
    }
}
