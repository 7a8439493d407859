/// Special functions over Boost.Math: values beside mpmath's over sweeps with edges, derivatives in both modes, graphs, reals, and what has
/// no derivative says so. What is compiled here needs Boost's headers.
#include "catch.hpp"

#if __has_include(<boost/math/policies/policy.hpp>)

#include "same_bits.hpp"

#include <bit>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <sstream>

#include <wengert/emit.hpp>
#include <wengert/native.hpp>
#include <wengert/scalar.hpp>
#include <wengert/special.hpp>
#include <wengert/wengert.hpp>

using namespace wengert;

namespace {

using D = Tensor<double>;

template <class T> using Function = std::function<Tensor<T>(const std::vector<Tensor<T>>&)>;

/// A function of the fixtures, and by how many ULP it may differ from the correctly rounded value.
template <class T> struct Case {
    Function<T> f;
    double ulps;
};
template <class T> const std::map<std::string, Case<T>>& cases()
{
    using X = std::vector<Tensor<T>>;
    static const std::map<std::string, Case<T>> all = {
        {"beta", {[](const X& x) { return beta(x[0], x[1]); }, 1}},
        {"betaln", {[](const X& x) { return betaln(x[0], x[1]); }, 1}},
        {"gammainc", {[](const X& x) { return gammainc(x[0], x[1]); }, 1}},
        {"gammaincc", {[](const X& x) { return gammaincc(x[0], x[1]); }, 1}},
        {"betainc", {[](const X& x) { return betainc(x[0], x[1], x[2]); }, 1}},
        {"cyl_bessel_j", {[](const X& x) { return cyl_bessel_j(x[0], x[1]); }, 1}},
        {"cyl_neumann", {[](const X& x) { return cyl_neumann(x[0], x[1]); }, 1}},
        {"cyl_bessel_i", {[](const X& x) { return cyl_bessel_i(x[0], x[1]); }, 1}},
        {"cyl_bessel_k", {[](const X& x) { return cyl_bessel_k(x[0], x[1]); }, 1}},
        {"riemann_zeta", {[](const X& x) { return riemann_zeta(x[0]); }, 1}},
        {"comp_ellint_1", {[](const X& x) { return comp_ellint_1(x[0]); }, 1}},
        {"comp_ellint_2", {[](const X& x) { return comp_ellint_2(x[0]); }, 1}},
        {"ellint_1", {[](const X& x) { return ellint_1(x[0], x[1]); }, 1}},
        {"ellint_2", {[](const X& x) { return ellint_2(x[0], x[1]); }, 1}},
        {"lambert_w", {[](const X& x) { return lambert_w(x[0]); }, 4}},
    };
    return all;
}

/// How many numbers lie between two.
template <class T> double ulps_between(T a, T b)
{
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : HUGE_VAL;
    if (a == b) return 0;
    if (std::isinf(a) || std::isinf(b)) return HUGE_VAL;
    const T step = std::abs(b - std::nextafter(b, std::numeric_limits<T>::infinity()));
    return static_cast<double>(std::abs(a - b) / step);
}

struct Line {
    std::string name;
    std::vector<double> x;
    double y;
};
const std::vector<Line>& fixtures()
{
    static const std::vector<Line> all = [] {
        std::vector<Line> lines;
        std::ifstream file(WENGERT_TESTS_DIR "/fixtures/special.txt");
        for (std::string text; std::getline(file, text);) {
            if (text[0] == '#') continue;
            std::istringstream words(text);
            Line line;
            words >> line.name;
            for (std::string word; words >> word;) line.x.push_back(std::strtod(word.c_str(), nullptr));
            line.y = line.x.back();
            line.x.pop_back();
            lines.push_back(line);
        }
        return lines;
    }();
    return all;
}
template <class T> T value_of(const std::string& name, const std::vector<double>& x)
{
    std::vector<Tensor<T>> arguments;
    for (const double e : x) arguments.push_back(Tensor<T>(static_cast<T>(e)));
    return cases<T>().at(name).f(arguments).item();
}

template <class F> std::string refusal(const F& f)
{
    try {
        f();
    } catch (const TapeError& e) {
        return e.what();
    }
    return "";
}
template <class F> void check_derivatives(const char* name, const F& f, const D& x)
{
    INFO(name);
    const auto loss = [&](const D& t) { return sum(square(f(t)) * 0.5); };
    const CheckReport report = check_grads(loss, x, {.order = 2});
    INFO(report.message);
    CHECK(report.ok);
    const Tensor<float> slope = grad([&](const auto& t) { return sum(f(t)); })(cast<float>(x));
    CHECK(allclose(cast<double>(slope), grad([&](const D& t) { return sum(f(t)); })(x), 1e-5));
    for (const auto& backend : {Backend(tile), Backend(interpret), Backend(native)}) {
        FreezeOptions options;
        options.backend = backend;
        auto frozen = freeze(grad(loss), options);
        for (const double by : {1.0, 0.5, 0.75}) CHECK(same_bits(frozen(x * by), grad(loss)(x * by)));
    }
}

}  // namespace

