// Reports: what the library has to say about a program that goes on. Errors are exceptions (error.hpp).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "site.hpp"

namespace wengert {

/// Takes a report: its text, and the user's line that it is about, 0 where none is known. May be called on any thread, and may throw.
using ReportHandler = void (*)(const std::string& text, const Site& at);

namespace detail {

inline void print_report(const std::string& text, const Site& at)
{
    const std::string place = at.line > 0 ? " (" + to_string(at) + ")" : "";
    std::fputs(("wengert: " + text + place + "\n").c_str(), stderr);
}
inline std::atomic<ReportHandler>& report_handler() noexcept
{
    static std::atomic<ReportHandler> handler{print_report};
    return handler;
}
inline void report(const std::string& text, const Site& at)
{
    if (const ReportHandler handler = report_handler().load()) handler(text, at);
}

/// Asked about a line for the first time?
inline bool is_first_at(const Site& at)
{
    static std::atomic_flag busy;
    static std::vector<Site> seen;
    struct Turn {
        Turn()
        {
            while (busy.test_and_set(std::memory_order_acquire)) {}
        }
        ~Turn() { busy.clear(std::memory_order_release); }
    };
    const Turn turn;
    const auto is_here = [&](const Site& s) {
        return s.line == at.line && std::string_view(s.file) == at.file;
    };
    if (std::any_of(seen.begin(), seen.end(), is_here)) return false;
    seen.push_back(at);
    return true;
}

}  // namespace detail

/// Who takes the library's reports from now on, on all threads; null for nobody. Returns who took them before: at first a function that
/// prints to standard error.
inline ReportHandler set_report_handler(ReportHandler handler) noexcept
{
    return detail::report_handler().exchange(handler);
}

}  // namespace wengert
