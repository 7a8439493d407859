// Errors whose texts have to name something.
#pragma once

#include <string>

/// The text of the E that f throws, where it lacks a part; nothing where it has them all.
template <class E, class F, class... Part> std::string lacks(F&& f, const Part&... part)
{
    std::string text = "no such error";
    try {
        f();
    } catch (const E& e) {
        text = e.what();
    }
    const auto has = [&](const std::string& p) { return text.find(p) != std::string::npos; };
    return (has(part) && ...) ? "" : text;
}
