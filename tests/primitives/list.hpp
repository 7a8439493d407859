/// Every elementwise primitive, one line each: what the tests of fixtures, of choices and of texts run over.
/// visit(name of the fixture, function of tensors, tolerance of double, of float).
#pragma once

#include "fixtures/fixtures.hpp"

#include <wengert/ops/activations.hpp>
#include <wengert/ops/cast.hpp>
#include <wengert/ops/pairs.hpp>

namespace primitives {

using fixtures::Tolerance;

// clang-format off
template <class Visit>
void powers(Visit visit) {
    visit("negative", [](const auto& x) { return -x; });
    visit("square", [](const auto& x) { return square(x); });
    visit("sqrt", [](const auto& x) { return sqrt(x); });
    visit("reciprocal", [](const auto& x) { return reciprocal(x); });
    visit("exp", [](const auto& x) { return exp(x); });
    visit("expm1", [](const auto& x) { return expm1(x); });
    visit("log", [](const auto& x) { return log(x); });
    visit("log1p", [](const auto& x) { return log1p(x); });
    visit("log2", [](const auto& x) { return log2(x); });
    visit("log10", [](const auto& x) { return log10(x); });
}

template <class Visit>
void trigonometry(Visit visit) {
    visit("sin", [](const auto& x) { return sin(x); });
    visit("cos", [](const auto& x) { return cos(x); });
    visit("tan", [](const auto& x) { return tan(x); });
    visit("asin", [](const auto& x) { return asin(x); });
    visit("acos", [](const auto& x) { return acos(x); });
    visit("atan", [](const auto& x) { return atan(x); });
    visit("sinh", [](const auto& x) { return sinh(x); });
    visit("cosh", [](const auto& x) { return cosh(x); });
    visit("tanh", [](const auto& x) { return tanh(x); });
}

template <class Visit>
void activations(Visit visit) {
    visit("erf", [](const auto& x) { return erf(x); });
    visit("sigmoid", [](const auto& x) { return sigmoid(x); });
    visit("softplus", [](const auto& x) { return softplus(x); });
    visit("relu", [](const auto& x) { return relu(x); });
    visit("gelu", [](const auto& x) { return gelu(x); });
    visit("silu", [](const auto& x) { return silu(x); });
}

template <class Visit>
void piecewise(Visit visit) {
    visit("abs", [](const auto& x) { return abs(x); });
    visit("sign", [](const auto& x) { return sign(x); });
    visit("floor", [](const auto& x) { return floor(x); });
    visit("ceil", [](const auto& x) { return ceil(x); });
    visit("round", [](const auto& x) { return round(x); });
}

template <class Visit>
void pairs(Visit visit) {
    visit("add", [](const auto& a, const auto& b) { return add(a, b); });
    visit("subtract", [](const auto& a, const auto& b) { return subtract(a, b); });
    visit("multiply", [](const auto& a, const auto& b) { return multiply(a, b); });
    visit("divide", [](const auto& a, const auto& b) { return divide(a, b); });
    visit("pow", [](const auto& a, const auto& b) { return pow(a, b); });
    visit("atan2", [](const auto& a, const auto& b) { return atan2(a, b); });
    visit("hypot", [](const auto& a, const auto& b) { return hypot(a, b); });
    visit("maximum", [](const auto& a, const auto& b) { return maximum(a, b); });
    visit("minimum", [](const auto& a, const auto& b) { return minimum(a, b); });
}

template <class Visit>
void comparisons(Visit visit) {
    visit("less", [](const auto& a, const auto& b) { return less(a, b); });
    visit("less_equal", [](const auto& a, const auto& b) { return less_equal(a, b); });
    visit("greater", [](const auto& a, const auto& b) { return greater(a, b); });
    visit("greater_equal", [](const auto& a, const auto& b) { return greater_equal(a, b); });
    visit("equal", [](const auto& a, const auto& b) { return equal(a, b); });
    visit("not_equal", [](const auto& a, const auto& b) { return not_equal(a, b); });
}

/// Of bools in the fixtures.
template <class Visit>
void logic(Visit visit) {
    visit("logical_and", [](const auto& a, const auto& b) { return logical_and(a, b); });
    visit("logical_or", [](const auto& a, const auto& b) { return logical_or(a, b); });
}
// clang-format on
// Not here because their cases have parameters or operands of several types: logical_not, clip, where, cast.

/// A visitor that checks the fixtures of functions of one tensor of T.
template <class T> auto unary_cases(std::initializer_list<std::pair<const char*, Tolerance>> documented = {})
{
    return [documented = std::map<std::string, Tolerance>(documented.begin(), documented.end())](
               const char* name, auto f) {
        const auto known = documented.find(name);
        fixtures::check_cases<T>(
            "elementwise", name, [&](const fixtures::Inputs<T>& x) { return f(x[0]); },
            known == documented.end() ? fixtures::default_tolerance<T>() : known->second);
    };
}
/// The same of two.
template <class T> auto binary_cases(std::initializer_list<std::pair<const char*, Tolerance>> documented = {})
{
    return [documented = std::map<std::string, Tolerance>(documented.begin(), documented.end())](
               const char* name, auto f) {
        const auto known = documented.find(name);
        fixtures::check_cases<T>(
            "elementwise", name, [&](const fixtures::Inputs<T>& x) { return f(x[0], x[1]); },
            known == documented.end() ? fixtures::default_tolerance<T>() : known->second);
    };
}

}  // namespace primitives