TEST_CASE("special functions: mpmath's values, edges")
{
    std::map<std::string, double> worst;
    for (const Line& line : fixtures()) {
        const double y = value_of<double>(line.name, line.x), ulps = ulps_between(y, line.y);
        worst[line.name] = std::max(worst[line.name], ulps);
        INFO(line.name << "(" << line.x[0] << ", " << line.x.back() << ") = " << y << ", want " << line.y
                       << ": " << ulps << " ULP");
        CHECK(ulps <= cases<double>().at(line.name).ulps);
    }
    CHECK(worst.size() == cases<double>().size());
    for (const auto& [name, ulps] : worst) UNSCOPED_INFO(name << ": " << ulps << " ULP");
    CHECK(fixtures().size() > 800);
}

TEST_CASE("special functions: the second elliptic integral of modulus 1 goes on beyond a right angle")
{
    constexpr double pi = 3.141592653589793;
    for (const double phi : {0.3, 1.5, 1.6, 2.0, 4.0, -4.0, 7.9, 100.0})
        for (const double k : {1.0, -1.0}) {
            INFO("k = " << k << ", phi = " << phi);
            double rest = std::abs(phi), want = 0;  // E(φ) = sin φ up to a right angle, E(φ + π) = E(φ) + 2
            for (; rest > pi / 2; rest -= pi) want += 2;
            want = std::copysign(want + std::sin(rest), phi);
            const double y = Tensor<double>(ellint_2(k, Tensor<double>(phi))).item();
            CHECK(y == Approx(want).epsilon(1e-13));
            CHECK(y == Approx(std::ellint_2(1.0, phi)).epsilon(1e-6));
        }
}

TEST_CASE("special functions: orders beyond all doubles")
{
    // log J ~ ν (tanh α − α), 1 / cosh α = x / ν (DLMF 10.19.3); log I ~ ν η (10.41.3); Y and K are their inverses
    for (const double nu : {2501.0, 4000.5, 1e6, 1e10, 1e300}) {
        const double x = 0.49 * nu, z = 0.49, alpha = std::acosh(1 / z), root = std::sqrt(1 + z * z);
        REQUIRE(nu * (std::tanh(alpha) - alpha) < -745);
        REQUIRE(nu * (root + std::log(z / (1 + root))) < -745);
        const Tensor<double> at(x);
        CHECK(Tensor<double>(cyl_bessel_j(nu, at)).item() == 0);
        CHECK(Tensor<double>(cyl_bessel_i(nu, at)).item() == 0);
        CHECK(Tensor<double>(cyl_neumann(nu, at)).item() == -std::numeric_limits<double>::infinity());
        CHECK(Tensor<double>(cyl_bessel_k(nu, at)).item() == std::numeric_limits<double>::infinity());
    }
    CHECK(std::isnan(Tensor<double>(cyl_bessel_j(1e10, Tensor<double>(1e10))).item()));
    CHECK(std::isnan(Tensor<double>(betainc(1e15, 1e15, Tensor<double>(0.5))).item()));
}

TEST_CASE("special functions: floats are those of doubles, rounded")
{
    for (Line line : fixtures()) {
        for (double& e : line.x) e = static_cast<double>(static_cast<float>(e));
        const float y = value_of<float>(line.name, line.x),
                    want = static_cast<float>(value_of<double>(line.name, line.x));
        INFO(line.name << "(" << line.x[0] << ", " << line.x.back() << ") = " << y << ", want " << want);
        CHECK(ulps_between(y, want) <= 4);
    }
}

