// Functions of two tensors against the fixtures.
#include "fixture_cases.hpp"

TEST_CASE("pairs of double") { primitives::pairs(primitives::binary_cases<double>()); }
TEST_CASE("pairs of float") { primitives::pairs(primitives::binary_cases<float>()); }
