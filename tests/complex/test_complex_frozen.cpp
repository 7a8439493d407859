// Complex tensors through graphs: every executor, loops, checkpoints, rows, hooks, rules of one's own, files; emitted C.
#include "complex/complex_cases.hpp"

#include <wengert/emit.hpp>
#include <wengert/native.hpp>

#include <cstdio>

using namespace complex_cases;

namespace {

using C = std::complex<double>;
using D = Tensor<double>;
using Zd = Z<double>;

D after_three(const Zd& z) { return sum(abs(step(step(step(z))))); }

}  // namespace

TEST_CASE("complex: frozen functions and gradients have the bits of eager code")
{
    for (const auto& backend : {wg::Backend(wg::tile), wg::Backend(wg::interpret)})
        for (const auto& c : all<double>()) {
            INFO(c.name);
            wg::FreezeOptions options;
            options.backend = backend;
            const auto gradient = wg::grad(loss<double>(c.f));
            auto value = wg::freeze(c.f, options);
            auto derivative = wg::freeze(gradient, options);
            for (std::uint64_t seed = 1; seed < 4; ++seed) {
                const Zd z = numbers<double>({2, 3}, seed);
                CHECK(same_bits<double>(value(z), c.f(z)));
                CHECK(allclose(derivative(z), gradient(z), 1e-13));
            }
        }
}

TEST_CASE("complex: native code of all functions at once, which calls nothing of the host")
{
    const auto total = [](const std::vector<Case<double>>& list) {
        return [list](const Zd& z) {
            D y(0.0);
            for (const auto& c : list) y = y + loss<double>(c.f)(z);
            return y;
        };
    };
    for (const auto& list : {elementwise<double>(), arranging<double>()}) {
        const auto gradient = wg::grad(total(list));
        auto frozen = wg::freeze(gradient, {.backend = wg::native});
        for (std::uint64_t seed = 1; seed < 4; ++seed)
            CHECK(allclose(frozen(numbers<double>({2, 3}, seed)), gradient(numbers<double>({2, 3}, seed)),
                           1e-12));
        CHECK(frozen.stats().traces == 1);
        CHECK_THAT(frozen.explain(), !contains("host call"));
    }
}

TEST_CASE("complex: scan, cond, while_loop and checkpoints, eager and frozen")
{
    const auto scanned = [](const Zd& z) {
        return sum(abs(wg::scan([](const Zd& s) { return std::pair(step(s), s); }, z, 3).first));
    };
    const auto snapshots = [](const Zd& z) {
        return sum(abs(
            wg::scan([](const Zd& s) { return std::pair(step(s), std::tuple<>()); }, z, 3, {.snapshots = 1})
                .first));
    };
    const auto slices = [](const Zd& z) {
        const Zd xs = wg::stack({z * 0.0, z * 0.0, z * 0.0}, 0);
        return sum(
            abs(wg::scan([](const Zd& s, const Zd& x) { return std::pair(step(s + x), x); }, z, xs).first));
    };
    const auto looped = [](const Zd& z) {
        const auto end =
            wg::while_loop([](const std::pair<D, Zd>& s) { return s.first < 3.0; },
                           [](const std::pair<D, Zd>& s) { return std::pair(s.first + 1.0, step(s.second)); },
                           std::pair(D(0.0), z));
        return sum(abs(end.second));
    };
    const auto branched = [](const Zd& z) {
        return wg::cond(
            sum(real(z)) > 0.0, [](const Zd& t) { return after_three(t); },
            [](const Zd& t) { return sum(abs(t)); }, z);
    };
    const auto kept = [](const Zd& z) {
        return sum(abs(wg::checkpoint(step)(wg::checkpoint(step)(step(z)))));
    };
    const auto check = [](const char* name, const std::function<D(const Zd&)>& f) {
        INFO(name);
        auto frozen = wg::freeze(wg::grad(f));
        for (std::uint64_t seed = 1; seed < 4; ++seed) {
            const Zd z = numbers<double>({3}, seed), wanted = wg::grad(after_three)(z);
            CHECK(allclose(wg::grad(f)(z), wanted, 1e-13));
            CHECK(allclose(frozen(z), wanted, 1e-13));
        }
    };
    check("scan", scanned);
    check("snapshots", snapshots);
    check("slices", slices);
    check("while_loop", looped);
    check("cond", branched);
    check("checkpoint", kept);
}

