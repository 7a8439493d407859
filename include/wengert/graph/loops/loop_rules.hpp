// The derivatives of loops and branches, as the tape calls them: loops and branches again, of any order.
//
// A scan that is swept back keeps its states before each step. Its derivative is a scan from the last step to the first that
// carries the cotangents of the states and the sums of those of the constants; the body is one step of the derivative. With
// memory for few states it is a scan_pull (scan_pull.hpp, scan_rules.hpp). A while_loop is swept back by a while_pull
// (while_rules.hpp), a cond by a cond (cond_rules.hpp). Forwards, states and tangents run together (loop_tangents.hpp).
#pragma once

#include "cond_rules.hpp"
#include "scan_rules.hpp"
#include "while_rules.hpp"
