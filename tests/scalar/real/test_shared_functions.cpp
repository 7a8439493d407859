// Functions that tensors, Real and kernels got together: trunc, erfinv, log_sigmoid, logaddexp, xlogy, isnan, isfinite, nan_to_num.
// Eagerly, in tiles, in native code and in a kernel they have the same bits, at the edges too.
#include "catch.hpp"

#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/graph/native/native.hpp>
#include <wengert/scalar.hpp>
#include <wengert/wengert.hpp>

#include <cstring>

namespace wg = wengert;

namespace {

template <class T> bool same(T a, T b) { return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b); }

/// All pairs of zeros, ends of domains, tails, ends of the format, infinities and NaN.
template <class T> struct Pairs {
    Pairs()
    {
        using limits = std::numeric_limits<T>;
        std::vector<T> edges{limits::denorm_min(), -limits::denorm_min(), limits::max(),
                             limits::lowest(),     limits::infinity(),    -limits::infinity(),
                             limits::quiet_NaN()};
        for (const double v : {0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 0.999999, -0.99, 1.5, -2.5, 40.0, -40.0,
                               800.0, -800.0, 3.25, 1e-5})
            edges.push_back(static_cast<T>(v));
        for (const T a : edges)
            for (const T b : edges) xs.push_back(a), ys.push_back(b);
        const wg::Shape shape{static_cast<std::int64_t>(xs.size())};
        x = wg::Tensor<T>(shape, xs), y = wg::Tensor<T>(shape, ys);
    }
    std::vector<T> xs, ys;
    wg::Tensor<T> x, y;
};

template <class T> void check_same(const char* name, const wg::Tensor<T>& got, const wg::Tensor<T>& want)
{
    CAPTURE(name);
    std::size_t wrong = 0;
    for (int i = 0; i < static_cast<int>(want.size()); ++i) wrong += !same(got(i).item(), want(i).item());
    CHECK(wrong == 0);
}

template <class T, class F> void check_executors(const char* name, const Pairs<T>& at, F f)
{
    const auto g = [&](const wg::Tensor<T>& a, const wg::Tensor<T>& b) { return f(a, b); };
    for (const wg::Backend& backend : std::vector<wg::Backend>{wg::tile, wg::native}) {
        auto frozen = wg::freeze(g, {.backend = backend});
        for (int i = 0; i < 2; ++i) static_cast<void>(frozen(at.x, at.y));
        check_same(name, frozen(at.x, at.y), f(at.x, at.y));
    }
}

/// In a kernel, and one by one on reals: within an ULP of it, as their e and ln are those of <cmath>.
template <class T> void check_cells(const Pairs<T>& at)
{
    const auto cell = [](auto a, auto b) {
        return std::array{erfinv(a), log_sigmoid(a), logaddexp(a, b), xlogy(a, b), trunc(a)};
    };
    const auto got = wg::kernel(cell)(at.x, at.y);
    const wg::Tensor<T> want[] = {erfinv(at.x), log_sigmoid(at.x), logaddexp(at.x, at.y), xlogy(at.x, at.y),
                                  trunc(at.x)};
    for (std::size_t f = 0; f < 5; ++f) {
        check_same("kernel", got[f], want[f]);
        std::size_t far = 0;
        for (std::size_t i = 0; i < at.xs.size(); ++i) {
            const T real = cell(wg::Real<T>(at.xs[i]), wg::Real<T>(at.ys[i]))[f].value();
            const T kernel = want[f](static_cast<int>(i)).item();
            const T bound = 4 * std::numeric_limits<T>::epsilon() * std::abs(kernel);
            far += !same(real, kernel) && !(std::abs(real - kernel) <= bound);
        }
        CHECK(far == 0);
    }
}

template <class T> void check_all()
{
    const Pairs<T> at;
    const auto check = [&](const char* name, auto f) { check_executors(name, at, f); };
    check("trunc", [](const auto& a, const auto&) { return trunc(a); });
    check("erfinv", [](const auto& a, const auto&) { return erfinv(a); });
    check("log_sigmoid", [](const auto& a, const auto&) { return log_sigmoid(a); });
    check("logaddexp", [](const auto& a, const auto& b) { return logaddexp(a, b); });
    check("xlogy", [](const auto& a, const auto& b) { return xlogy(a, b); });
    check("nan_to_num", [](const auto& a, const auto&) { return nan_to_num(a); });
    check("isnan", [](const auto& a, const auto& b) { return where(isnan(a), b, a); });
    check("isfinite", [](const auto& a, const auto& b) { return where(isfinite(a), a, b); });
    check_cells(at);
}

}  // namespace

TEST_CASE("Functions that tensors and reals share have the same bits on every executor")
{
    check_all<double>();
    check_all<float>();
}

