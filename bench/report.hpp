#pragma once

// The table on the screen and build/bench/results.json: one row a line, so that rows can be replaced without
// a parser.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "harness.hpp"

namespace bench {

inline std::string readable(double seconds)
{
    const char* units[] = {"s", "ms", "us", "ns"};
    int u = 0;
    while (u < 3 && seconds < 1) seconds *= 1e3, ++u;
    char text[32];
    std::snprintf(text, sizeof text,
                  seconds < 10    ? "%.2f %s"
                  : seconds < 100 ? "%.1f %s"
                                  : "%.0f %s",
                  seconds, units[u]);
    return text;
}

/// Seconds of `system` in the same workload and variant, 0 if it was not run.
inline double seconds_of(const std::vector<Row>& rows, const Row& row, const std::string& system)
{
    for (const Row& r : rows)
        if (r.workload == row.workload && r.variant == row.variant && r.system == system) return r.seconds;
    return 0;
}

inline std::string ratio(double seconds, double reference)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", seconds / reference);
    return reference > 0 ? text : "-";
}

inline void print_table(const std::vector<Row>& rows)
{
    std::printf("%-12s %-14s %-15s %10s %10s %10s  %-10s %8s %8s %9s %8s\n", "workload", "variant", "system",
                "median", "min", "max", "per", "/floor", "/plain", "/libtorch", "/xla");
    for (const Row& r : rows)
        std::printf("%-12s %-14s %-15s %10s %10s %10s  %-10s %8s %8s %9s %8s\n", r.workload.c_str(),
                    r.variant.c_str(), r.system.c_str(), readable(r.seconds).c_str(), readable(r.min).c_str(),
                    readable(r.max).c_str(), r.per.c_str(),
                    ratio(r.seconds, seconds_of(rows, r, "floor")).c_str(),
                    ratio(r.seconds, seconds_of(rows, r, "plain")).c_str(),
                    ratio(r.seconds, seconds_of(rows, r, "libtorch")).c_str(),
                    ratio(r.seconds, seconds_of(rows, r, "xla")).c_str());
}

inline std::string json(const Row& r)
{
    char numbers[128];
    std::snprintf(numbers, sizeof numbers, "\"seconds\": %.9g, \"min\": %.9g, \"max\": %.9g", r.seconds,
                  r.min, r.max);
    return "{\"workload\": \"" + r.workload + "\", \"variant\": \"" + r.variant + "\", \"system\": \"" +
           r.system + "\", " + numbers + ", \"per\": \"" + r.per + "\"}";
}

inline std::string key(const std::string& workload) { return "{\"workload\": \"" + workload + '"'; }

/// The rows of the file at `path` whose workload was not run again.
inline std::vector<std::string> kept_lines(const std::filesystem::path& path,
                                           const std::set<std::string>& run)
{
    std::vector<std::string> kept;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
        if (line.empty() || line[0] != '{') continue;
        if (line.back() == ',') line.pop_back();
        bool again = false;
        for (const std::string& w : run) again = again || line.rfind(key(w), 0) == 0;
        if (!again) kept.push_back(line);
    }
    return kept;
}

inline void write_json(const std::filesystem::path& path, const std::vector<Row>& rows)
{
    std::set<std::string> run;
    for (const Row& r : rows) run.insert(r.workload);
    std::vector<std::string> lines = kept_lines(path, run);
    for (const Row& r : rows) lines.push_back(json(r));
    if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path());
    std::ofstream out(path);
    out << "[\n";
    for (std::size_t i = 0; i < lines.size(); ++i) out << lines[i] << (i + 1 < lines.size() ? ",\n" : "\n");
    out << "]\n";
}

}  // namespace bench
