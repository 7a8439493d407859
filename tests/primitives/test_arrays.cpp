/// segment_max and its kin, scatter_max, unique, bincount, histogram, cubic splines: values against plain loops and SciPy's numbers,
/// derivatives, ties, NaN, graphs, errors; members of Tensor.
#include "catch.hpp"
#include "same_bits.hpp"

#include <cmath>
#include <limits>
#include <map>

#include <wengert/arrays.hpp>
#include <wengert/native.hpp>
#include <wengert/wengert.hpp>

using namespace wengert;

namespace {

using D = Tensor<double>;
constexpr double quiet_nan = std::numeric_limits<double>::quiet_NaN(),
                 inf = std::numeric_limits<double>::infinity();

template <class T> std::vector<T> list(const Tensor<T>& x)
{
    std::vector<T> out;
    const Tensor<T> flat = flatten(x);
    for (std::int64_t k = 0; k < static_cast<std::int64_t>(flat.size()); ++k) out.push_back(flat(k).item());
    return out;
}
template <class F> std::string refusal(const F& f)
{
    try {
        f();
    } catch (const Error& e) {
        return e.what();
    }
    return "";
}
/// Three calls of a frozen function beside f, on every backend.
template <class F> void check_frozen(const F& f, const D& x)
{
    for (const auto& backend : {Backend(tile), Backend(interpret), Backend(native)}) {
        FreezeOptions options;
        options.backend = backend;
        auto frozen = freeze(f, options);
        for (const double by : {1.0, 1.5, -0.75}) CHECK(same_bits(frozen(x * by), f(x * by)));
    }
}
template <class F> void check_derivatives(const F& f, const D& x)
{
    const CheckReport report = check_grads(f, x, {.order = 2});
    INFO(report.message);
    CHECK(report.ok);
    check_frozen(grad(f), x);
}

template <class T> void check_segments()
{
    constexpr T lowest =
        std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::min();
    constexpr T highest =
        std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
    const Tensor<T> x = {{3, 1}, {-2, 5}, {4, 1}, {0, -7}};
    const Indices ids = {2, 0, 2, 0};
    for (const Tensor<T>& y : {x, transpose(copy(transpose(x)))}) {  // a view, too
        CHECK(list(segment_max(y, ids, 4)) == std::vector<T>{0, 5, lowest, lowest, 4, 1, lowest, lowest});
        CHECK(list(segment_min(y, ids, 4)) ==
              std::vector<T>{-2, -7, highest, highest, 3, 1, highest, highest});
    }
    CHECK(segment_max(Tensor<T>(Shape{0, 3}, std::vector<T>{}), Indices(Shape{0}, std::vector<int>{}), 2)
              .shape() == Shape{2, 3});
    CHECK(segment_max(x, ids - ids, 1).shape() == Shape{1, 2});
    const Tensor<T> onto = {{1, 1}, {1, 1}, {1, 1}};
    CHECK(list(scatter_max(onto, {-1, 0, 2, 0}, x, 0)) == std::vector<T>{1, 5, 1, 1, 4, 1});
    CHECK(list(scatter_min(onto, {-1, 0, 2, 0}, x, 0)) == std::vector<T>{-2, -7, 1, 1, 1, 1});
    CHECK(list(scatter_max(transpose(onto), {0, 0, 1, 2}, transpose(x), 1)) ==
          list(transpose(scatter_max(onto, {0, 0, 1, 2}, x, 0))));
}

}  // namespace

TEST_CASE("segments and scatters: the greatest and the least of groups")
{
    check_segments<float>();
    check_segments<double>();
    check_segments<std::int32_t>();
    check_segments<std::int64_t>();
    CHECK(list(segment_mean(D{1.0, 2.0, 6.0}, {0, 0, 1}, 2)) == std::vector<double>{1.5, 6.0});
    CHECK(std::isnan(segment_mean(D{1.0}, {0}, 2)(1).item()));
    CHECK(std::isnan(segment_max(D{1.0, quiet_nan, 3.0}, {0, 0, 0}, 1)(0).item()));
    CHECK(list(segment_max(D{-inf, inf}, {0, 1}, 2)) == std::vector<double>{-inf, inf});
}

