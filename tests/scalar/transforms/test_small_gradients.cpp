// Gradients of few operations on reals have a sweep of their own. They are compared with the same function followed by many operations,
// which takes the general sweep, and with plain numbers.
#include "catch.hpp"

#include <wengert/scalar.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

namespace wg = wengert;
using R = wg::Real<double>;

namespace {

/// y behind so many operations that do not change it.
template <class N> N padded(const N& y, int operations)
{
    N z = y;
    for (int k = 0; k < operations; ++k) z = z + 0.0;
    return z;
}

/// A value made of one or two others, by any of these.
template <class N> N combined(unsigned what, const N& a, const N& b)
{
    using namespace std;
    switch (what % 14) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 3: return a / (b * b + 1.5);
    case 4: return sqrt(a * a + 0.5);
    case 5: return sin(a);
    case 6: return exp(-(a * a));
    case 7: return atan2(a, b);
    case 8: return fmax(a, b);
    case 9: return hypot(a, b);
    case 10: return a * 3.0 - 2.0 / (a * a + 1.0);
    case 11: return pow(a * a + 0.25, b);
    case 12: return -a;
    default: return a > b ? a : b * 2.0;
    }
}

using Codes = std::array<std::array<unsigned, 3>, 9>;
template <class N> N computed(const Codes& codes, int length, const std::array<N, 3>& x, int pad)
{
    std::vector<N> values(x.begin(), x.end());
    for (int k = 0; k < length; ++k) {
        const auto& c = codes[static_cast<std::size_t>(k)];
        values.push_back(combined(c[0], values[c[1] % values.size()], values[c[2] % values.size()]));
    }
    return padded(values.back(), pad);
}

bool alike(const R& a, const R& b)
{
    const double x = a.value(), y = b.value();
    return x == y || (x != x && y != y);
}

}  // namespace

TEST_CASE("few operations: the same bits as in a long function", "[scalar]")
{
    std::mt19937 random(20261127);
    for (int trial = 0; trial < 2000; ++trial) {
        Codes codes;
        for (auto& c : codes)
            for (auto& n : c) n = static_cast<unsigned>(random());
        const int length = static_cast<int>(random() % 10);
        const auto f = [&](int pad) {
            return [&, pad](const R& a, const R& b, const R& c) {
                return computed<R>(codes, length, {a, b, c}, pad);
            };
        };
        const R x = std::uniform_real_distribution<>(-2.0, 2.0)(random), y = trial % 5 ? x * 0.7 + 0.1 : x,
                z = trial % 7 ? R(0.25) : R(0.0);
        const auto few = wg::grad<0, 1, 2>(f(0))(x, y, z), many = wg::grad<0, 1, 2>(f(70))(x, y, z);
        CAPTURE(trial, length);
        CHECK(alike(std::get<0>(few), std::get<0>(many)));
        CHECK(alike(std::get<1>(few), std::get<1>(many)));
        CHECK(alike(std::get<2>(few), std::get<2>(many)));
        const auto [value, slopes] = wg::value_and_grad<0, 1, 2>(f(0))(x, y, z);
        const double plain = computed<double>(codes, length, {x.value(), y.value(), z.value()}, 0);
        CHECK(std::abs(value.value() - plain) <=
              1e-12 * std::max(1.0, std::abs(plain)));  // compilers fuse it
        CHECK(alike(std::get<1>(slopes), std::get<1>(few)));
    }
}

TEST_CASE("few operations: results that are variables or constants", "[scalar]")
{
    const auto first = [](const R& x, const R&, const R&) { return x; };
    const auto [a, b, c] = wg::grad<0, 1, 2>(first)(R(1.0), R(2.0), R(3.0));
    CHECK(a.value() == 1.0);
    CHECK(b.value() == 0.0);
    CHECK(c.value() == 0.0);
    const auto last = [](const R&, const R&, const R& z) { return z; };
    CHECK(std::get<0>(wg::grad<0, 1, 2>(last)(R(1.0), R(2.0), R(3.0))).value() == 0.0);
    for (const std::size_t n : {1U, 2U, 63U, 64U, 65U, 100U, 1000U})
        for (const std::size_t k : {std::size_t{0}, n / 2, n - 1}) {
            std::vector<R> v(n, R(0.5));
            const auto gs = wg::grad([&](const std::vector<R>& x) { return x[k]; })(v);
            const auto of_product = wg::grad([&](const std::vector<R>& x) { return x[k] * x[0]; })(v);
            for (std::size_t i = 0; i < n; ++i) {
                CHECK(gs[i].value() == (i == k ? 1.0 : 0.0));
                CHECK(of_product[i].value() == 0.5 * (i == k) + 0.5 * (i == 0));
            }
        }
    CHECK(wg::grad([](const R&) { return R(3.0); })(R(1.0)).value() == 0.0);
}

TEST_CASE("few operations: in other gradients, beside variables, where a derivative is not finite",
          "[scalar]")
{
    const auto square = [](const R& x) { return x * x; };
    const auto nested = [&](const R& x) { return x * wg::grad(square)(x); };  // 2 x²
    CHECK(wg::grad(nested)(R(1.5)).value() == 6.0);
    CHECK(wg::grad(wg::grad(nested))(R(1.5)).value() == 4.0);
    CHECK(wg::jvp(wg::grad(nested), R(1.5), R(1.0)).second.value() == 4.0);
    R w = 2.0;
    w.requires_grad();
    const R slope = wg::grad([&](const R& x) { return w * x * x; })(R(3.0));  // 2 w x, which depends on w
    CHECK(slope.value() == 12.0);
    wg::backward(slope * slope);
    CHECK(w.grad() == 144.0);
    // the zero-cotangent rule: 0 where nothing is sent, and with it switched off the NaN that 0 · ∞ is
    const auto edge = [](const R& x) { return 0.0 * sqrt(x); };
    CHECK(wg::grad(edge)(R(0.0)).value() == 0.0);
    const wg::AllowNaN off;
    CHECK(std::isnan(wg::grad(edge)(R(0.0)).value()));
}
