// wengert_long_text: how long native code of long kernels takes to write and to compile, processor seconds, and to run, nanoseconds for
// an operation on an element. One line for each kind and size: kind | operations | KB | written | -O2 | -O1 | run.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <sys/resource.h>

#include <wengert/graph/native/native.hpp>
#include <wengert/graph/native/native_flags.hpp>
#include <wengert/scalar.hpp>
#include <wengert/wengert.hpp>

namespace wg = wengert;
using D = wg::Tensor<double>;

namespace {

constexpr std::int64_t cells = 1000;

/// Each statement follows from the one before.
struct Chain {
    int n;
    template <class R> R operator()(const std::vector<R>& x) const
    {
        R y = x[0];
        for (std::size_t i = 0; i < static_cast<std::size_t>(n); i += 2) y = y * x[1 + i % 7] + x[i % 8];
        return y;
    }
};
/// All numbers live from the beginning to the end. `branches`: one in so many statements is in a branch.
struct Mesh {
    int n, branches = 0;
    template <class R> R operator()(const std::vector<R>& x) const
    {
        using std::sin;
        std::vector<R> z;
        for (std::size_t i = 0; i < 40; ++i)
            z.push_back(x[i % 8] * (0.02 * static_cast<double>(i)) + x[(i + 3) % 8]);
        std::uint64_t state = 1;
        const auto draw = [&] {
            state = state * 6364136223846793005U + 1442695040888963407U;
            return static_cast<std::size_t>(state >> 33) % z.size();
        };
        for (int k = 0; k < n; k += 4) {
            const std::size_t i = draw(), j = draw(), l = draw();
            z[i] = 0.5 * z[i] + 0.25 * z[j] * z[l];
            if (k % 100 == 0) z[j] = sin(z[j]);
            if (branches && k % branches == 4) {
                if (z[i] < 0.25)
                    z[j] = z[j] + 0.5 * z[l];
                else
                    z[j] = 0.5 - z[l];
            }
        }
        R y = z[0];
        for (const R& r : z) y = y + r * r;
        return y;
    }
};

template <class F> auto gradient(const F& f)
{
    return [f](const auto& x) { return wg::grad(f)(x); };
}
template <class F> auto nested(const F& f)
{
    return [f](const auto& x) {
        using R = typename std::remove_cvref_t<decltype(x)>::value_type;
        return wg::grad([f](const std::vector<R>& z) {
            R s(0);
            for (const R& g : wg::grad(f)(z)) s = s + g * g;
            return s;
        })(x);
    };
}

double processor(int who)
{
    rusage r;
    ::getrusage(who, &r);
    return static_cast<double>(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

double compiled(const std::string& text, bool quick)
{
    const wg::detail::Compiler& compiler = wg::detail::compiler_now();
    wg::detail::TemporaryFolder folder;
    const std::string source = folder.file("text.cpp"), object = folder.file("text.so"),
                      log = folder.file("log");
    if (!wg::detail::write_file(source, text, 0)) return NAN;
    std::vector<std::string> command = compiler.command;
    for (const std::string& flag : wg::detail::native_flags(compiler, quick)) command.push_back(flag);
    for (const std::string& word : {std::string("-o"), object, source}) command.push_back(word);
    const double begin = processor(RUSAGE_CHILDREN);
    if (wg::detail::run_program(command, log) != 0) return NAN;
    return processor(RUSAGE_CHILDREN) - begin;
}

template <class F> void row(const char* kind, const F& f)
{
    const auto k = wg::kernel([f](auto a, auto b, auto c, auto d, auto e, auto g, auto h, auto i) {
        return f(std::vector<decltype(a)>{a, b, c, d, e, g, h, i});
    });
    auto frozen =
        wg::freeze([&](const std::vector<D>& x) { return k(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]); },
                   {.backend = wg::native, .check = false});
    std::vector<D> x;
    for (int i = 0; i < 8; ++i) x.push_back(wg::linspace<double>(0.1 + 0.05 * i, 0.9 - 0.03 * i, cells));
    const wg::Graph& g = frozen.graph(x);
    std::size_t operations = 0;
    for (const wg::GraphNode& n : g.nodes()) operations += n.primitive && n.primitive->value;
    const double begin = processor(RUSAGE_SELF);
    const std::string text = wg::native_text(g);
    const double written = processor(RUSAGE_SELF) - begin;
    const double best = compiled(text, false), quick = compiled(text, true);
    double run = 1e99;
    for (int i = 0; i < 20; ++i) {
        const auto from = std::chrono::steady_clock::now();
        frozen(x);
        run = std::min(run, std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count());
    }
    std::printf("%s | %zu | %zu | %.2f s | %.2f s | %.2f s | %.3f\n", kind, operations, text.size() / 1000,
                written, best, quick,
                1e9 * run / static_cast<double>(operations) / static_cast<double>(cells));
    std::fflush(stdout);
}

}  // namespace

int main()
{
    for (const int n : {1'000, 10'000, 30'000, 100'000}) row("chain", Chain{n});
    for (const int n : {300, 3'000, 9'000, 30'000}) row("gradient of many numbers", gradient(Mesh{n}));
    for (const int n : {1'000, 10'000, 30'000}) row("branches", Mesh{n, n / 4});
    for (const int n : {150, 1'500, 4'500}) row("gradient through branches", gradient(Mesh{n, (n / 12) * 4}));
    for (const int n : {60, 600, 1'800}) row("gradient of a gradient's square", nested(Mesh{n}));
}
