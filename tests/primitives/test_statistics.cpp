/// Convolutions, statistics, places and differences of arrays.hpp: values of NumPy 1.24 and SciPy 1.10, errors, graphs, loops.
/// (Derivatives and executors: list.hpp.)
#include "catch.hpp"
#include "draws.hpp"
#include "same_bits.hpp"

#include <cmath>
#include <limits>

#include <wengert/arrays.hpp>
#include <wengert/freeze.hpp>
#include <wengert/native.hpp>
#include <wengert/wengert.hpp>

using namespace wengert;

namespace {

using D = Tensor<double>;
using B = Tensor<bool>;
constexpr double nan_ = std::numeric_limits<double>::quiet_NaN(),
                 inf = std::numeric_limits<double>::infinity();
constexpr auto same = ConvolveMode::same, valid = ConvolveMode::valid;

template <class T> bool alike(const Tensor<T>& a, const Tensor<T>& b)
{
    return same_bits(*a.any().value, *b.any().value);
}

const D a = {1.5, -2.0, 0.25, 3.0, 0.5}, three = {0.5, -1.0, 2.0}, two = {2.0, 1.0};
const D image = {{1.0, -2.0, 3.0, 0.5}, {0.0, 4.0, 1.0, -1.0}, {2.0, 2.0, -3.0, 5.0}};
const D kernel_2d = {{1.0, 2.0, -1.0}, {0.5, -1.0, 3.0}};
const D x = {{1.0, 4.0, 2.0, 7.0}, {0.5, -1.0, 3.0, 2.0}, {2.0, 2.0, -3.0, 5.0}};

/// The formula itself, in the order of its sum.
template <class T> Tensor<T> summed(const Tensor<T>& p, const Tensor<T>& q)
{
    const std::int64_t n = p.shape()[0], m = q.shape()[0];
    std::vector<T> y(static_cast<std::size_t>(n + m - 1));
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < m; ++j) y[static_cast<std::size_t>(i + j)] += p.data()[i] * q.data()[j];
    return Tensor<T>(Shape{n + m - 1}, y);
}

}  // namespace

TEST_CASE("convolve and correlate have NumPy's values in each mode, whichever is longer")
{
    CHECK(alike(convolve(a, three), D{0.75, -2.5, 5.125, -2.75, -2.25, 5.5, 1.0}));
    CHECK(alike(convolve(three, a, same), D{-2.5, 5.125, -2.75, -2.25, 5.5}));
    CHECK(alike(convolve(a, three, valid), D{5.125, -2.75, -2.25}));
    CHECK(alike(convolve(two, a), D{3.0, -2.5, -1.5, 6.25, 4.0, 0.5}));
    CHECK(alike(convolve(a, two, same), D{3.0, -2.5, -1.5, 6.25, 4.0}));
    CHECK(alike(convolve(two, a, valid), D{-2.5, -1.5, 6.25, 4.0}));
    CHECK(alike(correlate(a, two), D{1.0, -3.75, 3.5, 6.5}));
    CHECK(alike(correlate(two, a), D{6.5, 3.5, -3.75, 1.0}));
    CHECK(alike(correlate(a, two, same), D{1.5, 1.0, -3.75, 3.5, 6.5}));
    CHECK(alike(correlate(two, a, same), D{6.5, 3.5, -3.75, 1.0, 1.5}));
    CHECK(alike(correlate(two, a, ConvolveMode::full), D{1.0, 6.5, 3.5, -3.75, 1.0, 1.5}));
}

TEST_CASE("convolve of images")
{
    CHECK(alike(convolve(image, kernel_2d), D{{1.0, 0.0, -2.0, 8.5, -2.0, -0.5},
                                              {0.5, 2.0, 15.5, -11.75, 5.5, 2.5},
                                              {2.0, 8.0, -4.5, 7.5, 17.0, -8.0},
                                              {1.0, -1.0, 2.5, 11.5, -14.0, 15.0}}));
    CHECK(alike(convolve(image, kernel_2d, same),
                D{{0.0, -2.0, 8.5, -2.0}, {2.0, 15.5, -11.75, 5.5}, {8.0, -4.5, 7.5, 17.0}}));
    CHECK(alike(convolve(kernel_2d, image, valid), D{{15.5, -11.75}, {-4.5, 7.5}}));
    const D cube = reshape(linspace<double>(-1, 1, 24), {2, 3, 4}), ones_ = ones<double>({2, 1, 2});
    CHECK(
        allclose(correlate(cube, ones_), sum(sliding_window(cube, {2, 1, 2}, {0, 1, 2}), {3, 4, 5}), 1e-15));
}

