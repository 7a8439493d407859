// How the text of native code is compiled.
#pragma once

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "../../base/compiler/shared_object.hpp"

namespace wengert::detail {

/// `quick`: long text, of which the compiler is to be quick about. Its vectors are explicit, so hardly anything is lost.
inline std::vector<std::string> native_flags(const Compiler& compiler, bool quick = false)
{
    // the first: the compiler's command may come with such options, from the environment
    std::istringstream words(
        "-fno-fast-math -fno-unsafe-math-optimizations -fno-associative-math -fno-reciprocal-math "
        "-fsigned-zeros -fno-finite-math-only -std=c++17 -O2 -march=native -ffp-contract=off "
        "-fno-math-errno -fno-trapping-math -fwrapv -fno-strict-aliasing -g1 -w -shared -fPIC");
    std::vector<std::string> flags{std::istream_iterator<std::string>(words), {}};
    const bool clang = compiler.identity.find("clang") != std::string::npos;
    if (!clang) flags.emplace_back("-Wno-psabi");
    if (quick) flags.emplace_back("-O1");
    if (quick && !clang) flags.emplace_back("-fno-ivopts");
    return flags;
}

}  // namespace wengert::detail
