#include "entries.hpp"

template const std::vector<primitives::Entry<double>>& primitives::entries<double>();
