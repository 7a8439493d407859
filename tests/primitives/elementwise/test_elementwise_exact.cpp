// Comparisons, logic and integer arithmetic against the fixtures.
#include "fixture_cases.hpp"

#include <wengert/ops/take.hpp>

#include <limits>
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

template <class T> void wrapping_cases()
{
    constexpr T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
    const Tensor<T> low = {least}, high = {most}, one = {T(1)}, two = {T(2)};
    CHECK((high + one).data()[0] == least);
    CHECK((low + low).data()[0] == 0);
    CHECK((low - one).data()[0] == most);
    CHECK((one - low).data()[0] == least + 1);
    CHECK((high * two).data()[0] == -2);
    CHECK((low * low).data()[0] == 0);
    CHECK((high * high).data()[0] == 1);
    CHECK(negative(low).data()[0] == least);
    CHECK(abs(low).data()[0] == least);
    CHECK(abs(low + one).data()[0] == most);
    CHECK(square(high).data()[0] == 1);
    const Tensor<T> x = scatter_add(high, Tensor<std::int64_t>{0, 0}, Tensor<T>{T(1), T(2)}, 0);
    CHECK(x.data()[0] == least + 2);
}
TEST_CASE("integers wrap")  // -fsanitize=undefined finds those that overflow instead
{
    wrapping_cases<std::int64_t>();
    wrapping_cases<std::int32_t>();
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
