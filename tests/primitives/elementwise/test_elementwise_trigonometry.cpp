// Circular and hyperbolic functions against the fixtures.
#include "fixture_cases.hpp"

TEST_CASE("trigonometry of double") { primitives::trigonometry(primitives::unary_cases<double>()); }
TEST_CASE("trigonometry of float") { primitives::trigonometry(primitives::unary_cases<float>()); }
