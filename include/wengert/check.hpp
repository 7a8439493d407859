// Derivatives against differences: check_grads() of a function, audit() of each operation in it.
#pragma once

#include "base/compiler.hpp"

#include "transforms/audit.hpp"
#include "transforms/check_grads.hpp"
