// One SIMD register as a value, with its operators and its functions.
#pragma once

#include "lane_math.hpp"
#include "lane_type.hpp"
