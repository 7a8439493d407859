// audit on operations of every kind: casts between types, variadic ones, indices, writes, transforms inside.
#include "catch.hpp"

#include <wengert/wengert.hpp>

namespace wg = wengert;
using wg::Tensor;
using D = Tensor<double>;

namespace {

/// A cast back that forgets a factor.
struct Doubled {
    static constexpr std::string_view name = "doubled";
    template <class V> static V value(const V& x) { return x + x; }
    template <class V> static constexpr V pull(wg::wrt<0>, const V& g, const V&, const V&) { return g; }
};

}  // namespace

TEST_CASE("casts between float and double")
{
    const auto f = [](const D& x) {
        const Tensor<float> y = sin(wg::cast<float>(x) * 2.0f);
        return sum(wg::cast<double>(y) * x);
    };
    const auto report = wg::audit(f, D{0.3, -1.2, 0.7});
    CHECK(report.message == "");
    CHECK(report.nodes == 6);  // cast, multiply, sin, cast, multiply, sum
    const auto from_float = wg::audit([](const Tensor<float>& x) { return sum(wg::cast<double>(x * x)); },
                                      Tensor<float>{0.5f, 1.5f});
    CHECK(from_float.message == "");
    CHECK(from_float.nodes == 3);
}

TEST_CASE("a wrong rule in float is found beside casts")
{
    const auto f = [](const D& x) {
        return sum(wg::apply_elementwise<Doubled, float>({}, wg::cast<float>(x)));
    };
    const auto report = wg::audit(f, D{0.3, -1.2});
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].primitive == "doubled");
}

TEST_CASE("variadic operations, some of whose inputs are constants")
{
    const auto f = [](const D& x) {
        const D both = wg::concatenate({x, D{1.0, 2.0}, x * x}, 0);
        return sum(wg::stack({both, exp(both)}, 1));
    };
    const auto report = wg::audit(f, D{0.3, -1.2});
    CHECK(report.message == "");
    CHECK(report.nodes == 5);  // multiply, concatenate, exp, stack, sum
    const std::vector<D> many(9, D{0.5, 1.0});
    CHECK(wg::audit([](const std::vector<D>& x) { return sum(wg::concatenate(x, 0)); }, many).nodes == 2);
}

TEST_CASE("indices, conditions, views, writes and products")
{
    const Tensor<std::int64_t> labels = {1, 0};
    const auto f = [&](const D& x) {
        D y = where(x > 0.0, x, 0.1 * x);
        y += x * x;
        view(y, 0) = view(x, 1) * 2.0;
        return wg::cross_entropy(matmul(y, transpose(x)), labels) + sum(wg::take(y, labels, 0)) + wg::norm(x);
    };
    const auto report = wg::audit(f, D{{0.3, -1.2, 0.4}, {0.9, 0.2, -0.6}});
    CHECK(report.message == "");
    CHECK(report.nodes > 10);
}

TEST_CASE("transforms and custom rules inside")
{
    const auto square = wg::custom_vjp([](const D& t) { return t * t; },
                                       [](const D& g, const D&, const D& t) { return 2.0 * g * t; });
    const auto f = [&](const D& x) {
        const D g = wg::grad([&](const D& t) { return sum(sin(t) * x); })(x);
        const D dot = wg::jvp([](const D& t) { return exp(t); }, x, x).second;
        return sum(square(g) + dot);
    };
    const auto report = wg::audit(f, D{0.3, -1.2});
    CHECK(report.message == "");
    CHECK(report.nodes > 3);
}

TEST_CASE("audit of several arguments")
{
    const auto f = [](const D& x, const D& a) { return sum(exp(x) * a); };
    const D x{0.3, -1.2}, a{2.0, 3.0};
    CHECK(wg::audit(f, x, a).nodes == wg::audit(f, std::tuple(x, a)).nodes);
    const auto wrong = [](const D& t, const D& u, const D& v) {
        return sum(wg::apply_elementwise<Doubled, double>({__builtin_FILE(), __builtin_LINE()}, t) * u * v);
    };
    const auto report = wg::audit(wrong, x, a, a);
    CHECK(!report.ok);
    CHECK_THAT(report.message, contains("test_audit.cpp"));
    CHECK(wg::audit([](auto t, auto u, auto v, auto w) { return sum(t * u * v * w); }, x, a, x, a).ok);
}
