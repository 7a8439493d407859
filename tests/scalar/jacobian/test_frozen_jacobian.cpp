// jacobian within frozen functions and kernels: columns by tangents or rows by cotangents, from one recording.
#include "catch.hpp"

#include <wengert/graph/control/control.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/graph/native/native.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/scalar.hpp>

#include <bit>

namespace wg = wengert;
using R = wg::Real<double>;
using D = wg::Tensor<double>;
using Reals = std::vector<R>;

namespace {

std::vector<std::uint64_t> bits(const D& t)
{
    const D c = copy(t);
    std::vector<std::uint64_t> out;
    for (std::size_t k = 0; k < c.size(); ++k) out.push_back(std::bit_cast<std::uint64_t>(c.data()[k]));
    return out;
}
Reals at(std::initializer_list<double> x) { return {x.begin(), x.end()}; }

/// Results of two numbers. Some depend on one of them, one on none, and zeros of both signs come about.
Reals tall(const Reals& x)
{
    Reals y{x[0] * x[1], sin(x[0]), R(3.0), -x[1], x[0] / x[1], sqrt(x[0] * x[0]), 0.0 * x[1], -0.0 * x[0]};
    y.push_back(y[0] * y[4] - y[1] * y[5]);
    y.push_back(x[0] * x[0] * x[1] + y[6] * y[7]);
    return y;
}
Reals wide(const Reals& x)
{
    R s = x[0] * x[1];
    for (std::size_t k = 2; k < x.size(); ++k) s = s * 0.5 + x[k] * x[k - 1];
    return {s, x[2] - s * s};
}
Reals branching(const Reals& x)
{
    return x[0] < x[1] ? Reals{x[0] * x[1], x[1], x[0]} : Reals{x[0], x[0] / x[1], R(1.0)};
}

/// Column by column by eager tangents.
template <class F> D by_tangents(const F& f, const Reals& x)
{
    const std::size_t m = f(x).size(), n = x.size();
    std::vector<double> J(m * n);
    for (std::size_t k = 0; k < n; ++k) {
        Reals unit(n);
        unit[k] = 1.0;
        const Reals dot = wg::jvp(f, x, unit).second;
        for (std::size_t i = 0; i < m; ++i) J[i * n + k] = double(dot[i]);
    }
    return D(wg::Shape{m, n}, J);
}
/// Row by row by eager gradients.
template <class F> D by_gradients(const F& f, const Reals& x)
{
    const std::size_t m = f(x).size(), n = x.size();
    std::vector<double> J;
    for (std::size_t i = 0; i < m; ++i)
        for (const R& g : wg::grad([&](const Reals& z) { return f(z)[i]; })(x)) J.push_back(double(g));
    return D(wg::Shape{m, n}, J);
}
/// Those of `expected`, in tiles and in native code. Eager lanes round each partial derivative first, which is another last bit.
template <class F, class Expected>
void has_the_bits(const F& f, const Expected& expected, const std::vector<Reals>& points)
{
    const auto J = wg::jacobian(f);
    auto tile = wg::freeze(J), native = wg::freeze(J, {.backend = wg::native});
    for (const Reals& x : points) {
        CHECK(tile(x).shape() == J(x).shape());
        CHECK(wg::allclose(tile(x), J(x), 1e-13));
        CHECK(bits(tile(x)) == bits(expected(f, x)));
        CHECK(bits(native(x)) == bits(tile(x)));
    }
}

}  // namespace