TEST_CASE("special functions: derivatives in both modes to order 2, frozen")
{
    const D x = {{0.3, 0.8}, {1.7, 2.9}}, k = {-0.35, 0.1, 0.4, 0.8};
    check_derivatives(
        "lambert_w", [](const auto& t) { return lambert_w(t); }, x);
    check_derivatives(
        "gammainc", [](const auto& t) { return gammainc(2.5, t); }, x);
    check_derivatives(
        "gammaincc", [](const auto& t) { return gammaincc(0.7, t); }, x);
    check_derivatives(
        "betainc", [](const auto& t) { return betainc(2.5, 0.7, t * 0.3); }, x);
    check_derivatives(
        "beta", [](const auto& t) { return beta(t, 1.3) + beta(0.5, t); }, x);
    check_derivatives(
        "betaln", [](const auto& t) { return betaln(t, 1.3) * betaln(12.0, t + 10.0); }, x);
    check_derivatives(
        "cyl_bessel_j", [](const auto& t) { return cyl_bessel_j(0, t) + cyl_bessel_j(1.5, t); }, x);
    check_derivatives(
        "cyl_neumann", [](const auto& t) { return cyl_neumann(0.25, t) + cyl_neumann(2, t); }, x);
    check_derivatives(
        "cyl_bessel_i", [](const auto& t) { return cyl_bessel_i(0, t) + cyl_bessel_i(1.5, t); }, x);
    check_derivatives(
        "cyl_bessel_k", [](const auto& t) { return cyl_bessel_k(0.5, t) + cyl_bessel_k(1, t); }, x);
    check_derivatives(
        "comp_ellint_1", [](const auto& t) { return comp_ellint_1(t); }, k);
    check_derivatives(
        "comp_ellint_2", [](const auto& t) { return comp_ellint_2(t); }, k);
    check_derivatives(
        "ellint_1 in k", [](const auto& t) { return ellint_1(t, 0.9) + ellint_1(t, -4.0); }, k);
    check_derivatives(
        "ellint_2 in k", [](const auto& t) { return ellint_2(t, 0.9) + ellint_2(t, -4.0); }, k);
    check_derivatives(
        "ellint_1 in phi", [](const auto& t) { return ellint_1(0.6, t); }, x);
    check_derivatives(
        "ellint_2 in phi", [](const auto& t) { return ellint_2(-0.6, t); }, x);
}

TEST_CASE("special functions: third derivatives, also where k is 0")
{
    const auto third = [](const auto& f) {
        return grad([f](const D& t) { return grad([f](const D& s) { return grad(f)(s); })(t); });
    };
    // K = π/2 (1 + k²/4 + 9k⁴/64 + …), E = π/2 (1 − k²/4 − 3k⁴/64 − …)
    constexpr double pi = 3.14159265358979323846;
    const auto second = [](const auto& f, double k) {
        return grad([f](const D& t) { return grad(f)(t); })(D(k)).item();
    };
    CHECK(std::abs(second([](const D& t) { return comp_ellint_1(t); }, 0.0) - pi / 4) < 1e-14);
    CHECK(std::abs(second([](const D& t) { return comp_ellint_2(t); }, 0.0) + pi / 4) < 1e-14);
    CHECK(std::abs(second([](const D& t) { return ellint_2(t, pi / 2); }, 0.0) + pi / 4) < 1e-14);
    const auto fourth = [&](const auto& f) { return grad(third(f))(D(0.0)).item(); };
    CHECK(std::abs(fourth([](const D& t) { return comp_ellint_1(t); }) - pi / 2 * 9 / 64 * 24) < 1e-12);
    CHECK(std::abs(fourth([](const D& t) { return comp_ellint_2(t); }) + pi / 2 * 3 / 64 * 24) < 1e-12);
    CHECK(std::abs(fourth([](const D& t) { return ellint_2(t, pi / 2); }) + pi / 2 * 3 / 64 * 24) < 1e-12);
    // J''' = (J₋₃ − 3 J₋₁ + 3 J₁ − J₃) / 8 of order 0 is 3/4 J₁ − 1/4 J₃
    const auto j = [](double n) { return cyl_bessel_j(n, D(1.3)).item(); };
    CHECK(std::abs(third([](const D& t) { return cyl_bessel_j(0, t); })(D(1.3)).item() -
                   (0.75 * j(1) - 0.25 * j(3))) < 1e-14);
    CHECK(std::abs(third([](const D& t) { return gammainc(1.0, t); })(D(0.5)).item() - std::exp(-0.5)) <
          1e-14);
}

