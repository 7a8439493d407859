/// New tensors, copies, comparison, random tensors.
#include "catch.hpp"

#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/cast.hpp>
#include <wengert/ops/elementwise/pairs.hpp>
#include <wengert/ops/random.hpp>
#include <wengert/ops/shape.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/tape/backward.hpp>

#include <limits>

using namespace wengert;
using D = Tensor<double>;

namespace {

template <class T> std::vector<T> values(const Tensor<T>& x)
{
    const auto b = readable(x.any().value);
    return std::vector<T>(b->template as<T>(), b->template as<T>() + b->count);
}

}  // namespace

TEST_CASE("shapes, not elements, go into zeros, ones and full", "[creation]")
{
    CHECK(zeros<float>({3, 0, 2}).size() == 0);
    CHECK(zeros<double>({}).dimension() == 0);
    CHECK(values(ones<double>({2})) == std::vector<double>{1, 1});
    CHECK(values(full<std::int64_t>({2}, 7)) == std::vector<std::int64_t>{7, 7});
    CHECK(values(full<double, cpu>({1, 2}, 0.5)) == std::vector<double>{0.5, 0.5});
    const D x = {{1.0, 2.0, 3.0}};
    CHECK(zeros_like(x).shape() == x.shape());
    CHECK(values(ones_like(x)) == std::vector<double>{1, 1, 1});
    CHECK(values(full_like(x, 4)) == std::vector<double>{4, 4, 4});
    CHECK_THROWS_WITH(zeros<double>({2, -1}),
                      contains("zeros") && contains("(2, -1)") && contains("test_creation.cpp:"));
}

TEST_CASE("a count in braces is an extent", "[creation]")
{
    const std::size_t n = 3;  // clang 16 took it for a rank, inside templates
    CHECK(zeros<double>({n}).shape() == Shape{3});
    CHECK(Tensor<double>(std::vector<double>{1, 2, 3}).shape() == Shape{3});
    CHECK_FALSE(Tensor<double>().defined());
}

TEST_CASE("eye, arange, linspace", "[creation]")
{
    CHECK(values(eye<double>(2)) == std::vector<double>{1, 0, 0, 1});
    CHECK(values(eye<float>(2, 3)) == std::vector<float>{1, 0, 0, 0, 1, 0});
    CHECK(values(arange<double>(3)) == std::vector<double>{0, 1, 2});
    CHECK(values(arange<std::int64_t>(5, 0, -2)) == std::vector<std::int64_t>{5, 3, 1});
    CHECK(values(arange<double>(0, 1, 0.25)) == std::vector<double>{0, 0.25, 0.5, 0.75});
    CHECK(arange<std::int32_t>(-3).size() == 0);
    CHECK_THROWS_AS(arange<std::int64_t>(0, 1, 0), ShapeError);
    CHECK_THROWS_AS(arange<double>(1e18), ShapeError);
    CHECK_THROWS_AS(eye<double>(2, -5), ShapeError);
    CHECK_THROWS_AS(arange<double>(0, 1, 0), ShapeError);
    CHECK(values(linspace<double>(0, 1, 5)) == std::vector<double>{0, 0.25, 0.5, 0.75, 1});
    CHECK(values(linspace<double>(3, 7, 1)) == std::vector<double>{3});
    CHECK(linspace<double>(3, 7, 0).size() == 0);
    CHECK(linspace<double>(0, 0.3, 4)(3).item() == 0.3);
    CHECK_THROWS_AS(linspace<double>(0, 1, -1), ShapeError);
}

TEST_CASE("arange of integers counts in integers", "[creation]")
{
    using I = std::int64_t;
    constexpr I odd = (I{1} << 53) + 1;  // no double
    constexpr I least = std::numeric_limits<I>::min(), most = std::numeric_limits<I>::max();
    CHECK(values(arange<I>(odd - 1, odd)) == std::vector<I>{odd - 1});
    CHECK(values(arange<I>(odd, odd + 3)) == std::vector<I>{odd, odd + 1, odd + 2});
    CHECK(values(arange<I>(odd + 3, odd, -2)) == std::vector<I>{odd + 3, odd + 1});
    CHECK(values(arange<I>(0, 7, 3)) == std::vector<I>{0, 3, 6});
    CHECK(values(arange<I>(0, 6, 3)) == std::vector<I>{0, 3});
    CHECK(values(arange<I>(0, 3, most)) == std::vector<I>{0});
    CHECK(values(arange<I>(least, most, I{1} << 62)) == std::vector<I>{least, least / 2, 0, -(least / 2)});
    CHECK(values(arange<I>(most, least, least)) == std::vector<I>{most, -1});
    CHECK(values(arange<std::int32_t>(-2147483647, 2147483647, 2000000000)) ==
          std::vector<std::int32_t>{-2147483647, -147483647, 1852516353});
    CHECK(arange<I>(most, least).size() == 0);
    CHECK_THROWS_AS(arange<I>(least, most), ShapeError);
}

