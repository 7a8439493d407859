// What bounded memory costs (docs/memory.md): a tape's bytes, the binomial schedule beside its own steps, checkpoints of a deep
// network, a checkpoint's overhead, and the pool's page faults.   wengert_memory [tape] [loop] [network] [overhead] [faults] [dead]

#include <sys/resource.h>

#include <cstring>

#include <wengert/wengert.hpp>

#include "harness.hpp"
#include "workloads/burgers_problem.hpp"

namespace wg = wengert;
using D = wg::Tensor<double>;
using F = wg::Tensor<float>;

namespace {

/// The least of some runs, each timed alone: the machine's other users only ever add time.
template <class Run> double least(int runs, const Run& run)
{
    double best = HUGE_VAL;
    for (int i = 0; i < runs; ++i) best = std::min(best, bench::seconds_of(run, 1));
    return best;
}

D burgers(const D& u, const D& nu)
{
    using bench::Burgers;
    constexpr std::int64_t n = Burgers::n;
    const auto inner = wg::range(1, n - 1), before = wg::range(0, n - 2), after = wg::range(2, n);
    const D here = view(u, inner, inner), north = view(u, before, inner), west = view(u, inner, before);
    const D around = north + west + view(u, after, inner) + view(u, inner, after);
    const D moved = here * (2.0 * here - north - west) * (Burgers::speed / Burgers::dx);
    const D spread = nu * ((around - 4.0 * here) * (1 / (Burgers::dx * Burgers::dx)));
    D next = u;
    view(next, inner, inner) += Burgers::dt * (spread - moved);
    return next;
}

struct Simulation {
    bench::Burgers p;
    D u0{{bench::Burgers::n, bench::Burgers::n}, p.u}, nu{p.nu};
    double state = static_cast<double>(u0.size()) * sizeof(double);
};

/// The same step, its diffusion in a checkpoint: ν ∇²u saves its Laplacian for the viscosity's derivative otherwise.
D burgers_diffusion_again(const D& u, const D& nu)
{
    using bench::Burgers;
    constexpr std::int64_t n = Burgers::n;
    const auto inner = wg::range(1, n - 1), before = wg::range(0, n - 2), after = wg::range(2, n);
    const D here = view(u, inner, inner), north = view(u, before, inner), west = view(u, inner, before);
    const D moved = here * (2.0 * here - north - west) * (Burgers::speed / Burgers::dx);
    const auto diffusion = [=](const D& u, const D& nu) {
        const D around =
            view(u, before, inner) + view(u, inner, before) + view(u, after, inner) + view(u, inner, after);
        return nu * ((around - 4.0 * view(u, inner, inner)) * (1 / (Burgers::dx * Burgers::dx)));
    };
    D next = u;
    view(next, inner, inner) += Burgers::dt * (wg::checkpoint(diffusion)(u, nu) - moved);
    return next;
}

/// What a step saves.
void tape()
{
    const auto saved = [](const char* what, bool viscosity, D (*step)(const D&, const D&)) {
        Simulation s;
        D u = s.u0, nu = s.nu;
        u.requires_grad(true), nu.requires_grad(viscosity);
        for (std::size_t i = 0; i < bench::Burgers::steps; ++i) u = step(u, nu);
        const auto bytes = static_cast<double>(wg::Tape::current().report().saved_bytes);
        const double seconds = bench::seconds_of([&] { backward(sum(u * u)); }, 1);
        std::printf(
            "tape: %.3f state arrays saved a step of burgers %s (%.1f MB for %zu steps), sweep %.1f ms\n",
            bytes / s.state / bench::Burgers::steps, what, bytes / 1e6, bench::Burgers::steps, seconds * 1e3);
    };
    saved("by its field", false, burgers);
    saved("by field and viscosity", true, burgers);
    saved("by both, diffusion in a checkpoint", true, burgers_diffusion_again);
}

/// checkpoint_loop over 10,000 steps beside what its own steps take: (forward steps) · (a step) + (steps) · (record and sweep
/// one). The latter two are measured before and after, on pieces of the same loop.
void loop()
{
    Simulation s;
    constexpr std::uint64_t steps = 10000, snapshots = 20, piece = 200;
    auto frozen =
        wg::freeze(burgers, {.check = false});  // a checked replay holds the eager step's values as well
    const auto gradient = [&](std::uint64_t l, std::uint64_t kept, wg::LoopReport* report) {
        const auto loss = [&](const D& u, const D& nu) {
            const auto step = [&, nu](const D& now) { return frozen(now, nu); };
            const D end = wg::checkpoint_loop(step, u, {.steps = l, .snapshots = kept, .report = report});
            return sum(end * end);
        };
        static_cast<void>(wg::value_and_grad<0, 1>(loss)(s.u0, s.nu));
    };
    const auto forward = [&] {
        D u = s.u0;
        for (std::uint64_t i = 0; i < piece; ++i) u = frozen(u, s.nu);
    };
    wg::LoopReport report;
    gradient(piece, piece, &report);
    const auto pieces = [&] {
        return std::pair(least(3, forward) / piece, least(3, [&] { gradient(piece, piece, &report); }));
    };
    const auto [step_before, whole_before] = pieces();
    const auto base = wg::memory::stats().current_bytes;
    wg::memory::reset_peak();
    const double took = bench::seconds_of([&] { gradient(steps, snapshots, &report); }, 1);
    const double peak = static_cast<double>(wg::memory::stats().peak_bytes - base);
    const std::uint64_t made = report.forward, planned = report.planned;
    const auto [step_after, whole_after] = pieces();
    const double step = (step_before + step_after) / 2, whole = (whole_before + whole_after) / 2;
    const double reverse = (whole - piece * step) / piece;
    const double expected = static_cast<double>(made) * step + steps * reverse;
    std::printf(
        "loop: %llu steps, %llu snapshots: %llu forward steps (%llu planned), %.2f s; a step %.1f µs, its "
        "recording and sweep %.1f µs, so %.2f s expected: %.3f\n",
        (unsigned long long)steps, (unsigned long long)snapshots, (unsigned long long)made,
        (unsigned long long)planned, took, step * 1e6, reverse * 1e6, expected, took / expected);
    std::printf("loop: peak %.1f MB = %.1f states\n", peak / 1e6, peak / s.state);
}

struct Layer {
    F w, b;
};

/// 64 layers, 512 wide, 256 rows; blocks of eight.
void network()
{
    constexpr std::size_t depth = 64, block = 8;
    std::vector<Layer> net;
    for (std::size_t i = 0; i < depth; ++i)
        net.push_back({wg::normal<float>(wg::Key(i), {512, 512}) * 0.05f, wg::zeros<float>({512})});
    const F x = wg::normal<float>(wg::Key(99), {256, 512});
    const auto run = [](const std::vector<Layer>& net, F y, std::size_t from) {
        for (std::size_t i = from; i < from + block; ++i) y = tanh(matmul(y, net[i].w) + net[i].b);
        return y;
    };
    const auto loss = [&](bool kept) {
        return [&, kept](const std::vector<Layer>& net) {
            F y = x;
            for (std::size_t i = 0; i < depth; i += block) {
                const auto part = [&run, i](const std::vector<Layer>& net, const F& y) {
                    return run(net, y, i);
                };
                y = kept ? wg::checkpoint(part)(net, y) : part(net, y);
            }
            return sum(square(y));
        };
    };
    // With respect to the biases alone the same activations are saved, and the gradients take next to nothing.
    const auto of_biases = [&](bool kept) {
        return [&, kept](const std::vector<F>& b) {
            std::vector<Layer> with = net;
            for (std::size_t i = 0; i < depth; ++i) with[i].b = b[i];
            return loss(kept)(with);
        };
    };
    const std::vector<F> biases(depth, wg::zeros<float>({512}));
    double peak[2], took[2] = {HUGE_VAL, HUGE_VAL};
    for (int kept = 0; kept < 2; ++kept) {
        const auto base = wg::memory::stats().current_bytes;
        wg::memory::reset_peak();
        static_cast<void>(wg::grad(of_biases(kept != 0))(biases));
        peak[kept] = static_cast<double>(wg::memory::stats().peak_bytes - base);
    }
    for (int round = 0; round < 15; ++round)
        for (int kept = 0; kept < 2; ++kept)
            took[kept] = std::min(
                took[kept], bench::seconds_of([&] { static_cast<void>(wg::grad(loss(kept != 0))(net)); }, 1));
    std::printf(
        "network: activations %.1f MB plain, %.1f MB in blocks: %.3f; time %.1f ms and %.1f ms: %.3f\n",
        peak[0] / 1e6, peak[1] / 1e6, peak[1] / peak[0], took[0] * 1e3, took[1] * 1e3, took[1] / took[0]);
}

/// grad(checkpoint(f)) beside grad(f) and f once more, f being next to nothing.
void overhead()
{
    const D x({8}, std::vector<double>(8, 0.5));
    const auto f = [](const D& x) { return x * x; };
    const auto gradient = [&](const auto& g) {
        return [&x, &g] { static_cast<void>(wg::grad([&g](const D& x) { return sum(g(x)); })(x)); };
    };
    const auto kept = wg::checkpoint(f);
    const auto timed = [](const auto& run) {
        constexpr int calls = 20000;
        return least(15,
                     [&] {
                         for (int i = 0; i < calls; ++i) run();
                     }) /
               calls;
    };
    const double plain = timed(gradient(f)), with = timed(gradient(kept)),
                 once = timed([&] { const D y = f(x); });
    std::printf("overhead: %.0f ns for grad(checkpoint(f)), %.0f ns for grad(f), %.0f ns for f: %.0f ns\n",
                with * 1e9, plain * 1e9, once * 1e9, (with - plain - once) * 1e9);
}

/// The system's counter of pages that were not there, iteration by iteration.
void faults()
{
    const F x = wg::normal<float>(wg::Key(1), {10000000});
    const auto f = [](const F& x) { return sum(tanh(x) * x + exp(-square(x))); };
    std::printf("faults: pages missing in each of six gradients of 10,000,000 floats:");
    for (int i = 0; i < 6; ++i) {
        rusage before{}, after{};
        getrusage(RUSAGE_SELF, &before);
        static_cast<void>(wg::grad(f)(x));
        getrusage(RUSAGE_SELF, &after);
        std::printf(" %ld", after.ru_minflt - before.ru_minflt);
    }
    std::printf("\n");
}

/// What ten million results that died leave behind.
void dead()
{
    D x({8}, std::vector<double>(8, 0.5));
    x.requires_grad(true);
    const auto some = [&](int n) {
        for (int i = 0; i < n; ++i) static_cast<void>(x * x);
    };
    some(1000);
    const auto before = wg::memory::stats();
    some(10000000);
    const auto after = wg::memory::stats();
    std::printf(
        "dead: after ten million results that died: %lld bytes, %lld operations and %lld buffers more\n",
        (long long)(after.current_bytes - before.current_bytes),
        (long long)(after.tape_nodes - before.tape_nodes),
        (long long)(after.allocations - before.allocations));
}

}  // namespace

int main(int argc, char** argv)
{
    const std::pair<const char*, void (*)()> parts[] = {{"tape", tape},       {"loop", loop},
                                                        {"network", network}, {"overhead", overhead},
                                                        {"faults", faults},   {"dead", dead}};
    for (const auto& [name, run] : parts) {
        bool wanted = argc == 1;
        for (int i = 1; i < argc; ++i) wanted = wanted || std::strcmp(argv[i], name) == 0;
        if (wanted) run(), std::fflush(stdout);
    }
}
