// What is known of a value without computing it.
#pragma once

#include <span>

#include "../base/dtype.hpp"
#include "index/demands.hpp"

namespace wengert {

struct ValueType {
    DType dtype{};
    Shape shape;
};
using ValueTypes = std::span<const ValueType>;

}  // namespace wengert
