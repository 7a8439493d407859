// Errors whose texts have to name something.
#pragma once

#include <string>

/// The text of the E that f throws. Another error is the test's.
template <class E, class F> std::string thrown(F&& f)
{
    try {
        f();
    } catch (const E& e) {
        return e.what();
    }
    return "nothing was thrown";
}

/// The text of the E that f throws, where it lacks a part; nothing where it has them all.
template <class E, class F, class... Part> std::string lacks(F&& f, const Part&... part)
{
    const std::string text = thrown<E>(f);
    const auto has = [&](const std::string& p) { return text.find(p) != std::string::npos; };
    return (has(part) && ...) ? "" : text;
}
