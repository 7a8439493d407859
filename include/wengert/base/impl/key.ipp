// The body of key.hpp that need not be known where keys are made. With WENGERT_COMPILED only wengert::compiled compiles it.
#pragma once

#include "../key.hpp"
#include "../separate.hpp"

namespace wengert {

WENGERT_INLINE std::vector<Key> split(const Key& key, std::size_t n)
{
    std::vector<Key> keys;
    keys.reserve(n);
    for (std::size_t i = 0; i < n; ++i) keys.push_back(key.child(i, 1));
    return keys;
}

}  // namespace wengert
