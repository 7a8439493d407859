/// Catch2 2 or 3, with the names in which they differ made one.
#pragma once

#include <string>
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
inline auto contains(const std::string& part) { return Catch::Matchers::ContainsSubstring(part); }
#else
#include <catch2/catch.hpp>
inline auto contains(const std::string& part) { return Catch::Matchers::Contains(part); }
#endif

// Set under AddressSanitizer, of which g++ and clang tell in different ways.
#if defined(__SANITIZE_ADDRESS__)
#define WENGERT_TESTS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WENGERT_TESTS_ASAN 1
#endif
#endif
