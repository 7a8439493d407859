/// NumPy's habits: members of Tensor that are functions, x[i], conversions, a number printed alone.
#include "catch.hpp"

#include <sstream>

#include <wengert/wengert.hpp>

using namespace wengert;

namespace {

using D = Tensor<double>;

template <class T> std::string text_of(const Tensor<T>& x)
{
    std::ostringstream out;
    out << x;
    return out.str();
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

}  // namespace

TEST_CASE("members are the functions of their name")
{
    const D x = {{1.0, 2.0, 3.0}, {4.0, 5.0, 6.5}};
    CHECK(allclose(x.T(), transpose(x), 0.0));
    CHECK(allclose(x.T().T(), x, 0.0));
    CHECK(x.sum().item() == 21.5);
    CHECK(allclose(x.sum(0), D{5.0, 7.0, 9.5}, 0.0));
    CHECK(x.sum({0, 1}, true).shape() == Shape{1, 1});
    CHECK(x.mean().item() == 21.5 / 6);
    CHECK(allclose(x.mean(-1, true), D{{2.0}, {15.5 / 3}}, 1e-15));
    CHECK(allclose(x.reshape({3, -1}), reshape(x, {3, 2}), 0.0));
    CHECK(D(2.0).T().shape() == Shape());
    static_assert(std::is_same_v<decltype(Tensor<bool>().sum()), Tensor<std::int64_t>>);
    static_assert(std::is_same_v<decltype(Tensor<std::int32_t>().mean()), D>);
    static_assert(std::is_same_v<decltype(Tensor<float>().mean()), Tensor<float>>);
    CHECK(Tensor<bool>{true, false, true}.sum().item() == 2);
    CHECK(Tensor<std::int64_t>{1, 2}.mean().item() == 1.5);
}

TEST_CASE("x[i] is x(i)")
{
    const D x = {{1.0, 2.0, 3.0}, {4.0, 5.0, 6.5}};
    CHECK(allclose(x[1], x(1), 0.0));
    CHECK(x[-1][0].item() == 4.0);
    CHECK(x[std::size_t(1)][2].item() == 6.5);
    const int line = __LINE__ + 1;
    CHECK(refusal([&] { static_cast<void>(x[2]); }).find("test_members.cpp:" + std::to_string(line)) !=
          std::string::npos);
    CHECK(refusal([&] { static_cast<void>(x.sum(5)); }).find("test_members.cpp:") != std::string::npos);
    CHECK_THROWS_AS(D(1.0)[0], IndexError);
}

TEST_CASE("members have derivatives, and are operations of a graph")
{
    const D x = {{1.0, 2.0, 3.0}, {4.0, 5.0, 6.5}};
    const auto f = [](const D& t) { return (t.T()[1] * t.reshape({6})[3]).sum() + square(t).mean(0)[2]; };
    const CheckReport report = check_grads(f, x, {.order = 2});
    INFO(report.message);
    CHECK(report.ok);
    auto frozen = freeze(grad(f));
    for (const double by : {1.0, 2.0, -0.5}) CHECK(allclose(frozen(x * by), grad(f)(x * by), 0.0));
}

TEST_CASE("a conversion to a number needs one element, and says what it was of")
{
    CHECK(static_cast<double>(D(1.5)) == 1.5);
    CHECK(static_cast<int>(Tensor<std::int64_t>{{7}}) == 7);
    const D x = {1.0, 2.0};
    CHECK_THROWS_AS(static_cast<double>(x), ShapeError);
    D w = x;
    w.requires_grad();
    const int line = __LINE__ + 1;
    const D y = exp(w);
    const std::string text = refusal([&] { static_cast<void>(static_cast<double>(y)); });
    CHECK(text.find("the result of exp at test_members.cpp:" + std::to_string(line)) != std::string::npos);
}

TEST_CASE("a tensor of rank 0 prints as its number alone")
{
    CHECK(text_of(D(1.5)) == "1.5");
    CHECK(text_of(D{{1.0, 2.0}}.sum()) == "3.0");
    CHECK(text_of(Tensor<std::int64_t>(-3)) == "-3");
    CHECK(text_of(Tensor<bool>(true)) == "true");
    D w = {1.0, 2.0};
    w.requires_grad();
    CHECK(text_of(sum(w)) == "3.0");
    CHECK(text_of(D{1.5}) == "[1.5] shape=(1) dtype=float64");
}
