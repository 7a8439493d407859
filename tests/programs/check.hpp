/// Checks for programs that are tests by themselves: count, say where, decide the exit status. Thread-safe.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdio>
#include <string>

inline std::atomic<int> checks = 0, failures = 0;

inline bool check(bool holds, const char* what, const char* file, int line)
{
    ++checks;
    if (!holds) {
        ++failures;
        std::printf("%s:%d: %s\n", file, line, what);
    }
    return holds;
}

inline bool near(double got, double want, double tolerance)
{
    return std::abs(got - want) <= tolerance * (1 + std::abs(want));
}

#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)

/// What an E thrown by f says, or why there is no such message.
template <class E, class F> std::string message_of(F&& f)
{
    try {
        f();
    } catch (const E& e) {
        return e.what();
    } catch (...) {
        return "another type of exception";
    }
    return "nothing was thrown";
}

inline bool has(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos ||
           (std::printf("missing '%s' in: %s\n", part.c_str(), text.c_str()), false);
}

inline int report(const char* name)
{
    std::printf("%s: %d checks, %d failed\n", name, checks.load(), failures.load());
    return checks > 0 && failures == 0 ? 0 : 1;
}
