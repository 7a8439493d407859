// scan, while_loop, cond, host_callback.
#pragma once

#include "base/compiler.hpp"

#include "graph/control/control.hpp"
