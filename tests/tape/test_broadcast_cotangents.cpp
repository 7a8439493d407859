// A cotangent that arrives as a broadcast view (of a sum or a mean) has one element in memory for many: what comes after it
// must not be added in place. Expected values are by hand.
#include <wengert/wengert.hpp>

#include "catch.hpp"

namespace wg = wengert;
using D = wg::Tensor<double>;

TEST_CASE("a sum's cotangent first, then a product with a scalar, more elements than a tile")
{
    for (const std::int64_t n : {3, 511, 513, 2000}) {
        const D x = wg::linspace<double>(-1.0, 1.0, n), c(3.0);
        // y = Σ 3·2x + mean(2x): the mean is recorded last, so its cotangent comes first
        const D g = wg::grad([&](const D& t) {
            const D h = t * 2.0;
            const D product = sum(h * c);
            return product + mean(h);
        })(x);
        const double expected = 6.0 + 2.0 / static_cast<double>(n);
        CHECK(wg::allclose(g, wg::full<double>({n}, expected), 1e-12));
        const D h = wg::grad([&](const D& t) {
            const D u = t * 2.0;
            const D row = sum(u * reshape(c, {1}));
            return row + sum(u);
        })(x);
        CHECK(wg::allclose(h, wg::full<double>({n}, 8.0), 1e-12));
    }
}

namespace {

/// Operands of which one has more extents of 1, read again elsewhere; the value does not depend on where they are.
D relabelling(const D& w, const D& y)
{
    const D h = tanh(y * w + w);            // the rule of × reads g, and + passes the same g to both
    const D k = h + reshape(w, {1, 1, 3});  // a higher rank on the other side
    return sum(k * h * w) + sum(w) + sum(w);
}

}  // namespace

TEST_CASE(
    "operands that differ in extents of 1 only: gradients of every order, whoever else reads a cotangent")
{
    const D w = {0.5, -0.25, 2.0}, y = reshape(D{0.1, 0.7, -0.3}, {1, 3}),
            strided = transpose(reshape(w, {3, 1}));
    const auto all_equal = [](const D& t) { return relabelling(reshape(t, {1, 3}), reshape(t, {1, 3})); };
    const auto relabelled = [](const D& t) { return relabelling(t, reshape(t, {1, 3})); };
    CHECK(wg::allclose(wg::grad(relabelled)(w), wg::grad(all_equal)(w), 1e-14));
    CHECK(wg::allclose(wg::hessian(relabelled)(w), wg::hessian(all_equal)(w), 1e-13));
    CHECK(wg::allclose(wg::grad(relabelled)(strided(0)), wg::grad(all_equal)(w), 1e-14));

    const auto g = wg::grad(relabelling);
    const auto frozen = wg::freeze(g);
    const auto pair = wg::grad([](const D& a, const D& b) { return relabelling(a, b); });
    for (int call = 0; call < 3; ++call) {
        const D a = g(w, y), b = frozen(w, y);
        for (std::int64_t i = 0; i < 3; ++i) CHECK(a(i).item() == b(i).item());
    }
    CHECK(pair(w, y).shape() == wg::Shape{3});
}

TEST_CASE("one contribution is a broadcast, the other is not, and neither may be written")
{
    const D x = {1.0, 2.0, 3.0}, c = {1.0, 10.0, 100.0};
    for (const bool sum_first : {false, true}) {
        const auto f = [&](const D& t) {
            const D h = t * 1.0;
            const D a = sum_first ? sum(h) : sum(h * c), b = sum_first ? sum(h * c) : sum(h);
            return a + b + sum(h + h);
        };
        const D g = wg::grad(f)(x);
        for (std::int64_t i = 0; i < 3; ++i) CHECK(g(i).item() == c(i).item() + 3.0);
    }
}

TEST_CASE("small operations: temporaries, views, levels and rules that fail leave what they read")
{
    D x = {1.0, 2.0};
    x.requires_grad(true);
    const D a = x * 2.0;
    const D held = (a + 1.0) * a;  // the temporary is read by the derivative
    const D row = reshape(wg::arange<double>(6), {2, 3})(1);
    CHECK(((row + 1.0) * 2.0)(0).item() == 8.0);
    CHECK(row(0).item() == 3.0);
    wg::backward(sum(held));
    CHECK(x.grad()(1).item() == 2.0 * (2.0 * 4.0 + 1.0));
    // a gradient inside of a gradient, and a tangent inside of both
    const auto cube = [](const D& t) { return sum(t * t * t); };
    const auto inner = [&](const D& t) { return sum(wg::grad(cube)(t) * t); };  // 3 t³
    CHECK(wg::grad(inner)(D{2.0})(0).item() == 36.0);
    CHECK(wg::jvp(wg::grad(inner), D{2.0}, D{1.0}).second(0).item() == 36.0);
    D escaped;
    static_cast<void>(wg::grad([&](const D& t) {
        escaped = t * 2.0;
        return sum(escaped);
    })(D{1.0}));
    CHECK_THROWS_AS(escaped + 1.0, wg::TapeError);
    CHECK_THROWS_AS(wg::grad([&](const D& t) { return sum(t + escaped); })(D{1.0}), wg::TapeError);
}

TEST_CASE("contributions that are the same for all rows, whichever comes first")
{
    for (const wg::Shape& shape : {wg::Shape{7, 16}, wg::Shape{4, 600}, wg::Shape{3, 2, 20}, wg::Shape{1, 40},
                                   wg::Shape{5, 3}, wg::Shape{2, 1, 3, 17}}) {
        const std::int64_t width = shape[shape.size() - 1];
        const D x = wg::ones<double>(shape), c = wg::normal<double>(wg::Key(1), shape),
                w = wg::normal<double>(wg::Key(2), {width});
        const D column = wg::ones<double>({shape[shape.size() - 2], 1}) * 3.0;
        for (const int order : {0, 1, 2}) {
            const auto f = [&](const D& t) {
                const D h = t * 1.0;
                const auto rows = [&] { return sum(sum(h, {0}) * w); };  // its cotangent is w for each row
                const auto whole = [&] { return sum(h * c); };
                if (order == 0) return rows() + whole();
                if (order == 1) return whole() + rows();
                return rows() + rows();
            };
            const D g = wg::grad(f)(x), expected = order == 2 ? wg::zeros<double>(shape) + (w + w) : c + w;
            CHECK(wg::allclose(g, expected, 0.0));
            const D again = wg::grad(f)(transpose(transpose(x)));
            CHECK(wg::allclose(again, expected, 0.0));
            const D tall =
                wg::grad([&](const D& t) { return f(t) + sum(sum(t * 1.0, {-1}) * column(0)); })(x);
            CHECK(wg::allclose(tall, expected + 3.0, 1e-14));
        }
    }
}
