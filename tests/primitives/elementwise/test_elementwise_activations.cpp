// What networks use, and what jumps, against the fixtures.
#include "fixture_cases.hpp"

using primitives::unary_cases;

TEST_CASE("activations of double")
{
    primitives::activations(unary_cases<double>({{"silu", {1e-14, 1e-12, 1000}}}));  // x · a denormal sigmoid
}
TEST_CASE("activations of float")
{
    primitives::activations(unary_cases<float>({{"silu", {1e-6, 1e-5, 1000}}}));
}
TEST_CASE("piecewise functions of double") { primitives::piecewise(unary_cases<double>()); }
TEST_CASE("piecewise functions of float") { primitives::piecewise(unary_cases<float>()); }