TEST_CASE("Frozen Jacobians have the bits of eager tangents by columns, and of gradients by rows",
          "[jacobian][native]")
{
    const auto columns = [](const auto& f, const Reals& x) { return by_tangents(f, x); };
    const auto rows = [](const auto& f, const Reals& x) { return by_gradients(f, x); };
    has_the_bits(tall, columns, {at({0.7, 1.2}), at({2.0, -1.5}), at({1.0, 0.25})});
    has_the_bits(branching, columns, {at({0.7, 1.2}), at({1.2, 0.7}), at({0.5, 2.0})});
    has_the_bits([](const Reals&) { return Reals{R(1.0), R(2.0), R(3.0)}; }, columns, {at({1.0})});
    has_the_bits(wide, rows, {at({0.7, 1.2, -0.5, 0.0, 2.0}), at({1.0, -1.0, 3.0, 0.5, 0.25})});
    const auto product = [](const Reals& x) { return x[0] * x[1]; };
    CHECK(bits(wg::freeze(wg::jacobian(product))(at({2.0, 3.0}))) == bits(D{{3.0, 2.0}}));
    const auto square = [](R x) { return x * x; };
    CHECK(double(wg::real(wg::freeze(wg::jacobian(square))(R(3.0)))) == 6.0);
    const auto shapes = [](const Reals& x) {  // of three results of no number, and of no result of two
        const auto none = wg::jacobian([](const Reals&) { return Reals{R(1.0), R(2.0), R(3.0)}; })(Reals{});
        const auto nothing = wg::jacobian([](const Reals&) { return Reals{}; })(x);
        CHECK((none.shape() == wg::Shape{3, 0}));
        CHECK((nothing.shape() == wg::Shape{0, 2}));
        return x[0] + x[1];
    };
    CHECK(double(wg::freeze(shapes)(at({1.0, 2.0}))) == double(shapes(at({1.0, 2.0}))));
    const auto several = [](R x) { return Reals{x, x * x, sin(x)}; };
    CHECK(bits(wg::freeze(wg::jacobian(several))(R(0.3))) == bits(wg::jacobian(several)(R(0.3))));
}

TEST_CASE("A frozen Jacobian calls its function once", "[jacobian]")
{
    int calls = 0;
    const auto calls_of = [&](auto f, const Reals& x) {
        calls = 0;
        const auto counted = [&](const Reals& z) { return ++calls, f(z); };
        wg::freeze(wg::jacobian(counted), {.check = false})(x);
        return calls;
    };
    CHECK(calls_of(tall, at({0.7, 1.2})) == 1);
    CHECK(calls_of(wide, at({0.7, 1.2, -0.5, 0.1})) == 1);
}

TEST_CASE("A function that throws, and AnomalyMode, leave a frozen Jacobian right", "[jacobian]")
{
    bool fails = true;
    const auto f = [&](const Reals& x) {
        const Reals y = tall(x);
        if (fails) throw std::runtime_error("not now");
        return y;
    };
    auto frozen = wg::freeze(wg::jacobian(f));
    const Reals x = at({0.7, 1.2});
    CHECK_THROWS_AS(frozen(x), std::runtime_error);
    fails = false;
    CHECK(bits(frozen(x)) == bits(by_tangents(tall, x)));
    const wg::AnomalyMode anomaly;  // rows by the tape, as it looks at each operation
    CHECK(wg::allclose(wg::freeze(wg::jacobian(tall))(x), wg::jacobian(tall)(x), 1e-14));
}

