// The bodies of error.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include <cstdio>

#include "../error.hpp"
#include "../separate.hpp"

namespace wengert {

WENGERT_INLINE std::string detail::digits_of(double x, int most)
{
    char text[40];
    std::snprintf(text, sizeof text, "%.*g", most, x);
    return text;
}

WENGERT_INLINE std::string failure_text(std::string_view primitive, const std::string& what, const Site& at)
{
    std::string text = "[";
    const std::string_view function = detail::composed_name();
    if (!function.empty() && function != primitive) text += std::string(function) + ": ";
    text += primitive;
    text += "] " + what;
    if (at.line > 0) text += " (" + to_string(at) + ")";
    return text;
}

}  // namespace wengert
