// Derivatives of every function that a Real has, of it and of kernels: beside differences, next to the ends of domains, where squares
// overflow; digits that kernels had lost, and what has no form on arrays.
#include "catch.hpp"

#include "real/function_sweep.hpp"

#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/transforms/grad.hpp>
#include <wengert/transforms/jvp.hpp>

namespace wg = wengert;
using namespace function_sweep;

TEST_CASE("Derivatives of a kernel and of Real beside differences in long double")
{
    // inside of all domains: 0 < x < 1 for most, above 1 for arcosh
    const std::vector<double> xs{0.13, 0.45, 0.71, 0.93, 1.2, 2.6, 5.3},
        ys{0.7, 1.3, 2.1, 0.33, 3.3, 0.9, 1.7};
    const auto k = wg::kernel(smooth_cell);
    const Tensor<double> x = tensor_of(xs), y = tensor_of(ys), one = ones_like(x), none = zeros_like(x);
    const auto names = names_of_smooth();
    const auto difference = [&](std::size_t f, long double a, long double b, bool second) {
        constexpr long double weights[] = {4.0L / 5, -1.0L / 5, 4.0L / 105, -1.0L / 280}, h = 1e-3L;
        long double sum = 0;
        for (int s = 1; s <= 4; ++s)
            for (const int side : {1, -1}) {
                const long double d = side * s * h * (second ? b : a);
                std::size_t g = 0;
                const auto pick = [&](const char*, long double v) {
                    sum += g++ == f ? side * weights[s - 1] * v : 0;
                };
                smooth(second ? a : a + d, second ? b + d : b, pick);
            }
        return static_cast<double>(sum / (h * (second ? b : a)));
    };
    for (const bool second : {false, true}) {
        const auto tangents =
            wg::jvp([&](const Tensor<double>& a, const Tensor<double>& b) { return k(a, b); },
                    std::tuple(x, y), second ? std::tuple(none, one) : std::tuple(one, none))
                .second;
        for (std::size_t f = 0; f < names.size(); ++f)
            for (std::size_t i = 0; i < xs.size(); ++i) {
                const std::string& name = names[f];
                using R2 = wg::Tangents<double, 2>;
                double real = 0;
                std::size_t g = 0;
                smooth(R2::variable(xs[i], 0), R2::variable(ys[i], 1),
                       [&](const char*, const R2& v) { real = g++ == f ? v.tangent(second) : real; });
                const double got = tangents[f](static_cast<int>(i)).item();
                INFO((second ? "by y: " : "by x: ") << name << " of " << xs[i] << ", " << ys[i]);
                if (std::isnan(real)) {
                    CHECK(std::isnan(got));
                    continue;
                }
                CHECK(got == Approx(real).epsilon(3e-14).margin(3e-15));
                const double slope = difference(f, xs[i], ys[i], second);
                if (name.find("gamma(") == name.npos && name != "digamma" && slope == slope)
                    CHECK(real == Approx(slope).epsilon(2e-12).margin(1e-13));
            }
    }
}

TEST_CASE("Derivatives keep their digits next to the ends of domains, and where squares overflow")
{
    const auto slope = [](auto f, double at) {
        return f(wg::Tangents<double, 1>::variable(at, 0)).tangent(0);
    };
    const auto by_kernel = [](auto f, double at) {
        return wg::jvp([k = wg::kernel(f)](const Tensor<double>& x) { return k(x); },
                       Tensor<double>{at, 0.5 * at}, Tensor<double>{1.0, 1.0})
            .second(0)
            .item();
    };
    const auto near = [&](const char* name, auto f, long double want, double at) {
        CAPTURE(name, at, want);
        CHECK(slope(f, at) == Approx(static_cast<double>(want)).epsilon(2e-15));
        CHECK(by_kernel(f, at) == Approx(static_cast<double>(want)).epsilon(2e-15));
    };
    for (const double less : {1e-4, 1e-9, 1.1102230246251565e-16}) {
        const long double x = 1 - less, w = (1 - x) * (1 + x);
        near(
            "asin", [](const auto& v) { return asin(v); }, 1 / std::sqrt(w), 1 - less);
        near(
            "acos", [](const auto& v) { return acos(v); }, -1 / std::sqrt(w), 1 - less);
        near(
            "atanh", [](const auto& v) { return atanh(v); }, 1 / w, 1 - less);
        const long double z = 1 + 2 * less;
        near(
            "acosh", [](const auto& v) { return acosh(v); }, 1 / std::sqrt((z - 1) * (z + 1)),
            static_cast<double>(z));
        near(
            "log1p", [](const auto& v) { return log1p(v); }, 1 / (1 - x), -static_cast<double>(x));
    }
    near(
        "asinh", [](const auto& v) { return asinh(v); }, 1e-200L, 1e200);
    near(
        "acosh", [](const auto& v) { return acosh(v); }, 1e-200L, 1e200);
    near(
        "atan2", [](const auto& v) { return atan2(v, 1e-200); }, 0.5e200L, 1e-200);
    near(
        "hypot", [](const auto& v) { return hypot(v, 1e200); }, std::sqrt(0.5L), 1e200);
    // e^x, of which eˣ − 1 + 1 keeps no digit
    CHECK(slope([](const auto& v) { return expm1(v); }, -30.0) == Approx(std::exp(-30.0)).epsilon(1e-15));
    CHECK(slope([](const auto& v) { return pow(0.0, v); }, 2.0) == 0.0);
}

