// Set under AddressSanitizer, of which g++ and clang tell in different ways.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define WENGERT_TESTS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WENGERT_TESTS_ASAN 1
#endif
#endif