TEST_CASE("copy is recorded, stop_gradient is not", "[creation]")
{
    D x = {{1.0, 2.0}, {3.0, 4.0}};
    x.requires_grad(true);
    const D part = copy(view(std::as_const(x), all(), 1));
    CHECK(part.data()[1] == 4.0);
    backward(sum(part * stop_gradient(part)));
    CHECK(values(x.grad()) == std::vector<double>{0, 2, 0, 4});
}

TEST_CASE("allclose", "[creation]")
{
    const double inf = std::numeric_limits<double>::infinity(),
                 nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(allclose(D{1.0, 2.0}, D{1.0, 2.0 + 1e-9}));
    CHECK(!allclose(D{1.0, 2.0}, D{1.0, 2.1}));
    CHECK(allclose(D{1.0, 2.0}, D{1.0, 2.1}, 0.1));
    CHECK(!allclose(D{1.0, 2.0}, D{{1.0, 2.0}}));
    CHECK(!allclose(D{nan}, D{nan}));
    CHECK(allclose(D{inf}, D{inf}));
    CHECK(!allclose(D{1.0}, D{inf}));
    CHECK(allclose(Tensor<bool>{true}, Tensor<bool>{true}));
}

TEST_CASE("random tensors are functions of their key", "[creation][random]")
{
    const Key key(3);
    CHECK(values(normal<double>(key, {4, 3})) == values(normal<double>(key, {12})));
    CHECK(values(normal<float>(key, {4})) != values(normal<float>(split(key).first, {4})));
    const D u = uniform<double>(key, {1000}, -1, 3);
    for (double v : values(u)) CHECK((v >= -1 && v < 3));
    CHECK(std::abs(sum(u).item() / 1000 - 1) < 0.2);
    for (auto i : values(randint(key, {50}, -2, 3))) CHECK((i >= -2 && i < 3));
    auto order = values(permutation(key, 10));
    std::sort(order.begin(), order.end());
    CHECK(order == values(arange<std::int64_t>(10)));
    const auto kept = values(dropout_mask<double>(key, {1000}, 0.75));
    CHECK(std::abs(static_cast<double>(std::count(kept.begin(), kept.end(), 4.0)) - 250) < 60);
    CHECK(std::count(kept.begin(), kept.end(), 0.0) + std::count(kept.begin(), kept.end(), 4.0) == 1000);
    const auto coins = values(bernoulli(key, {1000}, 0.1));
    CHECK(std::abs(static_cast<double>(std::count(coins.begin(), coins.end(), true)) - 100) < 40);
}

TEST_CASE("impossible draws are refused", "[creation][random]")
{
    CHECK_THROWS_AS(dropout_mask<float>(Key(1), {3}, 1.0), Error);
    CHECK_THROWS_AS(bernoulli(Key(1), {3}, -0.1), Error);
    CHECK_THROWS_AS(randint(Key(1), {3}, 2, 2), Error);
    const double inf = std::numeric_limits<double>::infinity(),
                 nan = std::numeric_limits<double>::quiet_NaN();
    CHECK_THROWS_WITH(uniform<double>(Key(1), {3}, 2, 1), contains("uniform") && contains("no numbers"));
    CHECK_THROWS_AS(uniform<double>(Key(1), {3}, -1.7e308, 1.7e308), Error);
    CHECK_THROWS_AS(uniform<float>(Key(1), {3}, -3e38f, 3e38f), Error);
    CHECK_THROWS_AS(uniform<double>(Key(1), {3}, nan, 1), Error);
    CHECK_THROWS_AS(uniform<double>(Key(1), {3}, 0, nan), Error);
    CHECK_THROWS_AS(uniform<double>(Key(1), {3}, 0, inf), Error);
    CHECK_THROWS_AS(uniform<double>(Key(1), {3}, inf, inf), Error);
    CHECK(values(uniform<double>(Key(1), {2}, 3, 3)) == std::vector<double>{3, 3});
    CHECK_THROWS_AS(normal<double>(Key(1), {-3}), ShapeError);
    CHECK_THROWS_AS(permutation(Key(1), -1), ShapeError);
}