TEMPLATE_TEST_CASE("convolve of all lengths around a register's, and of what is not finite", "", float,
                   double)
{
    using T = TestType;
    const Tensor<T> p = normal<T>(Key(1), {150}), q = normal<T>(Key(2), {150});
    using placeholders::_;
    for (const std::int64_t n : {1, 2, 7, 8, 9, 16, 31, 33, 64, 65, 150})
        for (const std::int64_t m : {1, 3, 4, 8, 15, 17, 40, 150}) {
            INFO(n << " and " << m);
            const Tensor<T> s = copy(view(p, range(_, n))), t = copy(view(q, range(_, m)));
            CHECK(allclose(convolve(s, t), summed(s, t), sizeof(T) == 4 ? 2e-5 : 1e-13));
        }
    // What lies outside takes no part: 0 × ∞ is nowhere.
    const T far = std::numeric_limits<T>::infinity();
    CHECK(alike(convolve(Tensor<T>{T(1)}, Tensor<T>{far, T(2)}), Tensor<T>{far, T(2)}));
    Tensor<T> s = p;
    view(s, 0) = Tensor<T>(far);
    const Tensor<T> y = convolve(s, Tensor<T>{T(1), T(1)});
    CHECK(sum(cast<T>(is_finite(y))).item() == T(149));
}

TEST_CASE("groups of many floats are added in double")
{
    const auto many = full<float>({1000000}, 0.1F);
    const Indices one = zeros<std::int64_t>({1000000});
    CHECK(segment_mean(many, one, 1).item() == Approx(0.1).epsilon(1e-6));
    CHECK(bincount(one, many).item() == Approx(100000.0).epsilon(1e-6));
    CHECK(histogram(many, 1, many).first.item() == Approx(100000.0).epsilon(1e-6));
    CHECK(alike(grad([&](const Tensor<float>& t) {
                    return bincount(Indices{0, 1, 0}, t)(0);
                })(Tensor<float>{1.0F, 2.0F, 3.0F}),
                Tensor<float>{1.0F, 0.0F, 1.0F}));
}

TEST_CASE("linspace has NumPy's digits, and floor_divide its edges")
{
    CHECK(linspace<double>(-1, 1, 7)(3).item() == 0.0);
    CHECK(linspace<float>(-1, 1, 7)(3).item() == 0.0F);
    CHECK(linspace<float>(-1, 1, 7)(1).item() == static_cast<float>(-1 + 1.0 / 3));
    CHECK(linspace<float>(-1, 0, 1001)(999).item() == -0.001F);
    CHECK(alike(floor_divide(D{1.0, -1.0, 2.5, -2.5, 2.5, 7.0, -7.0}, D{0.0, 0.0, -inf, inf, inf, 2.0, 2.0}),
                D{inf, -inf, -1.0, -1.0, 0.0, 3.0, -4.0}));
    CHECK(std::isnan(floor_divide(D{0.0}, D{0.0})(0).item()));
    CHECK(alike(grad([](const D& t) {
                    return sum(floor_divide(t, D{0.0, 2.0}));
                })(D{1.0, 5.0}),
                D{0.0, 0.0}));
}

TEST_CASE("convolve frozen, in loops, and one more axis")
{
    const auto loss = [](const D& s, const D& k) { return sum(square(convolve(s, k, same))); };
    const auto eager = grad<0, 1>(loss)(image, kernel_2d);
    for (const Backend& backend : {Backend(tile), Backend(interpret), Backend(native)}) {
        FreezeOptions options;
        options.backend = backend;
        auto frozen = freeze(grad<0, 1>(loss), options);
        for (int call = 0; call < 2; ++call) {
            const auto [ds, dk] = frozen(image, kernel_2d);
            CHECK(alike(ds, std::get<0>(eager)));
            CHECK(alike(dk, std::get<1>(eager)));
        }
    }
    const D rows = vmap([](const D& row) { return convolve(row, two, same); })(image);
    for (std::int64_t i = 0; i < 3; ++i) CHECK(alike(copy(rows(i)), convolve(image(i), two, same)));
    // three steps of smoothing, by scan and by checkpoints
    const auto step = [](const D& s) {
        const D y = tanh(convolve(s, three, same));
        return std::pair(y, sum(y));
    };
    const auto looped = [&](const D& s) { return sum(square(scan(step, s, std::int64_t(3)).first)); };
    const auto plain = [&](const D& s) { return sum(square(step(step(step(s).first).first).first)); };
    CHECK(allclose(grad(looped)(a), grad(plain)(a), 1e-15));
    CHECK(alike(grad(checkpoint(plain))(a), grad(plain)(a)));
    auto frozen = freeze(hvp(looped));
    for (int call = 0; call < 2; ++call) CHECK(allclose(frozen(a, 0.5 * a), hvp(plain)(a, 0.5 * a), 1e-13));
}

