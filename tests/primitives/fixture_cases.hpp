/// Functions of the list beside the fixtures of their names.
#pragma once

#include "fixtures/fixtures.hpp"
#include "list.hpp"

namespace primitives {

using fixtures::Tolerance;

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
