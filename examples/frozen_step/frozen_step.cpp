// A training step of a small network that reads digits, frozen: the same step node by node on the tape, as a graph in tiles,
// and as native code where there is a compiler. Times, results, the memory plan, what each kernel takes, and a page with the
// graph's picture.
//   frozen_step [FOLDER_FOR_THE_PAGE]

#include <wengert/native.hpp>
#include <wengert/report.hpp>
#include <wengert/wengert.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "../digits/digits.hpp"

/// Momentum SGD; the rate is a tensor, so that another rate is not another graph.
Real step(Network& net, Network& velocity, const Real& pixels, const Labels& labels, const Real& rate)
{
    const auto [value, gradient] = wg::value_and_grad(loss)(net, pixels, labels);
    wg::tree::zip_for_each([](Real& v, const Real& g) { v = 0.9 * v + g; }, velocity, gradient);
    wg::tree::zip_for_each([&](Real& w, const Real& v) { w -= rate * v; }, net, velocity);
    return value;
}

/// A network in training, and the losses of its steps.
struct Run {
    Network net, velocity;
    std::vector<float> losses;
    double microseconds = 0;  ///< of the quickest step
};

constexpr std::int64_t batch = 32;
constexpr int steps = 200;

/// 200 steps over batches in order, by any function that makes one.
template <class Step> void train(Run& run, const Real& pixels, const Labels& labels, const Step& one)
{
    const std::int64_t batches = static_cast<std::int64_t>(labels.size()) / batch;
    run.microseconds = 1e9;
    for (int k = 0; k < steps; ++k) {
        const auto part = wg::range(k % batches * batch, (k % batches + 1) * batch);
        const Real some = copy(view(pixels, part)), rate(0.05 / (1 + 0.01 * k));
        const Labels named = copy(view(labels, part));
        const auto start = std::chrono::steady_clock::now();
        run.losses.push_back(one(some, named, rate).item());
        const std::chrono::duration<double, std::micro> passed = std::chrono::steady_clock::now() - start;
        run.microseconds = std::min(run.microseconds, passed.count());
    }
}

Run fresh()
{
    Run run{initial(wg::Key(1), {64, 256, 128, 10}), {}, {}};
    run.velocity = wg::tree::map([](const Real& w) { return wg::zeros_like(w); }, run.net);
    return run;
}

/// The largest relative difference of two runs' losses.
double difference(const Run& a, const Run& b)
{
    double worst = 0;
    for (std::size_t k = 0; k < a.losses.size(); ++k)
        worst = std::max(worst, std::abs(double(a.losses[k]) - b.losses[k]) / b.losses[k]);
    return worst;
}

