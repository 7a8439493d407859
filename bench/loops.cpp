// wengert_loops [STEPS]: scans whose bodies fold, value and gradient, milliseconds a call: in native code, step by step, and how
// many of a graph's loops native code left alone. The least of several calls, in turn.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <wengert/graph/native/native.hpp>
#include <wengert/wengert.hpp>

namespace wg = wengert;
using T = wg::Tensor<double>;

namespace {

struct Body {
    const char* what;
    wg::Shape state;
    T (*next)(const T& v);
};

const std::vector<Body> bodies = {
    {"norm of 3", {3}, [](const T& v) { return v - 1e-3 * v / norm(v); }},
    {"norm of 300", {300}, [](const T& v) { return v - 1e-3 * v / norm(v); }},
    {"norms of 8 rows of 3", {8, 3}, [](const T& v) { return v - 1e-3 * v / norm(v, {1}, true); }},
    {"sums of 8 columns", {40, 8}, [](const T& v) { return v - 1e-3 * sum(v, {0}); }},
    {"mean and var of 64", {64}, [](const T& v) { return v - 1e-3 * (v - mean(v)) / (var(v) + 1.0); }},
    {"amax of 16", {16}, [](const T& v) { return v - 1e-3 * amax(v) * v; }},
    {"softmax of 10", {10}, [](const T& v) { return v - 1e-3 * softmax(v); }},
    {"cumsum of 16", {16}, [](const T& v) { return v - 1e-4 * cumsum(v, 0); }},
};

double milliseconds(const auto& f)
{
    const auto begin = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv)
{
    const std::int64_t steps = argc > 1 ? std::atoll(argv[1]) : 100'000;
    std::printf("%lld steps, ms        %10s %10s %10s %10s %6s\n", static_cast<long long>(steps), "native",
                "by step", "gradient", "by step", "left");
    for (const Body& b : bodies) {
        const auto value = [&](const T& x) {
            const auto step = [&](const T& v) { return std::pair(b.next(v), std::tuple<>()); };
            return sum(square(wg::scan(step, x, steps).first));
        };
        const T x = wg::normal<double>(wg::Key(1), b.state) + 2.0;
        auto fast = wg::freeze(value, {.backend = wg::native, .check = false}),
             slow = wg::freeze(value, {.check = false});
        auto fast_gradient = wg::freeze(wg::grad(value), {.backend = wg::native, .check = false}),
             slow_gradient = wg::freeze(wg::grad(value), {.check = false});
        double best[4] = {1e99, 1e99, 1e99, 1e99};
        for (int k = 0; k < 6; ++k) {  // the first call traces
            best[0] = std::min(best[0], milliseconds([&] { fast(x); }));
            best[1] = std::min(best[1], milliseconds([&] { slow(x); }));
            best[2] = std::min(best[2], milliseconds([&] { fast_gradient(x); }));
            best[3] = std::min(best[3], milliseconds([&] { slow_gradient(x); }));
        }
        const std::string why = fast_gradient.explain();
        std::size_t left = 0;
        for (std::size_t at = why.find("runs step by step"); at != why.npos;
             at = why.find("runs step by step", at + 1))
            ++left;
        std::printf("%-21s %10.3f %10.3f %10.3f %10.3f %6zu\n", b.what, best[0], best[1], best[2], best[3],
                    left);
    }
}
