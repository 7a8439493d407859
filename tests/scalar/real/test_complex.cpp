// std::complex of reals, as libstdc++ has it, against derivatives by hand and differences.
#include "catch.hpp"

#include <wengert/scalar.hpp>

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