TEST_CASE("Frozen Jacobians beside other derivatives, loops and numbers of outside", "[jacobian]")
{
    // of a gradient, a gradient of it, tangents of it, and one of it again
    const auto cubes = [](const Reals& x) { return x[0] * x[0] * x[1] + sin(x[1]) * x[0]; };
    const auto of_gradient = [&](const Reals& x) { return wg::jacobian(wg::grad(cubes))(x); };
    const auto norm = [](const Reals& x) {
        R s = 0.0;
        for (const R& e : wg::elements(wg::jacobian(tall)(x))) s += e * e;
        return s;
    };
    const auto tangents = [&](const Reals& x) { return wg::jvp(norm, x, at({1.0, -2.0})).second; };
    const auto again = [&](const Reals& x) {
        return wg::jacobian([&](const Reals& z) { return wg::elements(wg::jacobian(tall)(z)); })(x);
    };
    const auto outside = [](const Reals& x) {
        return wg::jacobian([&](const Reals& z) {
            return Reals{z[0] * x[1], x[0] * z[1] * z[0], x[0], z[1] * z[1]};
        })(x);
    };
    const auto of_constants = [](const Reals& x) {
        const D J = wg::jacobian(tall)(at({0.5, 2.0}));
        return x[0] * wg::elements(J)[0] + x[1] * wg::elements(J)[2];
    };
    for (const Reals& x : {at({0.7, 1.2}), at({1.5, 0.25})}) {
        CHECK(wg::allclose(wg::freeze(of_gradient)(x), of_gradient(x), 1e-14));
        CHECK(wg::allclose(wg::freeze(again)(x), again(x), 1e-13));
        CHECK(wg::allclose(wg::freeze(outside)(x), outside(x), 1e-14));
        CHECK(double(wg::freeze(norm)(x)) == Approx(double(norm(x))).epsilon(1e-13));
        CHECK(double(wg::freeze(tangents)(x)) == Approx(double(tangents(x))).epsilon(1e-12));
        CHECK(double(wg::freeze(of_constants)(x)) == Approx(double(of_constants(x))).epsilon(1e-13));
        const Reals g = wg::freeze(wg::grad(norm))(x), e = wg::grad(norm)(x);
        for (std::size_t k = 0; k < g.size(); ++k) CHECK(double(g[k]) == Approx(double(e[k])).epsilon(1e-12));
        const Reals h = wg::grad(wg::freeze(norm))(x);
        for (std::size_t k = 0; k < h.size(); ++k) CHECK(double(h[k]) == Approx(double(e[k])).epsilon(1e-12));
    }
    // a constant point with a tangent: the level of forward mode is the only one that wants the gradients
    const auto along = [](const Reals& x) {
        const Reals dot = wg::jvp([](const Reals& z) { return wg::elements(wg::jacobian(wide)(z)); },
                                  at({0.5, 1.0, 2.0}), at({1.0, 0.0, -1.0}))
                              .second;
        return dot[0] * x[0] + dot[4] * x[1];
    };
    CHECK(double(wg::freeze(along)(at({2.0, 3.0}))) == Approx(double(along(at({2.0, 3.0})))).epsilon(1e-13));
}

TEST_CASE("A Jacobian in a kernel's cell has eager's bits in every cell", "[jacobian][kernel][native]")
{
    const auto cell = [](const auto& a, const auto& b) {
        using Y = std::remove_cvref_t<decltype(a)>;
        const auto f = [](const std::vector<Y>& x) {
            return std::vector<Y>{x[0] * x[1], sin(x[0]) * x[1], x[0] < x[1] ? x[0] * x[0] : x[1], Y(2.0)};
        };
        const auto J = wg::elements(wg::jacobian(f)(std::vector<Y>{a, b}));
        auto s = J[0];
        for (std::size_t k = 1; k < J.size(); ++k) s = s * 0.5 + J[k];
        return s;
    };
    const D a{{0.5, 1.0, 2.0, -0.5, 0.25}}, b{{1.0, 0.5, 3.0, 0.75, -0.25}};
    const D by_tiles = wg::kernel(cell)(a, b), natively = wg::kernel(cell, {.backend = wg::native})(a, b);
    for (std::size_t k = 0; k < a.size(); ++k) {
        const double one = double(cell(R(a.data()[k]), R(b.data()[k])));
        CHECK(by_tiles.data()[k] == one);
        CHECK(natively.data()[k] == one);
    }
}

TEST_CASE("Tangents in kernels have eager's bits, zeros of both signs as well", "[jvp][native]")
{
    const auto dots = [](const Reals& x) {
        const auto [y, dot] = wg::jvp([](const Reals& z) { return tall(z); }, x, at({-0.0, 0.0}));
        return dot;
    };
    auto tile = wg::freeze(dots), native = wg::freeze(dots, {.backend = wg::native});
    for (const Reals& x : {at({0.7, 1.2}), at({2.0, -1.5})}) {
        const Reals e = dots(x), t = tile(x), n = native(x);
        for (std::size_t k = 0; k < e.size(); ++k) {
            CHECK(std::bit_cast<std::uint64_t>(double(t[k])) == std::bit_cast<std::uint64_t>(double(e[k])));
            CHECK(std::bit_cast<std::uint64_t>(double(n[k])) == std::bit_cast<std::uint64_t>(double(e[k])));
        }
    }
}
