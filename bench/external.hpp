#pragma once

#include "harness.hpp"

namespace bench {

/// The rows of xla.py, where JAX is installed. Its process lives as long as they do.
void add_xla(Registry& registry);

}  // namespace bench
