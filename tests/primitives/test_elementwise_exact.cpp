// Comparisons, logic and integer arithmetic against the fixtures.
#include "list.hpp"

#include <set>

using namespace wengert;
using fixtures::Inputs;
using primitives::binary_cases;
using primitives::unary_cases;

TEST_CASE("comparisons")
{
    primitives::comparisons(binary_cases<double>());
    primitives::comparisons(binary_cases<float>());
    primitives::comparisons(binary_cases<std::int64_t>());
    primitives::comparisons(binary_cases<std::int32_t>());
    primitives::comparisons(binary_cases<bool>());
}

TEST_CASE("logic")
{
    primitives::logic(binary_cases<bool>());
    fixtures::check_cases<bool>("elementwise", "logical_not",
                                [](const Inputs<bool>& x) { return logical_not(x[0]); });
}

template <class T> void integer_cases()
{
    const auto one = unary_cases<T>();
    one("negative", [](const auto& x) { return negative(x); });
    one("abs", [](const auto& x) { return abs(x); });
    one("sign", [](const auto& x) { return sign(x); });
    one("square", [](const auto& x) { return square(x); });
    const auto two = binary_cases<T>();
    two("add", [](const auto& a, const auto& b) { return a + b; });
    two("subtract", [](const auto& a, const auto& b) { return a - b; });
    two("multiply", [](const auto& a, const auto& b) { return a * b; });
    two("divide", [](const auto& a, const auto& b) { return a / b; });
    two("maximum", [](const auto& a, const auto& b) { return maximum(a, b); });
    two("minimum", [](const auto& a, const auto& b) { return minimum(a, b); });
}
TEST_CASE("integers")
{
    integer_cases<std::int64_t>();
    integer_cases<std::int32_t>();
}

TEST_CASE("integer powers")
{
    const Tensor<std::int64_t> a = {3, -2, 0, 1, -1, -1, 2, 0}, b = {4, 3, 0, -5, -3, -2, -1, -1};
    const Tensor<std::int64_t> y = pow(a, b);
    const std::int64_t want[] = {81, -8, 1, 1, -1, 1, 0, 0};
    for (std::size_t i = 0; i < y.size(); ++i) CHECK(y.data()[i] == want[i]);
    CHECK(pow(Tensor<std::int32_t>{7}, 2).data()[0] == 49);
    CHECK(pow(2, Tensor<std::int64_t>{62}).data()[0] == std::int64_t(1) << 62);
}

TEST_CASE("every function of the fixtures is in the list")
{
    std::set<std::string> listed = {"logical_not", "clip", "where", "cast"}, known;
    const auto add_name = [&](const char* name, auto) { listed.insert(name); };
    primitives::powers(add_name);
    primitives::trigonometry(add_name);
    primitives::activations(add_name);
    primitives::piecewise(add_name);
    primitives::pairs(add_name);
    primitives::comparisons(add_name);
    primitives::logic(add_name);
    for (const auto& c : fixtures::load("elementwise")) known.insert(c.name);
    CHECK(listed == known);
}