TEST_CASE("convolve: errors name what was expected, and the line")
{
    CHECK_THROWS_AS(convolve(a, image), ShapeError);
    CHECK_THROWS_AS(convolve(D(1.0), D(1.0)), ShapeError);
    CHECK_THROWS_AS(convolve(a, zeros<double>({0})), ShapeError);
    CHECK_THROWS_AS(convolve(image, ones<double>({4, 1}), valid), ShapeError);
    CHECK(convolve(image, ones<double>({4, 1})).shape() == Shape{6, 4});
    CHECK_THROWS_WITH(correlate(a, image),
                      Catch::Contains("[correlate]") && Catch::Contains("test_statistics.cpp"));
}

TEST_CASE("covariances, correlations and weighted means")
{
    CHECK(allclose(cov(x), D{{7.0, 0.25, 6.0}, {0.25, 3.0625, -2.25}, {6.0, -2.25, 11.0}}, 1e-15));
    CHECK(allclose(cov(x, 0), D{{5.25, 0.1875, 4.5}, {0.1875, 2.296875, -1.6875}, {4.5, -1.6875, 8.25}},
                   1e-15));
    CHECK(cov(x(0)).shape() == Shape());
    CHECK(cov(x(0)).item() == Approx(7.0));
    const double r = 0.05399492471560389, s = 0.6837634587578277, t = -0.38765744302855326;
    CHECK(allclose(corrcoef(x), D{{1.0, r, s}, {r, 1.0, t}, {s, t, 1.0}}, 1e-15));
    CHECK(std::isnan(corrcoef(D{{1.0, 1.0}, {1.0, 2.0}})(0, 1).item()));
    CHECK_THROWS_AS(cov(ones<double>({2, 2, 2})), ShapeError);
    CHECK(allclose(average(x, {1.0, 2.0, 3.0, 4.0}, 1), D{4.3, 1.55, 1.7}, 1e-15));
    CHECK(allclose(average(x, exp(x), 0),
                   D{1.5584095276287182, 3.7335019389204667, 2.7206920379727237, 6.733501938920467}, 1e-15));
    CHECK(average(x, x).item() == Approx(5.153061224489796));
    CHECK_THROWS_AS(average(x, {1.0, 2.0}, 1), ShapeError);
    CHECK_THROWS_AS(average(x, {1.0, 2.0}), ShapeError);
    CHECK_THROWS_WITH(average(x, {1.0, 2.0}, 5), Catch::Contains("test_statistics.cpp"));
}

TEST_CASE("what is a number counts, in sums, means and extremes")
{
    const D n = {{1.0, nan_, 3.0}, {nan_, nan_, nan_}, {-inf, 2.0, nan_}};
    CHECK(nansum(D{1.0, nan_, 3.0}).item() == 4.0);
    CHECK(alike(nansum(n, {1}), D{4.0, 0.0, -inf}));
    CHECK(alike(nanmean(D{1.0, nan_, 3.0}, {0}, true), D{2.0}));
    CHECK(std::isnan(nanmean(n, {1})(1).item()));
    CHECK(std::isnan(nanmax(n(1)).item()));
    CHECK(std::isnan(nanmin(n, {1})(1).item()));
    CHECK(nanmax(n).item() == 3.0);
    CHECK(nanmin(n, {1})(2).item() == -inf);
    CHECK(alike(nanmax(n, {0}, true), D{{1.0, 2.0, 3.0}}));
    CHECK(alike(grad([](const D& t) { return nansum(square(t)); })(n(0)), D{2.0, 0.0, 6.0}));
    CHECK(alike(grad([](const D& t) { return nanmean(t); })(n(0)), D{0.5, 0.0, 0.5}));
    CHECK(alike(grad([](const D& t) { return nanmax(t); })(n(0)), D{0.0, 0.0, 1.0}));
    CHECK(alike(ptp(x, {1}), D{6.0, 4.0, 8.0}));
    CHECK(ptp(x).item() == 10.0);
    CHECK(count_nonzero(D{0.0, -0.0, nan_, 2.0}).item() == 2);
    CHECK(alike(count_nonzero(x > 2.0, {1}), Indices{2, 1, 1}));
    CHECK_THROWS_AS(nanmax(zeros<double>({0})), ShapeError);
}