TEST_CASE("segments and scatters: derivatives, ties share")
{
    const D x = {{3.0, 1.0}, {-2.0, 5.0}, {4.0, 1.5}, {0.5, -7.0}}, onto = {{0.25, 4.5}, {1.0, 1.25}};
    const Indices ids = {1, 0, 1, 0}, wide = {{1, 0}, {1, 1}};
    const D weights = {{1.0, 2.0}, {3.0, 5.0}};
    check_derivatives([&](const D& t) { return sum(square(segment_max(t, ids, 2)) * weights); }, x);
    check_derivatives([&](const D& t) { return sum(square(segment_min(t, ids, 2)) * weights); }, x);
    check_derivatives([&](const D& t) { return sum(square(segment_mean(t, ids, 2)) * weights); }, x);
    check_derivatives([&](const D& t) { return sum(square(scatter_max(onto * 1.5, ids, t, 0)) * weights); },
                      x);
    check_derivatives([&](const D& t) { return sum(square(scatter_min(t, ids, x, 0)) * weights); }, onto);
    check_derivatives(
        [&](const D& t) {
            return sum(square(scatter_max(onto, wide, reshape(t, {2, 2, 2}), 1)));
        },
        x);
    const D equal = {2.0, 2.0, 1.0, 2.0};
    const auto most = [](const D& t) { return segment_max(t, {0, 0, 0, 1}, 3); };
    CHECK(list(grad([&](const D& t) { return most(t)(0); })(equal)) ==
          std::vector<double>{0.5, 0.5, 0.0, 0.0});
    CHECK(list(jvp(most, equal, D{1.0, 3.0, 9.0, 5.0}).second) == std::vector<double>{2.0, 5.0, 0.0});
    CHECK(list(grad([&](const D& t) {
              return sum(scatter_max(t, {0, 0}, D{2.0, 2.0}, 0));
          })(D{2.0})) == std::vector<double>{1.0 / 3});
    CHECK(list(grad([&](const D& t) {
              return sum(most(t) * D{1.0, 1.0, 0.0});
          })(D{quiet_nan, 1.0, 2.0, 3.0})) == std::vector<double>{1.0, 0.0, 0.0, 1.0});
}

TEST_CASE("segments and scatters: in loops, checkpoints, and one more axis")
{
    const Indices ids = {1, 0, 1};
    const auto step = [&](const D& s) {
        const D y = scatter_max(s * 0.5, ids, take(segment_max(s, ids, 2), ids, 0), 0);
        return std::pair(y, sum(square(y)));
    };
    const auto looped = [&](const D& t) { return sum(scan(step, t, std::int64_t(3)).second); };
    const auto plain = [&](const D& t) {
        const auto a = step(t), b = step(a.first), c = step(b.first);
        return a.second + b.second + c.second;
    };
    const D x = {1.0, -2.0, 3.0};
    CHECK(allclose(grad(looped)(x), grad(plain)(x), 1e-14));
    CHECK(allclose(grad(checkpoint(plain))(x), grad(plain)(x), 0.0));
    auto frozen = freeze(grad(looped));
    for (const double by : {1.0, -1.0, 2.0}) CHECK(allclose(frozen(x * by), grad(plain)(x * by), 1e-14));
    const D rows = {{1.0, 2.0, 3.0}, {6.0, 5.0, 4.0}};
    CHECK(list(vmap([&](const D& r) { return segment_min(r, ids, 2); })(rows)) ==
          std::vector<double>{2.0, 1.0, 5.0, 4.0});
}

TEST_CASE("segments and scatters: errors")
{
    const D x = {1.0, 2.0};
    CHECK_THROWS_AS(segment_max(x, {0, 1, 1}, 2), ShapeError);
    CHECK_THROWS_AS(segment_min(x, {0, 1}, -1), ShapeError);
    CHECK_THROWS_AS(segment_mean(D(1.0), {0}, 1), ShapeError);
    CHECK_THROWS_AS(segment_max(x, {0, 2}, 2), IndexError);
    CHECK_THROWS_AS(scatter_max(x, {0, 2}, x, 0), IndexError);
    CHECK_THROWS_AS(scatter_min(x, {0}, x, 0), ShapeError);
    const std::string text = refusal([&] { static_cast<void>(segment_max(x, {0, -1}, 2)); });
    CHECK(text.starts_with("[segment_max]"));
    CHECK(text.find("test_arrays.cpp:") != std::string::npos);
}

TEST_CASE("unique: each value once, ascending; the derivative goes to the first of each")
{
    CHECK(list(unique(D{{3.0, 1.0}, {3.0, -2.0}})) == std::vector<double>{-2.0, 1.0, 3.0});
    CHECK(list(unique(Tensor<std::int64_t>{5, 5, 5})) == std::vector<std::int64_t>{5});
    CHECK(unique(Tensor<bool>{true, false, true}).size() == 2);
    CHECK(unique(D(2.5)).shape() == Shape{1});
    CHECK(unique(D(Shape{0}, std::vector<double>{})).shape() == Shape{0});
    const D odd = unique(D{quiet_nan, 0.0, -0.0, quiet_nan, inf});
    CHECK(odd.shape() == Shape{3});
    CHECK((std::isnan(odd(2).item()) && odd(1).item() == inf && !std::signbit(odd(0).item())));
    const D x = {2.0, 1.0, 2.0, 5.0};
    CHECK(list(grad([](const D& t) {
              return sum(unique(t) * D{1.0, 10.0, 100.0});
          })(x)) == std::vector<double>{10.0, 1.0, 0.0, 100.0});
    auto frozen = freeze([](const D& t) { return sum(unique(t)); });
    const std::string text = refusal([&] { static_cast<void>(frozen(x)); });
    CHECK(text.find("unique: its shape depends on the elements") != std::string::npos);
    CHECK(text.find("test_arrays.cpp:") != std::string::npos);
}

