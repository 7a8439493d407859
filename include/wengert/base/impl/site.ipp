// The bodies of site.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../separate.hpp"
#include "../site.hpp"

namespace wengert {

WENGERT_INLINE std::string to_string(const Site& at)
{
    if (at.line <= 0) return "an unknown line";
    const std::string file = at.file;
    const auto slash = file.find_last_of('/');
    return (slash == std::string::npos ? file : file.substr(slash + 1)) + ":" + std::to_string(at.line);
}

}  // namespace wengert
