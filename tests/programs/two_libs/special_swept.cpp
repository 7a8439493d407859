// A program sweeps what a library with hidden visibility has recorded: the rules of special functions are the library's alone.
#include "special.hpp"

#include "../check.hpp"

namespace wg = wengert;
using Real = wg::Real<double>;

int main()
{
    const double x = 1.7, k = 0.4;
    // J₁' = J₀ − J₁/x; K' = E/(k (1 − k²)) − K/k
    const double slope = std::cyl_bessel_j(0.0, x) - std::cyl_bessel_j(1.0, x) / x;
    const double steep = std::comp_ellint_2(k) / (k * (1 - k * k)) - std::comp_ellint_1(k) / k;
    CHECK(near(wg::grad(bessel)(Real(x)).value(), slope, 1e-14));
    CHECK(near(wg::jvp(bessel, Real(x), Real(1.0)).second.value(), slope, 1e-14));
    CHECK(near(wg::grad(elliptic)(Real(k)).value(), steep, 1e-13));
    const auto along = [](const Real& t) { return wg::jvp(bessel, t, Real(1.0)).second; };
    CHECK(near(wg::grad(along)(Real(x)).value(), -slope / x - (1 - 1 / (x * x)) * std::cyl_bessel_j(1.0, x),
               1e-13));
    return report("two_libs.special_swept");
}
