// Control flow and how a trace records it. A source that never freezes anything needs graph/control/functions.hpp alone.
#pragma once

#include "functions.hpp"

#ifndef WENGERT_COMPILED
#include "control_trace.hpp"

namespace wengert::detail {
template <class F> void prepare_trace(const LoopOf<F>*) noexcept { know_control(); }
}  // namespace wengert::detail
#endif
