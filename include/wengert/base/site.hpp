// The user's file and line, taken where a public function is called.
#pragma once

#include "compiler.hpp"

#include <concepts>
#include <string>

namespace wengert {

/// A place in the user's source. Public functions end with `Site at = {__builtin_FILE(), __builtin_LINE()}`:
/// the builtins must stand in the default argument itself, or g++ 12 reports the line of this struct.
/// (std::source_location does the same but does not exist with clang 14.)
struct Site {
    const char* file = "";
    int line = 0;

    constexpr Site() = default;
    /// From a const char* and nothing that converts to one: `{0}` and `{0, 1}` are lists of axes.
    template <std::same_as<const char*> File> constexpr Site(File f, int l) : file(f), line(l) {}
};

/// "heat.cpp:42"; the folder is left out because a message should fit on a line.
std::string to_string(const Site& at);

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/site.ipp"
#endif
