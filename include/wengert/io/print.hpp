// Printing tensors, as NumPy does, and the tape, as a table.
#pragma once

#include <ostream>

#include "../tape/tensor_impl.hpp"

namespace wengert {

namespace detail {

/// What is printed of a tensor of this type of elements.
std::string printed(const AnyTensor& x, DType dtype);

}  // namespace detail

/// The elements as NumPy prints them, but true and false as in C++; rows longer than 75 characters wrap, and of more than
/// 1000 elements only the ends are shown. Then shape, dtype, and where it is recorded the operation and its line. Of rank 0 the
/// number alone is printed. An empty tensor prints as Tensor<float64>(undefined).
template <class T, class Device> std::ostream& operator<<(std::ostream& out, const Tensor<T, Device>& x)
{
    return out << detail::printed(x.any_unchecked(), dtype_of<T>());
}

/// One line for each live node in time order: sequence number, primitive, inputs, shape, dtype, saved bytes, file:line.
std::ostream& operator<<(std::ostream& out, const Tape& tape);

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/print.ipp"
#endif
