/// Every function that a Real has, by name, and the numbers over which they are swept: what the executors of a kernel are compared
/// with, and derivatives with differences.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <wengert/scalar.hpp>

namespace function_sweep {

namespace wg = wengert;
using wg::Tensor, wg::detail::List;

/// ψ⁽ⁿ⁾, which <cmath> does not have.
template <class N> N psi(unsigned n, const N& x)
{
    if constexpr (std::is_same_v<N, long double>)
        return 0;
    else
        return wg::polygamma(n, x);
}
/// A function of the library's list; of plain numbers that of <cmath>, where it has one. NaN in long double where it has none.
template <class F, class N, class... More> N called(const N& x, const More&... y)
{
    if constexpr (wg::detail::Calls<N, F>)
        return wg::detail::call<F>(x, y..., wg::Site{});
    else if constexpr (!requires { F::number(1.0); })
        return F::value(x, y...);
    else if constexpr (std::is_same_v<N, long double>)
        return std::numeric_limits<N>::quiet_NaN();
    else
        return F::number(x, y...);
}
/// visit(name, value) for each function, of one number and of two: those of functions/list.hpp and special ones. No function branches, so that a kernel goes one way.
template <class N, class Visit> void smooth(const N& x, const N& y, const Visit& visit)
{
    using namespace std;
    visit("sqrt", sqrt(x));
    const auto one = [&]<class... F>(List<F...>) { (visit(F::name.data(), called<F>(x)), ...); };
    const auto two = [&]<class... F>(List<F...>) { (visit(F::name.data(), called<F>(x, y)), ...); };
    one(wg::detail::RecordedFunctions()), two(wg::detail::RecordedPairs());
    visit("beta", beta(x, y)), visit("digamma", psi(0, x)), visit("polygamma(1)", psi(1, x));
    visit("polygamma(3)", psi(3, x));
}
/// Those that are exact: roundings, and what chooses or moves a sign.
template <class N, class Visit> void exact(const N& x, const N& y, const Visit& visit)
{
    using namespace std;
    visit("floor", floor(x)), visit("ceil", ceil(x)), visit("trunc", trunc(x)),
        visit("nearbyint", nearbyint(x));
    visit("rint", rint(x)), visit("round", round(x)), visit("abs", abs(x)), visit("fabs", fabs(x));
    visit("fmax", fmax(x, y)), visit("fmin", fmin(x, y)), visit("fdim", fdim(x, y));
    visit("copysign", copysign(x, y)), visit("sqrt", sqrt(x));
}

template <class T> struct Points {
    std::vector<T> x, y;
};
/// Where functions change: zeros, poles, branches, ends of the format, halves, and what is next to them.
template <class T> std::vector<T> edges()
{
    using limits = std::numeric_limits<T>;
    std::vector<T> out{T(0),          limits::denorm_min(), limits::min(),
                       limits::max(), limits::infinity(),   limits::quiet_NaN()};
    for (const double v : {0.1,
                           0.3125,
                           0.5,
                           1.0,
                           1.25,
                           1.5,
                           2.0,
                           2.5,
                           3.0,
                           7.0,
                           10.0,
                           12.0,
                           26.5,
                           27.3,
                           35.0,
                           88.7,
                           103.9,
                           170.5,
                           171.6,
                           709.7,
                           745.1,
                           1023.5,
                           1074.5,
                           1.5707963267948966,
                           3.141592653589793,
                           4503599627370495.5,
                           9007199254740991.0,
                           8388607.5,
                           1e9,
                           5.3e17,
                           1e22,
                           1e200}) {
        const T near = static_cast<T>(v);
        for (const T e : {near, std::nextafter(near, T(0)), std::nextafter(near, limits::infinity())})
            out.push_back(e);
    }
    const std::size_t n = out.size();
    for (std::size_t i = 0; i < n; ++i) out.push_back(-out[i]);
    return out;
}
template <class T> Points<T> points(std::size_t random)
{
    Points<T> p;
    const std::vector<T> edge = edges<T>();
    for (std::size_t i = 0; i < edge.size(); ++i)
        for (const std::size_t step : {0, 1, 7, 60})
            p.x.push_back(edge[i]), p.y.push_back(edge[(i + step) % edge.size()]);
    std::mt19937_64 bits(19);
    const auto uniform = [&](double a, double b) {
        return a + (b - a) * std::ldexp(static_cast<double>(bits() >> 11), -53);
    };
    const auto sign = [&] { return bits() % 2 ? 1.0 : -1.0; };
    const auto any = [&] {
        T v;
        const std::uint64_t b = bits();
        std::memcpy(&v, &b, sizeof v);
        return v == v ? v : std::numeric_limits<T>::quiet_NaN();  // C says nothing of NaNs that signal
    };
    for (std::size_t i = 0; i < random; ++i) {
        const double whole = std::floor(uniform(-180, 180)), tiny = std::exp(uniform(-40, 0));
        const double xs[] = {uniform(-4, 4),     sign() * std::exp(uniform(-80, 8)),
                             1 + sign() * tiny,  whole + sign() * tiny * 0.5,
                             uniform(-800, 800), uniform(0, 30)};
        const double ys[] = {uniform(-4, 4), sign() * std::exp(uniform(-80, 8)), uniform(0, 30),
                             uniform(-3, 3)};
        p.x.push_back(static_cast<T>(xs[i % 6])), p.y.push_back(static_cast<T>(ys[bits() % 4]));
        p.x.push_back(any()), p.y.push_back(any());
        p.x.push_back(p.y.back() * static_cast<T>(std::floor(uniform(-99, 99)) / 2)),
            p.y.push_back(p.y.back());
    }
    return p;
}

template <class T> Tensor<T> tensor_of(const std::vector<T>& v)
{
    auto b = wg::make_block(wg::dtype_of<T>(), wg::Shape{static_cast<std::int64_t>(v.size())});
    std::copy(v.begin(), v.end(), b->template as<T>());
    return Tensor<T>(wg::AnyTensor{b, {}});
}

inline constexpr auto smooth_cell = [](auto x, auto y) {
    std::vector<decltype(x)> out;
    smooth(x, y, [&](const char*, const auto& v) { out.push_back(v); });
    return out;
};
inline constexpr auto exact_cell = [](auto x, auto y) {
    std::vector<decltype(x)> out;
    exact(x, y, [&](const char*, const auto& v) { out.push_back(v); });
    return out;
};
inline std::vector<std::string> names_of_smooth()
{
    std::vector<std::string> names;
    smooth(0.5, 0.5, [&](const char* name, double) { names.emplace_back(name); });
    return names;
}
inline std::vector<std::string> names_of_exact()
{
    std::vector<std::string> names;
    exact(0.5, 0.5, [&](const char* name, double) { names.emplace_back(name); });
    return names;
}

}  // namespace function_sweep
