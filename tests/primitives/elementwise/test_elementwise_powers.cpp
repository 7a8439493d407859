// Powers, exponentials, logarithms against the fixtures.
#include "fixture_cases.hpp"

TEST_CASE("powers, exponentials and logarithms of double")
{
    primitives::powers(primitives::unary_cases<double>());
}
TEST_CASE("powers, exponentials and logarithms of float")
{
    primitives::powers(primitives::unary_cases<float>());
}
