// The lines of scalar code. Operators cannot be told theirs at no cost, so lines come from the call stack: in errors, and where a mode
// asks for them. Of the debug information in the program (-g) addr2line makes the user's line; without either there is none.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "../../base/site.hpp"

#if __has_include(<execinfo.h>) && __has_include(<dlfcn.h>)
#include <dlfcn.h>
#include <execinfo.h>
#define WENGERT_CALL_STACKS 1
#endif

namespace wengert {

/// Where an operation was called: the innermost calls, each as a file and a place in it.
struct CallStack {
    static constexpr int depth = 8;
    struct Frame {
        const char* object = nullptr;  ///< the program or library; null for no more frames
        std::uintptr_t place = 0;
        auto operator<=>(const Frame&) const = default;
    };
    std::array<Frame, depth> frames{};
    auto operator<=>(const CallStack&) const = default;
};

namespace detail {

#ifdef WENGERT_CALL_STACKS
/// In a program that is not loaded at an address of its own choice (ET_EXEC) places are addresses.
inline CallStack::Frame frame_of(void* address)
{
    Dl_info info;
    if (!dladdr(address, &info) || !info.dli_fname) return {};
    const auto* const elf = static_cast<const unsigned char*>(info.dli_fbase);
    const bool fixed = elf[16] == 2;
    const auto place = reinterpret_cast<std::uintptr_t>(address) - 1;
    return {info.dli_fname, fixed ? place : place - reinterpret_cast<std::uintptr_t>(info.dli_fbase)};
}

/// Of who calls the library.
__attribute__((noinline)) inline CallStack call_stack()
{
    void* addresses[CallStack::depth + 1];
    const int n = backtrace(addresses, CallStack::depth + 1);
    CallStack s;
    for (int i = 1; i < n; ++i) s.frames[static_cast<std::size_t>(i - 1)] = frame_of(addresses[i]);
    return s;
}

/// addr2line's answer: a line for each frame and for each call that was inlined there, the innermost first. $WENGERT_ADDR2LINE is
/// another program that does this; none where it is empty, since large programs take seconds.
inline std::string lines_of(const CallStack& s)
{
    const char* const object = s.frames[0].object;
    if (!object || std::string_view(object).find('\'') != std::string_view::npos) return {};
    const char* const named = std::getenv("WENGERT_ADDR2LINE");
    std::string command = named ? named : "addr2line";
    if (command.empty()) return {};
    command += " -i -e '" + std::string(object) + "'";
    for (const auto& f : s.frames) {
        char place[32];
        std::snprintf(place, sizeof place, " 0x%llx", static_cast<unsigned long long>(f.place));
        if (f.object && std::string_view(f.object) == object) command += place;
    }
    std::string text;
    if (std::FILE* from = popen((command + " 2>/dev/null").c_str(), "r")) {
        for (int c; (c = std::fgetc(from)) != EOF;) text += static_cast<char>(c);
        pclose(from);
    }
    return text;
}
#else
inline CallStack call_stack() { return {}; }
inline std::string lines_of(const CallStack&) { return {}; }
#endif

/// Is this a file of the library? The name of this one may have steps up in it: it is as the files that include it wrote it.
inline bool is_own_file(std::string_view file)
{
    constexpr std::string_view here = __FILE__, folder = "wengert/";
    return file.find(here.substr(0, here.rfind(folder) + folder.size())) != std::string_view::npos;
}

/// "heat.cpp:42" of the first line in addr2line's answer that is the user's; its text lives as long as the program.
inline Site first_of_user(const std::string& lines)
{
    static std::set<std::string> files;
    for (std::size_t from = 0; from < lines.size();) {
        const std::size_t end = std::min(lines.find('\n', from), lines.size());
        const std::string line = lines.substr(from, end - from);
        from = end + 1;
        const std::size_t colon = line.rfind(':', line.find(" ("));
        const bool known = colon != std::string::npos && line[0] != '?' && line[colon + 1] != '?';
        if (!known || is_own_file(line) || line.find("/usr/include/") == 0 ||
            line.find("/include/c++/") != std::string::npos)
            continue;
        return {files.insert(line.substr(0, colon)).first->c_str(), std::atoi(line.c_str() + colon + 1)};
    }
    return {};
}

/// The user's line, none where it is not known. Slow when it is asked for the first time.
inline Site site_of(const CallStack& s)
{
    static std::mutex mutex;
    static std::map<CallStack, Site> known;
    const std::lock_guard<std::mutex> lock(mutex);
    const auto [at, fresh] = known.try_emplace(s);
    if (fresh) at->second = first_of_user(lines_of(s));
    return at->second;
}
/// The line of the transform's or kernel's call that runs the user's function: for errors of programs without debug information.
inline constinit thread_local Site enclosing_call __attribute__((visibility("default")));

inline Site line_of_user()
{
    const Site at = site_of(call_stack());
    return at.line > 0 ? at : enclosing_call;
}

}  // namespace detail
}  // namespace wengert
