// wengert_scalar_peers: whole codes by Real beside CoDiPack's RealReverse, where CMake finds it (-DWENGERT_CODIPACK_DIR=…/include).
// Systems take turns in one process; processor time, the least of many samples. A row is a code, `what | operations | …`, for bench/tables.py.
#include <wengert/scalar.hpp>

#ifdef WENGERT_CODIPACK
#include <codi.hpp>
#endif

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "harness.hpp"
#include "scalar_legacy.hpp"

namespace wg = wengert;
using R = wg::Real<double>;

namespace {

double processor_time()
{
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
template <class F> double time_of(const F& f)
{
    const double start = processor_time();
    f();
    return processor_time() - start;
}

/// Of one gradient: seconds, bytes with the adjoints, and the gradient.
struct Cost {
    double record = 1e30, sweep = 1e30, bytes = 0;
    std::vector<double> gradient = {};

    void keep_least(Cost next)
    {
        record = std::min(record, next.record), sweep = std::min(sweep, next.sweep);
        bytes = next.bytes;
        gradient = std::move(next.gradient);
    }
    double seconds() const { return record + sweep; }
};

template <class F> Cost by_real(const F& f, const std::vector<double>& x0, double& operations)
{
    Cost c;
    std::vector<R> x(x0.begin(), x0.end());
    for (R& e : x) e.requires_grad();
    R y;
    c.record = time_of([&] { y = f(x); });
    operations = wg::ScalarStream::of(wg::Tape::current()).size();
    c.bytes = operations * (sizeof(wg::ScalarEntry) + sizeof(double));
    c.sweep = time_of([&] { wg::backward(y); });
    for (R& e : x) {
        c.gradient.push_back(e.grad());
        e.requires_grad(false);
    }
    return c;
}

#ifdef WENGERT_CODIPACK
constexpr const char* peer = "CoDiPack " CODI_VERSION;

template <class F> Cost by_peer(const F& f, const std::vector<double>& x0)
{
    using C = codi::RealReverse;
    Cost c;
    auto& tape = C::getTape();
    std::vector<C> x(x0.begin(), x0.end());
    tape.setActive();
    for (C& e : x) tape.registerInput(e);
    C y;
    c.record = time_of([&] { y = f(x); });
    tape.registerOutput(y);
    tape.setPassive();
    y.setGradient(1.0);
    c.sweep = time_of([&] { tape.evaluate(); });
    c.bytes = tape.getTapeValues().getUsedMemorySize();
    for (const C& e : x) c.gradient.push_back(e.getGradient());
    tape.reset();
    return c;
}
#else
constexpr const char* peer = "";

template <class F> Cost by_peer(const F&, const std::vector<double>&) { return {}; }
#endif

template <class F> bool row(const char* what, const F& f, const std::vector<double>& x, int samples)
{
    double plain = 1e30, worth = 0, operations = 0;
    Cost real, other;
    for (int i = 0; i < samples; ++i) {
        plain = std::min(plain, time_of([&] { worth += f(x); }));
        real.keep_least(by_real(f, x, operations));
        other.keep_least(by_peer(f, x));
    }
    const auto of_operation = [&](double seconds) { return seconds * 1e9 / operations; };
    std::printf("%s | %.0f | %.2f | %.2f | %.2f | %.1f | ", what, operations, of_operation(plain),
                of_operation(real.record), of_operation(real.sweep), real.bytes / operations);
    if (other.gradient.empty()) {
        std::printf("– | – | – | – | –\n");
    } else {
        std::printf("%.2f | %.2f | %.1f | %.2f | %.2f\n", of_operation(other.record),
                    of_operation(other.sweep), other.bytes / operations, real.seconds() / other.seconds(),
                    real.bytes / other.bytes);
    }
    std::fflush(stdout);
    return worth != 0 && (other.gradient.empty() || bench::distance(real.gradient, other.gradient) < 1e-9);
}

}  // namespace

int main(int argc, char** argv)
{
    const int samples = argc > 1 ? std::atoi(argv[1]) : 51;
    std::printf("beside %s\n", *peer ? peer : "nothing");
    std::vector<double> normals(20 * bench::Market::steps);
    for (std::size_t i = 0; i < normals.size(); ++i)
        normals[i] = 1.2 * std::sin(1.7 * static_cast<double>(i));
    const auto paths = [&](std::size_t count) {
        return [&normals, count]<class Number>(const std::vector<Number>& x) {
            Number sum = 0.0;
            for (std::size_t p = 0; p < count; ++p)
                sum += bench::swaption_path(x, normals.data() + p * bench::Market::steps);
            return sum;
        };
    };
    const auto hydro = [](std::size_t n, int steps) {
        return [=]<class Number>(const std::vector<Number>& e) { return bench::blast(n, e, steps); };
    };
    bool right = row("LIBOR, a path", paths(1), bench::rates_today(), 10 * samples);
    right &= row("LIBOR, 20 paths", paths(20), bench::rates_today(), samples);
    right &= row("hexahedra, 4³ cells, 5 steps", hydro(4, 5), bench::hot_corner(4), 3 * samples);
    right &= row("hexahedra, 12³ cells, 10 steps", hydro(12, 10), bench::hot_corner(12), samples / 3 + 1);
    if (!right) std::printf("gradients differ\n");
    return right ? 0 : 1;
}
