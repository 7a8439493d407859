// What about.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../about.hpp"
#include "../base/separate.hpp"
#include "../kernels/cpu/blas.hpp"

namespace wengert {

WENGERT_INLINE std::string about()
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
