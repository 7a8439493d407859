// Measures the constants of graph/ir/cost_model.hpp on this machine and prints them in the form that PassOptions::costs takes.
// Each is a difference of frozen functions that differ in what is measured, so that steps and guards around it cancel.

#include <unistd.h>

#include <cmath>
#include <cstdio>

#include <wengert/wengert.hpp>

#include "harness.hpp"

namespace wg = wengert;
template <class T> using Tensor = wg::Tensor<T>;

extern "C" void openblas_set_num_threads(int) __attribute__((weak));

namespace {

wg::FreezeOptions as_written()
{
    wg::FreezeOptions o;
    o.check = false;
    return o;
}

/// Nanoseconds of a replay: the least of some samples, as the machine's other users only ever add time.
template <class F, class... X> double replay(const F& f, const X&... x)
{
    for (int i = 0; i < 3; ++i) static_cast<void>(f(x...));
    const double once = bench::seconds_of([&] { static_cast<void>(f(x...)); }, 1);
    const auto runs = static_cast<std::size_t>(std::clamp(2e-4 / once, 1.0, 1e4));
    double best = HUGE_VAL;
    for (int i = 0; i < 40; ++i)
        best = std::min(best, bench::seconds_of([&] { static_cast<void>(f(x...)); }, runs) /
                                  static_cast<double>(runs));
    return 1e9 * best;
}

/// For an element, of `parts` operations that step(h, x) does.
template <class T, class Step> double rate(std::int64_t n, double parts, const Step& step)
{
    constexpr int few = 4, many = 24;
    const auto chain = [&](int length) {
        return wg::freeze(
            [=](const Tensor<T>& x) {
                Tensor<T> h = x;
                for (int k = 0; k < length; ++k) h = step(h, x);
                return h;
            },
            as_written());
    };
    const Tensor<T> x = T(0.5) + wg::uniform<T>(wg::Key(1), {n});
    return (replay(chain(many), x) - replay(chain(few), x)) / (many - few) / parts / static_cast<double>(n);
}

template <class T> double product_rate()
{
    constexpr std::int64_t n = 256;
    const auto f = wg::freeze([](const Tensor<T>& a) { return matmul(a, a); }, as_written());
    return replay(f, wg::uniform<T>(wg::Key(1), {n, n})) / static_cast<double>(n * n * n);
}

/// Returns that of arithmetic.
template <class T> double print_rates(const char* name)
{
    using X = const Tensor<T>&;
    constexpr auto n = static_cast<std::int64_t>(8192 / sizeof(T));
    const double arithmetic = rate<T>(n, 2, [](X h, X x) { return h * x + x; });
    const double division = rate<T>(n, 1, [](X h, X x) { return x / h; });
    const double transcendental = rate<T>(n, 3, [](X h, X) { return tanh(exp(sin(h))); });
    std::printf("    .%s = {%.3g, %.3g, %.3g, %.3g},\n", name, arithmetic, division, transcendental,
                product_rate<T>());
    return arithmetic;
}

struct Traffic {
    double load, store;
};

/// For a byte of a value of so many bytes: what a pass takes longer that reads it beside another one, and what a pass takes
/// longer that stores it. `arithmetic` is the time of an operation.
Traffic traffic(std::size_t bytes, double arithmetic)
{
    using F = Tensor<float>;
    const auto n = static_cast<std::int64_t>(bytes / sizeof(float));
    const F x = wg::uniform<float>(wg::Key(1), {n}), y = wg::uniform<float>(wg::Key(2), {n}), c(1.5F);
    const auto reading = [](const F& x, const F& c) { return sum(x * c); };
    const auto beside = [](const F& x, const F& c, const F& y) { return sum(x * c * y); };
    const auto storing = [](const F& x, const F& c) {
        const F z = x * c;
        return sum(z * sum(z));  // the inner sum must be complete: z waits in memory
    };
    const double one = replay(wg::freeze(reading, as_written()), x, c);
    const double two = replay(wg::freeze(beside, as_written()), x, c, y);
    const double both = replay(wg::freeze(storing, as_written()), x, c);
    const auto size = static_cast<double>(bytes);
    return {std::max(0.0, (two - one) / size - arithmetic / sizeof(float)),
            std::max(0.0, (both - 2 * one) / size)};
}

/// Part of a cache that one value may have for itself.
std::size_t cache(int name, std::size_t otherwise)
{
    const long bytes = sysconf(name);
    return (bytes > 0 ? static_cast<std::size_t>(bytes) : otherwise) * 2 / 3;
}

}  // namespace

int main()
{
    if (openblas_set_num_threads) openblas_set_num_threads(1);
    const std::size_t l1 = cache(_SC_LEVEL1_DCACHE_SIZE, 32U << 10),
                      l2 = cache(_SC_LEVEL2_CACHE_SIZE, 1U << 20);
    std::printf("// freeze(f, {.passes = {.fold_updates = true, .costs = costs}})\n"
                "const wengert::CostModel costs{\n");
    const double arithmetic = print_rates<float>("f32");
    print_rates<double>("f64");
    const Traffic t[] = {traffic(l1 / 2, arithmetic), traffic(l2 / 2, arithmetic),
                         traffic(16 * l2, arithmetic)};
    std::printf("    .load = {%.3g, %.3g, %.3g},\n", t[0].load, t[1].load, t[2].load);
    std::printf("    .store = {%.3g, %.3g, %.3g},\n", t[0].store, t[1].store, t[2].store);
    std::printf("    .l1_bytes = %zu,\n    .l2_bytes = %zu};\n", l1, l2);
}
