/// sort, argsort, topk, quantile, median, searchsorted, interp: values against plain loops, ties, NaN, errors.
#include "catch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <wengert/wengert.hpp>

using namespace wengert;

namespace {

constexpr double quiet_nan = std::numeric_limits<double>::quiet_NaN(),
                 inf = std::numeric_limits<double>::infinity();

template <class T> std::vector<T> list(const Tensor<T>& x)
{
    std::vector<T> out;
    const Tensor<T> flat = flatten(x);
    for (std::int64_t k = 0; k < static_cast<std::int64_t>(flat.size()); ++k) out.push_back(flat(k).item());
    return out;
}
/// By insertion: another algorithm than the library's.
template <class T> std::vector<std::int64_t> plain_order(const std::vector<T>& x, bool descending)
{
    std::vector<std::int64_t> order;
    for (std::size_t k = 0; k < x.size(); ++k) {
        std::size_t at = 0;
        const auto stays = [&](T a, T b) {  // a before b, or equal
            if (a != a || b != b) return descending ? a != a : b != b;
            return descending ? a >= b : a <= b;
        };
        while (at < order.size() && stays(x[static_cast<std::size_t>(order[at])], x[k])) ++at;
        order.insert(order.begin() + static_cast<std::ptrdiff_t>(at), static_cast<std::int64_t>(k));
    }
    return order;
}

template <class T> std::vector<T> numbers(std::size_t n, unsigned seed)
{
    std::vector<T> x(n);
    for (auto& e : x) {
        seed = seed * 1664525U + 1013904223U;
        e = static_cast<T>((seed >> 24) % 17) - static_cast<T>(5);  // many are equal
        if constexpr (std::is_floating_point_v<T>)
            if ((seed >> 20) % 11 == 0) e = static_cast<T>(quiet_nan);
    }
    return x;
}

template <class T> void check_lines()
{
    for (const std::size_t n : {0U, 1U, 2U, 7U, 40U})
        for (const bool descending : {false, true}) {
            const std::vector<T> a = numbers<T>(n, 3), b = numbers<T>(n, 4);
            const Tensor<T> rows = stack({Tensor<T>(Shape{n}, a), Tensor<T>(Shape{n}, b)}, 0);
            const auto by_rows = argsort(rows, -1, descending),
                       by_columns = argsort(transpose(rows), 0, descending);
            CHECK(list(by_rows(0)) == plain_order(a, descending));
            CHECK(list(by_rows(1)) == plain_order(b, descending));
            CHECK(list(transpose(by_columns)) == list(by_rows));
            for (std::int64_t k = 0; k <= static_cast<std::int64_t>(n); k += 3) {
                const auto first = topk(rows, k, 1, descending);
                CHECK(first.first.shape() == Shape{2, k});
                CHECK(list(first.second) == list(view(by_rows, all(), range(0, k))));
            }
        }
}

}  // namespace

TEST_CASE("lines in order: equal elements stay in their order, NaN is the greatest")
{
    check_lines<float>();
    check_lines<double>();
    check_lines<std::int32_t>();
    check_lines<std::int64_t>();
    const Tensor<double> x = {quiet_nan, 1.0, -inf, inf, 1.0, -0.0, 0.0};
    CHECK(list(argsort(x)) == std::vector<std::int64_t>{2, 5, 6, 1, 4, 3, 0});
    CHECK(list(argsort(x, 0, true)) == std::vector<std::int64_t>{0, 3, 1, 4, 5, 6, 2});
    CHECK(sort(Tensor<double>(Shape{2, 0}, std::vector<double>{})).shape() == Shape{2, 0});
}

TEST_CASE("derivatives go where the elements were, on every executor")
{
    const auto f = [](const Tensor<double>& x) {
        return sum(sort(x, 0) * Tensor<double>{{1.0}, {2.0}, {4.0}}) + sum(square(topk(x, 2, 1).first)) +
               quantile(x, 0.3) * median(x);
    };
    const Tensor<double> x = {{3.0, -1.0, 0.5}, {2.0, 7.0, -3.0}, {1.0, 0.25, 9.0}};
    const CheckReport checked = check_grads(f, x, {.order = 2});
    CHECK(checked.ok);
    auto frozen = freeze(value_and_grad(f));
    static_cast<void>(frozen(x));
    const Tensor<double> other = flip(x, 0) + 0.125;  // another order than the traced one
    const auto [value, slope] = frozen(other);
    CHECK(value.item() == f(other).item());
    CHECK(list(slope) == list(grad(f)(other)));
    const Tensor<double> equal = {2.0, 2.0, 1.0};  // the first of equal ones is the first
    CHECK(list(grad([](const Tensor<double>& t) { return sort(t)(1); })(equal)) ==
          std::vector<double>{1.0, 0.0, 0.0});
}

TEST_CASE("quantiles lie between elements in proportion")
{
    const Tensor<double> x = {{4.0, 1.0, 3.0, 2.0}, {10.0, 30.0, 20.0, 40.0}};
    CHECK(list(quantile(x, 0.25, 1)) == std::vector<double>{1.75, 17.5});
    CHECK(list(median(x, -1)) == std::vector<double>{2.5, 25.0});
    CHECK(median(x, 1, true).shape() == Shape{2, 1});
    CHECK(quantile(x, 0.0).item() == 1.0);
    CHECK(quantile(x, 1.0).item() == 40.0);
    CHECK(list(median(transpose(x), 0)) == std::vector<double>{2.5, 25.0});
    CHECK(std::isnan(median(Tensor<double>{1.0, quiet_nan, 2.0}).item()));
    CHECK(median(Tensor<double>{-inf, 0.0, inf}).item() == 0.0);
    CHECK(quantile(Tensor<float>{1.0F, 2.0F}, 0.5).item() == 1.5F);
    CHECK_THROWS_AS(quantile(x, 1.5), IndexError);
    CHECK_THROWS_AS(quantile(x, quiet_nan), IndexError);
    CHECK_THROWS_AS(median(Tensor<double>(Shape{0}, std::vector<double>{})), ShapeError);
}

