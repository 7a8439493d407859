// What scalar code needs and no function of a program decides, the sweep, forward mode, calls of kernels: one source of wengert::compiled.
#pragma once

#include "adjoints_source.hpp"
#include "kernel_calls.hpp"
#include "sweep_source.hpp"
#include "tangents_source.hpp"

#ifdef WENGERT_COMPILED
namespace wengert::detail {

template class KernelCalls<float>;
template class KernelCalls<double>;

}  // namespace wengert::detail
#endif