TEST_CASE("a number that the elements cannot have is refused, with its line", "[creation]")
{
    using I = Tensor<std::int32_t>;
    const I m = {2, 3, -1};
    const auto refuses = [](const auto& f, const std::string& number) {
        try {
            f();
            FAIL_CHECK("not refused: " << number);
        } catch (const DTypeError& e) {
            CHECK(std::string(e.what()).find("[number] " + number + " beside a tensor of ") == 0);
            CHECK(std::string(e.what()).find("test_creation.cpp") != std::string::npos);
        }
    };
    refuses([&] { return m * 0.5; }, "0.5");
    refuses([&] { return 2.5 / m; }, "2.5");
    refuses([&] { return m < 2.5; }, "2.5");
    refuses([&] { return m + 5000000000; }, "5000000000");
    refuses([&] { return m + 4294967295U; }, "4294967295");
    refuses([&] { return m + double(NAN); }, "nan");
    refuses([&] { return I{1.5}; }, "1.5");
    refuses([&] { return I(1.5); }, "1.5");
    refuses([&] { return Tensor<std::int64_t>{1} + 0x1p63; }, "9.2233720368547758e+18");
    refuses([&] { return Tensor<bool>{true} == 0.5; }, "0.5");
    refuses([&] { return full<std::int32_t>({2}, 0.5); }, "0.5");
    refuses([&] { return full<std::int32_t>({2}, 5000000000); }, "5000000000");
    refuses([&] { return full_like(m, -1e10); }, "-10000000000");
    refuses([&] { return arange<std::int32_t>(0, 2, 0.5); }, "0.5");
    refuses([&] { return arange<std::int64_t>(2.5); }, "2.5");
    refuses([&] { return randint(Key(1), {3}, 0, 2.5); }, "2.5");
    refuses([&] { return pad(m, {{1, 1}}, 0.5); }, "0.5");
    refuses([&] { return add(0.5, m); }, "0.5");
    refuses([&] { return maximum(1e10, m); }, "10000000000");
    refuses([&] { return where(Tensor<bool>{true, false, true}, 2.5, m); }, "2.5");
    refuses([&] { return I(Shape{2}, std::vector<double>{1.0, 0.5}); }, "0.5");
    refuses([&] { return I(Shape{1}, std::vector<std::int64_t>{5000000000}); }, "5000000000");
    CHECK(values(I(Shape{2}, std::vector<double>{3.0, -1.0})) == std::vector<std::int32_t>{3, -1});
    const std::vector<bool> truths{true};
    CHECK(values(full<bool>({1}, truths[0])) ==
          std::vector<bool>{true});  // what converts to an element is one
    CHECK(values(full<float>({1}, 2)) == std::vector<float>{2});
    CHECK(values(pad(m, {{1, 0}}, 7.0)) == std::vector<std::int32_t>{7, 2, 3, -1});
    I k = m;
    refuses([&] { k *= 0.5; }, "0.5");
    CHECK(values(k) == values(m));
    CHECK(values(m * 2.0) == std::vector<std::int32_t>{4, 6, -2});
    CHECK(values(m / 2.0) == std::vector<double>{1.0, 1.5, -0.5});
    CHECK(values(I{1.0, -2147483648.0}) == std::vector<std::int32_t>{1, -2147483647 - 1});
    CHECK(values(Tensor<std::int64_t>{0} - 0x1p62) == std::vector<std::int64_t>{-(std::int64_t{1} << 62)});
}

TEST_CASE("allclose refuses a tolerance that nothing can meet")
{
    const Tensor<double> m = {1.0, 2.0};
    for (const double bad : {-1.0, std::numeric_limits<double>::quiet_NaN()})
        CHECK_THROWS_AS(allclose(m, m, bad), OptionError);
    CHECK(allclose(m, m, 0.0));
    CHECK_FALSE(allclose(m, Tensor<double>{1.0, 3.0}, 0.0));
}