TEST_CASE("searchsorted counts what comes before")
{
    const Tensor<double> sorted = {-1.0, 0.5, 0.5, 2.0, inf, quiet_nan};
    const Tensor<double> v = {{-2.0, -1.0, 0.5}, {3.0, inf, quiet_nan}};
    CHECK(list(searchsorted(sorted, v)) == std::vector<std::int64_t>{0, 0, 1, 4, 4, 5});
    CHECK(list(searchsorted(sorted, v, true)) == std::vector<std::int64_t>{0, 1, 3, 4, 5, 6});
    CHECK(searchsorted(sorted, v).shape() == Shape{2, 3});
    CHECK(searchsorted(Tensor<double>(Shape{0}, std::vector<double>{}), v)(1, 1).item() == 0);
    CHECK_THROWS_AS(searchsorted(v, v), ShapeError);
}

TEST_CASE("interp: a line through points, their ends beyond them, derivatives in all three")
{
    const Tensor<double> xp = {0.0, 1.0, 3.0}, fp = {10.0, 20.0, -20.0};
    const Tensor<double> x = {-1.0, 0.0, 0.25, 1.0, 2.0, 3.0, 4.0};
    CHECK(list(interp(x, xp, fp)) == std::vector<double>{10.0, 10.0, 12.5, 20.0, 0.0, -20.0, -20.0});
    CHECK(std::isnan(interp(Tensor<double>(quiet_nan), xp, fp).item()));
    CHECK(interp(Tensor<double>(5.0), Tensor<double>{1.0}, Tensor<double>{7.0}).item() == 7.0);
    const Tensor<double> inside = {0.25, 1.75, 2.5, -1.0, 5.0};
    const auto f = [&](const Tensor<double>& a, const Tensor<double>& b, const Tensor<double>& c) {
        return sum(square(interp(a, b, c)));
    };
    CHECK(check_grads([&](const Tensor<double>& t) { return f(t, xp, fp); }, inside, {.order = 2}).ok);
    CHECK(check_grads([&](const Tensor<double>& t) { return f(inside, t, fp); }, xp, {.order = 2}).ok);
    CHECK(check_grads([&](const Tensor<double>& t) { return f(inside, xp, t); }, fp, {.order = 2}).ok);
    CHECK_THROWS_AS(interp(x, xp, Tensor<double>{1.0}), ShapeError);
}

TEST_CASE("order: errors have the line of the call")
{
    const Tensor<double> x = {1.0, 2.0};
    try {
        static_cast<void>(topk(x, 3));
        FAIL("no error");
    } catch (const ShapeError& e) {
        CHECK(std::string(e.what()).find("[topk] 3 elements along axis -1 of shape (2)") == 0);
        CHECK(std::string(e.what()).find("test_order.cpp") != std::string::npos);
    }
    CHECK_THROWS_AS(sort(x, 1), ShapeError);
    CHECK_THROWS_AS(argsort(Tensor<double>(1.0)), ShapeError);
}

TEST_CASE("order: a dynamic graph that nobody checks refuses an extent with too few elements")
{
    const auto two =
        freeze([](const Tensor<double>& x) { return topk(x, 2, 0).first; }, {.check = false, .dynamic = {0}});
    const auto rows = [](std::int64_t n) { return normal<double>(Key(1), {n, 3}); };
    for (const std::int64_t n : {5, 7, 2}) CHECK(allclose(two(rows(n)), topk(rows(n), 2, 0).first, 0.0));
    for (const std::int64_t n : {1, 0}) CHECK_THROWS_AS(two(rows(n)), ShapeError);
    CHECK(allclose(two(rows(4)), topk(rows(4), 2, 0).first, 0.0));
}

TEST_CASE("order: between two infinities, and beside one")
{
    using D = Tensor<double>;
    constexpr double inf = std::numeric_limits<double>::infinity();
    CHECK(median(D{1.0, inf, inf, inf}).item() == inf);
    CHECK(median(D{-inf, 0.0}).item() == -inf);
    CHECK(quantile(D{-inf, -inf, 0.0}, 0.25).item() == -inf);
    CHECK(std::isnan(median(D{-inf, inf}).item()));
    CHECK(median(D{1e308, -1e308}).item() == 0.0);
    const D ends{3.0, 4.0, inf}, xp{0.0, 1.0, 2.0};
    CHECK(interp(D{1.0}, xp, ends)(0).item() == 4.0);
    CHECK(interp(D{1.5}, xp, ends)(0).item() == inf);
    CHECK(interp(D{0.5}, D{0.0, 1.0}, D{inf, inf})(0).item() == inf);
    const auto middle = [](const D& x) { return median(x); };
    const D g = grad(middle)(D{2.0, 2.0, 2.0, 5.0});
    CHECK(sum(g).item() == 1.0);
    CHECK(freeze(middle)(D{1.0, inf, inf, inf}).item() == inf);
}