TEST_CASE("Derivatives of the functions that tensors and reals share")
{
    using D = wg::Tensor<double>;
    using Reals = std::vector<wg::Real<double>>;
    const D x{0.3, -0.7, 0.05, 0.93}, y{0.4, 1.5, 2.0, 0.7};
    const auto f = [](const D& a, const D& b) {
        return sum(erfinv(a) + log_sigmoid(b) * logaddexp(a, b) + xlogy(square(a), b) + nan_to_num(a * b) +
                   trunc(a));
    };
    const auto checked = wg::check_grads(f, std::tuple(x, y), {.order = 2});
    INFO(checked.message);
    CHECK(checked.ok);
    const auto audited = wg::audit(f, std::tuple(x, y));
    INFO(audited.message);
    CHECK(audited.ok);
    const auto g = [](const Reals& v) {
        return erfinv(v[0]) + log_sigmoid(v[1]) * logaddexp(v[0], v[1]) + xlogy(v[0] * v[0], v[1]) +
               nan_to_num(v[0] * v[1]) + logaddexp(1.0, v[0]) + xlogy(v[1], 2.0);
    };
    const auto reals = wg::check_grads(g, Reals{0.3, 0.4}, {.order = 2});
    INFO(reals.message);
    CHECK(reals.ok);
}

TEST_CASE("Values and slopes of erfinv, logaddexp and xlogy where formulas break")
{
    using D = wg::Tensor<double>;
    const std::pair<double, double> values[] = {// mpmath, 30 digits
                                                {0.3, 0.27246271472675434502},
                                                {0.97, 1.5344856217777178904},
                                                {0.999, 2.3267537655135244939},
                                                {-0.9999999, -3.7665625816384708887},
                                                {1e-10, 8.8622692545275804594e-11}};
    for (const auto& [a, want] : values) CHECK(wg::erfinv(a) == Approx(want).epsilon(5e-16));
    const auto slope = [](auto f, const D& a) { return wg::grad([&](const D& t) { return sum(f(t)); })(a); };
    const D w{0.0, 3.0, 0.0}, by_a = slope([&](const D& t) { return xlogy(t, w); }, D{0.0, 0.0, 2.0});
    CHECK(by_a(0).item() == 0.0);
    CHECK(by_a(1).item() == log(D{3.0})(0).item());
    CHECK(by_a(2).item() == -INFINITY);
    CHECK(slope([](const D& t) { return xlogy(0.0, t); }, D{0.0})(0).item() == 0.0);
    const D at{INFINITY, -INFINITY, 5.0}, shares = slope(
                                              [](const D& t) {
                                                  return logaddexp(t, D{1.0, -INFINITY, -800.0});
                                              },
                                              at);
    CHECK(shares(0).item() == 1.0);
    CHECK(shares(1).item() == 0.5);
    CHECK(shares(2).item() == 1.0);
    const D open = slope([](const D& t) { return nan_to_num(t); }, D{2.0, NAN, INFINITY});
    CHECK(open(0).item() == 1.0);
    CHECK(open(1).item() == 0.0);
    CHECK(open(2).item() == 0.0);
}

TEST_CASE("Second derivatives of logaddexp and xlogy where their operands meet")
{
    using D = wg::Tensor<double>;
    using R = wg::Real<double>;
    const auto hessian = [](const auto& f, double a, double b) {
        const D by_tensors = wg::hessian([&](const D& t) { return f(t(0), t(1)); })(D{a, b});
        using Pair = std::array<R, 2>;
        const auto gradient = [&](const Pair& v) {
            return wg::grad([&](const Pair& w) { return f(w[0], w[1]); })(v);
        };
        for (int k = 0; k < 2; ++k) {
            const Pair row =
                wg::jvp(gradient, Pair{a, b}, Pair{k == 0 ? 1.0 : 0.0, k == 1 ? 1.0 : 0.0}).second;
            for (int i = 0; i < 2; ++i)
                CHECK(same(row[static_cast<std::size_t>(i)].value(), by_tensors(k, i).item()));
        }
        return by_tensors;
    };
    const auto added = [](const auto& a, const auto& b) { return logaddexp(a, b); };
    const auto product = [](const auto& a, const auto& b) { return xlogy(a, b); };
    for (const double a : {0.0, 0.7, -3e5}) {
        const D h = hessian(added, a, a);
        CHECK(allclose(h, D{{0.25, -0.25}, {-0.25, 0.25}}, 1e-15));
    }
    CHECK(allclose(hessian(product, 0.0, 2.0), D{{0.0, 0.5}, {0.5, 0.0}}, 0.0));
    CHECK(allclose(hessian(product, 0.0, 0.0), D{{0.0, 0.0}, {0.0, 0.0}}, 0.0));
}
