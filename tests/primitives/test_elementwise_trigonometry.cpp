// Circular and hyperbolic functions against the fixtures.
#include "list.hpp"

TEST_CASE("trigonometry of double") { primitives::trigonometry(primitives::unary_cases<double>()); }
TEST_CASE("trigonometry of float") { primitives::trigonometry(primitives::unary_cases<float>()); }