TEST_CASE("places of what holds, and elements there")
{
    const B far = x > 2.5;
    CHECK(alike(flatnonzero(far), Indices{1, 3, 6, 11}));
    const auto places = nonzero(far);
    CHECK(alike(places[0], Indices{0, 0, 1, 2}));
    CHECK(alike(places[1], Indices{1, 3, 2, 3}));
    CHECK(nonzero(D(2.0)).empty());
    CHECK(alike(extract(far, x), D{4.0, 7.0, 3.0, 5.0}));
    CHECK(extract(x > 99.0, x).shape() == Shape{0});
    CHECK(alike(grad([&](const D& t) { return sum(square(extract(far, t))); })(x), where(far, 2.0 * x, 0.0)));
    CHECK_THROWS_AS(extract(far, x(0)), ShapeError);
    auto frozen = freeze([](const D& t) { return sum(extract(t > 0.0, t)); });
    CHECK_THROWS_AS(frozen(x), TapeError);
    CHECK(alike(digitize(a, {0.0, 1.0}), Indices{2, 0, 1, 2, 1}));
    CHECK(alike(digitize(D{0.0, 1.0}, {0.0, 1.0}, true), Indices{0, 1}));
    CHECK(alike(isclose(D{1.0, 1.0, inf, inf, nan_}, {1.00001, 1.1, inf, 1.0, nan_}),
                B{true, false, true, false, false}));
    CHECK(alike(isinf(D{inf, -inf, nan_, 1e308}), B{true, true, false, false}));
}

TEST_CASE("truth values by NumPy's words, and a choice between two numbers")
{
    const B p = {true, true, false, false}, q = {true, false, true, false};
    CHECK(alike(p & q, p && q));
    CHECK(alike(p | q, p || q));
    CHECK(alike(~p, !p));
    CHECK(alike(where(p, 1.0, 0.0), D{1.0, 1.0, 0.0, 0.0}));
    CHECK(alike(where(p, 2.0F, -1.0F), Tensor<float>{2.0F, 2.0F, -1.0F, -1.0F}));
    const auto relu_by_mask = [](const D& t) { return sum(where(t > 0.0, 1.0, 0.0) * t); };
    CHECK(alike(grad(relu_by_mask)(a), D{1.0, 0.0, 1.0, 1.0, 1.0}));
    auto frozen = freeze(grad(relu_by_mask));
    for (const double by : {1.0, -1.0}) CHECK(alike(frozen(a * by), grad(relu_by_mask)(a * by)));
}

TEST_CASE("diagonals beside the main one, logspace, slopes by differences")
{
    CHECK(alike(diag(two), D{{2.0, 0.0}, {0.0, 1.0}}));
    CHECK(alike(diag(two, 1), D{{0.0, 2.0, 0.0}, {0.0, 0.0, 1.0}, {0.0, 0.0, 0.0}}));
    CHECK(alike(diag(two, -1), D{{0.0, 0.0, 0.0}, {2.0, 0.0, 0.0}, {0.0, 1.0, 0.0}}));
    CHECK_THROWS_AS(diag(x), ShapeError);
    CHECK(alike(copy(diagonal(x, 1)), D{4.0, 3.0, 5.0}));
    CHECK(alike(copy(diagonal(x, -2)), D{2.0}));
    CHECK(diagonal(x, 4).shape() == Shape{0});
    CHECK(diagonal(x, -7).shape() == Shape{0});
    CHECK(allclose(logspace<double>(-1, 2, 4), D{0.1, 1.0, 10.0, 100.0}, 1e-15));
    CHECK(alike(logspace<double>(0, 3, 4, 2), D{1.0, 2.0, 4.0, 8.0}));
    CHECK(alike(gradient(x, 0.5, 0),
                D{{-1.0, -10.0, 2.0, -10.0}, {1.0, -2.0, -5.0, -2.0}, {3.0, 6.0, -12.0, 6.0}}));
    CHECK(allclose(gradient(x, {0.0, 1.0, 1.5, 4.0}, 1),
                   D{{3.0, -5.0 / 3, -3.0, 2.0}, {-1.5, 29.0 / 6, 6.6, -0.4}, {0.0, -20.0 / 3, -7.8, 3.2}},
                   1e-14));
    CHECK(alike(gradient(two), D{-1.0, -1.0}));
    CHECK_THROWS_AS(gradient(D{1.0}), ShapeError);
    CHECK_THROWS_AS(gradient(x, {1.0, 2.0}, 1), ShapeError);
    CHECK_THROWS_WITH(gradient(x, 1.0, 2),
                      Catch::Contains("[gradient]") && Catch::Contains("test_statistics.cpp"));
}
