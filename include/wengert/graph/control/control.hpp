// Control flow and how a trace records it. A source that never freezes anything needs graph/control/functions.hpp alone.
#pragma once

#include "functions.hpp"

#ifndef WENGERT_COMPILED
#include "control_trace.hpp"
#endif
