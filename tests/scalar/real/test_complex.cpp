// std::complex of reals, as libstdc++ has it, against derivatives by hand and differences.
#include "catch.hpp"

#include <wengert/ops/sum.hpp>
#include <wengert/scalar.hpp>
#include <wengert/transforms/derivatives.hpp>

#include <array>
#include <complex>

namespace wg = wengert;
using R = wg::Real<double>;
using Reals = std::vector<R>;
using C = std::complex<R>;

namespace {

/// The same in plain numbers.
template <class Number, class Z> Number both(const Z& a, const Z& b)
{
    Z y = a * b + a / b - b;
    y *= Z(Number(0.5), Number(-0.25));
    y /= a + Z(Number(2.0));
    y += exp(a * Number(0.3)) - conj(b);
    return y.real() * y.imag() + abs(y) + norm(a) + arg(b);
}

}  // namespace

TEST_CASE("Complex numbers of reals")
{
    const auto f = [](const Reals& v) { return both<R>(C(v[0], v[1]), C(v[2], v[3])); };
    const Reals x{0.7, -0.4, 1.3, 0.9};
    const double plain = both<double>(std::complex<double>(0.7, -0.4), std::complex<double>(1.3, 0.9));
    CHECK(f(x).value() == Approx(plain).epsilon(1e-14));
    const auto report = wg::check_grads(f, x, {.order = 2});
    INFO(report.message);
    CHECK(report.ok);
    const auto modulus = wg::grad([](const Reals& v) { return abs(C(v[0], v[1])); })(Reals{3.0, 4.0});
    CHECK((modulus[0].value() == Approx(0.6) && modulus[1].value() == Approx(0.8)));
    const auto turned =
        wg::grad([](const Reals& v) { return std::polar(v[0], v[1]).real(); })(Reals{2.0, 0.5});
    CHECK(turned[0].value() == Approx(std::cos(0.5)));
    CHECK(turned[1].value() == Approx(-2 * std::sin(0.5)));
    const auto functions = [](const Reals& v) {
        const C z(v[0], v[1]), y = log(z) * sqrt(z) + sin(z) * cosh(z) + pow(z, C(v[1], v[0]));
        return y.real() - 2.0 * y.imag();
    };
    CHECK(wg::check_grads(functions, Reals{0.7, 0.4}).ok);
    CHECK(wg::check_grads(wg::checkpoint(f), x).ok);
    CHECK((C(1.0, 2.0) == C(1.0, 2.0) && C(1.0, 2.0) != C(1.0)));
}

namespace {

using Z = std::complex<double>;

/// w = f(z) as two numbers of two, and the two rows of its Jacobian.
template <class F> void check_analytic(const char* what, const F& f, Z at, Z value, Z slope)
{
    CAPTURE(what, at);
    const auto part = [&](int k) {
        return [&f, k](const Reals& v) {
            const C w = f(C(v[0], v[1]));
            return k == 0 ? w.real() : w.imag();
        };
    };
    const Reals x{at.real(), at.imag()};
    CHECK((part(0)(x).value() == Approx(value.real()).margin(1e-14)));
    CHECK((part(1)(x).value() == Approx(value.imag()).margin(1e-14)));
    const auto re = wg::grad(part(0))(x), im = wg::grad(part(1))(x);
    CHECK((re[0].value() == Approx(slope.real()).margin(1e-13)));
    CHECK((re[1].value() == Approx(-slope.imag()).margin(1e-13)));
    CHECK((im[0].value() == Approx(slope.imag()).margin(1e-13)));
    CHECK((im[1].value() == Approx(slope.real()).margin(1e-13)));
}

}  // namespace

TEST_CASE("Roots, powers and inverse functions of complex numbers on the axes are as analytic as elsewhere")
{
    for (const Z z :
         {Z(0, 1), Z(0, -1), Z(-0.0, 2), Z(2, 0), Z(-2, 0.0), Z(-2, -0.0), Z(0.5, 0), Z(1, 1), Z(-3, 0.5)}) {
        check_analytic(
            "sqrt", [](const C& w) { return sqrt(w); }, z, std::sqrt(z), 0.5 / std::sqrt(z));
        check_analytic(
            "std::sqrt", [](const C& w) { return std::sqrt(w); }, z, std::sqrt(z), 0.5 / std::sqrt(z));
        check_analytic(
            "pow", [](const C& w) { return pow(w, R(2.5)); }, z, std::pow(z, 2.5), 2.5 * std::pow(z, 1.5));
        check_analytic(
            "acosh", [](const C& w) { return acosh(w); }, z, std::acosh(z),
            1.0 / (std::sqrt(z - 1.0) * std::sqrt(z + 1.0)));
        check_analytic(
            "asin", [](const C& w) { return asin(w); }, z, std::asin(z), 1.0 / std::sqrt(1.0 - z * z));
        check_analytic(
            "acos", [](const C& w) { return acos(w); }, z, std::acos(z), -1.0 / std::sqrt(1.0 - z * z));
    }
    const auto modulus = [](const Reals& v) { return norm(sqrt(C(v[0], v[1]))); };  // |z|
    CHECK(wg::hvp(modulus)(Reals{0.0, 1.0}, Reals{1.0, 0.0})[0].value() == Approx(1.0));
    CHECK(wg::check_grads(modulus, Reals{0.0, -2.0}, {.order = 2}).ok);
    using F = wg::Real<float>;
    const auto single = [](const std::array<F, 2>& v) {
        return std::sqrt(std::complex<F>(v[0], v[1])).real();
    };
    CHECK(wg::grad(single)(std::array<F, 2>{F(0.0f), F(1.0f)})[0].value() == Approx(std::sqrt(0.125f)));
    const auto cells = wg::kernel([](auto x, auto y) { return sqrt(std::complex(x, y)).real(); });
    const wg::Tensor<double> x = {0.0, 2.0, -2.0}, y = {1.0, 0.0, 0.5};
    const auto total = [&](const wg::Tensor<double>& q) { return sum(cells(q, y)); };
    CHECK(wg::grad(total)(x)(0).item() == Approx(std::sqrt(0.125)));
}

TEST_CASE("Complex numbers of reals beside plain numbers, real and complex")
{
    const auto both_ways = [](const auto& z) {
        const std::complex<double> w(0.3, -1.1);
        return (2.0 * z + 1.0) * (z - w) / (w * z - 3.0) + z / 2.0 + 1.5 / z + (w - z) * (w + z) / w -
               (2.0 - z);
    };
    const auto f = [&](const Reals& v) {
        const C y = both_ways(C(v[0], v[1]));
        return y.real() + 2.0 * y.imag();
    };
    const auto plain = both_ways(std::complex<double>(0.7, -0.4));
    CHECK(f({0.7, -0.4}).value() == Approx(plain.real() + 2 * plain.imag()).epsilon(1e-14));
    CHECK(wg::check_grads(f, Reals{0.7, -0.4}, {.order = 2}).message == "");
    CHECK((2 * C(1.5, -1.0) - 1 == C(2.0, -2.0)));
}
