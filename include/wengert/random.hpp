// Keys and what is drawn with them.
#pragma once

#include "base/compiler.hpp"

#include "ops/random.hpp"
