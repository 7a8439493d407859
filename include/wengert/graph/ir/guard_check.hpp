// Does a value read by plain C++ still mean what it meant when it was traced?
#pragma once

#include <algorithm>
#include <cstring>

#include "fields.hpp"

namespace wengert::detail {

template <class T> bool same_but_for_nans(const Block& a, const Block& b)
{
    return std::equal(a.as<T>(), a.as<T>() + a.count, b.as<T>(), [](const T& x, const T& y) {
        return std::memcmp(&x, &y, sizeof(T)) == 0 || (x != x && y != y);
    });
}

/// The expected bits, or a NaN for a NaN: whose sign a processor chooses, and executors with it.
inline bool meets(const Block& value, const Block& expected)
{
    if (same_elements(value, expected)) return true;
    if (value.dtype != expected.dtype || !(value.shape == expected.shape) || !differentiable(value.dtype))
        return false;
    const Ref<Block> a = readable(Ref<Block>(const_cast<Block*>(&value))),
                     b = readable(Ref<Block>(const_cast<Block*>(&expected)));
    return with_real(value.dtype, [&]<class T>() { return same_but_for_nans<T>(*a, *b); });
}

}  // namespace wengert::detail
