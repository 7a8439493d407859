#pragma once

// One code by Real and by CoDiPack: time, memory, first and second derivatives. Without CoDiPack derivatives are compared with
// differences.

#include <wengert/scalar.hpp>

#ifdef WENGERT_CODIPACK
#if __has_include(<Eigen/Dense>)
#define CODI_EnableEigen 1
#endif
#include <codi.hpp>
#endif

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "harness.hpp"

namespace bench {

using Real = wengert::Real<double>;

inline double processor_time()
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

/// Of one derivative: seconds, bytes with the adjoints, and the derivative.
struct Cost {
    double record = 1e30, sweep = 1e30, bytes = 0;
    std::vector<double> result = {};

    void keep_least(Cost next)
    {
        record = std::min(record, next.record), sweep = std::min(sweep, next.sweep);
        bytes = next.bytes;
        result = std::move(next.result);
    }
    double seconds() const { return record + sweep; }
    bool is_there() const { return !result.empty(); }
};

template <class F> Cost gradient_by_real(const F& f, const std::vector<double>& x0, double& operations)
{
    Cost c;
    std::vector<Real> x(x0.begin(), x0.end());
    for (Real& e : x) e.requires_grad();
    Real y;
    c.record = time_of([&] { y = f(x); });
    operations = wengert::ScalarStream::of(wengert::Tape::current()).size();
    c.bytes = operations * (sizeof(wengert::ScalarEntry) + sizeof(double));
    c.sweep = time_of([&] { wengert::backward(y); });
    for (Real& e : x) {
        c.result.push_back(e.grad());
        e.requires_grad(false);
    }
    return c;
}

/// The Hessian times a direction, all of it in `record`.
template <class F>
Cost hvp_by_real(const F& f, const std::vector<double>& x0, const std::vector<double>& direction)
{
    Cost c;
    const std::vector<Real> x(x0.begin(), x0.end()), v(direction.begin(), direction.end());
    std::vector<Real> y;
    c.record = time_of([&] { y = wengert::hvp(f)(x, v); });
    c.sweep = 0;
    for (const Real& e : y) c.result.push_back(e.value());
    return c;
}

#ifdef WENGERT_CODIPACK
inline constexpr const char* peer = "CoDiPack " CODI_VERSION;

/// By numbers C of CoDiPack; `begin` gives the inputs their tangents, `read` is what is taken of an input's adjoint.
template <class C, class F, class Begin, class Read>
Cost by_codipack(const F& f, const std::vector<double>& x0, const Begin& begin, const Read& read)
{
    Cost c;
    auto& tape = C::getTape();
    std::vector<C> x(x0.begin(), x0.end());
    tape.setActive();
    for (std::size_t i = 0; i < x.size(); ++i) {
        begin(x[i], i);
        tape.registerInput(x[i]);
    }
    C y;
    c.record = time_of([&] { y = f(x); });
    tape.registerOutput(y);
    tape.setPassive();
    y.gradient() = 1.0;
    c.sweep = time_of([&] { tape.evaluate(); });
    c.bytes = tape.getTapeValues().getUsedMemorySize();
    for (const C& e : x) c.result.push_back(read(e));
    tape.reset();
    return c;
}
template <class F> Cost gradient_by_peer(const F& f, const std::vector<double>& x0)
{
    using C = codi::RealReverse;
    return by_codipack<C>(
        f, x0, [](C&, std::size_t) {}, [](const C& e) { return e.getGradient(); });
}
template <class F>
Cost hvp_by_peer(const F& f, const std::vector<double>& x0, const std::vector<double>& direction)
{
    using C = codi::RealReverseGen<codi::RealForward>;
    return by_codipack<C>(
        f, x0, [&](C& e, std::size_t i) { e.value().gradient() = direction[i]; },
        [](const C& e) { return e.getGradient().getGradient(); });
}
#else
inline constexpr const char* peer = "";

template <class F> Cost gradient_by_peer(const F&, const std::vector<double>&) { return {}; }
template <class F> Cost hvp_by_peer(const F&, const std::vector<double>&, const std::vector<double>&)
{
    return {};
}
#endif

/// A direction of the size of x.
inline std::vector<double> some_direction(const std::vector<double>& x)
{
    std::vector<double> v;
    for (const double e : x)
        v.push_back(std::max(std::abs(e), 0.01) * std::cos(static_cast<double>(v.size())));
    return v;
}
inline std::vector<double> moved(std::vector<double> x, const std::vector<double>& v, double step)
{
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += step * v[i];
    return x;
}
/// Is the gradient along a direction that of central differences?
template <class F>
bool agrees_with_differences(const F& f, const std::vector<double>& x, const std::vector<double>& gradient)
{
    const auto v = some_direction(x);
    double along = 0, size = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
        along += gradient[i] * v[i], size += std::abs(gradient[i] * v[i]);
    const double step = 1e-6, difference = (f(moved(x, v, step)) - f(moved(x, v, -step))) / (2 * step);
    return std::abs(along - difference) <= 1e-5 * size;
}

/// The same code by kernels, on so many times the numbers.
struct ByKernel {
    double times = 0;
    std::function<std::vector<double>()> gradient = {}, expected = {};
};
ByKernel market_by_kernel(std::size_t paths);
ByKernel kinetics_by_kernel(std::size_t reactors, int steps);
ByKernel euler_by_kernel(std::size_t squares, int steps);

inline bool differs(const char* what, const char* from)
{
    std::printf("%s: differs from %s\n", what, from);
    return false;
}

template <class F> bool first_order(const char* what, const F& f, const std::vector<double>& x, int samples)
{
    double plain = 1e30, worth = 0, by_grad = 1e30, operations = 0;
    Cost real, other;
    const std::vector<Real> reals(x.begin(), x.end());
    for (int i = 0; i < samples; ++i) {
        plain = std::min(plain, time_of([&] { worth += f(x); }));
        real.keep_least(gradient_by_real(f, x, operations));
        by_grad = std::min(by_grad, time_of([&] { worth += wengert::grad(f)(reals)[0].value(); }));
        other.keep_least(gradient_by_peer(f, x));
    }
    const auto of_operation = [&](double seconds) { return seconds * 1e9 / operations; };
    std::printf("%s | %.0f | %.2f | %.2f | %.2f | %.2f | %.1f | ", what, operations, of_operation(plain),
                of_operation(real.record), of_operation(real.sweep), of_operation(by_grad),
                real.bytes / operations);
    if (other.is_there())
        std::printf("%.2f | %.2f | %.1f | %.2f | %.2f | %.2f\n", of_operation(other.record),
                    of_operation(other.sweep), other.bytes / operations, real.seconds() / other.seconds(),
                    by_grad / other.seconds(), real.bytes / other.bytes);
    else
        std::printf("– | – | – | – | – | –\n");
    std::fflush(stdout);
    if (worth == 0 || !agrees_with_differences(f, x, real.result)) return differs(what, "differences");
    const bool same = !other.is_there() || distance(real.result, other.result) < 1e-9;
    return same || differs(what, "the peer");
}

template <class F> bool second_order(const char* what, const F& f, const std::vector<double>& x, int samples)
{
    const auto v = some_direction(x);
    double operations = 0;
    Cost first, real, other;
    for (int i = 0; i < samples; ++i) {
        first.keep_least(gradient_by_real(f, x, operations));
        real.keep_least(hvp_by_real(f, x, v));
        other.keep_least(hvp_by_peer(f, x, v));
    }
    const auto of_operation = [&](double seconds) { return seconds * 1e9 / operations; };
    std::printf("%s | %.2f | %.2f | %.2f | ", what, of_operation(first.seconds()),
                of_operation(real.seconds()), real.seconds() / first.seconds());
    if (other.is_there())
        std::printf("%.2f | %.2f\n", of_operation(other.seconds()), real.seconds() / other.seconds());
    else
        std::printf("– | –\n");
    std::fflush(stdout);
    const double step = 1e-6;
    auto slope = gradient_by_real(f, moved(x, v, step), operations).result;
    const auto behind = gradient_by_real(f, moved(x, v, -step), operations).result;
    for (std::size_t i = 0; i < slope.size(); ++i) slope[i] = (slope[i] - behind[i]) / (2 * step);
    if (distance(real.result, slope) > 1e-5) return differs(what, "differences of gradients");
    const bool same = !other.is_there() || distance(real.result, other.result) < 1e-9;
    return same || differs(what, "the peer, second order");
}

template <class F>
bool with_kernel(const char* what, const F& f, const std::vector<double>& x, int samples, const ByKernel& k)
{
    double plain = 1e30, worth = 0, took = 1e30, operations = 0;
    Cost real, other;
    std::vector<double> result;
    const double first = seconds_of([&] { result = k.gradient(); }, 1);  // a compiler is another process
    for (int i = 0; i < 2; ++i) result = k.gradient();                   // what is made of the first calls
    for (int i = 0; i < samples; ++i) {
        plain = std::min(plain, time_of([&] { worth += f(x); }));
        took = std::min(took, time_of([&] { result = k.gradient(); }));
        real.keep_least(gradient_by_real(f, x, operations));
        other.keep_least(gradient_by_peer(f, x));
    }
    const auto of_operation = [&](double seconds) { return seconds * 1e9 / operations; };
    std::printf("%s | %.2f | %.2f | %.2f | ", what, of_operation(plain), of_operation(real.seconds()),
                of_operation(took / k.times));
    if (other.is_there())
        std::printf("%.2f | %.2f", of_operation(other.seconds()), took / k.times / other.seconds());
    else
        std::printf("– | –");
    std::printf(" | %.1f\n", first);
    std::fflush(stdout);
    return (worth != 0 && distance(result, k.expected()) < 1e-8) || differs(what, "its kernel");
}

/// What runs each code: f by any number type, at x; `weight` times the samples.
class Codes {
public:
    explicit Codes(std::string only) : only_(std::move(only)) {}

    template <class F>
    void add(const char* name, const char* what, const F& f, const std::vector<double>& x, double weight,
             const ByKernel& kernel = {})
    {
        if (!only_.empty() && only_ != name) return;
        first_.push_back([=](int samples) { return first_order(what, f, x, count(samples, weight)); });
        second_.push_back([=](int samples) { return second_order(what, f, x, count(samples, weight / 4)); });
        if (kernel.times > 0)
            kernels_.push_back(
                [=](int samples) { return with_kernel(what, f, x, count(samples, 0.2), kernel); });
    }
    bool run(int samples) const
    {
        bool right = true;
        for (const auto& f : first_) right &= f(samples);
        std::printf("second order\n");
        for (const auto& f : second_) right &= f(samples);
        std::printf("kernels\n");
        for (const auto& f : kernels_) right &= f(samples);
        return right;
    }

private:
    static int count(int samples, double weight) { return std::max(1, static_cast<int>(samples * weight)); }
    std::string only_;
    std::vector<std::function<bool(int)>> first_, second_, kernels_;
};

void add_market(Codes&);
void add_hexahedra(Codes&);
void add_kinetics(Codes&);
void add_euler(Codes&);
void add_arm(Codes&);

}  // namespace bench