TEST_CASE("bincount counts, or adds weights")
{
    const Indices ids = {1, 3, 1, 0};
    CHECK(list(bincount(ids)) == std::vector<std::int64_t>{1, 2, 0, 1});
    CHECK(list(bincount(ids, 6)) == std::vector<std::int64_t>{1, 2, 0, 1, 0, 0});
    CHECK(list(bincount(ids, 2)) == std::vector<std::int64_t>{1, 2, 0, 1});
    const Indices none(Shape{0}, std::vector<int>{});
    CHECK(bincount(none).shape() == Shape{0});
    CHECK(list(bincount(none, 2)) == std::vector<std::int64_t>{0, 0});
    CHECK(list(bincount(ids, D{1.0, 2.0, 3.0, 4.0})) == std::vector<double>{4.0, 4.0, 0.0, 2.0});
    CHECK(list(bincount(ids, Tensor<float>{1.0F, 2.0F, 3.0F, 4.0F}, 5)) ==
          std::vector<float>{4.0F, 4.0F, 0.0F, 2.0F, 0.0F});
    check_derivatives(
        [&](const D& w) {
            return sum(square(bincount(ids, w, 4)) * D{1.0, 2.0, 3.0, 4.0});
        },
        D{1.0, 2.0, 3.0, 4.0});
    CHECK_THROWS_AS(bincount(Indices{{0}}), ShapeError);
    CHECK_THROWS_AS(bincount(ids, -1), ShapeError);
    CHECK_THROWS_AS(bincount(Indices{0, -1}), IndexError);
    CHECK_THROWS_AS(bincount(ids, D{1.0}), ShapeError);
    auto frozen = freeze([](const Indices& k) { return bincount(k, 2); });  // its length is a guard
    for (const Indices& k : {Indices{0, 1, 0}, Indices{1, 1, 0}, Indices{4, 0, 0}, Indices{0, 0, 1}})
        CHECK(same_bits(frozen(k), bincount(k, 2)));
}

TEST_CASE("histogram: counts between edges, NumPy's choice of them, weights")
{
    const D x = {{0.0, 0.5, 1.0}, {2.0, 4.0, 4.0}};
    const auto [counts, edges] = histogram(x, 4);
    CHECK(list(counts) == std::vector<std::int64_t>{2, 1, 1, 2});
    CHECK(list(edges) == std::vector<double>{0.0, 1.0, 2.0, 3.0, 4.0});
    CHECK(list(histogram(x, D{0.5, 1.0, 4.0}).first) == std::vector<std::int64_t>{1, 4});
    CHECK(list(histogram(D{quiet_nan, -1.0, 9.0, inf, 0.5}, D{0.0, 1.0, 2.0}).first) ==
          std::vector<std::int64_t>{1, 0});
    CHECK(list(histogram(D{3.0, 3.0}, 2).second) == std::vector<double>{2.5, 3.0, 3.5});
    CHECK(list(histogram(D{3.0, 3.0}, 2).first) == std::vector<std::int64_t>{0, 2});
    CHECK(list(histogram(D(Shape{0}, std::vector<double>{}), 2).second) ==
          std::vector<double>{0.0, 0.5, 1.0});
    for (const D& endless : {D{1.0, quiet_nan}, D{1.0, inf}, D{1e308, -1e308}}) {
        CHECK_THROWS_AS(histogram(endless, 2), NumericError);
        CHECK_THROWS_AS(histogram(endless, 2, endless), NumericError);
        CHECK_THROWS_AS(freeze([](const D& t) { return histogram(t, 2).first; })(endless), NumericError);
    }
    const D w = {{1.0, 2.0, 4.0}, {8.0, 16.0, 32.0}};
    CHECK(list(histogram(x, 4, w).first) == std::vector<double>{3.0, 4.0, 8.0, 48.0});
    check_derivatives([&](const D& t) { return sum(square(histogram(x, 4, t).first)); }, w);
    check_frozen([](const D& t) { return cast<double>(histogram(t, 5).first); }, x);
    check_frozen([](const D& t) { return histogram(t, 5).second; }, x);
    CHECK_THROWS_AS(histogram(x, 0), ShapeError);
    CHECK_THROWS_AS(histogram(x, D{1.0}), ShapeError);
    CHECK_THROWS_AS(histogram(x, 4, D{1.0}), ShapeError);
}

