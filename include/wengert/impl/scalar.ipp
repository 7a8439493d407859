// What scalar code needs and no function of a program decides, the sweep, forward mode, calls of kernels: one source of wengert::compiled.
#pragma once

#include "../scalar/real/impl/adjoints.ipp"
#include "../scalar/kernel/kernel_calls.hpp"
#include "../scalar/transforms/impl/sweep.ipp"
#include "../scalar/real/impl/tangents.ipp"

#ifdef WENGERT_COMPILED
namespace wengert::detail {

template class KernelCalls<float>;
template class KernelCalls<double>;

}  // namespace wengert::detail
#endif
