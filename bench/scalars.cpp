// What scalar code costs: nanoseconds to record an operation and to sweep back over it, beside the plain loop, best of many
// runs. The chain is three quarters + − ×, one eighth ÷, one eighth √ and fits into the L2 cache; functions are apart.
#include <wengert/scalar.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

namespace wg = wengert;
using R = wg::Real<double>;

namespace {

constexpr int rounds = 1000, operations = 8 * rounds;

const auto arithmetic = [](auto x, auto y) {
    using std::sqrt;
    for (int i = 0; i < rounds; ++i) {
        const auto a = x * y, b = a + x, c = b - y, d = c * 0.5, e = d / y, f = e + 1.0;
        x = sqrt(f * x);
    }
    return x;
};
const auto functions = [](auto x, auto y) {
    using std::cos, std::exp, std::log, std::sin, std::tanh, std::pow, std::atan2, std::sqrt;
    for (int i = 0; i < rounds; ++i) {
        const auto a = sin(x), b = exp(a), c = log(b + y), d = tanh(c);
        x = atan2(pow(d, 1.5), cos(a));
    }
    return x;
};

double now()
{
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

template <class F> void measure(const char* name, const F& f)
{
    double plain = 1e30, passive = 1e30, record = 1e30, reverse = 1e30, keep = 0, bytes = 0;
    const auto g = [&](const std::vector<R>& v) { return f(v[0], v[1]); };
    for (int i = 0; i < 300; ++i) {
        const double t0 = now();
        keep += f(0.9, 1.01);
        const double t1 = now();
        keep += f(R(0.9), R(1.01)).value();
        const double t2 = now();
        const auto [y, pullback] = wg::vjp(g, std::vector<R>{0.9, 1.01});
        const double t3 = now();
        bytes = wg::ScalarStream::of(wg::Tape::current()).size() * sizeof(wg::ScalarEntry);
        keep += pullback(R(1.0))[0].value();
        const double t4 = now();
        plain = std::min(plain, t1 - t0), passive = std::min(passive, t2 - t1);
        record = std::min(record, t3 - t2), reverse = std::min(reverse, t4 - t3);
    }
    std::printf(
        "%-12s plain %5.2f  passive Real %5.2f  record %5.2f  reverse %5.2f ns, %4.1f bytes an operation%s\n",
        name, plain / operations, passive / operations, record / operations, reverse / operations,
        bytes / operations, keep == 0 ? " " : "");
}

}  // namespace

int main()
{
    measure("+ - * / sqrt", arithmetic);
    measure("functions", functions);
}
