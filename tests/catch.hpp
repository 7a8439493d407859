/// Catch2 2 or 3, with the names in which they differ made one.
#pragma once

#include <string>

#include "sanitizers.hpp"
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
inline auto contains(const std::string& part) { return Catch::Matchers::ContainsSubstring(part); }
#else
#include <catch2/catch.hpp>
inline auto contains(const std::string& part) { return Catch::Matchers::Contains(part); }
#endif