/// The largest buffers of the arena: what they hold, and from which kernel to which.
void print_memory(const wg::GraphPlan& plan)
{
    std::vector<wg::MemoryBlock> blocks = plan.memory;
    std::sort(blocks.begin(), blocks.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    std::printf("    memory: %zu buffers in %zu bytes\n", blocks.size(), plan.arena_bytes);
    for (std::size_t k = 0; k < std::min<std::size_t>(blocks.size(), 6); ++k)
        std::printf("        %7zu bytes at %7zu, kernels %3u to %3u: %s\n", blocks[k].bytes, blocks[k].offset,
                    blocks[k].first, blocks[k].last, blocks[k].label.c_str());
}

/// The kernels that take most of the time, by the quickest of their runs.
void print_times(const std::vector<wg::ProfileEvent>& events)
{
    auto times = wg::kernel_times(events);
    std::sort(times.begin(), times.end(), [](const auto& a, const auto& b) { return a.least > b.least; });
    double all = 0;
    for (const auto& t : times) all += t.least;
    std::printf("    time: %zu kernels, %.1f us\n", times.size(), 1e6 * all);
    for (std::size_t k = 0; k < std::min<std::size_t>(times.size(), 6); ++k)
        std::printf("        %5.1f us, %4.1f %%: %s (%s)\n", 1e6 * times[k].least, 100 * times[k].least / all,
                    times[k].name.c_str(), times[k].site.c_str());
}

/// No two buffers share memory while both are in use, and all lie in the arena.
bool sound(const wg::GraphPlan& plan)
{
    for (const auto& a : plan.memory) {
        if (a.offset + a.bytes > plan.arena_bytes) return false;
        for (const auto& b : plan.memory)
            if (&a != &b && a.first <= b.last && b.first <= a.last && a.offset < b.offset + b.bytes &&
                b.offset < a.offset + a.bytes)
                return false;
    }
    return !plan.memory.empty();
}

/// What there is to see of a frozen step: printed in short, whole in files.
template <class Frozen>
bool show(const Frozen& frozen, const std::string& path, const Real& x, const Labels& y, const Real& rate)
{
    const wg::Graph& graph = frozen.graph(x, y, rate);
    const wg::GraphPlan plan = wg::inspect(graph, frozen.backend());
    const auto events = wg::profile(graph, frozen.inputs(x, y, rate), frozen.backend());
    print_memory(plan);
    print_times(events);
    const wg::ReportFiles files = wg::save_report(path, frozen, x, y, rate);
    std::printf("    drawn in %s; as text %s, for Graphviz %s, for ui.perfetto.dev %s\n", files.html.c_str(),
                files.text.c_str(), files.dot.c_str(), files.trace.c_str());
    bool written = true;
    for (const std::string& f : {files.html, files.text, files.dot, files.trace})
        written = written && std::filesystem::file_size(f) > 0;
    return written && sound(plan) && plan.kernels.size() == frozen.stats().kernels &&
           events.size() == 10 * plan.kernels.size();
}

/// Trains with a frozen step and says what came of it; its losses must be those of the tape.
bool frozen_run(const char* name, const wg::FreezeOptions& options, const Run& eager, const Real& pixels,
                const Labels& labels, double tolerance, const std::string& report = {})
{
    Run run = fresh();
    auto frozen = wg::freeze([&](const Real& x, const Labels& y,
                                 const Real& rate) { return step(run.net, run.velocity, x, y, rate); },
                             options);
    frozen.live(run.net, run.velocity);
    train(run, pixels, labels, frozen);
    const double apart = difference(run, eager);
    std::printf("%-22s %8.1f us a step, %4.2f times as fast, losses differ by %.1e at most\n", name,
                run.microseconds, eager.microseconds / run.microseconds, apart);
    const auto& s = frozen.stats();
    std::printf("    %zu operations in %zu kernels; arena %zu bytes, of which %zu are alive at one time\n",
                s.recorded_ops, s.kernels, s.arena_bytes, s.arena_lower_bound);
    const wg::Slice first = wg::range(batch);
    const bool seen =
        report.empty() || show(frozen, report, view(pixels, first), view(labels, first), Real(0.05f));
    return apart <= tolerance && s.traces == 1 && seen;
}

int main(int argc, char** argv)
{
    const auto [pixels, labels] =
        load(std::filesystem::path(__FILE__).parent_path() / "../digits/data/digits.txt", 640);
    const std::filesystem::path folder = argc > 1 ? argv[1] : ".";

    Run eager = fresh();
    train(eager, pixels, labels, [&](const Real& x, const Labels& y, const Real& rate) {
        return step(eager.net, eager.velocity, x, y, rate);
    });
    std::printf("%-22s %8.1f us a step, the loss goes from %.3f to %.3f in %d steps\n", "eager",
                eager.microseconds, double(eager.losses.front()), double(eager.losses.back()), steps);

    wg::FreezeOptions exact, folded, native;
    exact.passes.fold_updates = false;
    native.backend = wg::native;
    // w − η (xᵀ g) as one GEMM rounds once less; a training run of 200 steps multiplies such differences
    bool good = frozen_run("tiles, updates apart", exact, eager, pixels, labels, 0);
    good =
        frozen_run("tiles", folded, eager, pixels, labels, 0.02, (folder / "frozen_step").string()) && good;
    good = frozen_run("native", native, eager, pixels, labels, 0.02) && good;
    good = good && eager.losses.back() < 0.3f * eager.losses.front();
    std::printf("%s (the same losses to the bit with updates apart, else within 2 %%; one trace each)\n",
                good ? "good" : "not good");
    return good ? 0 : 1;
}