TEST_CASE("histogram: edges that do not ascend are refused, in graphs too")
{
    const D x{0.5, 1.0, 3.0}, w{1.0, 2.0, 4.0};
    CHECK(list(histogram(x, D{0.0, 1.0, 1.0, 4.0}).first) == std::vector<std::int64_t>{1, 0, 2});
    CHECK_THROWS_AS(histogram(x, D{2.0, 1.0, 0.0}), NumericError);
    CHECK_THROWS_AS(histogram(x, D{2.0, 1.0, 0.0}, w), NumericError);
    for (const D& edges : {D{quiet_nan, 1.0}, D{0.0, quiet_nan, 4.0}, D{0.0, 1.0, quiet_nan}})
        CHECK_THROWS_AS(histogram(x, edges), NumericError);
    const int line = __LINE__ + 1;
    const std::string said = refusal([&] { histogram(x, D{0.0, 2.0, 1.0}); });
    CHECK(said.find("[histogram] edge 2 is 1 behind 2") == 0);
    CHECK(said.find("test_arrays.cpp:" + std::to_string(line)) != std::string::npos);
    for (const auto& backend : {Backend(tile), Backend(interpret), Backend(native)}) {
        FreezeOptions options;
        options.backend = backend;
        auto frozen = freeze([&](const D& edges) { return histogram(x, edges).first; }, options);
        for (int k = 0; k < 3; ++k) CHECK(list(frozen(D{0.0, 1.0, 4.0})) == std::vector<std::int64_t>{1, 2});
        CHECK_THROWS_AS(frozen(D{4.0, 1.0, 0.0}), NumericError);
        CHECK_THROWS_AS(frozen(D{0.0, quiet_nan, 4.0}), NumericError);
        CHECK(list(frozen(D{0.0, 1.0, 4.0})) == std::vector<std::int64_t>{1, 2});
    }
}

TEST_CASE("logcumsumexp from −∞ on, in both directions; its gradient there is 0")
{
    const D x = {-inf, -1000.0, -999.0, -inf}, turned = view(x, range(placeholders::_, placeholders::_, -1));
    const double sum_of_both = -999.0 + std::log1p(std::exp(-1.0));
    const D y = logcumsumexp(x), z = logcumsumexp(turned, 0, true);
    CHECK(list(y)[0] == -inf);
    CHECK(list(y)[1] == -1000.0);
    CHECK(allclose(view(y, range(2, 4)), D{sum_of_both, sum_of_both}, 1e-15));
    CHECK(list(z) == list(view(y, range(placeholders::_, placeholders::_, -1))));
    CHECK(list(logcumsumexp(D{1.0, inf, 2.0, -inf})) == std::vector<double>{1.0, inf, inf, inf});
    const auto f = [](const D& q) { return sum(logcumsumexp(q)); };
    const D at = {-inf, 1.0, 2.0}, rest = wengert::grad(f)(D{1.0, 2.0}), all = wengert::grad(f)(at);
    CHECK(list(all)[0] == 0.0);
    CHECK(allclose(view(all, range(1, 3)), rest, 1e-15));
    CHECK(allclose(freeze(wengert::grad(f))(at), all, 0.0));
    CHECK(check_grads(f, D{0.3, -1.0, 2.0, 1.9}, {.order = 2}).message.empty());
}

TEST_CASE("trapezoid wants a point for each value")
{
    const D y = {{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}};
    CHECK(list(trapezoid(y, D{1.0, 2.0, 4.0})) == std::vector<double>{6.5, 15.5});
    CHECK(list(trapezoid(y, D{1.0, 2.0}, 0)) == std::vector<double>{2.5, 3.5, 4.5});
    CHECK(list(trapezoid(y, D{{1.0, 2.0, 4.0}, {1.0, 2.0, 3.0}})) == std::vector<double>{6.5, 10.0});
    CHECK(list(trapezoid(y, D{{1.0, 2.0, 4.0}})) == std::vector<double>{6.5, 15.5});
    for (const D& points :
         {D{1.0}, D{1.0, 2.0}, D{1.0, 2.0, 3.0, 4.0}, D{{1.0}, {2.0}}, D{{{1.0, 2.0, 3.0}}}}) {
        const std::string why = refusal([&] { return trapezoid(y, points); });
        CHECK(why.find("[trapezoid]") == 0);
        CHECK(why.find("test_arrays.cpp") != std::string::npos);
    }
}