TEST_CASE("A power has the same mixed second derivative in either order, also where the exponent is 0")
{
    using Reals = std::vector<wg::Real<double>>;
    const auto mixed = [](std::size_t first, double x, double z) {
        const auto slope = [first](const Reals& v) {
            return wg::grad([](const Reals& w) { return pow(w[0], w[1]); })(v)[first];
        };
        return wg::grad(slope)(Reals{x, z})[1 - first].value();
    };
    for (const double z : {0.0, 1.0, 2.5}) {  // x^(z − 1) (1 + z ln x)
        const double want = std::pow(2.0, z - 1) * (1 + z * std::log(2.0));
        CHECK(mixed(0, 2.0, z) == Approx(want).epsilon(1e-15));
        CHECK(mixed(1, 2.0, z) == Approx(want).epsilon(1e-15));
    }
    CHECK(mixed(0, 0.0, 2.0) == 0.0);
    CHECK(mixed(1, 0.0, 2.0) == 0.0);
}

TEST_CASE("The digits that kernels had lost")
{
    const auto of = [](auto f, double x, double y) {
        return wg::kernel(f)(Tensor<double>{x, x}, Tensor<double>{y, y})(0).item();
    };
    CHECK(of([](auto x, auto y) { return fmod(x, y); }, 1.0, 0.1) == std::fmod(1.0, 0.1));
    CHECK(of([](auto x, auto y) { return fmod(x, y); }, 5.3e17, 7.0) == 2.0);
    CHECK(of([](auto x, auto y) { return fmod(x, y); }, 1e308, 3e-308) == std::fmod(1e308, 3e-308));
    CHECK(of([](auto x, auto y) { return remainder(x, y); }, 1e17, 3.0) == 1.0);
    CHECK(of([](auto x, auto y) { return erfc(x) + 0.0 * y; }, 10.0, 0.0) ==
          Approx(2.0884875837625449e-45).epsilon(1e-15));
    CHECK(of([](auto x, auto y) { return acosh(x) + 0.0 * y; }, 1 + 1e-12, 0.0) ==
          Approx(std::acosh(1 + 1e-12)).epsilon(1e-15));
    CHECK(of([](auto x, auto y) { return lgamma(x) + 0.0 * y; }, 2.0000001, 0.0) ==
          Approx(std::lgamma(2.0000001)).epsilon(1e-15));
    CHECK(of([](auto x, auto y) { return tgamma(x) + 0.0 * y; }, 150.5, 0.0) ==
          Approx(std::tgamma(150.5)).epsilon(2e-15));
    CHECK(of([](auto x, auto y) { return round(x) + 0.0 * y; }, 0.49999999999999994, 0.0) == 0.0);
    CHECK(of([](auto x, auto y) { return round(x) + 0.0 * y; }, 4503599627370497.0, 0.0) ==
          4503599627370497.0);
}

TEST_CASE("What has no form on arrays is refused by its name")
{
    const auto refused = [](const char* name, auto f) {
        const auto k = wg::kernel(f);
        CHECK_THROWS_WITH(k(Tensor<double>{0.5, 0.6}), contains(name) && contains("no form on arrays"));
    };
    refused("expint", [](auto x) { return expint(x); });
    refused("comp_ellint_1", [](auto x) { return comp_ellint_1(x); });
    refused("comp_ellint_2", [](auto x) { return comp_ellint_2(x); });
    refused("ellint_1", [](auto x) { return ellint_1(x, x); });
    refused("ellint_2", [](auto x) { return ellint_2(x, x); });
    refused("cyl_bessel_j", [](auto x) { return cyl_bessel_j(1.0, x); });
    refused("cyl_neumann", [](auto x) { return cyl_neumann(1.0, x); });
    refused("cyl_bessel_i", [](auto x) { return cyl_bessel_i(1.0, x); });
    refused("cyl_bessel_k", [](auto x) { return cyl_bessel_k(1.0, x); });
    refused("sph_bessel", [](auto x) { return sph_bessel(1, x); });
    refused("sph_neumann", [](auto x) { return sph_neumann(1, x); });
}

TEST_CASE("Roundings are flat, at zeros and NaNs, too")
{
    const auto flat = [](auto f) {
        const auto k = wg::kernel(f);
        const auto loss = [&](const Tensor<double>& a) { return sum(k(a)); };
        const Tensor<double> x = {-2.0, -0.5, -0.0, 0.0, 0.3, 0.5, 1.0, 1e17};
        for (const Tensor<double>& g : {wg::grad(loss)(x), wg::freeze(wg::grad(loss))(x)})
            for (std::size_t i = 0; i < x.size(); ++i) {
                INFO(x.data()[i]);
                CHECK(g.data()[i] == 0.0);
            }
    };
    flat([](auto x) { return round(x); });
    flat([](auto x) { return nearbyint(x); });
    flat([](auto x) { return rint(x); });
    flat([](auto x) { return trunc(x); });
    flat([](auto x) { return floor(x); });
    flat([](auto x) { return ceil(x); });
    const Tensor<double> nan = {std::nan("")};
    CHECK(wg::grad([](const Tensor<double>& a) {
              return sum(wg::kernel([](auto x) { return round(x); })(a));
          })(nan)
              .data()[0] == 0.0);
}
