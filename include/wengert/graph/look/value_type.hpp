// What is known of a value without computing it.
#pragma once

#include <span>

#include "../../base/dtype.hpp"
#include "../../base/shape.hpp"

namespace wengert {

struct ValueType {
    DType dtype{};
    Shape shape;
};
using ValueTypes = std::span<const ValueType>;

/// Non-negative extents, and elements that a 64-bit machine can address. Throws ShapeError.
inline void check_extents(const Shape& shape)
{
    constexpr std::int64_t most = std::int64_t{1} << 44;
    check_shape("graph", shape, {});
    if (shape.size() > 64) throw ShapeError("[graph] more than 64 dimensions");
    std::int64_t n = 1;
    for (auto e : shape)  // extents of 0 leave the others free, but strides are made of them all
        if (__builtin_mul_overflow(n, e > 0 ? e : 1, &n) || n > most)
            throw ShapeError("[graph] shape " + to_string(shape) + " has too many elements");
}

}  // namespace wengert
