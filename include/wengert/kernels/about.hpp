// What the kernels of this program are made for.
#pragma once

#include <string>

namespace wengert::kernels {

/// The instruction set that kernels are compiled for, and the bits of its registers.
std::string about_loops();

/// Who multiplies matrices of more than 16 rows, columns or terms: "OpenBLAS (Zen), but …".
std::string about_products();

}  // namespace wengert::kernels

#ifndef WENGERT_COMPILED
#include "impl/about.ipp"
#endif
