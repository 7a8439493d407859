// audit on operations of every kind: casts between types, variadic ones, indices, writes, transforms inside, factors of matrices,
// what solvers find.
#include "catch.hpp"

#include <wengert/arrays.hpp>
#include <wengert/complex_linalg.hpp>
#include <wengert/implicit.hpp>
#include <wengert/linalg.hpp>
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
/// 1/x with a thousandth too much slope.
struct Inverse {
    static constexpr std::string_view name = "inverse";
    template <class V> static V value(const V& x) { return V(1) / x; }
    template <class V> static constexpr V pull(wg::wrt<0>, const V& g, const V&, const V& y)
    {
        return g * (wg::lit(-1.001) * y * y);
    }
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

TEST_CASE("audit goes by shorter steps where a function bends much, and finds wrong rules there")
{
    const D x = {1e-3, 3e-9, 0.7}, a = {{1e-3, 2e-4}, {-1e-4, 2e-3}};
    const auto right = [](const auto& f, const auto& at) { CHECK(wg::audit(f, at).message == ""); };
    right([](const D& t) { return sum(1.0 / t); }, x);
    right([](const D& t) { return sum(log(t)); }, x);
    right([](const D& t) { return sum(sqrt(t)); }, x);
    right([](const D& t) { return sum(pow(t, -3.0)); }, D{1e-2, 2e-3});
    right([](const D& t) { return sum(wg::linalg::inv(t)); }, a);
    right([](const D& t) { return sum(wg::linalg::solve(t, D{1.0, 2.0})); }, a);
    right([](const Tensor<float>& t) { return sum(1.0f / t); }, Tensor<float>{1e-2f, 2e-3f});
    for (const double at : {0.5, 1e-3, 1e-6, 1e-9}) {
        const auto report = wg::audit(
            [](const D& t) { return sum(wg::apply_elementwise<Inverse, double>({}, t)); }, D{at, -2 * at});
        CHECK(report.findings.size() == 1);
    }
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

namespace {

/// x² of x, and of a constant copy that alone is read: the rule has the derivative of both.
struct Copied {
    static constexpr std::string_view name = "copied";
    static constexpr bool flat = true;
    template <class T> wg::Ref<wg::Block> value(const wg::Ref<wg::Block>& x, const wg::Site&) const
    {
        return wg::copy_of(*x);
    }
};
struct SquareOfCopy {
    static constexpr std::string_view name = "square_of_copy";
    static constexpr unsigned saves = 0b010;
    double factor;  ///< 2 is right
    template <class T>
    wg::Ref<wg::Block> value(const wg::Ref<wg::Block>& copy, const wg::Ref<wg::Block>&, const wg::Site&) const
    {
        auto y = wg::copy_of(*copy);
        for (std::size_t i = 0; i < y->count; ++i) y->template as<T>()[i] *= y->template as<T>()[i];
        return y;
    }
    template <class T>
    Tensor<T> pull(wg::wrt<1>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>& x,
                   const Tensor<T>&) const
    {
        return T(factor) * g * x;
    }
    template <class T>
    Tensor<T> push(const Tensor<T>&, const Tensor<T>& dx, const Tensor<T>&, const Tensor<T>& x,
                   const Tensor<T>&) const
    {
        return T(factor) * dx * x;
    }
};
D square_of_copy(const D& x, double factor, wg::Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return wg::apply<SquareOfCopy, double>({factor}, at, wg::apply<Copied, double>({}, at, x), x);
}

}  // namespace

TEST_CASE("audit moves the factors of a matrix with it")
{
    namespace la = wg::linalg;
    const D a = {{4.0, 1.0, 0.3}, {0.5, 3.0, -0.2}, {0.1, 0.7, 2.0}}, b = {1.0, 2.0, -0.5};
    const D tall = {{1.0, 2.0}, {0.3, -1.0}, {0.5, 0.7}};
    const auto right = [](const auto& f, const auto&... x) {
        const auto report = wg::audit(f, x...);
        CHECK(report.message == "");
        CHECK(report.omissions.empty());
    };
    right([](const D& x) { return la::det(x) + la::slogdet(x).second + sum(square(la::inv(x))); }, a);
    right([](const D& x, const D& y) { return sum(square(la::solve(x, y))); }, a, b);
    right([&](const D& y) { return sum(square(la::solve(a, y))); }, b);
    right([](const D& x) { return sum(square(la::solve(stop_gradient(x), x))); }, a);
    for (const D& x : {a, tall}) {
        right([](const D& t) { return sum(square(std::get<1>(la::lu(t)) * 1.5)); }, x);
        right([](const D& t) { return sum(la::qr(t).first * 0.5) + sum(exp(la::qr(t).second)); }, x);
        right([](const D& t) { return sum(exp(std::get<1>(la::svd(t)))); }, x);
    }
    right([](const D& x) { return sum(la::eigh(x).first) + sum(exp(la::eigh(x).second)); }, a);
    right([](const D& x) { return sum(wg::abs(la::eig(x))); }, a);
    right([](const Tensor<float>& x) { return la::det(x) + sum(la::qr(x).second); }, wg::cast<float>(a));
    right([](const D& x) { return sum(wg::grad([](const D& t) { return wg::log(la::det(t)); })(x)); }, a);
}

TEST_CASE("audit moves what a solver has found")
{
    const D start = {1.0, 1.0}, p = {0.5, 0.7};
    const auto right = [&](const auto& f) {
        const auto report = wg::audit(f, p);
        CHECK(report.message == "");
        CHECK(report.omissions.empty());
    };
    const auto valley = [](const D& y, const D& q) { return sum(square(y - q)) + sum(exp(0.3 * y)); };
    right([&](const D& q) { return sum(wg::minimize(valley, start, q)); });
    right([&](const D& q) {
        return sum(wg::fixed_point([](auto y, auto t) { return cos(y) * t; }, start, q));
    });
    right([&](const D& q) {
        return sum(wg::root([](auto y, auto t) { return y * y * y + t * y - 1.0; }, start, q));
    });
    right([&](const D& q) { return sum(wg::gmres([](auto y, auto t) { return y * (1.0 + t); }, start, q)); });
    right([&](const D& q) { return sum(wg::odeint([](auto y, auto t) { return -y * t; }, q, D{0.0, 0.5})); });
}

TEST_CASE("audit: a wrong rule of an operation on factors is found, of whatever size")
{
    const D x = {0.3, -1.2};
    CHECK(wg::audit([](const D& t) { return sum(square_of_copy(t, 2.0)); }, x).message == "");
    for (const double factor : {0.0, 1.0, 2.1}) {
        const auto report = wg::audit([&](const D& t) { return sum(exp(square_of_copy(t, factor))); }, x);
        REQUIRE(report.findings.size() == 1);
        CHECK(report.findings[0].primitive == "square_of_copy");
        CHECK_THAT(report.message, contains("test_audit.cpp"));
        CHECK(report.nodes == 3);
    }
}

TEST_CASE("audit tests vectors that bend much and do not jump")
{
    const D a = {{0.08, 0.015, 0.004}, {0.015, 0.06, 0.005}, {0.004, 0.005, 0.04}};
    const auto report = wg::audit([](const D& x) { return sum(wg::linalg::eigh(x).second); }, a);
    CHECK(report.message == "");
}

TEST_CASE("audit names what it cannot test")
{
    const auto untested = [](const wg::AuditReport& report, const std::string& primitive) {
        INFO(report.message);
        CHECK(report.ok);
        REQUIRE(!report.omissions.empty());
        CHECK(report.omissions[0].primitive == primitive);
        CHECK_THAT(report.message, contains("[" + primitive + "] "));
        CHECK_THAT(report.message, contains("not tested, "));
        CHECK_THAT(report.message, contains("test_audit.cpp"));
    };
    const D x = {0.3, -1.2};
    D w = {0.5, 0.25};
    w.requires_grad();
    untested(wg::audit([&](const D& t) { return sum(square_of_copy(w, 2.0) * t); }, x), "square_of_copy");
    int calls = 0;
    const auto other = [&](const D& t) {
        D y = sum(square_of_copy(t, 2.0));
        if (++calls > 1) y += square_of_copy(t(0), 2.0);
        return y;
    };
    untested(wg::audit(other, x), "square_of_copy");
    const D a = {{4.0, 1.0, 0.3}, {0.5, 3.0, -0.2}, {0.1, 0.7, 2.0}};
    const D beyond = {-1.0, -2.0};
    untested(wg::audit([](const D& t) { return log(t); }, beyond), "log");
    const auto values = [](const D& t) { return sum(wg::abs(wg::linalg::eig(t))); };
    untested(wg::audit([&](const D& t) { return sum(wg::grad(values)(t)); }, a), "eig");
}

TEST_CASE("audit looks into checkpoints and preaccumulated sections")
{
    const auto wrong = [](const D& x) {
        return wg::cast<double>(wg::apply_elementwise<Doubled, float>({}, wg::cast<float>(x)));
    };
    const D x = {0.3, -1.2};
    const auto found = [&](const auto& f) {
        const auto report = wg::audit(f, x);
        REQUIRE(report.findings.size() == 1);
        CHECK(report.findings[0].primitive == "doubled");
    };
    found([&](const D& t) { return sum(wg::checkpoint(wrong)(t)); });
    found([&](const D& t) { return sum(wg::preaccumulate(wrong)(t)); });
}

TEST_CASE("audit compares what is finite beside infinite results, and still finds wrong rules there")
{
    const double inf = std::numeric_limits<double>::infinity();
    const D x = {1.0, 2.0, 3.0, 0.5}, none = {-inf};
    const auto right = [](const wg::AuditReport& report) {
        INFO(report.message);
        CHECK((report.ok && report.findings.empty()));
    };
    right(wg::audit([&](const D& t) { return sum(softmax(wg::masked_fill(t, t > 1.5, none), 0) * x); }, x));
    right(wg::audit([&](const D& t) { return sum(wg::where(t > 1.5, none, t)); }, x));
    const wg::Tensor<std::int64_t> groups = {0, 0, 2, 2};
    right(wg::audit([&](const D& t) { return sum(wg::segment_max(t, groups, 3)); }, x));
    right(wg::audit([&](const D& t) { return sum(wg::segment_mean(t, groups, 3)); }, x));
    const auto wrong = [](const D& t) { return sum(wg::apply_elementwise<Inverse, double>({}, t)); };
    const auto report = wg::audit(wrong, D{0.0, 0.5, -0.3});
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].primitive == "inverse");
}
