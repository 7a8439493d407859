// A profiled run as Chrome trace JSON: open it in https://ui.perfetto.dev or chrome://tracing.
#pragma once

#include <tuple>
#include <vector>

#include "../../base/stable_sort.hpp"
#include "memory_plan.hpp"

namespace wengert {

/// One run of one kernel; times in seconds, from any beginning.
struct ProfileEvent {
    std::string name;
    double start = 0, seconds = 0;
    std::uint32_t thread = 0;
    std::string site = {};    ///< "heat.cpp:34"
    std::int32_t group = -1;  ///< the kernel's number in its plan, -1 for none
};

/// The time that a kernel took in all its calls.
struct KernelTime {
    std::string name;
    double seconds = 0;
    std::uint64_t calls = 0;
    std::string site = {};
    std::int32_t group = -1;
    double least = 0;  ///< seconds of the quickest call
};

/// The trace as JSON (Trace Event Format, complete events; microseconds).
inline std::string to_chrome_trace(const std::vector<ProfileEvent>& events)
{
    std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    for (std::size_t k = 0; k < events.size(); ++k) {
        const ProfileEvent& e = events[k];
        out += k ? ",\n" : "\n";
        out += "{\"name\":\"" + detail::quoted_text(e.name) +
               "\",\"cat\":\"kernel\",\"ph\":\"X\",\"ts\":" + detail::decimal(e.start * 1e6) +
               ",\"dur\":" + detail::decimal(std::max(e.seconds, 0.0) * 1e6) +
               ",\"pid\":1,\"tid\":" + std::to_string(e.thread);
        std::string more;
        if (!e.site.empty()) more = "\"at\":\"" + detail::quoted_text(e.site) + "\"";
        if (e.group >= 0) more += (more.empty() ? "" : ",") + ("\"group\":" + std::to_string(e.group));
        if (!more.empty()) out += ",\"args\":{" + more + "}";
        out += "}";
    }
    return out + "\n]}\n";
}

/// The same events summed up by kernel, the most expensive first.
inline std::vector<KernelTime> kernel_times(const std::vector<ProfileEvent>& events)
{
    const auto key = [](const ProfileEvent& e) { return std::tie(e.group, e.name, e.site); };
    std::vector<KernelTime> times;
    std::vector<const ProfileEvent*> sorted;
    for (const ProfileEvent& e : events) sorted.push_back(&e);
    wengert::detail::stable_sort(sorted, [&](const auto* a, const auto* b) { return key(*a) < key(*b); });
    for (std::size_t k = 0; k < sorted.size(); ++k) {
        const ProfileEvent& e = *sorted[k];
        if (k == 0 || key(*sorted[k - 1]) != key(e))
            times.push_back({e.name, 0, 0, e.site, e.group, e.seconds});
        times.back().seconds += e.seconds;
        times.back().least = std::min(times.back().least, e.seconds);
        ++times.back().calls;
    }
    wengert::detail::stable_sort(times, [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
    return times;
}

}  // namespace wengert
