#pragma once

// Peak memory and the cold first call, each system in a fresh process of its own (`wengert_bench --peak`);
// bytes on the tape per operation; a compiler's time and memory.

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>

#include "harness.hpp"
#include "report.hpp"

namespace bench {

/// A line of /proc/self/status in KiB: "VmHWM" is the highest resident size so far, "VmRSS" the present one.
inline double status_kib(const std::string& field)
{
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind(field + ':', 0) == 0) return std::stod(line.substr(field.size() + 1));
    return 0;
}

/// In the child: cold and warm seconds and the peak above what the process held before the case was made.
inline int report_peak(const Entry& e)
{
    const double before = status_kib("VmRSS");
    const Case one = e.make();
    const double cold = seconds_of(one.run, 1);
    double warm = HUGE_VAL;
    for (int i = 0; i < 5; ++i) warm = std::min(warm, seconds_of(one.run, 1));
    std::printf("%.9g %.9g %.9g\n", cold, warm, (status_kib("VmHWM") - before) / 1024);
    return 0;
}

inline void print_peak_header()
{
    std::printf("%-12s %-20s %-12s %12s %12s %14s\n", "workload", "variant", "system", "cold", "warm",
                "peak MiB");
}

inline void print_peak(const Entry& e)
{
    const std::string command = "/proc/" + std::to_string(getpid()) + "/exe --child " + e.workload + " '" +
                                e.variant + "' " + e.system;
    FILE* pipe = popen(command.c_str(), "r");
    double cold = 0, warm = 0, peak = 0;
    const int read = pipe ? std::fscanf(pipe, "%lf %lf %lf", &cold, &warm, &peak) : 0;
    if (!pipe || pclose(pipe) != 0 || read != 3) throw std::runtime_error("failed: " + command);
    std::printf("%-12s %-20s %-12s %12s %12s %14.1f\n", e.workload.c_str(), e.variant.c_str(),
                e.system.c_str(), readable(cold).c_str(), readable(warm).c_str(), peak);
    std::fflush(stdout);
}

/// A probe records many operations, keeps them and returns how many; registered by small_op_wengert.cpp.
struct TapeProbe {
    std::string name;
    std::function<std::size_t(const std::function<void()>& recorded)> record;
};

inline std::vector<TapeProbe>& tape_probes()
{
    static std::vector<TapeProbe> probes;
    return probes;
}

inline int report_tape()
{
    std::printf("%-28s %16s %14s\n", "bytes on the tape", "per operation", "operations");
    for (const TapeProbe& p : tape_probes()) {
        double kib = status_kib("VmRSS");
        const std::size_t operations = p.record([&] { kib = status_kib("VmRSS") - kib; });
        std::printf("%-28s %16.1f %14zu\n", p.name.c_str(), kib * 1024 / static_cast<double>(operations),
                    operations);
    }
    return 0;
}

}  // namespace bench