TEST_CASE("special functions: derivatives at the ends of a range")
{
    constexpr double inf = std::numeric_limits<double>::infinity();
    const auto check_ends = [](const auto& f, double x, const std::vector<double>& want) {
        INFO(x);
        const auto first = grad(f);
        const auto second = grad([&](const D& t) { return first(t); });
        CHECK(first(D(x)).item() == want[0]);
        CHECK(second(D(x)).item() == want[1]);
        const auto forward = [&](const D& t) { return jvp(f, t, D(1.0)).second; };
        CHECK(jvp(forward, D(x), D(1.0)).second.item() == want[1]);
    };
    check_ends([](const D& t) { return gammainc(0.5, t); }, 0.0, {inf, -inf});
    check_ends([](const D& t) { return gammainc(1.0, t); }, 0.0, {1, -1});
    check_ends([](const D& t) { return gammainc(1.5, t); }, 0.0, {0, inf});
    check_ends([](const D& t) { return gammaincc(2.0, t); }, 0.0, {0, -1});
    check_ends([](const D& t) { return gammainc(3.0, t); }, 0.0, {0, 0});
    check_ends([](const D& t) { return betainc(1.0, 1.0, t); }, 0.0, {1, 0});
    check_ends([](const D& t) { return betainc(1.0, 1.0, t); }, 1.0, {1, 0});
    check_ends([](const D& t) { return betainc(2.0, 3.0, t); }, 0.0, {0, 12});  // 12 x (1 − x)²
    check_ends([](const D& t) { return betainc(2.0, 3.0, t); }, 1.0, {0, 0});
    check_ends([](const D& t) { return betainc(3.0, 2.0, t); }, 1.0, {0, -12});
    check_ends([](const D& t) { return cyl_bessel_i(0.5, t); }, 0.0, {inf, -inf});
    check_ends([](const D& t) { return cyl_bessel_j(1.5, t); }, 0.0, {0, inf});
    // Y₀ ~ 2/π ln x,  Y₋₁ = −Y₁,  Y₋₂ = Y₂
    CHECK(grad([](const D& t) { return cyl_neumann(0, t); })(D(1e-20)).item() ==
          Approx(2e20 / std::numbers::pi));
    CHECK(grad([](const D& t) { return cyl_neumann(0, t); })(D(0.0)).item() == inf);
    for (const double x : {1e-20, 0.5, 3.0}) {
        CHECK(cyl_neumann(-1, D(x)).item() == -cyl_neumann(1, D(x)).item());
        CHECK(cyl_neumann(-2, D(x)).item() == cyl_neumann(2, D(x)).item());
    }
}

TEST_CASE("special functions: derivatives of beta where one argument is much larger")
{
    const auto slope = [](const auto& f, double a, double b) {
        return grad([&](const D& t) { return f(t, b); })(D(a)).item();
    };
    const auto product = [](const auto& a, const auto& b) { return beta(a, b); };
    const auto logarithm = [](const auto& a, const auto& b) { return betaln(a, b); };
    const auto near = [](double got, double want) {
        INFO(got << " for " << want << ", off by " << got / want - 1);
        CHECK(std::abs(got / want - 1) < 1e-13);
    };
    near(slope(product, 1000, 1e-6), -0.0010004926779806384);  // mpmath
    near(slope(product, 0.5, 1e-20), -4.93480220054467931);
    near(slope(logarithm, 1e6, 1.0), -1e-6);
    near(slope(logarithm, 1e10, 0.5), -5.0000000001250000e-11);
    near(slope(logarithm, 0.5, 1e-20), -4.93480220054467904e-20);
    // of a Real y is std::beta's, by logarithms
    CHECK(grad([](Real<double> a) { return beta(a, 1e-6); })(Real<double>(1000)).value() ==
          Approx(-0.0010004926779806384).epsilon(1e-11));
    const auto curve = [&](double a) {
        return grad([&](const D& t) { return grad([](const D& s) { return betaln(s, 1.0); })(t); })(D(a))
            .item();
    };
    near(curve(1e6), 1e-12);  // ln B(a, 1) = −ln a
}

TEST_CASE("special functions: shapes broadcast, views, no elements")
{
    const D a = {{0.5}, {2.0}}, x = {0.1, 1.0, 3.0};
    const D y = gammainc(a, x);
    CHECK(y.shape() == Shape{2, 3});
    CHECK(y(1, 2).item() == gammainc(2.0, 3.0));
    CHECK(same_bits(gammainc(a, transpose(transpose(y))), gammainc(a, y)));
    CHECK(same_bits(lambert_w(transpose(y)), transpose(lambert_w(y))));
    CHECK(lambert_w(zeros<double>({0, 2})).shape() == Shape{0, 2});
    CHECK(cyl_bessel_j(0, D(2.0)).shape() == Shape());
    CHECK(gammainc(1.0F, 2.0F) == static_cast<float>(gammainc(1.0, 2.0)));
    const auto rows = vmap([](const D& r) { return betainc(2.0, 3.0, r); })(y * 0.5);
    CHECK(same_bits(rows, betainc(2.0, 3.0, y * 0.5)));
}

