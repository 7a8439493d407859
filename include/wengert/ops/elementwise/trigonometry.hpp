// Circular and hyperbolic functions of tensors. Their rules are in functions/rules/trigonometry.hpp.
#pragma once

#include "../../functions/rules/trigonometry.hpp"
#include "arithmetic.hpp"