TEST_CASE("complex: vmap counts the axes of complex tensors")
{
    const Zd z = numbers<double>({2, 3});
    const auto f = [](const Zd& t) { return step(t) * sum(t); };
    const auto rows = wg::vmap(f)(z);
    for (int i = 0; i < 2; ++i) CHECK(allclose(rows(i), f(z(i)), 1e-15));
    const auto columns = wg::vmap(f, {.in_axes = {-1}, .out_axis = -1})(z);
    CHECK(columns.shape() == Shape{2, 3});
    for (int i = 0; i < 3; ++i) CHECK(allclose(view(columns, wg::all(), i), f(view(z, wg::all(), i)), 1e-15));
    const auto gradients = wg::vmap(wg::grad([&](const Zd& t) { return sum(abs(f(t))); }))(z);
    CHECK(allclose(gradients(1), wg::grad([&](const Zd& t) { return sum(abs(f(t))); })(z(1)), 1e-14));
    auto frozen = wg::freeze([&](const Zd& t) { return wg::vmap(f, {.in_axes = {-1}, .out_axis = -1})(t); });
    for (int i = 0; i < 3; ++i) CHECK(allclose(frozen(z), columns, 1e-15));
    CHECK_THROWS_AS(wg::vmap(f)(Zd(1.0)), wg::ShapeError);
    CHECK_THROWS_AS(wg::scan([](const Zd& s, const Zd& x) { return std::pair(s, x); }, z, Zd(1.0)),
                    wg::ShapeError);
}

TEST_CASE("complex: structs, jvp, vjp, hvp, rules of one's own and hooks")
{
    struct Model {
        Zd w;
        D b;
    };
    const Model m{numbers<double>({3}), {0.1, 0.2, 0.3}};
    const auto f = [](const Model& p) { return sum(abs(exp(p.w) * p.b)); };
    CHECK(wg::check_grads(f, m, {.order = 2}).ok);
    const Model g = wg::grad(f)(m);
    CHECK(g.w.shape() == Shape{3});
    CHECK(wg::tree::count(m) == 2);
    const Zd z = numbers<double>({3}), v = numbers<double>({3}, 5), u = numbers<double>({3}, 6);
    const auto [y, dy] = wg::jvp([](const Zd& t) { return t * t; }, z, v);
    CHECK(allclose(dy, 2.0 * z * v, 1e-15));
    const auto [value, pullback] = wg::vjp([](const Zd& t) { return t * t; }, z);
    CHECK(allclose(pullback(u), 2.0 * conj(z) * u, 1e-15));
    CHECK(allclose(wg::hvp([](const Zd& t) { return sum(square(abs(t))); })(z, v), 2.0 * v, 1e-14));
    const auto own = wg::custom_vjp([](const D& parts) { return sum(abs(Zd::from_parts(parts))); },
                                    [](const D& g2, const D&, const D& parts) { return g2 * parts; });
    CHECK(allclose(wg::grad([&](const Zd& t) { return own(t.parts()); })(z), z, 1e-15));
    wg::tree::for_each([](auto& t) { t = t * 2.0; }, const_cast<Zd&>(z));
    CHECK(allclose(z, 2.0 * numbers<double>({3}), 1e-15));
}

TEST_CASE("complex: files")
{
    struct Model {
        Zd w;
        D b;
    };
    const Model m{numbers<double>({2, 3}), {0.5}};
    wg::save_npz("complex_test.npz", m);
    const Model back = wg::load_npz("complex_test.npz", m);
    std::remove("complex_test.npz");
    CHECK(same_bits<double>(back.w, m.w));
}

TEST_CASE("complex: what is emitted has no call of the host")
{
    auto frozen = wg::freeze(wg::grad(after_three));
    const Zd z = numbers<double>({3});
    static_cast<void>(frozen(z));
    const std::string text = wg::emit_cpp(frozen.graph(z), "after_three");
    CHECK_THAT(text, contains("after_three(const double*"));
}

