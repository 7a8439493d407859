// The functions that networks are made of. Their rules are in functions/rules/activations.hpp.
#pragma once

#include "../../functions/rules/activations.hpp"
#include "math.hpp"
