// What this program has of the library: for reports of faults and for tables of measurements.
#pragma once

#include <string>

#include "kernels/about.hpp"
#include "version.hpp"

namespace wengert {

/// One line: version, compiler, the instruction set that kernels are compiled for and its registers' bits, who multiplies
/// matrices (the BLAS, the processor that it takes this one for, and where the library's own loops are chosen), and what
/// {.threads = n} runs on.
inline std::string about()
{
    std::string text = "wengert " + std::to_string(WENGERT_VERSION_MAJOR) + "." +
                       std::to_string(WENGERT_VERSION_MINOR) + "." + std::to_string(WENGERT_VERSION_PATCH);
#if defined(__clang__)
    text += "; clang " __clang_version__;
#elif defined(__GNUC__)
    text += "; g++ " __VERSION__;
#endif
    while (text.back() == ' ') text.pop_back();
    text += "; kernels " + kernels::about_loops() + "; products: " + kernels::about_products();
#if defined(WENGERT_TBB)
    return text + "; threads: oneTBB";
#else
    return text + "; threads: std::thread";
#endif
}

}  // namespace wengert
