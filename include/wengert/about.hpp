// What this program has of the library: for reports of faults and for tables of measurements.
#pragma once

#include <string>

#include "version.hpp"

namespace wengert {

/// One line: version, compiler, the instruction set that kernels are compiled for and its registers' bits, who multiplies
/// matrices (the BLAS, the processor that it takes this one for, and where the library's own loops are chosen), and what
/// {.threads = n} runs on.
std::string about();

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/about.ipp"
#endif
