// The bodies of report.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../report.hpp"
#include "../separate.hpp"

namespace wengert {

namespace detail {

WENGERT_INLINE void print_report(const std::string& text, const Site& at)
{
    const std::string place = at.line > 0 ? " (" + to_string(at) + ")" : "";
    std::fputs(("wengert: " + text + place + "\n").c_str(), stderr);
}

WENGERT_INLINE std::atomic<ReportHandler>& report_handler() noexcept
{
    static std::atomic<ReportHandler> handler{print_report};
    return handler;
}

WENGERT_INLINE void report(const std::string& text, const Site& at)
{
    if (const ReportHandler handler = report_handler().load()) handler(text, at);
}

WENGERT_INLINE bool is_first_at(const Site& at)
{
    static std::atomic_flag busy;
    static std::vector<Site> seen;
    struct SpinLock {
        SpinLock()
        {
            while (busy.test_and_set(std::memory_order_acquire)) {}
        }
        ~SpinLock() { busy.clear(std::memory_order_release); }
    };
    const SpinLock lock;
    const auto is_here = [&](const Site& s) {
        return s.line == at.line && std::string_view(s.file) == at.file;
    };
    if (std::any_of(seen.begin(), seen.end(), is_here)) return false;
    seen.push_back(at);
    return true;
}

}  // namespace detail

WENGERT_INLINE ReportHandler set_report_handler(ReportHandler handler) noexcept
{
    return detail::report_handler().exchange(handler);
}

}  // namespace wengert
