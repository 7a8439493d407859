#include "entries.hpp"

template const std::vector<primitives::Entry<float>>& primitives::entries<float>();