TEST_CASE("special functions: what has no derivative says so, in both modes, with the line")
{
    const D x = {0.5, 2.0};
    const auto says = [&](const auto& f, const std::string& word) {
        const std::string reverse =
            refusal([&] { static_cast<void>(grad([&](const D& t) { return sum(f(t)); })(x)); });
        const std::string forward = refusal([&] { static_cast<void>(jvp(f, x, x)); });
        const std::string frozen = refusal([&] {
            auto g = freeze(grad([&](const D& t) { return sum(f(t)); }));
            static_cast<void>(g(x));
        });
        INFO(reverse << '\n' << forward << '\n' << frozen);
        CHECK(reverse.find(word) != std::string::npos);
        CHECK(forward.find(word) != std::string::npos);
        CHECK(frozen.find(word) != std::string::npos);
        CHECK(reverse.find("test_special.cpp:") != std::string::npos);
    };
    says([](const D& t) { return gammainc(t, 1.0); }, "[gammainc] its derivative in a has no closed form");
    says([](const D& t) { return gammaincc(t, 1.0); }, "[gammaincc] its derivative in a");
    says([](const D& t) { return betainc(t, 1.0, 0.5); }, "[betainc] its derivative in a");
    says([](const D& t) { return betainc(1.0, t, 0.5); }, "[betainc] its derivative in b");
    says([](const D& t) { return cyl_bessel_j(t, 1.0); }, "[cyl_bessel_j] its derivative in nu");
    says([](const D& t) { return cyl_bessel_k(t, 1.0); }, "[cyl_bessel_k] its derivative in nu");
    says([](const D& t) { return riemann_zeta(t + 1.0); }, "[riemann_zeta] its derivative in x");
    const D slope = grad([](const D& t) { return sum(gammainc(stop_gradient(t), t)); })(x);
    CHECK(slope(0).item() == grad([](const D& t) { return sum(gammainc(0.5, t)); })(x)(0).item());
}

TEST_CASE("special functions: in loops and checkpoints; emitted headers refuse them")
{
    const auto step = [](const D& s) { return std::pair(lambert_w(s) + gammainc(1.5, s), sum(s)); };
    const auto looped = [&](const D& t) {
        const auto [last, each] = scan(step, t, std::int64_t(4));
        return sum(last) + sum(each);
    };
    const auto plain = [&](D t) {
        D all(0.0);
        for (int k = 0; k < 4; ++k) {
            const auto [next, y] = step(t);
            t = next;
            all = all + y;
        }
        return sum(t) + all;
    };
    const D x = {0.5, 2.0};
    CHECK(allclose(grad(looped)(x), grad(plain)(x), 1e-14));
    CHECK(allclose(grad(checkpoint(plain))(x), grad(plain)(x), 1e-14));
    auto frozen = freeze(grad(looped));
    for (const double by : {1.0, 0.5, 2.0}) CHECK(allclose(frozen(x * by), grad(plain)(x * by), 1e-14));
    const auto called = freeze([](const D& t) { return lambert_w(t) * 2.0; });
    static_cast<void>(called(x));
    std::string text;
    try {
        static_cast<void>(emit_cpp(called.graph(x), "f"));
    } catch (const Error& e) {
        text = e.what();
    }
    CHECK(text.find("lambert_w") != std::string::npos);
}

TEST_CASE("special functions of reals have the derivatives of tensors")
{
    using R = Real<double>;
    R a = 1.5;
    a.requires_grad();
    const R y =
        lambert_w(a) * gammainc(2.0, a) + betaln(a, 2.0) + betainc(2.0, 3.0, a * 0.25) + gammaincc(0.5, a);
    backward(y);
    const auto f = [](const D& t) {
        return lambert_w(t) * gammainc(2.0, t) + betaln(t, 2.0) + betainc(2.0, 3.0, t * 0.25) +
               gammaincc(0.5, t);
    };
    CHECK(std::abs(y.value() - f(D(1.5)).item()) < 1e-15);
    CHECK(std::abs(a.grad() - grad(f)(D(1.5)).item()) < 1e-15);
    CHECK(lambert_w(R(1.0)).value() == lambert_w(1.0));
    const auto g = grad([](const std::vector<R>& v) { return lambert_w(v[0]) * gammainc(2.0, v[1]); })(
        std::vector<R>{1.0, 2.0});
    CHECK(std::abs(g[0].value() - gammainc(2.0, 2.0) *
                                      grad([](const D& t) { return lambert_w(t); })(D(1.0)).item()) < 1e-15);
}

#endif