TEST_CASE("complex: errors say what was expected")
{
    const Zd z = numbers<double>({2, 3});
    CHECK_THROWS_WITH(z * numbers<double>({4}),
                      contains("[complex_multiply]") && contains("test_complex_frozen.cpp"));
    CHECK_THROWS_WITH(matmul(z, z), contains("[matmul] shapes (2, 3) and (2, 3): the inner extents differ"));
    CHECK_THROWS_AS(z(0, 0, 0), wg::IndexError);
    CHECK_THROWS_AS(view(z, 0, 0, 0), wg::IndexError);
    CHECK_THROWS_AS(sum(z, 2), wg::ShapeError);
    CHECK_THROWS_AS(sum(z, -3), wg::ShapeError);
    CHECK_THROWS_AS(transpose(z, {0, 1, 2}), wg::ShapeError);
    CHECK_THROWS_AS(wg::stack({z, z}, 4), wg::ShapeError);
    CHECK_THROWS_AS(Zd::from_parts(D{1.0, 2.0, 3.0}), wg::ShapeError);
    CHECK_THROWS_AS(z.item(), wg::ShapeError);
    CHECK_THROWS_AS(exp(Zd()), wg::TapeError);
    CHECK_THROWS_AS((Zd{{1.0, 2.0}, {3.0}}), wg::ShapeError);
    Zd w = z;
    CHECK_THROWS_AS(w *= numbers<double>({5, 2, 3}), wg::ShapeError);
    CHECK_THROWS_AS(w += numbers<double>({5, 2, 3}), wg::ShapeError);
    CHECK(same_bits<double>(w, z));
}

TEST_CASE("complex: errors name complex shapes, not those of parts")
{
    Zd z = numbers<double>({2, 3});
    const Zd w = numbers<double>({4});
    const wg::Tensor<bool> pair = {true, false};
    const auto apart = contains("shapes (2, 3) and (4) cannot be broadcast together");
    CHECK_THROWS_WITH(z + w, contains("[add]") && apart);
    CHECK_THROWS_WITH(z - w, contains("[subtract]") && apart);
    CHECK_THROWS_WITH(z == w, contains("[equal]") && apart);
    CHECK_THROWS_WITH(z += w, contains("[update] shapes (4) and (2, 3) cannot be broadcast together"));
    CHECK_THROWS_WITH(z += numbers<double>({5, 2, 3}),
                      contains("[update] shape (5, 2, 3) cannot be broadcast to (2, 3)"));
    CHECK_THROWS_WITH(where(pair, z, z), contains("[where] shapes (2) and (2, 3) cannot"));
    CHECK_THROWS_WITH(where(pair, numbers<double>({2}), w), contains("[where] shapes (2) and (4) cannot"));
    CHECK_THROWS_WITH(wg::polar(D{1.0, 2.0}, D{1.0, 2.0, 3.0}), contains("shapes (2) and (3) cannot"));
    CHECK_THROWS_WITH(view(z, 0) = w, contains("[view] shapes (4) and (3) cannot be broadcast together"));
    CHECK_THROWS_WITH(z.reshape({4, -1}),
                      contains("cannot arrange the 6 elements of shape (2, 3) as (4, -1)"));
    CHECK_THROWS_WITH(broadcast_to(z, {5, 3}), contains("shapes (2, 3) and (5, 3) cannot"));
    CHECK_THROWS_WITH(z(0, 3), contains("index 3 is out of range for axis 1 of shape (2, 3)"));
    CHECK_THROWS_WITH(z[2], contains("index 2 is out of range for axis 0 of shape (2, 3)"));
    CHECK(same_bits<double>(z, numbers<double>({2, 3})));
}

TEST_CASE("complex: a real tensor beside a complex number has the line")
{
    const D none;
    const C c(0, 1);
    CHECK_THROWS_WITH(none + c, contains("test_complex_frozen.cpp"));
    CHECK_THROWS_WITH(none - c, contains("test_complex_frozen.cpp"));
    CHECK_THROWS_WITH(none * c, contains("test_complex_frozen.cpp"));
    CHECK_THROWS_WITH(none / c, contains("test_complex_frozen.cpp"));
    CHECK_THROWS_WITH(c + none, contains("test_complex_frozen.cpp"));
    CHECK_THROWS_WITH(c - none, contains("test_complex_frozen.cpp"));
    CHECK_THROWS_WITH(c * none, contains("test_complex_frozen.cpp"));
    CHECK_THROWS_WITH(c / none, contains("test_complex_frozen.cpp"));
}
