// Functions, long sums, NaN and infinities under options that loosen arithmetic: built and run by run.py.
#include <cmath>
#include <cstdio>
#include <limits>

#include <wengert/ops/elementwise/activations.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/reductions.hpp>

namespace wg = wengert;

// A user's own names: none of them may be shadowed by the library, whose templates are instantiated after them.
using A = double;
using F = double;
using L = double;
using T = double;
using U = double;
using V = double;

namespace {

int failed = 0;

void check(bool good, const char* what)
{
    if (good) return;
    std::printf("wrong: %s\n", what);
    failed = 1;
}

/// f(x) elementwise beside the C library's, to `ulps` units of T's precision. Volatile: loops that are not reordered.
template <class T, class F, class G>
void beside(const char* what, const F& f, const G& want, double from, double to, double ulps = 8)
{
    const int n = 203;
    const auto x = wg::linspace<T>(static_cast<T>(from), static_cast<T>(to), n);
    const auto y = f(x);
    for (int i = 0; i < n; ++i) {
        const volatile double exact = want(static_cast<double>(x.data()[i]));
        const volatile double off = static_cast<double>(y.data()[i]) - exact;
        const double bound = ulps * std::numeric_limits<T>::epsilon() * (std::abs(exact) + 1e-3);
        if (!(std::abs(off) <= bound)) return check(false, what);
    }
}

template <class T> void functions()
{
    // clang-format off
    beside<T>("exp", [](const auto& x) { return exp(x); }, [](double x) { return std::exp(x); }, -20, 3);
    beside<T>("expm1", [](const auto& x) { return expm1(x); }, [](double x) { return std::expm1(x); }, -5, 3);
    beside<T>("log", [](const auto& x) { return log(x); }, [](double x) { return std::log(x); }, 0.1, 90);
    beside<T>("log1p", [](const auto& x) { return log1p(x); }, [](double x) { return std::log1p(x); }, -0.5, 3);
    beside<T>("sin", [](const auto& x) { return sin(x); }, [](double x) { return std::sin(x); }, -300, 300);
    beside<T>("cos", [](const auto& x) { return cos(x); }, [](double x) { return std::cos(x); }, -300, 300);
    beside<T>("tan", [](const auto& x) { return tan(x); }, [](double x) { return std::tan(x); }, -1.2, 1.2);
    beside<T>("asin", [](const auto& x) { return asin(x); }, [](double x) { return std::asin(x); }, -1, 1);
    beside<T>("atan", [](const auto& x) { return atan(x); }, [](double x) { return std::atan(x); }, -9, 9);
    beside<T>("sinh", [](const auto& x) { return sinh(x); }, [](double x) { return std::sinh(x); }, -3, 3);
    beside<T>("tanh", [](const auto& x) { return tanh(x); }, [](double x) { return std::tanh(x); }, -3, 3);
    beside<T>("erf", [](const auto& x) { return erf(x); }, [](double x) { return std::erf(x); }, -3, 3);
    beside<T>("round", [](const auto& x) { return round(x); }, [](double x) { return std::nearbyint(x); }, -9, 9);
    beside<T>("floor", [](const auto& x) { return floor(x); }, [](double x) { return std::floor(x); }, -9, 9);
    beside<T>("sigmoid", [](const auto& x) { return sigmoid(x); }, [](double x) { return 1 / (1 + std::exp(-x)); }, -9, 9);
    // the C library's erfc at x/√2 rounded
    beside<T>("gelu", [](const auto& x) { return gelu(x); }, [](double x) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); }, -5, 5, 40);
    // clang-format on
}

template <class T> void edges()
{
    const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
    const wg::Tensor<T> x = {T(0), inf, -inf, nan, T(-1), T(2), T(3), T(4), T(5), T(6)};
    const T *e = x.data(), *p = nullptr;
    const auto y = exp(x), l = log(x), q = x / x;
    p = y.data();
    check(p[0] == T(1) && p[1] == inf && p[2] == T(0) && std::isnan(p[3]), "exp at the edges");
    p = l.data();
    check(p[0] == -inf && p[1] == inf && std::isnan(p[3]) && std::isnan(p[4]), "log at the edges");
    p = q.data();
    check(std::isnan(p[0]) && std::isnan(p[1]) && p[4] == T(1), "x / x");
    check(e[1] == inf && std::isnan(amax(x).item()), "amax of a NaN");
    const auto finite = is_finite(x);
    check(finite.data()[0] && !finite.data()[1] && !finite.data()[2] && !finite.data()[3], "is_finite");
    const auto third = wg::full<T>({1 << 20}, T(1) / T(3));
    check(std::abs(sum(third).item() / T(1 << 20) * T(3) - T(1)) < 4 * std::numeric_limits<T>::epsilon(),
          "sum");
}

}  // namespace

int main()
{
    functions<double>();
    functions<float>();
    edges<double>();
    edges<float>();
    return failed;
}
