// Reports: messages of the library about a program that goes on. Errors are exceptions (error.hpp).
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

void print_report(const std::string& text, const Site& at);
std::atomic<ReportHandler>& report_handler() noexcept;
void report(const std::string& text, const Site& at);

/// Is this the first question about that line?
bool is_first_at(const Site& at);

}  // namespace detail

/// Sets the handler of the library's reports, on all threads; null for none. Returns the handler before. The first one prints to
/// standard error.
ReportHandler set_report_handler(ReportHandler handler) noexcept;

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/report.ipp"
#endif
