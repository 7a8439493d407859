// Tensors from what the program has: values with a shape, and memory that stays where it is.
#pragma once

#include <memory>

#include "../tape/tensor_impl.hpp"

namespace wengert {

/// The elements of a range in row-major order, as numpy.array(values).reshape(shape). Throws ShapeError when their number is
/// not the shape's.
template <class Range>
    requires requires(const Range& r) { *r.begin(), r.size(); }
auto tensor(const Range& values, const Shape& shape, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return Tensor<std::remove_cvref_t<decltype(*values.begin())>>(shape, values, at);
}
template <class T>
Tensor<T> tensor(std::initializer_list<T> values, const Shape& shape,
                 Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return Tensor<T>(shape, values, at);
}

/// A tensor of the caller's memory, row-major, without a copy. `owner` keeps the memory and is released after the last tensor and
/// the last node of a tape that reads it; without one the caller does. The library never writes there: assigning to the tensor
/// gives it elements of its own. What the caller writes there is seen by what is computed later, and by derivatives that saved
/// the tensor. Throws ShapeError, and Error for a null or misaligned pointer.
template <class T>
Tensor<T> borrow(const T* data, const Shape& shape, std::shared_ptr<const void> owner = {},
                 Site at = {__builtin_FILE(), __builtin_LINE()})
{
    check_shape("borrow", shape, at);
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    if ((!data && element_count(shape) > 0) || address % alignof(T) != 0)
        fail<Error>("borrow", data ? "the pointer is not aligned for its type" : "the pointer is null", at);
    auto* bytes = reinterpret_cast<std::byte*>(const_cast<T*>(data));
    return Tensor<T>(AnyTensor{make_lent(dtype_of<T>(), shape, bytes, std::move(owner)), {}});
}

}  // namespace wengert
