/// The library's version; CMakeLists.txt reads it from here.
#pragma once

#define WENGERT_VERSION_MAJOR 0
#define WENGERT_VERSION_MINOR 1
#define WENGERT_VERSION_PATCH 0

/// One number to compare with: 10000 major + 100 minor + patch.
#define WENGERT_VERSION (WENGERT_VERSION_MAJOR * 10000 + WENGERT_VERSION_MINOR * 100 + WENGERT_VERSION_PATCH)
