#pragma once

// wengert_bench --plan: what tracing and planning a frozen function takes, and the memory that was planned.

#include <cstdio>

#include "harness.hpp"
#include "report.hpp"

namespace bench {

struct Planned {
    double made = 0,
           first = 0;  ///< seconds of making the inputs and of the first call, which traces and plans
    std::size_t recorded = 0, kernels = 0, arena = 0, bound = 0;
    bool replayed = false;
};

struct PlanProbe {
    Entry entry;
    std::function<Planned()> plan;
};

inline std::vector<PlanProbe>& plan_probes()
{
    static std::vector<PlanProbe> probes;
    return probes;
}

/// The fastest of a few runs of the eager function, which the first call contains.
inline double eager_seconds(const Entry& like)
{
    for (const Entry& e : registry()) {
        if (e.system != "wengert" || title(e) != title(like)) continue;
        const Case one = e.make();
        one.run();
        double best = HUGE_VAL;
        for (int i = 0; i < 3; ++i) best = std::min(best, seconds_of(one.run, 1));
        return best;
    }
    return 0;
}

inline void print_plan_header()
{
    std::printf("%-12s %-20s %-15s %9s %11s %13s %8s %12s %12s %6s\n", "workload", "variant", "system",
                "recorded", "first call", "less eager, /", "kernels", "arena", "lower bound", "/bound");
}

/// The fastest of three first calls, that of eager taken off, a recorded operation.
inline void print_plan(const PlanProbe& probe)
{
    const double eager = eager_seconds(probe.entry);
    Planned p = probe.plan();
    for (int i = 0; i < 2; ++i) p.first = std::min(p.first, probe.plan().first);
    const auto n = static_cast<double>(p.recorded);
    std::printf("%-12s %-20s %-15s %9zu %11s %13s %8zu %12zu %12zu %6s%s\n", probe.entry.workload.c_str(),
                probe.entry.variant.c_str(), probe.entry.system.c_str(), p.recorded,
                readable(p.first).c_str(), readable(std::max(0.0, p.first - eager) / n).c_str(), p.kernels,
                p.arena, p.bound, ratio(static_cast<double>(p.arena), static_cast<double>(p.bound)).c_str(),
                p.replayed ? "" : "  NOT FROZEN");
    std::fflush(stdout);
}

}  // namespace bench
